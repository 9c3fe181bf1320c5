/* The inside of the model of views, shared by its actions and its laws.
 *
 * Each start of a node is a process of the model with an incarnation of its own: a host that comes
 * back is another process with the same id.  The ring is abstracted to what docs/spec/view.md says
 * that it owes: who may declare whom, and when a lease ends and comes back. */
#ifndef MU_SIM_VIEW_EXPLORE_INSIDE_H
#define MU_SIM_VIEW_EXPLORE_INSIDE_H

#include "core/view/inside.h"
#include "sim/view/explore.h"

enum {
    VIEW_STARTS = EXPLORE_VIEW_STARTS_MAX,
    VIEW_CHANNEL = 14,
    VIEW_NUMBERS = 16, /* of views that are told */
    VIEW_TEXT = 64,
};

/* Sets of processes, a bit each. */
typedef uint8_t view_mask;

/* Messages on their way are numbers of what sim/view/messages.c keeps. */
struct view_channel {
    uint32_t messages[VIEW_CHANNEL];
    uint8_t count;
};

/* Everything that changes, besides the nodes' own memory, which follows. */
struct view_state {
    struct view_channel channels[VIEW_STARTS][VIEW_STARTS]; /* from, to */
    uint64_t told[VIEW_STARTS][VIEW_NUMBERS];               /* hashes, by number of view */
    struct mu_view_word words[VIEW_STARTS];                 /* last ones */
    uint8_t ids[VIEW_STARTS];
    uint8_t watch[VIEW_STARTS];    /* on whose watch its lease ended; VIEW_STARTS: never had one */
    view_mask knew[VIEW_STARTS];   /* who was dead to it when it crashed or stopped */
    view_mask asked[VIEW_STARTS];  /* whom it has asked in vain */
    view_mask worded[VIEW_STARTS]; /* whose last word it has */
    view_mask born;
    view_mask alive;    /* runs: neither crashed nor stopped */
    view_mask stopped;  /* of those that do not run: their cores said so */
    view_mask lapsed;   /* has no lease */
    view_mask declared; /* dead to somebody while it runs */
    view_mask proven;   /* of those that do not run: a witness tells of it */
    view_mask side;     /* ids on one side of the cut; 0: there is none */
    uint8_t crashes_left, proofs_left, stalls_left, cuts_left, returns_left, leaves_left;
    bool was_cut;
};

struct view_model {
    struct explore_model base; /* first, so that one leads to the other */
    const struct explore_view *options;
    uint32_t starts; /* processes that there can be */
    struct mu_view_config config;
    struct view_state *state;
    uint8_t *nodes;
    size_t node_bytes;
    struct mu_view_update update;
    struct view_messages *messages;
    uint64_t cuts;   /* of the action taken last */
    const char *law; /* that broke in it; NULL: none */
    char message[256];
};

static inline struct mu_view *view_at(const struct view_model *model, uint32_t process)
{
    return (struct mu_view *)(void *)(model->nodes + process * model->node_bytes);
}

static inline bool view_in(view_mask set, uint32_t process)
{
    return (set >> process & 1) != 0;
}

static inline bool view_breaks(const struct view_model *model, uint32_t rule)
{
    return (model->options->broken_rules & rule) != 0;
}

static inline bool view_has_lease(const struct view_model *model, uint32_t process)
{
    return view_in(model->state->alive & (view_mask)~model->state->lapsed, process);
}

/* ---- explore_message.c: messages, each kept once ---- */

struct view_messages *view_messages_new(const struct mu_view_config *config);
void view_messages_free(struct view_messages *messages);
uint32_t view_messages_number(struct view_messages *messages,
                              const struct mu_view_message *message);
const struct mu_view_message *view_messages_at(const struct view_messages *messages,
                                               uint32_t number);
struct mu_fingerprint view_messages_print(const struct view_messages *messages, uint32_t number);
void view_messages_describe(const struct mu_view_message *message, char text[VIEW_TEXT]);

/* ---- explore_ring.c: what the ring and the links allow ---- */

struct mu_view_member view_member(const struct view_model *model, uint32_t process);

/* The process that is this member, or 'starts'. */
uint32_t view_process(const struct view_model *model, struct mu_view_member member);

/* Is it dead to that process, as far as that knows or knew? */
bool view_holds_dead(const struct view_model *model, uint32_t by, uint32_t process);
bool view_are_apart(const struct view_model *model, uint32_t a, uint32_t b);
bool view_can_be_told(const struct view_model *model, uint32_t process, uint32_t dead);
bool view_can_lose_lease(const struct view_model *model, uint32_t process);
bool view_can_have_lease(const struct view_model *model, uint32_t process);
bool view_can_beat(const struct view_model *model, uint32_t from, uint32_t to);

/* To join: 'in_vain': also where nothing comes of it, but once. */
bool view_can_ask(const struct view_model *model, uint32_t process, uint32_t member, bool in_vain);
bool view_can_hear_join(const struct view_model *model, uint32_t process, uint32_t joiner);
uint32_t view_observer(const struct view_model *model, uint32_t process);

/* ---- explore_step.c: what a node does, whole or cut short ---- */

void view_act(struct view_model *model, uint32_t process, struct mu_view_event *event, uint8_t cut);
void view_deliver(struct view_model *model, uint32_t from, uint32_t to, uint8_t cut);
void view_tell(struct view_model *model, uint32_t process, uint32_t dead, uint8_t cut);
void view_crash(struct view_model *model, uint32_t process, bool proven);
void view_born(struct view_model *model, uint32_t process, uint32_t id);

/* ---- explore_law.c ---- */

/* Notes that a law is broken, if it is one that counts, and the first. */
void view_break(struct view_model *model, const char *law, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void view_law_on_effect(struct view_model *model, uint32_t process,
                        const struct mu_view_effect *effect);

/* Of the state; 'still': nothing more happens but faults. */
void view_law_check(struct view_model *model, bool still);

#endif
