/* One series of exchanges: every member of a group gives a part, and each gets the parts of all.
 *
 * docs/spec/exchange.md has the rules, the laws, and why they hold.  Nothing here knows bytes: a
 * part is the bit of its member, and whoever drives this keeps what belongs to it, by round and
 * member.
 *
 * Members stand in the tree of core/base/tree.h.  A member is out when its node is dead or when
 * nobody who takes part lives there any more; that only grows, and all hear of it in the end, each
 * in its own time.  Messages between two that live come in order, none lost, none twice.
 *
 * Exchanges of a series follow each other and are its rounds, from 1 on: the next call comes after
 * the last result was delivered. */
#ifndef MU_CORE_GATHER_GATHER_H
#define MU_CORE_GATHER_GATHER_H

#include "core/base/arena.h"
#include "core/base/roster.h"
#include "core/base/fingerprint.h"
#include "core/base/members.h"

/* Rules that a test breaks on purpose.  Zero in every daemon. */
enum mu_allgather_broken {
    MU_ALLGATHER_BROKEN_AGAIN = 1u << 0,  /* X2: a new parent is sent nothing */
    MU_ALLGATHER_BROKEN_ANSWER = 1u << 1, /* X4: who has the result does not answer */
    MU_ALLGATHER_BROKEN_ASKERS = 1u << 2, /* X5: only children are told, and none who asked */
    MU_ALLGATHER_BROKEN_WANT = 1u << 3,   /* X6: a new root asks nobody for the result */
    MU_ALLGATHER_BROKEN_COVER = 1u << 4,  /* X2, X3: nobody waits for others */
    MU_ALLGATHER_BROKEN_FORGET = 1u << 5, /* X8: a result is forgotten at the next call */
};

struct mu_allgather_config {
    uint32_t size; /* of the machine */
    mu_slot self;
    uint8_t shift;               /* the tree's fan-out is 2^shift */
    const struct mu_span *spans; /* the members, of whom self is one; in order, with gaps */
    uint32_t span_count;
    uint64_t done; /* rounds that were done before, of a series that was forgotten meanwhile */
    uint32_t broken_rules; /* enum mu_allgather_broken */
};

/* NULL, or the rule that the configuration breaks. */
const char *mu_allgather_config_error(const struct mu_allgather_config *config);

enum mu_allgather_type {
    MU_ALLGATHER_UP = 1, /* to the parent: with what came before, all parts from here on down */
    MU_ALLGATHER_DOWN,   /* with what came before, the result */
    MU_ALLGATHER_WANT,   /* of a new root to a child: the result, if you have it or when you do */
    MU_ALLGATHER_PART, /* more parts; another message follows.  The core does not send it: a driver
                       may, before UP or DOWN, if all parts are too much for one message */
    MU_ALLGATHER_TYPE_LAST = MU_ALLGATHER_PART,
};

/* Sets of members are bits by position, 64 to a word, the lowest first. */
struct mu_allgather_message {
    uint8_t type; /* enum mu_allgather_type */
    uint64_t round;
    const uint64_t *parts; /* whose; WANT: NULL */
};

enum mu_allgather_event_type {
    MU_ALLGATHER_CALL = 1, /* this node's part of the next round is there */
    MU_ALLGATHER_RECV,
    MU_ALLGATHER_OUT, /* that member is out; this node itself: nobody here waits any more */
};

struct mu_allgather_event {
    enum mu_allgather_event_type type;
    mu_slot slot;                               /* RECV: from whom; OUT: who */
    const struct mu_allgather_message *message; /* RECV */
};

enum mu_allgather_effect_type {
    MU_ALLGATHER_SEND = 1,
    MU_ALLGATHER_DELIVER, /* the result is there, or of one that is out: all that there will be */
    MU_ALLGATHER_FORGET,  /* nobody will ask for the parts of this round any more */
    MU_ALLGATHER_FAULT,   /* the event has changed nothing: what 'peer' said breaks a rule; without
                             one, the driver's own call did */
};

/* Valid until the next step. */
struct mu_allgather_effect {
    enum mu_allgather_effect_type type;
    mu_slot peer;                        /* SEND, FAULT */
    enum mu_fault fault;                 /* FAULT */
    struct mu_allgather_message message; /* SEND; DELIVER: round and parts; FORGET: round */
};

struct mu_allgather_update {
    struct mu_allgather_effect
        *effects; /* of the caller, with room for mu_allgather_effects_max() */
    uint32_t count, capacity;
};

/* Rounds that can matter at a time: the last one that is done, the next, and one more, which those
 * may have begun who were done before this node. */
enum { MU_ALLGATHER_ROUNDS = 3 };

struct mu_allgather_round {
    uint64_t *have;  /* whose parts are here */
    uint64_t *asks;  /* who is to be told the result, besides children */
    uint64_t *asked; /* whom this node has asked for it */
    mu_slot up_to;   /* who was sent all of it; MU_SLOT_NONE: nobody */
    bool called;
};

struct mu_allgather {
    struct mu_allgather_config config; /* without the spans */
    struct mu_members members;
    struct mu_roster out;
    uint64_t *out_bits;
    uint32_t words; /* of one set */
    uint32_t position;
    uint64_t done; /* the last round with a result here; 0: none */
    bool retired;  /* this node is out */
    bool forgot;   /* the result of that round; by a broken rule only */
    struct mu_allgather_round rounds[MU_ALLGATHER_ROUNDS]; /* by number modulo that */
};

/* As mu_node_bytes() and mu_node_init(): all state is in the caller's memory, 64-byte aligned.  The
 * spans need not stay. */
size_t mu_allgather_bytes(const struct mu_allgather_config *config);
struct mu_allgather *mu_allgather_init(void *memory, size_t bytes,
                                       const struct mu_allgather_config *config);

/* The most effects of one step. */
uint32_t mu_allgather_effects_max(const struct mu_allgather_config *config);

/* The one door.  One that is out itself accepts every event and does nothing. */
void mu_allgather_step(struct mu_allgather *gather, const struct mu_allgather_event *event,
                       struct mu_allgather_update *update);

/* Would a message of this round with that member's part bring something new? */
bool mu_allgather_lacks(const struct mu_allgather *gather, uint64_t round, uint32_t position);

bool mu_allgather_is_out(const struct mu_allgather *gather, uint32_t position);

/* What the next step depends on, and nothing else. */
void mu_allgather_fingerprint(const struct mu_allgather *gather, struct mu_fingerprint *print);

static inline bool mu_allgather_in(const uint64_t *set, uint32_t position)
{
    return (set[position / 64] >> position % 64 & 1) != 0;
}

static inline void mu_allgather_put(uint64_t *set, uint32_t position)
{
    set[position / 64] |= UINT64_C(1) << position % 64;
}

#endif
