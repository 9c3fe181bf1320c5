/* The virtual world: up to millions of nodes, each the shipping core, in virtual time. */
#ifndef MU_SIM_NODE_WORLD_H
#define MU_SIM_NODE_WORLD_H

#include "core/node.h"
#include "sim/node/law.h"
#include "sim/node/net.h"
#include "sim/base/queue.h"
#include "sim/base/random.h"

#include <stdio.h>

/* What an item of the queue means for its node. */
enum sim_what {
    SIM_FRAME = 1, /* ref: the frame; it came from peer */
    SIM_TIMER,
    SIM_CONNECT,   /* a connection to peer comes about */
    SIM_LINK_DOWN, /* ref: epoch of the connection to peer that it notices to be gone */
    SIM_TELL,      /* the oracle: peer is dead; ref: its incarnation */
    SIM_FAULT,     /* ref: index in the schedule */
    SIM_DIE,       /* a crash that waited for a step to interrupt, and waited in vain */
    SIM_AGAIN,     /* ref: index in the schedule of a post that found no room */
    SIM_MEMBER,    /* a view: peer is in, with incarnation ref */
    SIM_OVER,      /* are the deaths of node, up to incarnation ref, known to all? */
    SIM_FORGET,    /* a later view: the death of peer, incarnation ref, is over */
};

enum sim_fault_type {
    SIM_FAULT_POST = 1, /* not a fault: the node has news for everybody */
    SIM_FAULT_CRASH,    /* node; after_effects: in the middle of its next update */
    SIM_FAULT_STOP,     /* node, for_ns */
    SIM_FAULT_RESET,    /* node, peer */
    SIM_FAULT_SPLIT,    /* slots below 'node' against the rest, for_ns */
    SIM_FAULT_REFUSE,   /* node, peer, for_ns: between them connections are reset and refused */
    SIM_FAULT_FENCE,    /* node is told that it is dead itself: 'id' */
    SIM_FAULT_RETURN,   /* no fault either: node comes back, or comes for the first time */
};

#define SIM_NOT_IN_UPDATE UINT32_MAX

struct sim_fault {
    enum sim_fault_type type;
    uint64_t at_ns;
    mu_slot node, peer;
    uint64_t for_ns;
    uint32_t after_effects; /* of CRASH: effects of the next update that still happen, or
                               SIM_NOT_IN_UPDATE */
    bool host_lives;        /* of CRASH: peers see the connection close */
    struct mu_notice_id id; /* of POST: a process death; kind PAYLOAD lets the node number it.  Of
                               FENCE: its own death */
};

struct sim_recorder;

/* Everything that differs between runs. */
struct sim_plan {
    uint64_t seed;
    struct mu_config config; /* 'self' is filled in */
    struct sim_net_plan net;
    bool links_up;                     /* the graph is connected before the start */
    bool calm;                         /* nothing fails, and delays are short: S4 holds */
    bool flood;                        /* more is posted than there is room for: it is posted again
                                          and pushed back, which is no fault */
    bool tight;                        /* likewise, and so little room that all but deaths of nodes
                                          may wait for ever */
    uint64_t death_ns_max;             /* not 0: what S8 allows */
    uint64_t member_ns_max;            /* how long a view takes to everybody */
    uint64_t over_ns;                  /* not 0: so long after a death it may be over */
    uint64_t tell_ns_min, tell_ns_max; /* how long the oracle takes */
    uint32_t told_max;                 /* how many it tells of one death */
    bool root_at_dead;                 /* verdicts of the oracle hang from the dead node */
    uint64_t late_tell_ns;             /* not 0: once more so long after each death, as by a witness
                                          that speaks late */
    bool proofs;                       /* some of its verdicts have proof, others of the same death
                                          have none */
    uint64_t neighbours_see_ns;        /* not 0: all neighbours of a dead node are told, each
                                          within this time, and nobody else */
    struct sim_fault *faults;          /* of the caller */
    uint32_t fault_count;
    FILE *trace;                   /* readable events; NULL: none */
    struct sim_recorder *recorder; /* writes what enters one node's core; NULL: nothing */
    /* Real detectors are told what a node tells its clients; then the oracle is silent.  NULL: none
     * are there. */
    void (*told)(void *detectors, mu_slot slot, const struct mu_notice *notice);
    void *detectors;
};

