/* The memory that a rig and its clients share: what clients are to do, and a slot and a log for
 * each rank, where its client writes down what it read and when, on CLOCK_MONOTONIC, so that
 * nothing has to be sent while something is measured.
 *
 * It is a file without a name; a client gets it at the rig's door (door.h). */
#ifndef MU_RIG_PAGE_H
#define MU_RIG_PAGE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What role 'read' waits for. */
enum bench_kind {
    BENCH_DEATH,         /* the victim is killed; clients read it through libmuster */
    BENCH_BARE,          /* the message of relays that are ordinary processes */
    BENCH_BARE_REALTIME, /* the message of relays that have the daemons' priority */
    BENCH_KINDS,
};

/* Who dies in role 'agree'. */
enum rig_kill {
    RIG_KILL_NOBODY,
    RIG_KILL_PROCESS, /* the victim kills itself in place of contributing to agreement 'warm' */
    RIG_KILL_NODE,    /* and its daemon before */
};

enum { RIG_NODES_MAX = 1024 };
enum { BENCH_MESSAGE_BYTES = 64 }; /* of relays */

/* Of one rank.  Only its client writes. */
struct rig_slot {
    alignas(64) _Atomic uint32_t pid; /* 0: it is not there yet */
    _Atomic uint32_t wrong;           /* what should not have been told or decided */
    uint64_t read_ns[BENCH_KINDS];    /* read: when it read that; 0: not yet */
    uint32_t told;                    /* count: events about victims, each once, */
    uint32_t unexpected;              /* and about others, told again, or out of order */
    uint64_t last_ns;                 /* when it read the last one about a victim */
    _Atomic uint64_t logged;          /* agree: agreements that are in its log */
};

/* Zeroed, but for its shape. */
struct rig_page {
    uint32_t nodes, procs, size; /* rank r of 'size' runs on node r / procs */
    uint32_t log_bytes;          /* of each rank */
    int fd;                      /* the rig's */

    _Atomic uint32_t ready; /* clients that are there */
    _Atomic bool go;        /* agree: they wait for this */
    _Atomic bool is_over;   /* what happens from now on counts no more */

    /* For role 'read': these one after the other, and without libmuster then again. */
    uint32_t order_count;
    enum bench_kind order[BENCH_KINDS];
    uint32_t victim;                    /* the rank whose death is no surprise */
    _Atomic uint32_t warm;              /* clients that have read a message that is not measured, */
    _Atomic uint32_t read[BENCH_KINDS]; /* and that have read this */

    /* For role 'count': the log has how often it was told of each node, and of each process. */
    struct {
        bool is_victim[RIG_NODES_MAX]; /* set right before they fail */
        uint32_t expected;             /* events, of each survivor */
        _Atomic uint32_t done;         /* survivors that have read these */
        /* When the first daemon learned of it, as the events say; 0: nobody. */
        _Atomic uint64_t seen_ns[RIG_NODES_MAX];
    } count;

    /* For role 'agree': the log has of each agreement how long it took, or what was decided. */
    struct rig_agree {
        uint32_t count; /* agreements, of which the time is taken; 0: until is_over */
        uint32_t warm;  /* of these, before those that count */
        enum rig_kill kill;
        uint32_t victim;
    } agree;

    struct rig_slot slots[];
};

/* ---- in the rig ---- */

/* A new one, or NULL with errno. */
struct rig_page *rig_page_make(uint32_t nodes, uint32_t procs, uint32_t log_bytes);
void rig_page_free(struct rig_page *page); /* NULL is fine */

/* For the next clients, when those before are gone. */
void rig_page_reset(struct rig_page *page);

/* To whom has connected to the rig's door. */
void rig_page_give(const struct rig_page *page, int fd);

/* ---- in a client ---- */

/* The page of the rig with that process id, or NULL with errno. */
struct rig_page *rig_page_get(uint32_t rig);

/* ---- in both ---- */

/* What else a rank writes down; its role knows what. */
void *rig_page_log(struct rig_page *page, uint32_t rank);

/* For role 'count': bytes of a log, and where in it is counted what a rank was told. */
static inline uint32_t rig_count_bytes(uint32_t nodes, uint32_t procs)
{
    return nodes + nodes * procs;
}

static inline _Atomic uint8_t *rig_page_node(struct rig_page *page, uint32_t reader, uint32_t node)
{
    return (_Atomic uint8_t *)rig_page_log(page, reader) + node;
}

static inline _Atomic uint8_t *rig_page_process(struct rig_page *page, uint32_t reader,
                                                uint32_t rank)
{
    return rig_page_node(page, reader, page->nodes + rank);
}

#endif
