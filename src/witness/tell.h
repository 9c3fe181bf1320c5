/* The witness speaks: tells MU_TELL_WANTED neighbours of a daemon that has ended, over a sealed
 * connection each, first that it is dead, and on the same connection that its processes are gone.
 * Who does not answer in time is left, and the next one on the list is tried; who was left is tried
 * again when nobody else is there.  Never blocks: the caller polls. */
#ifndef MU_WITNESS_TELL_H
#define MU_WITNESS_TELL_H

#include "net/seal.h"
#include "witness/page.h"
#include "wire/base/exit_kind.h"

#include <poll.h>

enum { MU_TELL_WANTED = 3 };

struct mu_tell_call {
    int fd;        /* -1: not in use */
    uint32_t whom; /* on the list */
    bool connecting, open;
    bool heard_dead, said_gone, heard_gone;
    uint64_t until_ns; /* for what it waits for now; MU_NEVER: for nothing */
    struct mu_seal seal;
    uint8_t buffer[MU_SEAL_WITNESS_MAX + MU_SEAL_CIPHER_EXTRA];
};

struct mu_tell {
    const uint8_t *key;
    struct mu_hello self; /* the daemon that has ended */
    struct mu_exit_kind how;
    uint64_t ended_ns;
    bool gone;
    struct mu_witness_list list;
    bool called[MU_WITNESS_NEIGHBOURS];    /* now, or told all of it */
    uint32_t tries[MU_WITNESS_NEIGHBOURS]; /* that failed */
    uint64_t not_before[MU_WITNESS_NEIGHBOURS];
    uint32_t told; /* so many know all of it */
    struct mu_tell_call calls[MU_TELL_WANTED];
};

/* The key is the caller's, and there until the end.  'self' has machine, size, from and incarnation
 * of the daemon, which ended at ended_ns as 'how' says.  Makes the first calls. */
void mu_tell_begin(struct mu_tell *tell, const uint8_t *key, const struct mu_hello *self,
                   const struct mu_witness_list *list, const struct mu_exit_kind *how,
                   uint64_t ended_ns);

/* No process of the node is left. */
void mu_tell_gone(struct mu_tell *tell, uint64_t now_ns);

/* What to poll for, in MU_TELL_WANTED places, and until when; MU_NEVER: no limit. */
void mu_tell_polls(const struct mu_tell *tell, struct pollfd polls[MU_TELL_WANTED]);
uint64_t mu_tell_due_ns(const struct mu_tell *tell);

/* After poll(), with what it has filled in. */
void mu_tell_step(struct mu_tell *tell, const struct pollfd polls[MU_TELL_WANTED], uint64_t now_ns);

/* As many as there are, and no more than are wanted, know that it is dead; know all of it. */
bool mu_tell_is_heard(const struct mu_tell *tell);
bool mu_tell_is_over(const struct mu_tell *tell);

/* Closes and wipes. */
void mu_tell_end(struct mu_tell *tell);

#endif