/* What the world knows of one node besides its core. */
struct sim_seat {
    uint64_t timer_at_ns[MU_TIMERS]; /* when its item is due; MU_NEVER: none */
    uint64_t stopped_until_ns;
    uint64_t lost_after_ns; /* of the dead: what would arrive later was still in the host */
    uint32_t crash_after;   /* effects of the next update that still happen, or SIM_NOT_IN_UPDATE */
    uint32_t incarnation;   /* the last one that started; 0: none did */
    uint32_t proven;        /* the last one of whose death somebody was given proof */
    uint32_t members;       /* that this one was told of, since it started */
    bool alive;
    uint64_t started_ns; /* when this incarnation did */
} __attribute__((aligned(64)));

/* The incarnations of one node that ever started. */
enum { SIM_LIVES_MAX = 16 };

struct sim_lives {
    uint32_t of[SIM_LIVES_MAX];
    uint32_t count;
};

enum { SIM_PAYLOAD_MAX = 48 };

/* What many copies on their way have in common. */
struct sim_content {
    struct mu_notice_id id;
    mu_slot root;
    uint16_t length;
    uint8_t payload[SIM_PAYLOAD_MAX];
};

/* A frame on its way; millions at once. */
struct sim_frame {
    uint64_t age_ns;
    uint32_t sequence, ack;
    uint32_t content; /* index; UINT32_MAX: it carries no notice */
    uint32_t epoch;
    uint32_t incarnation; /* of who sent it */
    uint16_t hops;
    uint8_t type;
};

struct sim_world {
    const struct sim_plan *plan;
    uint32_t size; /* slots: founders, and room for those who join */
    struct sim_random random;
    struct sim_queue queue;
    uint64_t busy;   /* items in the queue, without these two and the timers that forget */
    uint64_t tells;  /* items of the oracle */
    uint64_t again;  /* posts that wait for room */
    bool at_rest;    /* only forgetting is left */
    mu_slot fencing; /* who is being told of its own death; MU_SLOT_NONE: nobody */
    uint64_t events;
    struct mu_fingerprint digest; /* of the whole sequence of events */

    uint8_t *memory; /* the nodes */
    size_t node_bytes;
    struct mu_update update;
    struct sim_seat *seats; /* by node */
    uint32_t living;
    uint32_t crashes, returns;
    struct sim_lives *lives; /* by node; NULL: nobody comes back */

    struct sim_content *contents;
    uint32_t content_count, content_capacity;
    struct sim_frame *frames;
    uint32_t *free_frames;
    uint32_t frame_count, frame_capacity, free_count;

    struct sim_net net;
    struct sim_law law;
};

/* Builds the world.  'plan' outlives it. */
void sim_world_init(struct sim_world *world, const struct sim_plan *plan);
void sim_world_free(struct sim_world *world);

/* Runs until nothing is left to happen, or a law is broken.  'progress' is called now and then. */
void sim_world_run(struct sim_world *world, void (*progress)(const struct sim_world *));

/* The same for a driver with a queue of its own making: it starts the nodes, takes items from
 * world->queue and hands over those that are the world's, until the world is calm. */
void sim_world_start(struct sim_world *world);
void sim_world_take(struct sim_world *world, const struct sim_item *item);
bool sim_world_is_calm(const struct sim_world *world);

/* The node dies now. */
void sim_world_crash(struct sim_world *world, mu_slot slot, bool host_lives);

struct mu_node *sim_world_node(const struct sim_world *world, mu_slot slot);

static inline bool sim_world_alive(const struct sim_world *world, mu_slot slot)
{
    return world->seats[slot].alive;
}

/* Any node that lives. */
mu_slot sim_world_draw_living(struct sim_world *world);

/* For net.c: put an item into the queue, and take a step of one node. */
void sim_world_push(struct sim_world *world, uint64_t at_ns, enum sim_what what, mu_slot node,
                    mu_slot peer, uint32_t ref);
void sim_world_step(struct sim_world *world, mu_slot slot, struct mu_event *event);

#endif
