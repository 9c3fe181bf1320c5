/* What central detectors say to each other: small, unordered, may be lost, repeated or late. */
#ifndef MU_CORE_CENTRAL_POLL_H
#define MU_CORE_CENTRAL_POLL_H

#include "core/base/types.h"

enum mu_poll_type {
    MU_POLL_POLL = 1, /* master to host: are you there?  Acknowledges, and grants */
    MU_POLL_ANSWER,   /* host to master */
    MU_POLL_ASK,      /* master to helper: can you reach 'subject'? */
    MU_POLL_TRY,      /* helper to suspect */
    MU_POLL_TRIED,    /* suspect to helper */
    MU_POLL_REPLY,    /* helper to master: 'reach' says how far it came */
    MU_POLL_MISSED,   /* member to a lower one: 'subject', the master, polls me no more */
    MU_POLL_PRESENT,  /* back: I live */
    MU_POLL_DEAD,     /* to a node that was declared dead: know it */
    MU_POLL_LAST = MU_POLL_DEAD,
};

/* Fields that a type does not use are zero. */
struct mu_poll {
    uint8_t type;  /* enum mu_poll_type */
    uint8_t reach; /* REPLY: enum mu_reach */
    bool follows;  /* ANSWER: the receiver is the sender's master, and it vouches for it */
    mu_slot from;
    mu_slot to;
    uint32_t from_incarnation;
    uint32_t to_incarnation;
    uint64_t view;     /* POLL, ANSWER: the sender's */
    uint64_t hash;     /* of that view */
    uint64_t cycle;    /* POLL; ANSWER returns it */
    uint64_t nonce;    /* POLL: above all before of this sender's incarnation; ANSWER returns it */
    uint64_t stamp_ns; /* POLL, ASK, MISSED: when sent, on the sender's clock; the answers, TRY and
                          TRIED return it */
    uint64_t clock_ns; /* ANSWER, PRESENT: when sent, on the sender's clock */
    uint64_t acked_ns; /* POLL: clock of the receiver's newest answer that came; MISSED: clock of
                          its newest PRESENT; 0: none */
    uint64_t
        grant_ns; /* POLL: nobody declares the receiver until so long after acked_ns, on its
                     own clock; 0: nothing is granted.  ANSWER: the last one that was granted */
    /* ASK, REPLY: the suspect.  TRY, TRIED: who asked the helper.  MISSED: the master that is
     * missed.  DEAD: the receiver. */
    mu_slot subject;
    uint32_t subject_incarnation;
};

#endif
