/* Views in virtual time: random delays, connections that break, crashes, stalls, cuts, joins,
 * returns, leaves.
 *
 * Each start of a node is a process with an incarnation of its own, as in the explorer.  The ring
 * is what docs/spec/view.md says that it owes, in times: ring.c. */
#ifndef MU_SIM_VIEW_WORLD_H
#define MU_SIM_VIEW_WORLD_H

#include "core/view/inside.h"
#include "sim/base/queue.h"
#include "sim/base/random.h"

#include <stdio.h>

enum view_fault_type {
    VIEW_FAULT_CRASH = 1,
    VIEW_FAULT_STALL, /* does nothing for a while; from half a timeout on its lease ends */
    VIEW_FAULT_RESET, /* the connection of two nodes breaks: what is on its way is lost */
    VIEW_FAULT_CUT,   /* ids are on two sides, by 'sides' */
    VIEW_FAULT_HEAL,
    VIEW_FAULT_START, /* of a node that does not run: it joins, or comes back */
    VIEW_FAULT_LEAVE,
};

enum { VIEW_NOT_IN_UPDATE = UINT32_MAX, VIEW_NOBODY = UINT32_MAX, VIEW_WORLD_NUMBERS = 4096 };

struct view_fault {
    enum view_fault_type type;
    mu_slot id, peer;
    uint64_t at_ns;
    uint64_t for_ns;        /* STALL, RESET */
    uint64_t sides;         /* CUT: a bit for each id, modulo 64 */
    uint32_t after_effects; /* CRASH: of its next update; VIEW_NOT_IN_UPDATE: between two */
    bool proven;            /* CRASH: its witness tells of it, with its last word */
};

struct view_plan {
    uint64_t seed;
    struct mu_view_config config; /* 'self' and 'incarnation' are filled in */
    uint32_t founders;            /* the first ids; the others join later */
    uint32_t starts;              /* processes that there can be */
    uint64_t delay_ns_min, jitter_ns_max;
    uint64_t timeout_ns;
    bool comes_back; /* whose node stopped starts it again */
    bool proofs;     /* some crash is proven, or somebody leaves: 'told' is about the others */
    bool halts;      /* the law 'halt' holds in this world */
    const struct view_fault *faults;
    uint32_t fault_count;
    FILE *trace;
};

/* A message on its way, or a heartbeat's mark; its lists are in memory of their own. */
struct view_parcel {
    struct mu_view_message message;
    struct view_parcel *next;
};

/* From one process to another, in order. */
struct view_way {
    struct view_parcel *first, *last;
    uint64_t arrives_ns; /* the last message sent */
    uint64_t open_ns;    /* there is a connection from then on */
    uint32_t epoch;      /* items in the queue of another one are void */
};

struct view_seat {
    struct mu_view_member member;
    bool alive, lapsed, proven;
    bool declared;   /* dead to somebody while it runs */
    bool cut;        /* crashes in its next update */
    bool cut_proven; /* and there is proof */
    uint32_t cut_after;
    uint32_t watch;      /* on whose watch its lease ended; VIEW_NOBODY: it never had one */
    uint32_t watched;    /* whom it observes, */
    uint64_t watched_ns; /* and since when */
    uint64_t silent_ns;  /* it crashed, or its last stall began */
    uint64_t stalled_ns; /* it does nothing until then */
    uint64_t born_ns;
    uint64_t lapsed_ns;       /* its last lease ended */
    uint64_t asked_ns;        /* when it first wanted to join; 0: not yet */
    struct mu_view_word word; /* the last */
    uint64_t told;            /* number of the view told last */
};

struct view_world {
    const struct view_plan *plan;
    uint32_t starts;
    uint32_t born;
    uint8_t *nodes;
    size_t node_bytes;
    struct mu_view_update update;
    struct view_seat *seats;
    struct view_way *ways; /* by pair of processes, as the next three */
    bool *knew;            /* who is dead to whom, or was when that ended */
    bool *worded;          /* whose last word it has */
    bool *noticed;         /* a notice of that death is under way to it */
    struct sim_queue queue;
    struct sim_random random;
    uint64_t sides;
    uint64_t cut_ns; /* when that came */
    bool is_cut, was_cut;
    uint64_t active_ns;                 /* until then something happens besides ticks */
    uint64_t *told[VIEW_WORLD_NUMBERS]; /* hashes by process; NULL: nobody told that number */
    uint64_t events, crashes;

    /* The first law that was broken. */
    const char *broken; /* NULL: none */
    uint64_t broken_step;
    char message[256];
};

