/* Reliable broadcast along the binomial graph: docs/spec/spread.md.
 *
 * After Zhong, Bouteiller, Luo, Bosilca, "Runtime level failure detection and propagation in HPC
 * systems" (EuroMPI 2019), section 4.6.  Deviations: the tree is half as high (core/base/graph.h);
 * redundant edges wait and are mostly saved; dead neighbours are replaced, so that any number of
 * failures leaves log2 N hops; notices not yet stable go to the replacement. */
#ifndef MU_CORE_SPREAD_SPREAD_H
#define MU_CORE_SPREAD_SPREAD_H

#include "core/base/arena.h"
#include "core/base/config.h"
#include "core/base/roster.h"
#include "core/base/event.h"
#include "core/base/fingerprint.h"
#include "core/base/graph.h"
#include "core/link/link.h"

enum mu_held_phase {
    MU_HELD_FREE = 0,
    MU_HELD_AWAIT_ONWARD, /* the tree is served; edges onward are due after half the wait */
    MU_HELD_AWAIT_BACK,   /* edges onward are served; edges back are due after the whole wait */
    MU_HELD_SPREAD,       /* every edge is served */
};

/* A notice that neighbours may still need. */
struct mu_held {
    struct mu_notice_id id;
    uint64_t age_ns; /* when it was heard */
    uint64_t heard_ns;
    uint64_t done; /* bit e: it went out or came in over edge e */
    mu_slot root;
    uint16_t hops;
    uint16_t length;
    mu_body next;  /* in the queue of its phase, or in the list of free entries */
    uint8_t phase; /* enum mu_held_phase */
    bool over;     /* of a node's death: no newcomer needs it any more */
};

/* Where an edge leads now. */
struct mu_edge {
    mu_slot slot;  /* MU_SLOT_NONE: nobody lives there, or a lower edge leads to the same */
    uint16_t link; /* index in links */
};

struct mu_queue {
    mu_body first, last;
};

struct mu_spread {
    mu_slot self;
    uint32_t size; /* of the circle that the edges are laid on */
    uint32_t broken_rules;
    uint32_t duplicates; /* copies that came in after the first, modulo 2^32 */
    struct mu_edge *edges;
    struct mu_held *held;
    mu_body *order; /* held notices by identity */
    uint16_t edge_count;
    uint16_t count;    /* entries of 'order' */
    uint16_t deaths;   /* of these, deaths of nodes: they have room of their own */
    uint16_t capacity; /* for the others */
    uint16_t payload_bytes;
    mu_body free;
    struct mu_queue await_onward, await_back, retained;
    uint64_t redundant_wait_ns;
    uint64_t retain_ns;
    uint64_t own_since_ns; /* of notices seen here, but deaths of nodes: when the last term began */
    uint32_t own_count;    /* and how many were taken in it; a term is redundant_wait_ns */
    uint8_t *payloads;
    struct mu_links *links;
    const struct mu_roster *roster;
};

/* 'links' and 'roster' are read and, links, sent on; they outlive the spread. */
void mu_spread_init(struct mu_spread *spread, struct mu_arena *arena,
                    const struct mu_config *config, struct mu_links *links,
                    const struct mu_roster *roster);

/* Opens a link along every edge.  With links_up they are taken to be connected. */
enum mu_fault mu_spread_start(struct mu_spread *spread, bool links_up, struct mu_update *update);

/* Deaths of nodes have places of their own.  Room for one more of all others: that was heard; that
 * was seen here, which may take half of the places, and of these this node's share in one term;
 * and enough of it to take what was pushed back? */
bool mu_spread_has_room(const struct mu_spread *spread);
bool mu_spread_has_room_for_own(const struct mu_spread *spread, uint64_t now_ns);
bool mu_spread_has_room_again(const struct mu_spread *spread);

/* How much of the half for what is seen here is in use, by whatever: 0 to 8 eighths. */
uint32_t mu_spread_own_eighths(const struct mu_spread *spread);

/* News: forwards it to tree children and orphans, delivers it, and plans the redundant edges.
 * 'from' is the neighbour it came from, MU_SLOT_NONE when it was seen here. */
void mu_spread_learn(struct mu_spread *spread, const struct mu_notice *notice, mu_slot from,
                     uint64_t now_ns, struct mu_update *update);

/* Is it held?  Then this is one more copy, and the neighbour it came from need not be told. */
bool mu_spread_heard_again(struct mu_spread *spread, const struct mu_notice_id *id, mu_slot from);

/* The roster has changed: every edge leads to the next slot that is not vacant.  Nothing is sent
 * yet; *fresh gets a bit for each edge that leads to somebody new.  Who is in at 'changed' is new
 * there, whoever was before. */
enum mu_fault mu_spread_mend(struct mu_spread *spread, mu_slot changed, uint64_t *fresh,
                             struct mu_update *update);

/* Sends over fresh edges what they have not carried yet. */
void mu_spread_resend(struct mu_spread *spread, uint64_t fresh, uint64_t now_ns,
                      struct mu_update *update);

/* No newcomer needs to be told any more that this incarnation, and those before it, are dead: drops
 * what is held of it and has gone over every edge.  The rest goes as all other notices go. */
void mu_spread_death_is_over(struct mu_spread *spread, mu_slot slot, uint32_t incarnation,
                             uint64_t now_ns);

/* A deadline has passed; one notice is handled. */
void mu_spread_on_onward(struct mu_spread *spread, uint64_t now_ns, struct mu_update *update);
void mu_spread_on_back(struct mu_spread *spread, uint64_t now_ns, struct mu_update *update);
void mu_spread_on_retain(struct mu_spread *spread, uint64_t now_ns);

/* When these deadlines are; MU_NEVER: none. */
uint64_t mu_spread_onward_due_ns(const struct mu_spread *spread);
uint64_t mu_spread_back_due_ns(const struct mu_spread *spread);
uint64_t mu_spread_retain_due_ns(const struct mu_spread *spread);

/* A link has room again. */
void mu_spread_on_room(struct mu_spread *spread, struct mu_link *link, uint64_t now_ns,
                       struct mu_update *update);

/* The other side has no room: takes back all that is pending there but deaths of nodes, and sends
 * these once more. */
void mu_spread_push_back(struct mu_spread *spread, struct mu_link *link, uint64_t now_ns,
                         struct mu_update *update);

/* Sends the i-th pending frame of a link. */
void mu_spread_emit(struct mu_spread *spread, struct mu_link *link, uint16_t i, uint64_t now_ns,
                    struct mu_update *update);

/* The edge that leads to this slot now, or edge_count. */
uint32_t mu_spread_edge_of(const struct mu_spread *spread, mu_slot slot);

void mu_spread_fingerprint(const struct mu_spread *spread, struct mu_fingerprint *print);

#endif
