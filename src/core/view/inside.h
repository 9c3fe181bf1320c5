/* The inside of views, and what its parts offer each other. */
#ifndef MU_CORE_VIEW_INSIDE_H
#define MU_CORE_VIEW_INSIDE_H

#include "core/agree/inside.h"
#include "core/view/view.h"

enum mu_view_status {
    MU_VIEW_OUTSIDE = 0, /* no view yet */
    MU_VIEW_PROVISIONAL, /* was told its view, and has decided none itself */
    MU_VIEW_MEMBER,
    MU_VIEW_ENDED, /* stopped */
};

/* The members of one view: ids as runs, and those whose incarnation is not MU_VIEW_FOUNDER. */
struct mu_view_list {
    uint64_t number; /* 0: there is no such view */
    uint64_t hash;
    struct mu_members ids;
    struct mu_view_member *odd; /* by id */
    uint32_t odd_count;
};

/* A member that is in another view already. */
struct mu_view_early {
    struct mu_view_member member;
    uint64_t number;
    uint64_t hash;
};

/* The bit of an agreement's value that nobody clears but who is confirmed. */
#define MU_VIEW_UNCONFIRMED 1u

enum { MU_VIEW_GROUP = 1, MU_VIEW_ROUND = 1 }; /* each agreement has one group, and decides once */

enum mu_view_which { MU_VIEW_NOW = 0, MU_VIEW_LATE };

struct mu_view {
    struct mu_view_config config;
    enum mu_view_status status;
    bool held;       /* the lease */
    bool decided;    /* the next view is decided, and not installed yet */
    bool follows;    /* the present view is followed by an agreement, whatever else there is */
    bool untold;     /* it changed something, and is to be told */
    bool is_spent;   /* one view was installed in this step: there is memory for no other */
    bool late_spoke; /* effects of this step point into the agreement of the view before */
    struct mu_view_list lists[2];   /* enum mu_view_which */
    struct mu_agree *agrees[2];     /* their agreements */
    uint8_t *memories[2];           /* where those are */
    size_t memory_bytes;            /* of each */
    struct mu_view_lost *lost;      /* of the view before, not in the present one */
    uint32_t lost_count;            /* at most limits.failed + limits.entries */
    mu_slot *joined;                /* in the present view, not in the one before */
    uint32_t joined_count;          /* at most limits.entries */
    struct mu_view_lost *lost_next; /* the same of the view that is being made */
    mu_slot *joined_next;
    struct mu_roster dead;          /* by id; only the dead have an entry */
    struct mu_agree_entry *pending; /* what goes into the next agreement */
    uint32_t pending_count;
    struct mu_view_member *sponsored; /* to be sent WELCOME, once they are in */
    uint32_t sponsored_count;
    struct mu_view_early *early;
    uint32_t early_count;
    struct mu_span *spans; /* of the WELCOME that is sent */
};

static inline bool mu_view_is_broken(const struct mu_view *view, uint32_t rule)
{
    return (view->config.broken_rules & rule) != 0;
}

static inline bool mu_view_same(struct mu_view_member a, struct mu_view_member b)
{
    return a.id == b.id && a.incarnation == b.incarnation;
}

static inline struct mu_view_member mu_view_self(const struct mu_view *view)
{
    return (struct mu_view_member){view->config.self, view->config.incarnation};
}

static inline struct mu_view_member mu_view_nobody(void)
{
    return (struct mu_view_member){MU_SLOT_NONE, 0};
}

static inline struct mu_view_member mu_view_of_key(uint64_t key)
{
    return (struct mu_view_member){(mu_slot)(key >> 32), (uint32_t)key};
}

static inline bool mu_view_has_view(const struct mu_view *view)
{
    return view->status == MU_VIEW_PROVISIONAL || view->status == MU_VIEW_MEMBER;
}

/* ---- init.c ---- */

