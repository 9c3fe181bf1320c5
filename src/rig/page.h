/* The memory that a bench and its clients share: each client writes into a slot of its own when it
 * read what, on CLOCK_MONOTONIC, so that nothing has to be sent while something is measured.
 *
 * It is a file without a name; a client gets it from its relay (bench/procfail/door.h). */
#ifndef MU_RIG_PAGE_H
#define MU_RIG_PAGE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* What is measured. */
enum bench_kind {
    BENCH_DEATH,         /* the victim is killed; clients read it through libmuster */
    BENCH_BARE,          /* the message of relays that are ordinary processes */
    BENCH_BARE_REALTIME, /* the message of relays that have the daemons' priority */
    BENCH_KINDS,
};

/* Of one rank.  Only its client writes, before it counts itself in the page. */
struct bench_slot {
    alignas(64) uint64_t read_ns[BENCH_KINDS]; /* 0: not yet */
    uint32_t wrong;                            /* events that should not have been */
    uint32_t pid, node;
};

struct bench_page {
    uint32_t size;   /* slots */
    uint32_t victim; /* the rank whose death is no surprise */
    /* What clients wait for, one after the other.  Without libmuster they begin again. */
    uint32_t order_count;
    enum bench_kind order[BENCH_KINDS];
    _Atomic uint32_t ready; /* clients that are there, */
    _Atomic uint32_t warm;  /* that have read the first message, which is not measured, */
    _Atomic uint32_t read[BENCH_KINDS]; /* and that have read this */
    struct bench_slot slots[];
};

uint64_t bench_now_ns(void); /* CLOCK_MONOTONIC */

/* The descriptor of a new page, close-on-exec, and the page at *page; or -1 with errno. */
int bench_page_make(uint32_t size, struct bench_page **page);

/* Maps a page that somebody gave us.  NULL with errno: it is none. */
struct bench_page *bench_page_open(int fd);

void bench_page_free(struct bench_page *page);

/* For the next clients, when those before are gone. */
void bench_page_reset(struct bench_page *page, uint32_t victim, const enum bench_kind *order,
                      uint32_t order_count);

#endif
