/* The inside of the model of agreements, shared by its actions and its laws. */
#ifndef MU_SIM_AGREE_EXPLORE_INSIDE_H
#define MU_SIM_AGREE_EXPLORE_INSIDE_H

#include "core/agree/inside.h"
#include "sim/agree/explore.h"

enum {
    AGREE_NODES = EXPLORE_AGREE_NODES_MAX,
    AGREE_GROUPS = EXPLORE_AGREE_GROUPS_MAX,
    AGREE_ROUNDS = EXPLORE_AGREE_ROUNDS_MAX,
    AGREE_CHANNEL = 14,
    AGREE_TEXT = 48, /* of one message */
};

/* Sets of nodes, a bit each. */
typedef uint8_t agree_mask;

/* A value or a message without what nothing depends on.  Nodes contribute all ones but their own
 * bit, so a value says who has contributed. */
struct agree_small {
    uint8_t type; /* enum mu_agree_message_type; of a decision: 1, 0 for none */
    uint8_t group;
    uint8_t round;
    agree_mask contributed;
    agree_mask failed; /* ASK: the dead */
    agree_mask acked;
    agree_mask proven; /* of the failed */
    uint8_t more;
};

struct agree_channel {
    struct agree_small messages[AGREE_CHANNEL];
    uint8_t count;
};

/* Everything that changes, besides the nodes' own memory, which follows. */
struct agree_state {
    struct agree_channel channels[AGREE_NODES][AGREE_NODES];             /* from, to */
    struct agree_small decided[AGREE_NODES][AGREE_GROUPS][AGREE_ROUNDS]; /* of those in */
    agree_mask acked[AGREE_NODES][AGREE_GROUPS]; /* at the call, until the decision */
    uint8_t called[AGREE_NODES][AGREE_GROUPS];   /* rounds */
    agree_mask alive;                            /* runs */
    agree_mask lapsed;                           /* has no lease */
    agree_mask declared;                         /* somebody was told that it is dead */
    agree_mask proven;                           /* somebody has seen proof of its death */
    agree_mask down[AGREE_NODES]; /* by node: peers to which it has no connection now */
    uint8_t crashes_left, lapses_left, resets_left, proofs_left;
};

/* Deaths, and those of them that are proven. */
struct agree_deaths {
    agree_mask dead, proven;
};

struct agree_model {
    struct explore_model base; /* first, so that one leads to the other */
    const struct explore_agree *options;
    uint32_t size;
    struct agree_state *state;
    uint8_t *nodes;
    size_t node_bytes;
    struct mu_agree_update update;
    uint64_t cuts;   /* of the action taken last */
    const char *law; /* that broke in it; NULL: none */
    char message[256];
    /* how the acting node's rounds looked before, by group */
    struct agree_small before[AGREE_GROUPS];
    uint64_t decided_before[AGREE_GROUPS];
    struct agree_deaths known_before;
};

static inline struct mu_agree *agree_at(const struct agree_model *model, uint32_t slot)
{
    return (struct mu_agree *)(void *)(model->nodes + slot * model->node_bytes);
}

static inline bool agree_in(agree_mask set, uint32_t slot)
{
    return (set >> slot & 1) != 0;
}

/* Is it one of those that the laws are about? */
static inline bool agree_is_living(const struct agree_model *model, uint32_t slot)
{
    return agree_in(model->state->alive, slot) && !agree_in(model->state->declared, slot);
}

/* ---- explore_message.c ---- */

struct agree_small agree_small_value(const struct mu_agree_value *value);
struct agree_small agree_shrink(const struct mu_agree_message *message);

/* A message again as it was, in memory of its own. */
struct agree_whole {
    struct mu_agree_message message;
    struct mu_failed failed[AGREE_NODES];
    struct mu_roster_entry dead[AGREE_NODES];
};

void agree_widen(const struct agree_small *small, struct agree_whole *whole);
void agree_describe_message(const struct agree_small *message, char text[AGREE_TEXT]);

/* ---- explore_step.c: what a node does, whole or cut short ---- */

void agree_act(struct agree_model *model, uint32_t slot, struct mu_agree_event *event, uint8_t cut);

/* The next message from one to another. */
void agree_deliver(struct agree_model *model, uint32_t from, uint32_t to, uint8_t cut);

/* It contributes to the next agreement of a group, and acknowledges the deaths that it knows. */
void agree_call(struct agree_model *model, uint32_t slot, uint32_t g, uint8_t cut);
void agree_tell(struct agree_model *model, uint32_t slot, uint32_t dead, bool proven, uint8_t cut);
void agree_crash(struct agree_model *model, uint32_t slot);

/* ---- explore_law.c ---- */

/* Notes that a law is broken, if it is one that counts, and the first. */
void agree_break(struct agree_model *model, const char *law, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Before and after a node's step. */
void agree_law_before(struct agree_model *model, uint32_t slot);
void agree_law_after(struct agree_model *model, uint32_t slot, const struct mu_agree_event *event);

/* A decision is given to the node's clients. */
void agree_law_on_deliver(struct agree_model *model, uint32_t slot,
                          const struct mu_agree_effect *effect);

/* Of the state: A1 when nothing more can happen, A3. */
void agree_law_check(struct agree_model *model, bool still);

#endif
