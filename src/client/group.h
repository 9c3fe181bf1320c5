/* What is behind a struct muster_group.  For the files of this folder only. */
#ifndef MU_CLIENT_GROUP_H
#define MU_CLIENT_GROUP_H

#include "client/handle.h"
#include "wire/local/ballot.h"

/* All but what 'lock' guards is written when it is made, and only read afterwards. */
struct muster_group {
    struct muster *m;
    int fd; /* to the daemon, for this group alone */
    pid_t pid;

    pthread_mutex_t lock; /* of what follows; nobody waits while it has it */
    uint32_t *members;    /* ranks, in order: by number */
    uint32_t size;
    uint32_t *failed; /* ranks, as decisions have told them */
    uint32_t failed_count;
    uint32_t acked;
    uint64_t *gone;  /* a bit for each rank: failed or left, by decisions */
    bool more;       /* the last decision has not told everybody who is gone */
    bool is_pending; /* it has contributed, and there is no decision */
    bool is_broken;  /* of no more use: */
    struct muster_error broken;
};

/* Waits until there may be a packet.  1: look; 0: the time is over; or an errno, negated. */
int mu_client_wait_readable(int fd, uint64_t until_ns);

/* One packet of the daemon, without waiting.  Returns 1, 0 when there is none, or -1 with *error
 * filled. */
int mu_client_ballot(int fd, const char *name, struct mu_ballot *ballot,
                     struct muster_error *error);

/* Joins a group.  With rows 0: all.  Returns NULL with *error filled. */
struct muster_group *mu_client_join(struct muster *m, const struct mu_ballot_row *row,
                                    uint32_t rows, struct muster_error *error);

/* The group that is meant.  NULL with *error filled. */
struct muster_group *mu_client_group(struct muster *m, struct muster_group *group,
                                     struct muster_error *error);

bool mu_client_is_gone(const struct muster_group *group, uint32_t rank);

#endif
