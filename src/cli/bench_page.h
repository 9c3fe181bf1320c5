/* The memory that a bench and its clients share: each client writes into a slot of its own when it
 * read what, on CLOCK_MONOTONIC, so that nothing has to be sent while something is measured.
 *
 * It is a file without a name; a client gets it from its relay (bench_relay.h). */
#ifndef MU_CLI_BENCH_PAGE_H
#define MU_CLI_BENCH_PAGE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one rank.  Only its client writes, before it counts itself in the page. */
struct bench_slot {
    alignas(64) uint64_t told_ns; /* the victim's death was read through libmuster */
    uint64_t age_ns;              /* what that event said of its age */
    uint64_t bare_ns;             /* the message of the relay was read */
    uint32_t hops;                /* of that event */
    uint32_t told;                /* events about the victim */
    uint32_t bare;                /* messages of the relay */
    uint32_t wrong;               /* events that should not have been */
    uint32_t pid, node;
};

struct bench_page {
    uint32_t size;            /* slots */
    _Atomic uint32_t victim;  /* the rank whose death is no surprise */
    _Atomic bool death_first; /* it is measured before the message of the relays */
    _Atomic uint32_t ready;   /* clients that wait for both, */
    _Atomic uint32_t told;    /* that have read of the victim's death, */
    _Atomic uint32_t bare;    /* and the message of the relay */
    struct bench_slot slots[];
};

uint64_t bench_now_ns(void); /* CLOCK_MONOTONIC */

/* The descriptor of a new page, close-on-exec, and the page at *page; or -1 with errno. */
int bench_page_make(uint32_t size, struct bench_page **page);

/* Maps a page that somebody gave us.  NULL with errno: it is none. */
struct bench_page *bench_page_open(int fd);

void bench_page_free(struct bench_page *page);

/* For the next clients, when those before are gone. */
void bench_page_reset(struct bench_page *page, uint32_t victim, bool death_first);

#endif
