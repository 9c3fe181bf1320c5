/* One checker for each law.  Safety is checked at every step, liveness when the run is quiet. */
#ifndef MU_SIM_NODE_LAW_H
#define MU_SIM_NODE_LAW_H

#include "core/base/event.h"
#include "core/node.h"

struct sim_world;

/* What was seen of one notice. */
struct sim_told {
    struct mu_notice_id id;
    uint64_t first_ns;  /* when it was delivered first */
    uint8_t *delivered; /* by node: how often */
    uint16_t *sent;     /* by node: copies, without resends after a reconnect */
    uint8_t *copies;    /* by node and peer, in small worlds: copies, likewise; else NULL */
};

struct sim_law {
    struct sim_told *told;
    uint32_t told_count, told_capacity;
    uint64_t *highest_sent; /* by node and peer, in small worlds: sequence on that link */
    uint32_t *link_of;      /* likewise: the incarnation of the peer that it is to */
    uint32_t *first_view;   /* likewise: up to which incarnation the peer was dead at the start */
    bool *taken_back;       /* likewise: frames were, so copies are not counted any more */
    uint32_t *acks;         /* by node: frames that carry nothing else */
    uint64_t no_room;       /* times that something found none */
    uint32_t hops_max;
    uint64_t last_heard_ns;
    uint16_t *hop_of; /* of the caller, by node: hops of what it heard last; NULL: not wanted */

    /* The first law that was broken. */
    const char *broken; /* NULL: none */
    uint64_t broken_step;
    char message[256];
};

void sim_law_init(struct sim_law *law, struct sim_world *world);
void sim_law_free(struct sim_law *law);

/* Notes that 'law' (S1, S2, ...) is broken.  Only the first is kept. */
void sim_law_fail(struct sim_world *world, const char *law, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Effects, as they happen. */
void sim_law_on_deliver(struct sim_world *world, mu_slot node, const struct mu_notice *notice);
void sim_law_on_send(struct sim_world *world, mu_slot node, mu_slot peer,
                     const struct mu_frame *frame);
void sim_law_on_fault(struct sim_world *world, mu_slot node, enum mu_fault fault);

/* The node has been told that it is dead itself. */
void sim_law_on_told_own_death(struct sim_world *world, mu_slot node);

/* A node was given proof of a death. */
void sim_law_on_proof(struct sim_world *world, mu_slot node, mu_slot dead, uint32_t incarnation);

/* A fresh incarnation of the node starts: it knows its first view, and has heard nothing.  In small
 * worlds only. */
void sim_law_on_begin(struct sim_world *world, mu_slot node, const struct mu_roster *first);

/* Nothing is on its way but words of the oracle. */
void sim_law_on_calm(struct sim_world *world);

/* Nothing is on its way, and every death is known to somebody. */
void sim_law_on_quiet(struct sim_world *world);

/* The time to forget is over, too. */
void sim_law_on_end(struct sim_world *world);

/* Messages that one node sent for one notice, at the most. */
uint32_t sim_law_messages_max(const struct sim_world *world);
uint32_t sim_law_acks_max(const struct sim_world *world);

#endif
