/* The memory that 'muster bench nodefail' and its readers share: each reader writes down what it
 * was told and when, on CLOCK_MONOTONIC, so that nothing has to be sent while something is
 * measured.
 *
 * It is a file without a name; a reader gets it at a socket whose name, in the abstract namespace,
 * has the process id of the bench. */
#ifndef MU_BENCH_NODEFAIL_PAGE_H
#define MU_BENCH_NODEFAIL_PAGE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NODEFAIL_NODES_MAX = 1024 };

/* Of one rank.  Only its reader writes, before it counts itself in the page. */
struct nodefail_slot {
    alignas(64) uint64_t last_ns; /* the last event about a victim was read */
    uint32_t nodes_told;          /* of the victims, */
    uint32_t processes_told;      /* and of their processes */
    uint32_t wrong;               /* events that should not have been */
    uint32_t pid;
};

/* Rank r of 'size' runs on node r / procs. */
struct nodefail_page {
    uint32_t size, nodes, procs;
    uint32_t victim_count; /* 0 until all readers are ready */
    bool is_victim[NODEFAIL_NODES_MAX];
    /* When the first daemon learned of it, as the events say; UINT64_MAX: nobody. */
    _Atomic uint64_t seen_ns[NODEFAIL_NODES_MAX];
    _Atomic uint32_t ready; /* readers that wait for events, */
    _Atomic uint32_t done;  /* and that have read of all victims and their processes */
    _Atomic bool is_over;   /* what happens from now on counts no more */
    struct nodefail_slot slots[];
};

/* Events that each survivor is to read. */
static inline uint32_t nodefail_expected(const struct nodefail_page *page)
{
    return page->victim_count * (1 + page->procs);
}

/* ---- in the bench ---- */

struct nodefail_door {
    struct nodefail_page *page;
    int page_fd, fd;
    pthread_t thread;
    bool has_thread;
};

/* Makes the page, and a thread that gives it to everybody of this user who asks.  Returns 0, or -1
 * with errno. */
int nodefail_door_open(struct nodefail_door *door, uint32_t nodes, uint32_t procs);
void nodefail_door_close(struct nodefail_door *door);

/* For new readers, when those before are gone. */
void nodefail_page_reset(struct nodefail_page *page);

/* ---- in a reader ---- */

/* The page of the bench with that process id, or NULL with errno. */
struct nodefail_page *nodefail_page_get(uint32_t bench);

#endif
