/* Recommended groups in virtual time: processes that are slow for a while, stalls of all, late
 * testers, links that lose answers, crashes, also in the middle of a step.
 *
 * Two services are ideal, and no better than muster's: notices reach all that live, unless all that
 * have heard them fail first; and agreements (meeting.c).  Tests are measured on a grid of
 * intervals: in each one a process makes its three runs, and tells every tester the same. */
#ifndef MU_SIM_ADVISE_WORLD_H
#define MU_SIM_ADVISE_WORLD_H

#include "core/advise/inside.h"
#include "sim/base/queue.h"
#include "sim/base/random.h"

#include <stdio.h>

#define ADVISE_INTERVAL_NS UINT64_C(1000000000)
#define ADVISE_RUN_NS      UINT64_C(1000000)

enum { ADVISE_TRACKED_MAX = 64, ADVISE_WELL = 100 };

enum advise_fault_type {
    ADVISE_SLOW = 1, /* a process takes 'percent' of its time, for a while */
    ADVISE_STALL,    /* all do */
    ADVISE_LATE,     /* a tester's timer is late, and part of the answers does not count for it */
    ADVISE_BAD_LINK, /* no answer between two */
    ADVISE_CRASH,
};

enum { ADVISE_NOT_IN_STEP = UINT32_MAX };

struct advise_fault {
    enum advise_fault_type type;
    mu_slot node, peer;
    uint32_t first, last; /* intervals */
    uint32_t percent;
    uint32_t after_effects; /* CRASH: of the next step that decides; ADVISE_NOT_IN_STEP: at once */
};

struct advise_plan {
    uint64_t seed;
    struct mu_advise_config config; /* 'self' is filled in */
    const struct advise_fault *faults;
    uint32_t fault_count;
    uint32_t noise_percent;
    uint32_t busy;          /* intervals with faults */
    uint32_t end;           /* intervals */
    uint64_t work_ns_max;   /* of a round, for one that is well */
    uint64_t tell_ns_max;   /* a notice, the news of a death */
    uint64_t decide_ns_max; /* from the last contribution to a decision */
    bool tracked;           /* a small world, with the laws of pairs */
    FILE *trace;
};

/* One agreement: of a boundary, or of all (meeting.c). */
struct advise_meeting {
    struct mu_advise_key key; /* round 0: the agreement 'number' of all */
    uint32_t number;
    uint8_t *said, *planned; /* by slot: has contributed, will decide */
    uint8_t *decided;        /* the present decision */
    uint32_t parts;          /* that have not contributed, and live */
    mu_advise_word *words;   /* of all, each with its speaker beside it */
    mu_slot *speakers;
    uint32_t word_count, word_capacity;
    uint64_t *bits; /* by slot; of the agreement of all: is no member */
    uint8_t *takes_part;
    struct mu_advise_gather value; /* the present decision */
    mu_slot *failed;
    uint32_t failed_count;
    bool any, no_member;
    mu_slot last;      /* that has decided */
    uint64_t first_ns; /* the first contribution */
};

/* A notice on its way. */
struct advise_parcel {
    uint8_t type;
    struct mu_advise_group group;
    uint32_t number;
    mu_slot from;
    uint8_t *heard; /* by slot */
    uint32_t waits; /* deliveries to come */
    bool lost;
};

struct advise_seat {
    bool alive;
    bool cut;
    uint32_t cut_after;
    uint32_t ticks; /* the interval that ends next */
    uint64_t offset_ns;
    uint64_t contributed_ns; /* 0: not to its present boundary */
    uint64_t entered_ns;
    uint32_t tests, tests_max;
    mu_slot *asked;
    uint32_t asked_count;
};

/* What the laws know of a pair, by their own count. */
struct advise_pair {
    uint32_t era, own_stint, stint; /* in which it was counted */
    uint8_t failed, tests;
    uint32_t passes;
    uint32_t third; /* the interval of its third test */
    bool accused;   /* as its tester has said */
};

struct advise_record {
    uint32_t era;
    uint64_t round;
    uint64_t *hash; /* by slot; 0: did not work in it */
};