/* Of the agreement of a view of this size, with this node's position in it. */
void mu_view_agree_config(const struct mu_view *view, uint32_t size, uint32_t self,
                          struct mu_agree_config *config);
uint32_t mu_view_early_max(const struct mu_view *view);

/* ---- list.c: the members of a view ---- */

/* The most runs of ids that there can be: each death and each newcomer makes at most one more. */
uint32_t mu_view_spans_needed(const struct mu_view_limits *limits);

void mu_view_list_copy(struct mu_view_list *to, const struct mu_view_list *from);

/* MU_SLOT_NONE when the id is no member; else its member. */
struct mu_view_member mu_view_list_find(const struct mu_view_list *list, mu_slot id);
struct mu_view_member mu_view_list_at(const struct mu_view_list *list, uint32_t position);
uint32_t mu_view_list_position(const struct mu_view_list *list, struct mu_view_member member);

/* False when there is no room. */
bool mu_view_list_remove(struct mu_view_list *list, mu_slot id);
bool mu_view_list_add(struct mu_view_list *list, struct mu_view_member member, uint32_t odd_max);

/* ---- next.c: what a decision makes of a view ---- */

enum mu_view_next {
    MU_VIEW_NEXT_OK = 0,
    MU_VIEW_NEXT_QUORUM, /* too few are kept (W18, W19) */
    MU_VIEW_NEXT_FULL,
};

/* Makes the next view in the list of the one before, and what was lost and joined in 'lost_next'
 * and 'joined_next'.  It is the same at all that have this view. */
enum mu_view_next mu_view_make_next(struct mu_view *view, const struct mu_agree_value *value,
                                    uint32_t *lost_count, uint32_t *joined_count);

/* Of entries that carry last words and the launcher's. */
void mu_view_write_word(struct mu_agree_entry *entry, struct mu_view_member member,
                        const struct mu_view_word *word);
void mu_view_read_word(const struct mu_agree_entry *entry, struct mu_view_word *word);
void mu_view_write_tie(struct mu_agree_entry *entry, uint64_t number, mu_slot keep);
mu_slot mu_view_read_tie(const struct mu_agree_entry *entry);

uint64_t mu_view_next_hash(const struct mu_view_list *list, const struct mu_agree_value *value);

/* ---- learn.c: deaths, what waits, and the agreements ---- */

struct mu_view_effect *mu_view_add(struct mu_view_update *update, enum mu_view_effect_type type);
void mu_view_fault(struct mu_view_update *update, enum mu_fault fault, struct mu_view_member by);

/* Sends, when the lease is held. */
void mu_view_send(struct mu_view *view, const struct mu_view_message *message,
                  struct mu_view_member to, struct mu_view_update *update);
void mu_view_stop(struct mu_view *view, enum mu_view_stop stop, struct mu_view_update *update);

/* Begins the agreement of the present view on no deaths yet: those known are told to it. */
void mu_view_open(struct mu_view *view, struct mu_view_update *update);

/* A step of one of the two agreements, and what follows from it but for the next view. */
void mu_view_run(struct mu_view *view, enum mu_view_which which, struct mu_agree_event *event,
                 struct mu_view_update *update);

/* The one door for deaths.  'by' nobody: the driver knows.  'word': or NULL. */
void mu_view_learn(struct mu_view *view, struct mu_view_member member, bool proven,
                   struct mu_view_member by, struct mu_view_update *update);

/* What waits for the next agreement.  False: there is no room. */
bool mu_view_pend(struct mu_view *view, const struct mu_agree_entry *entry);
void mu_view_unpend(struct mu_view *view, uint32_t at);
void mu_view_unsponsor(struct mu_view *view, struct mu_view_member member);

/* W7: contributes to the agreement of the present view, if there is a reason. */
void mu_view_begin(struct mu_view *view, bool is_asked, struct mu_view_update *update);
bool mu_view_has_begun(const struct mu_view *view);

#endif
