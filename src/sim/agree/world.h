/* Agreements of a machine of any size in virtual time: delays, crashes, leases that run out,
 * connections that break.  An oracle stands for detector and spread: it tells every living node of
 * every death, each in its own time. */
#ifndef MU_SIM_AGREE_WORLD_H
#define MU_SIM_AGREE_WORLD_H

#include "core/agree/inside.h"
#include "sim/base/queue.h"
#include "sim/base/random.h"

#include <stdio.h>

enum agree_fault_type {
    AGREE_FAULT_CRASH = 1,
    AGREE_FAULT_LAPSE, /* the lease runs out for a while, or the node is declared dead */
    AGREE_FAULT_RESET, /* the connection of two nodes breaks */
};

enum { AGREE_NOT_IN_UPDATE = UINT32_MAX };

struct agree_fault {
    enum agree_fault_type type;
    mu_slot node, peer;
    uint64_t at_ns;
    uint64_t for_ns;        /* LAPSE, RESET */
    uint32_t after_effects; /* CRASH: of its next update; AGREE_NOT_IN_UPDATE: between two */
    bool declared;          /* LAPSE: it does not come back */
};

struct agree_group_plan {
    const struct mu_span *spans;
    uint32_t span_count;
    uint32_t rounds;
};

struct agree_plan {
    uint64_t seed;
    struct mu_agree_config config; /* 'self' is filled in */
    uint64_t delay_ns_min, jitter_ns_max;
    uint64_t start_ns_max;             /* groups open, and the first calls come */
    uint64_t think_ns_max;             /* between a decision and the next call */
    uint64_t tell_ns_min, tell_ns_max; /* after a death, each living node hears of it */
    uint32_t ack_percent;              /* of the deaths that a node knows, when it calls */
    uint32_t process_percent;          /* of the calls that list a dead process */
    uint32_t silent_percent;           /* of the nodes */
    bool proofs;  /* of every other crash there is proof, which comes apart from the death */
    bool tracked; /* a small world: pairs and contributions are kept one by one */
    const struct agree_group_plan *groups;
    uint32_t group_count;
    const struct agree_fault *faults;
    uint32_t fault_count;
    bool runs_may_fill; /* the fault agree-runs is no breach */
    FILE *trace;
};

/* A message on its way; its lists are in memory of their own. */
struct agree_parcel {
    struct mu_agree_message message;
    uint32_t epoch; /* of the connection */
    uint32_t next;  /* unused ones are a list */
};

struct agree_seat {
    bool alive;
    bool lapsed, declared;
    bool cut; /* crashes in its next update */
    uint32_t cut_after;
    uint32_t sent; /* messages */
};

/* What one node contributed to one agreement, in small worlds. */
struct agree_call {
    struct mu_failed *failed;
    uint32_t count;
    bool silent;
};

/* One agreement, as far as the laws need it. */
struct agree_record {
    uint8_t *decided;              /* by node: how often */
    struct mu_fingerprint *digest; /* by node: of what */
    struct agree_call *calls;      /* by node; small worlds only */
    mu_slot reference;             /* a node that has decided */
};

struct agree_world {
    const struct agree_plan *plan;
    uint32_t size;
    uint32_t living;
    uint8_t *nodes;
    size_t node_bytes;
    struct mu_agree_update update;
    struct agree_seat *seats;
    struct sim_queue queue;
    struct sim_random random;
    struct agree_parcel *parcels;
    uint32_t parcel_count, parcel_capacity, parcel_unused;
    /* by pair of nodes, in small worlds */
    uint64_t *arrives_ns;         /* the last message sent */
    uint32_t *epoch;              /* connections so far */
    uint64_t *open_ns;            /* the present one is there from then on */
    uint64_t *until_ns;           /* what the one before carried arrives until then */
    struct agree_record *records; /* by group and round */
    uint32_t rounds_max;
    uint64_t dead_before, proven_before; /* a bit for each node, in small worlds: what the acting
                                            node knew before its step */
    uint64_t decided_before[4];          /* by group: of the acting node, before its step */
    struct mu_gather before[4];          /* and what it had gathered for the next round */
    uint64_t events;
    uint64_t messages;
    uint64_t last_call_ns, last_decision_ns;
    struct mu_fingerprint digest; /* of all that happened */

    /* The first law that was broken. */
    const char *broken; /* NULL: none */
    uint64_t broken_step;
    char message[256];
};

enum { AGREE_WORLD_GROUPS = 4 };

static inline struct mu_agree *agree_world_node(const struct agree_world *world, mu_slot slot)
{
    return (struct mu_agree *)(void *)(world->nodes + slot * world->node_bytes);
}

static inline struct agree_record *agree_world_record(const struct agree_world *world, uint64_t id,
                                                      uint64_t round)
{
    return &world->records[(id - 1) * world->rounds_max + (round - 1)];
}

/* Is it one of those that the laws are about? */
static inline bool agree_world_lives(const struct agree_world *world, mu_slot slot)
{
    return world->seats[slot].alive && !world->seats[slot].declared;
}

/* Is there proof of its death? */
bool agree_world_has_proof(const struct agree_world *world, mu_slot dead);

void agree_world_init(struct agree_world *world, const struct agree_plan *plan);
void agree_world_free(struct agree_world *world);

/* Until nothing more happens, or a law is broken. */
void agree_world_run(struct agree_world *world, void (*progress)(const struct agree_world *));

/* ---- net.c ---- */

void agree_net_init(struct agree_world *world);
void agree_net_free(struct agree_world *world);
void agree_net_send(struct agree_world *world, mu_slot from, mu_slot to,
                    const struct mu_agree_message *message);

/* The message of an item, or NULL when it got lost; given back afterwards in both cases. */
const struct mu_agree_message *agree_net_take(struct agree_world *world,
                                              const struct sim_item *item);
void agree_net_give_back(struct agree_world *world, uint32_t parcel);
void agree_net_reset(struct agree_world *world, const struct agree_fault *fault);

/* ---- law.c ---- */

void agree_law_init(struct agree_world *world);
void agree_law_free(struct agree_world *world);
void agree_law_fail(struct agree_world *world, const char *law, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void agree_world_law_before(struct agree_world *world, mu_slot slot);
void agree_world_law_after(struct agree_world *world, mu_slot slot,
                           const struct mu_agree_event *event);
void agree_world_law_on_call(struct agree_world *world, mu_slot slot,
                             const struct mu_agree_event *call, uint64_t round);
void agree_world_law_on_deliver(struct agree_world *world, mu_slot slot,
                                const struct mu_agree_effect *effect);
void agree_world_law_on_quiet(struct agree_world *world);

/* ---- what is in the queue ---- */

enum agree_what {
    AGREE_WHAT_OPEN = 1, /* ref: group */
    AGREE_WHAT_CALL,     /* ref: group */
    AGREE_WHAT_MESSAGE,  /* peer: from; ref: parcel */
    AGREE_WHAT_DEAD,     /* peer: who; ref: 1 with proof */
    AGREE_WHAT_FAULT,    /* ref: which */
    AGREE_WHAT_RENEW,
    AGREE_WHAT_RESUME, /* peer */
};

void agree_world_push(struct agree_world *world, enum agree_what what, uint64_t at_ns, mu_slot node,
                      mu_slot peer, uint32_t ref);

#endif
