/* What detectors say to each other: small, unordered, may be lost, repeated or late. */
#ifndef MU_CORE_RING_BEAT_H
#define MU_CORE_RING_BEAT_H

#include "core/base/types.h"

enum mu_beat_type {
    MU_BEAT_WATCH = 1, /* observer: beat to me, with this nonce, period and timeout */
    MU_BEAT_BEAT,      /* watched: I live */
    MU_BEAT_ACK,       /* observer: that beat has arrived; extends the lease */
    MU_BEAT_RELEASE,   /* observer: beat to me no more */
    MU_BEAT_PROBE,     /* are you there? */
    MU_BEAT_ANSWER,    /* yes */
    MU_BEAT_ASK,       /* observer to helper: can you reach 'subject'? */
    MU_BEAT_REPLY,     /* helper to observer: 'reach' says how far it came */
    MU_BEAT_TAKE,      /* observer to helper: you reach 'subject', I don't: observe it for me */
    MU_BEAT_DEAD,      /* to a node that was declared dead and speaks: know it */
    MU_BEAT_LAST = MU_BEAT_DEAD,
};

/* What a helper says of a suspect. */
enum mu_reach {
    MU_REACH_NONE = 0, /* no reply of the helper */
    MU_REACH_TRYING,   /* the helper lives and has asked the suspect */
    MU_REACH_HEARD,    /* the suspect has answered the helper */
    MU_REACH_DEAD,     /* the helper knows that the suspect is dead */
    MU_REACH_TAKEN,    /* answers TAKE: the helper observes the suspect in the asker's place */
    MU_REACH_LAST = MU_REACH_TAKEN,
};

/* Fields that a type does not use are zero. */
struct mu_beat {
    uint8_t type;  /* enum mu_beat_type */
    uint8_t reach; /* REPLY: enum mu_reach */
    mu_slot from;
    mu_slot to;
    uint32_t from_incarnation;
    uint32_t to_incarnation; /* as the sender knows it: a beat to another one is dropped.  0: the
                                sender has not heard the receiver yet, and means whichever it is */
    /* WATCH, PROBE, ASK: fresh, and greater than all before of this sender's incarnation.  Whoever
     * answers returns it.  BEAT, ACK, RELEASE: that of the watch.  TAKE: fresh; its REPLY returns
     * it.  A PROBE that a helper sends carries the nonce and stamp of the ASK. */
    uint64_t nonce;
    uint64_t stamp_ns; /* BEAT, PROBE, ASK: when sent, on the sender's clock; ACK, ANSWER and
                          REPLY return it */
    /* BEAT: the newest stamp that came back from this watcher; 0: none yet.  ANSWER: the time on
     * the sender's clock, so that beats from before are old; a helper's REPLY passes it on. */
    uint64_t acked_ns;
    uint64_t period_ns;  /* WATCH, TAKE */
    uint64_t timeout_ns; /* WATCH, TAKE */
    /* ASK, REPLY, TAKE: the suspect.  DEAD: who is dead, the receiver.
     * WATCH: in whose place the sender observes; mostly the sender itself.
     * PROBE, ANSWER: who wants to know; the sender of the PROBE itself, or who asked it to help.
     * RELEASE: who is observed no more; the receiver, or what the receiver has taken. */
    mu_slot subject;
    uint32_t subject_incarnation;
};

#endif
