/* The memory that the benches of agreements and their processes share: a file without a name, which
 * a process opens as a descriptor of the bench (/proc/PID/fd/N).
 *
 * Each process has a slot and a log: of each agreement how long it took, or what was decided. */
#ifndef MU_BENCH_AGREE_PAGE_H
#define MU_BENCH_AGREE_PAGE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum agree_kill {
    AGREE_KILL_NOBODY,
    AGREE_KILL_PROCESS, /* 'victim' kills itself in place of contributing to agreement 'warm' */
    AGREE_KILL_NODE,    /* and its daemon before */
};

/* Of one rank.  Only its process writes. */
struct agree_slot {
    alignas(64) _Atomic uint64_t logged; /* agreements that are in the log */
    _Atomic uint32_t pid;                /* 0: it is not there yet */
    _Atomic uint32_t wrong;              /* decisions that cannot be */
};

struct agree_page {
    uint32_t size;  /* ranks */
    uint32_t procs; /* of each node */
    uint32_t warm;  /* agreements before those that count */
    uint32_t count; /* agreements in all; 0: until is_over, and the log is of decisions */
    uint32_t log;   /* entries of each rank */
    uint32_t victim;
    enum agree_kill kill;
    _Atomic uint32_t ready;
    _Atomic bool go, is_over;
    struct agree_slot slots[];
};

/* The descriptor of a new page, close-on-exec, and the page at *page; or -1 with errno. */
int agree_page_make(uint32_t size, uint32_t log, struct agree_page **page);

/* The page that is descriptor 'fd' of the bench with that process id, or NULL with errno. */
struct agree_page *agree_page_get(uint32_t bench, uint32_t fd);
void agree_page_free(struct agree_page *page);

/* For new processes, when those before are gone. */
void agree_page_reset(struct agree_page *page);

/* The log of a rank: page->log entries, one after the other and then again from the first on. */
_Atomic uint64_t *agree_page_log(struct agree_page *page, uint32_t rank);

#endif