struct advise_world {
    const struct advise_plan *plan;
    uint32_t size, living;
    uint8_t *nodes;
    size_t node_bytes;
    struct mu_advise_update update;
    struct advise_seat *seats;
    struct sim_queue queue;
    struct sim_random random;
    struct advise_meeting *meetings;
    uint32_t meeting_count, meeting_capacity;
    struct advise_parcel *parcels;
    uint32_t parcel_count, parcel_capacity;
    uint8_t *slow;        /* by slot: percent / 10, in this interval of the grid */
    uint32_t *slow_since; /* by slot: at least 3x; UINT32_MAX: not */
    uint32_t *well_since; /* by slot */
    uint32_t stall_percent;
    uint32_t interval; /* of the grid */
    /* laws */
    struct advise_pair *pairs; /* tester, tested */
    uint8_t *sound; /* by tester: intervals in a row in which its median was that of well ones */
    uint32_t *bad_until; /* tester, tested: the first interval after a bad one */
    uint8_t *accused_by; /* by parity of the round, slot, tested: what it contributed */
    uint32_t *passes_by; /* likewise */
    struct advise_record *records;
    uint32_t record_count, record_capacity;
    uint64_t events;
    uint64_t tests;
    uint64_t rounds, exits, returns, foundings;
    uint32_t round_words_max;
    struct mu_fingerprint digest;
    const char *broken; /* NULL: none */
    uint64_t broken_step;
    char message[256];
};

enum advise_what {
    ADVISE_WHAT_GRID = 1, /* the next interval of the grid */
    ADVISE_WHAT_TICK,
    ADVISE_WHAT_ARRIVE,
    ADVISE_WHAT_BEGUN,  /* ref: meeting */
    ADVISE_WHAT_DECIDE, /* ref: meeting */
    ADVISE_WHAT_NOTICE, /* ref: parcel */
    ADVISE_WHAT_DEAD,   /* peer */
    ADVISE_WHAT_CRASH,  /* ref: fault */
};

static inline struct mu_advise *advise_at(const struct advise_world *world, mu_slot slot)
{
    return (struct mu_advise *)(void *)(world->nodes + slot * world->node_bytes);
}

void advise_world_init(struct advise_world *world, const struct advise_plan *plan);
void advise_world_free(struct advise_world *world);

/* Up to that time, or the first event after it; false: a law is broken. */
bool advise_world_run_until(struct advise_world *world, uint64_t until_ns);

/* All of the plan, and then what is to hold in the end. */
void advise_world_run(struct advise_world *world);

void advise_push(struct advise_world *world, enum advise_what what, uint64_t after_ns, mu_slot node,
                 mu_slot peer, uint32_t ref);
uint64_t advise_draw_ns(struct advise_world *world, uint64_t most_ns);

/* Has a tester asked in this stint? */
bool advise_is_asked(const struct advise_world *world, mu_slot tester, mu_slot tested);

/* ---- meeting.c ---- */

struct advise_meeting *advise_meeting_of(struct advise_world *world,
                                         const struct mu_advise_group *group);
struct advise_meeting *advise_meeting_of_all(struct advise_world *world, uint32_t number);
void advise_meeting_say(struct advise_world *world, struct advise_meeting *meeting, mu_slot slot,
                        const struct mu_advise_value *value);

/* One that lives decides: the same as all others that live. */
void advise_meeting_decide(struct advise_world *world, struct advise_meeting *meeting,
                           mu_slot slot);

/* Somebody failed: nobody waits for it any more. */
void advise_meetings_lose(struct advise_world *world, mu_slot slot);
void advise_meeting_free(struct advise_meeting *meeting);

/* ---- law.c ---- */

void advise_law_init(struct advise_world *world);
void advise_law_free(struct advise_world *world);
void advise_law_fail(struct advise_world *world, const char *law, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A tester has its answers of an interval: by slot, MU_NEVER for none. */
void advise_law_tests(struct advise_world *world, mu_slot tester, const uint64_t *times,
                      uint64_t own_ns, bool late);
void advise_law_accuses(struct advise_world *world, mu_slot tester, mu_slot accused);
void advise_law_contributes(struct advise_world *world, mu_slot slot);
void advise_law_decides(struct advise_world *world, mu_slot slot,
                        const struct mu_advise_group *from, const struct mu_advise_group *to,
                        const struct advise_meeting *meeting);
void advise_law_enters(struct advise_world *world, mu_slot slot,
                       const struct mu_advise_group *group);
void advise_law_end(struct advise_world *world);

#endif
