/* Beats in and out of one UDP socket, in batches, with their tags, and counted.
 * Whoever includes it defines _GNU_SOURCE, for struct mmsghdr. */
#ifndef MU_DAEMON_HEART_DATAGRAMS_H
#define MU_DAEMON_HEART_DATAGRAMS_H

#include "daemon/heart/datagrams_late.h"
#include "daemon/heart/heartbeat.h"

#include <sys/socket.h>

/* In and out.  Few, so that what one beat touches lies close together: a daemon sleeps for most of
 * its time, and its memory is cold when it wakes up. */
enum { MU_DATAGRAMS_BATCH = 8 };

/* Counts are written by one thread, and may be read by another at any time. */
static inline void mu_count_set(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline void mu_count(uint64_t *word, uint64_t more)
{
    mu_count_set(word, *word + more);
}

struct mu_datagrams {
    /* Given by the caller. */
    int fd;
    mu_slot self;
    uint32_t size;                               /* of the machine */
    const union mu_heartbeat_address *addresses; /* by slot */
    socklen_t address_bytes;
    struct mu_beat_key key;
    struct mu_heartbeat_counts *counts;
    /* Both may change at any time. */
    struct mu_harm harm;
    struct mu_late *late; /* for what 'harm' makes late; NULL: there is no such fault */
    uint64_t now_ns;      /* of the caller's round: 'late' needs it */

    uint32_t room; /* datagrams that the kernel keeps for this socket, at most */
    uint32_t out_count;
    struct mmsghdr in[MU_DATAGRAMS_BATCH], out[MU_DATAGRAMS_BATCH];
    struct iovec in_part[MU_DATAGRAMS_BATCH], out_part[MU_DATAGRAMS_BATCH];
    /* One byte more than any good one has, so that a longer one is seen. */
    uint8_t in_bytes[MU_DATAGRAMS_BATCH][MU_DATAGRAM_BYTES + 1];
    uint8_t out_bytes[MU_DATAGRAMS_BATCH][MU_DATAGRAM_BYTES];
};

/* When what the caller gives is there, and all else is zero. */
void mu_datagrams_init(struct mu_datagrams *datagrams);

/* The next batch.  Returns how many; fewer than MU_DATAGRAMS_BATCH: the socket was empty then. */
uint32_t mu_datagrams_receive(struct mu_datagrams *datagrams);

/* One of that batch.  False: it was bad, or a fault on purpose has it; and counted. */
bool mu_datagrams_open(struct mu_datagrams *datagrams, uint32_t number, struct mu_beat *beat);

/* A beat of this node to another one.  It leaves with the next flush, or with a full batch. */
void mu_datagrams_send(struct mu_datagrams *datagrams, const struct mu_beat *beat);
void mu_datagrams_flush(struct mu_datagrams *datagrams);

/* What was held back and is due now: sends what is to be sent, until there is one that came in.
 * False: there is none. */
bool mu_datagrams_late(struct mu_datagrams *datagrams, struct mu_beat *beat);

#endif