static inline struct mu_view *view_world_node(const struct view_world *world, uint32_t process)
{
    return (struct mu_view *)(void *)(world->nodes + process * world->node_bytes);
}

static inline size_t view_world_pair(const struct view_world *world, uint32_t a, uint32_t b)
{
    return (size_t)a * world->starts + b;
}

static inline bool view_world_breaks(const struct view_world *world, uint32_t rule)
{
    return (world->plan->config.broken_rules & rule) != 0;
}

static inline bool view_world_has_lease(const struct view_world *world, uint32_t process)
{
    return world->seats[process].alive && !world->seats[process].lapsed;
}

static inline bool view_world_stalls(const struct view_world *world, uint32_t process)
{
    return world->seats[process].stalled_ns > world->queue.now_ns;
}

/* Is that one dead to it, or was it when it ended? */
static inline bool view_world_knew(const struct view_world *world, uint32_t by, uint32_t process)
{
    return world->knew[view_world_pair(world, by, process)];
}

static inline bool view_world_are_apart(const struct view_world *world, uint32_t a, uint32_t b)
{
    uint64_t differ = world->sides >> world->seats[a].member.id % 64 ^
                      world->sides >> world->seats[b].member.id % 64;
    return world->is_cut && (differ & 1) != 0;
}

void view_world_init(struct view_world *world, const struct view_plan *plan);
void view_world_free(struct view_world *world);

/* Until nothing more happens, or a law is broken. */
void view_world_run(struct view_world *world);

/* One step of a process, and all that follows from it at once. */
void view_world_act(struct view_world *world, uint32_t process, struct mu_view_event *event);

/* It ends, without a word but its witness's. */
void view_world_crash(struct view_world *world, uint32_t process, bool proven);

/* 'about' is dead, as 'process' finds out: with its last word where a witness tells it. */
void view_world_tell(struct view_world *world, uint32_t process, uint32_t about);

/* The process that is this member, or VIEW_NOBODY. */
uint32_t view_world_process(const struct view_world *world, struct mu_view_member member);

/* A moment from now, by the delays of the world. */
uint64_t view_world_soon(struct view_world *world);

void view_world_trace(const struct view_world *world, uint32_t process, const char *what,
                      uint32_t peer);

/* ---- net.c ---- */

void view_world_send(struct view_world *world, uint32_t from, uint32_t to,
                     const struct mu_view_message *message);

/* NULL: there is none, or it waits at a cut; else the caller gives it back. */
struct view_parcel *view_world_take(struct view_world *world, uint32_t from, uint32_t to,
                                    uint32_t epoch);
void view_world_give_back(struct view_parcel *parcel);
void view_world_drop(struct view_world *world, uint32_t from, uint32_t to);
void view_world_reset(struct view_world *world, uint32_t a, uint32_t b, uint64_t for_ns);
void view_world_heal(struct view_world *world);
bool view_world_is_sending(const struct view_world *world, uint32_t from, uint32_t to,
                           uint8_t type);

/* ---- ring.c ---- */

/* What a process does every now and then, if there is something to do. */
void view_world_tick(struct view_world *world, uint32_t process);

/* Notices of a death, or of a join, to all that can hear them from it. */
void view_world_spread(struct view_world *world, uint32_t from, uint32_t about);
void view_world_spread_join(struct view_world *world, uint32_t from, uint32_t joiner);
bool view_world_can_be_told(const struct view_world *world, uint32_t process, uint32_t dead);
bool view_world_can_hear_join(const struct view_world *world, uint32_t process, uint32_t joiner);

/* It ends on the watch of its observer. */
void view_world_end_lease(struct view_world *world, uint32_t process);

/* ---- law.c ---- */

void view_world_fail(struct view_world *world, const char *law, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void view_world_law_on_effect(struct view_world *world, uint32_t process,
                              const struct mu_view_effect *effect);
void view_world_law_on_crash(struct view_world *world, uint32_t process);
void view_world_law_on_quiet(struct view_world *world);

/* ---- what is in the queue ---- */

enum view_what {
    VIEW_WHAT_TICK = 1,
    VIEW_WHAT_MESSAGE, /* peer: from; ref: epoch of the way */
    VIEW_WHAT_NOTICE,  /* peer: who is dead */
    VIEW_WHAT_JOINING, /* peer: who wants to join */
    VIEW_WHAT_RESUME,  /* peer */
    VIEW_WHAT_FAULT,   /* ref: which */
    VIEW_WHAT_START,   /* ref: the id that starts again */
};

void view_world_push(struct view_world *world, enum view_what what, uint64_t at_ns, uint32_t node,
                     uint32_t peer, uint32_t ref);

#endif
