/* What a node is told once, before it starts. */
#ifndef MU_CORE_BASE_CONFIG_H
#define MU_CORE_BASE_CONFIG_H

#include "core/base/types.h"

/* Capacities.  Memory is taken once for all of them; running over one is a named fault. */
struct mu_limits {
    uint32_t links;         /* graph edges, and those that others open to here */
    uint32_t dead;          /* nodes that died, came back or joined; as many notices of deaths are
                               held besides the others */
    uint32_t seen;          /* ranges of known notices: streams that are not over, and their gaps */
    uint16_t notices;       /* other notices held; with 'dead' below MU_BODY_NONE */
    uint16_t payload_bytes; /* the longest payload */
    uint16_t window;        /* frames on one link that are not acknowledged yet */
};

/* Rules that a test breaks on purpose, to see that a checker notices.  Zero in every daemon. */
enum mu_broken_rule {
    MU_BROKEN_NO_REDUNDANT = 1u << 0,   /* redundant edges are never served */
    MU_BROKEN_NO_DUP_CHECK = 1u << 1,   /* every copy counts as news, once per edge it comes by */
    MU_BROKEN_NO_REPLACE = 1u << 2,     /* a dead neighbour's edge leads nowhere */
    MU_BROKEN_NO_RESEND = 1u << 3,      /* a replacement gets only what comes later */
    MU_BROKEN_LINK_FORGETS = 1u << 4,   /* a reconnect starts the link from nothing */
    MU_BROKEN_FENCE_RELAYED = 1u << 5,  /* a notice is dropped because its root is dead */
    MU_BROKEN_NO_SEEN = 1u << 6,        /* what is not held any more counts as news again */
    MU_BROKEN_FORGET_EARLY = 1u << 7,   /* a notice is dropped before every edge has carried it */
    MU_BROKEN_RESUME_ALL = 1u << 8,     /* a reconnect sends again what the other side has */
    MU_BROKEN_NO_FENCE = 1u << 9,       /* the link to a dead node stays open */
    MU_BROKEN_SEND_AGAIN = 1u << 10,    /* an edge that is done is served again */
    MU_BROKEN_CHAIN = 1u << 11,         /* the tree is a chain from slot to slot */
    MU_BROKEN_DEATHS_WAIT = 1u << 12,   /* a node's death waits for room like everything else */
    MU_BROKEN_OWN_DEATH = 1u << 13,     /* a node is fenced by its own incarnation's death only */
    MU_BROKEN_SEEN_APART = 1u << 14,    /* ranges of known notices are not joined to the next */
    MU_BROKEN_REFUSED = 1u << 15,       /* of the driver: who refuses a connection is dead */
    MU_BROKEN_FIRST_WINS = 1u << 16,    /* the proof of a death that is known is dropped */
    MU_BROKEN_OWN_FILLS = 1u << 17,     /* what a node sees leaves no room for what it hears */
    MU_BROKEN_SAME_AGAIN = 1u << 18,    /* of the driver: who comes back says its old incarnation */
    MU_BROKEN_OLD_FRAMES = 1u << 19,    /* frames of an incarnation that is dead are believed */
    MU_BROKEN_KEEPS_RING = 1u << 20,    /* what waits for a dead node goes to the one that comes */
    MU_BROKEN_NEWCOMER = 1u << 21,      /* who comes gets only what comes later */
    MU_BROKEN_JOIN_NO_DEATH = 1u << 22, /* a join says nothing of who was there before */
    MU_BROKEN_DEATHS_KEPT = 1u << 23,   /* that of a death no more news will come changes nothing */
};

struct mu_config {
    uint32_t size;              /* nodes that started together: they are in, with incarnation 1 */
    uint32_t slots;             /* members can have these places; at least 'size' */
    mu_slot self;               /* this one; below 'slots' */
    uint32_t incarnation;       /* given by who admitted it; 1 for those who started together */
    uint64_t redundant_wait_ns; /* redundant edges wait this long for the neighbour's own copy */
    uint64_t ack_delay_ns;      /* an acknowledgement waits this long for a frame to ride on */
    uint64_t retain_ns;         /* a notice is kept this long, for neighbours that die or come
                                   meanwhile: longer than detecting and spreading a death takes, and
                                   than a view takes.  Deaths of nodes are kept until FORGET */
    struct mu_limits limits;
    uint32_t broken_rules; /* enum mu_broken_rule */
};

/* Defaults for a machine of 'size' nodes and no other ones, with room for a daemon's work. */
void mu_config_default(struct mu_config *config, uint32_t size, mu_slot self);

/* NULL, or the rule that the configuration breaks. */
const char *mu_config_error(const struct mu_config *config);

#endif
