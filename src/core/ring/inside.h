/* The inside of a detector, and what its parts offer each other.  docs/spec/ring.md has the rules.
 *
 * Distances are counted back along the ring: the slot at distance k is k before this one. */
#ifndef MU_CORE_RING_INSIDE_H
#define MU_CORE_RING_INSIDE_H

#include "core/ring/ring.h"

enum {
    MU_DETECT_SPANS = 8,        /* of suspects with a deadline of their own; more share one */
    MU_DETECT_SLACKS = 4,       /* in (timeout - period) */
    MU_DETECT_LAG_PART = 8,     /* of (timeout - period): more than that is lag */
    MU_DETECT_TAKE_SLACKS = 2,  /* that a TAKE holds, and that signs of life hold for one */
    MU_DETECT_PATIENCE = 5,     /* timeouts until a state that nobody mends is ended */
    MU_DETECT_DOUBT_REACH = 64, /* nearest suspects that are probed by one who doubts itself */
    MU_DETECT_LOOP_PART = 10    /* of its patience: so often the main loop is asked */
};

/* A beat that is late by less is on its way, unless a slack is less. */
#define MU_DETECT_TOLERANCE_NS (UINT64_C(5) * 1000 * 1000)

/* ---- being observed: watch.c ---- */

/* Somebody that this node beats to.  An entry that has ended remembers its nonce (N2). */
struct mu_watcher {
    mu_slot slot; /* MU_SLOT_NONE: never in use */
    uint32_t incarnation;
    mu_slot place;       /* that of the observer: another slot when a helper has taken over */
    uint32_t unanswered; /* beats since its last word; MU_WATCHER_ENDED: the watch is over */
    uint64_t nonce;
    uint64_t period_ns;
    uint64_t timeout_ns;
    uint64_t next_beat_ns;
    uint64_t acked_ns; /* newest stamp that came back in this watch; 0: none */
    uint64_t lease_ns; /* it does not declare this node before */
    uint64_t since_ns; /* when it took over */
    uint64_t made_way; /* 1: it was silent, and another one counts until it acknowledges again */
};

#define MU_WATCHER_ENDED UINT32_MAX

/* ---- the lease: lease.c ---- */

struct mu_lease {
    uint64_t left_ns;  /* what one that is out now has granted */
    uint64_t ended_ns; /* when it ended last */
    mu_slot ended_by;  /* on whose watch that was; MU_SLOT_NONE: that one is out */
    bool held;         /* as said last */
    bool ended;        /* it was held, and has not come back yet */
};

/* ---- who is out: out.c ---- */

struct mu_unproven {
    mu_slot slot;
    uint32_t incarnation; /* 0: not known here */
};

struct mu_tell {
    uint64_t next_ns;  /* DEAD goes out again; MU_NEVER: to nobody */
    uint64_t until_ns; /* to one that learned of nobody new since */
    uint32_t at;       /* in 'unproven': how far this round has come */
    uint32_t unused;
};

/* ---- observing: observe.c ---- */

/* Somebody that this node observes. */
struct mu_watch {
    mu_slot slot;           /* MU_SLOT_NONE: nobody */
    uint32_t incarnation;   /* 0: not heard yet */
    uint64_t nonce;         /* beats count with this one, and up to asked_nonce */
    uint64_t begun_nonce;   /* of the first WATCH: until it has spoken, older questions are void */
    uint64_t asked_nonce;   /* of the last WATCH, if no beat has returned it yet; else 0 */
    uint64_t force_nonce;   /* up to this one, WATCHes said the times that are in force ... */
    uint64_t times_nonce;   /* ... and from this one on, those that are set now */
    uint64_t resend_ns;     /* when that WATCH goes out again */
    uint64_t fresh_ns;      /* when the last beat came, or a new WATCH went out */
    uint64_t stamp_ns;      /* of the newest beat, on its clock */
    uint64_t said_ns;       /* its newest word of any kind, likewise: older ones say nothing */
    uint64_t contact_ns;    /* it heard us and we heard it */
    uint64_t heard_ns;      /* a sign of life, be it a helper's word */
    uint64_t lived_ns;      /* it did then, or later: that of a helper counts from the question */
    uint64_t lag_ns;        /* given back since the contact */
    uint64_t round_trip_ns; /* of probes that it answered: the longest, slowly forgotten */
    uint64_t period_ns;     /* in force: those of 'nonce' */
    uint64_t timeout_ns;
    uint32_t probes; /* since the contact */
    uint32_t unused; /* no holes: print.c */
};

/* ---- mending: mend.c ---- */

/* Suspects lie between this node and the first one back that has answered.  Nobody keeps a list of
 * them: spans of distances, each with one deadline. */
struct mu_mend {
    uint64_t probed_ns[MU_DETECT_SPANS]; /* first, all of it; MU_NEVER: not yet */
    uint64_t batch_ns;                   /* when the next batch goes out; MU_NEVER: none */
    uint32_t reach[MU_DETECT_SPANS];     /* the farthest distance of each */
    uint32_t
        next_to_observed; /* the distance of one that lies right behind one that was observed */
    uint32_t spans;       /* 0: no mending */
    uint32_t batches;     /* that have gone out */
    uint32_t swept;       /* distance up to which this round has probed */
};

/* ---- asking around: ask.c ---- */

struct mu_ask {
    uint64_t round_ns;    /* when all of it goes out again; MU_NEVER: nobody is late */
    uint64_t first_nonce; /* of this suspicion: what answers older ones is worth nothing */
    uint64_t timeout_ns;  /* the longest that was in force meanwhile */
    uint64_t lag_ns;      /* of this node itself meanwhile: answers have waited in its socket */
    uint64_t vouch_ns;    /* when the newest question went out that an unsuspected node answered */
    uint64_t sure_ns;     /* when doubt ended: everybody has a full timeout from here; 0: none */
    mu_slot vouched_by;   /* MU_SLOT_NONE: the launcher, if 'vouched' */
    uint32_t rounds;
    mu_slot subject;   /* that the helpers, or the launcher, were asked about */
    uint32_t launcher; /* enum mu_launcher_reach */
    struct {
        mu_slot slot;
        uint32_t reach; /* enum mu_reach */
    } helper[MU_DETECT_HELPERS];
    bool vouched;
    bool doubt; /* somebody is due, and nobody vouches */
    bool full;  /* somebody is due, and there is no room for one more death */
};

/* ---- unreachable: part.c ---- */

enum mu_part_phase {
    MU_PART_NONE = 0,
    MU_PART_REPORTED, /* a helper observes it; this node goes on probing */
    MU_PART_DECIDING, /* five timeouts are over, and helpers are asked once more */
    MU_PART_LEAVING,  /* decided against the other: nobody extends its lease any more */
};

struct mu_part {
    uint64_t step_ns;  /* end of this phase */
    uint64_t over_ns;  /* leases that a helper may have granted are over; 0: there are none */
    uint64_t taken_ns; /* when the helper last said that it observes, or was chosen */
    mu_slot taker;     /* MU_SLOT_NONE: none yet */
    uint32_t taker_incarnation;
    uint32_t phase; /* enum mu_part_phase */
    uint32_t turn;  /* of the helpers that decide */
};

/* ---- helping: help.c ---- */

/* A node that this one observes in the place of another. */
struct mu_taken {
    mu_slot slot; /* MU_SLOT_NONE: not in use */
    uint32_t incarnation;
    mu_slot asker;
    uint32_t unused;
    uint64_t asker_nonce; /* of its last TAKE */
    uint64_t nonce;       /* of the watch; 0: it was given back */
    uint64_t stamp_ns;    /* of the newest beat */
    uint64_t until_ns;    /* unless another TAKE comes before */
    uint64_t resend_ns;   /* WATCH again; MU_NEVER: beats come */
    uint64_t period_ns;
    uint64_t timeout_ns;
};

/* ---- the main loop: loop.c ---- */

struct mu_loop {
    uint64_t least_ns; /* as configured; 0: there is no loop */
    uint64_t asked_ns; /* and not answered since; MU_NEVER: all is answered */
    uint64_t next_ns;  /* when it is asked next */
    uint64_t phase;    /* enum mu_loop_phase */
};

/* ---- all of it ---- */

enum { MU_RING_NEAREST = 0, MU_RING_MENDED = 1, MU_RING_WATCHES };

struct mu_detect {
    /* what every beat touches */
    uint64_t now_ns;
    uint64_t asked_ns;    /* the deadline that was asked for, and not kept yet */
    uint64_t credited_ns; /* lag up to here has been given back */
    uint64_t nonce;       /* given out last */
    uint64_t stamp_ns;    /* likewise: no two beats have the same */
    uint64_t period_ns, timeout_ns;
    uint64_t longer_ns;       /* a timeout that was in force before: leases under it may live ... */
    uint64_t longer_spare_ns; /* (and a timeout - period) */
    uint64_t longer_until_ns; /* ... until then */
    uint64_t grace_until_ns;
    uint64_t grace_ns;
    uint32_t size;
    mu_slot self;
    uint32_t incarnation;
    uint32_t broken_rules;
    mu_slot nearest;   /* the first live slot back; MU_SLOT_NONE: nobody else is left */
    mu_slot undecided; /* reported as such; MU_SLOT_NONE: nobody */
    bool started, fenced;
    bool chosen; /* by the launcher, which listens to nobody else */
    struct mu_lease lease;
    struct mu_tell tell;
    struct mu_unproven *unproven; /* those of 'dead' that were only silent, or unreachable */
    uint32_t unproven_count;
    /* NEAREST: the one observed.  MENDED: while it is silent, the first one back that answers. */
    struct mu_watch ring[MU_RING_WATCHES];
    struct mu_watcher watchers[MU_DETECT_WATCHERS];
    struct mu_ask ask;
    struct mu_roster dead;
    struct mu_mend mend;
    struct mu_part part;
    struct mu_taken taken[MU_DETECT_TAKES];
    struct mu_loop loop;
    struct mu_detect_counts counts;
};

/* ---- shared: ring.c ---- */

static inline bool mu_detect_is_broken(const struct mu_detect *detect, enum mu_detect_broken rule)
{
    return (detect->broken_rules & rule) != 0;
}

static inline uint64_t mu_min_ns(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t mu_max_ns(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t mu_detect_slack_ns(uint64_t period_ns, uint64_t timeout_ns)
{
    return (timeout_ns - period_ns) / MU_DETECT_SLACKS;
}

/* So much later than a period, and a beat is missing: half a slack.  A busy host takes its time,
 * so no less than MU_DETECT_TOLERANCE_NS, as far as the slack allows. */
static inline uint64_t mu_detect_tolerance_ns(uint64_t period_ns, uint64_t timeout_ns)
{
    uint64_t slack_ns = mu_detect_slack_ns(period_ns, timeout_ns);
    return mu_max_ns(slack_ns / 2, mu_min_ns(slack_ns, MU_DETECT_TOLERANCE_NS));
}

/* From 'past' to 'now'; 0 when it lies ahead. */
static inline uint64_t mu_since_ns(uint64_t now_ns, uint64_t past_ns)
{
    return now_ns > past_ns ? now_ns - past_ns : 0;
}

static inline uint32_t mu_detect_distance(const struct mu_detect *detect, mu_slot slot)
{
    return detect->self >= slot ? detect->self - slot : detect->self + detect->size - slot;
}

static inline mu_slot mu_detect_slot_at(const struct mu_detect *detect, uint32_t distance)
{
    return detect->self >= distance ? detect->self - distance
                                    : detect->self + detect->size - distance;
}

static inline uint32_t mu_detect_room(const struct mu_detect_update *update)
{
    return MU_DETECT_EFFECTS_MAX - update->count;
}

/* Is a deadline that was asked for not kept yet, and later than timers are? */
static inline bool mu_detect_lags(const struct mu_detect *detect)
{
    return mu_since_ns(detect->now_ns, detect->asked_ns) >
           (detect->timeout_ns - detect->period_ns) / MU_DETECT_LAG_PART;
}

static inline void mu_detect_drop(struct mu_detect *detect)
{
    detect->counts.dropped++;
}

/* Is the incarnation one that is out?  0 stands for whichever holds the slot. */
bool mu_detect_is_out(const struct mu_detect *detect, mu_slot slot, uint32_t incarnation);

struct mu_detect_effect *mu_detect_add(struct mu_detect_update *update,
                                       enum mu_detect_effect_type type);

/* A datagram with its sender and receiver filled in. */
struct mu_beat *mu_detect_send(struct mu_detect *detect, enum mu_beat_type type, mu_slot to,
                               uint32_t to_incarnation, struct mu_detect_update *update);

/* The slot is out, whoever saw it: everything that hangs on it ends, and the ring mends (N10).
 * False, with a fault reported, when it cannot be kept. */
bool mu_detect_take_out(struct mu_detect *detect, mu_slot slot, uint32_t incarnation, bool proven,
                        struct mu_detect_update *update);

/* This incarnation is dead: the last effects of this detector. */
void mu_detect_fence(struct mu_detect *detect, mu_slot by, struct mu_detect_update *update);

/* ---- loop.c ---- */

void mu_loop_init(struct mu_detect *detect, uint64_t least_ns);
void mu_loop_on_answer(struct mu_detect *detect, struct mu_detect_update *update);
void mu_loop_on_timeout(struct mu_detect *detect, struct mu_detect_update *update);
uint64_t mu_loop_deadline_ns(const struct mu_detect *detect);
void mu_loop_give_back(struct mu_detect *detect, uint64_t lag_ns);

/* What is left of a lease while the loop does not answer. */
uint64_t mu_loop_lease_ns(const struct mu_detect *detect, uint64_t lease_ns);

bool mu_loop_is_silent(const struct mu_detect *detect);

/* Is this event nothing to a detector that is silent? */
bool mu_loop_keeps_out(const struct mu_detect *detect, const struct mu_detect_event *event);

/* Takes what would be sent out of an update. */
void mu_loop_hush(struct mu_detect_update *update);

/* ---- out.c: besides the two above ---- */

/* The node says so. */
void mu_out_on_out(struct mu_detect *detect, mu_slot slot, uint32_t incarnation, bool proven,
                   struct mu_detect_update *update);
void mu_out_on_dead(struct mu_detect *detect, const struct mu_beat *beat,
                    struct mu_detect_update *update);

/* Tells an incarnation that is out that it is. */
void mu_out_tell(struct mu_detect *detect, mu_slot slot, uint32_t incarnation,
                 struct mu_detect_update *update);
void mu_out_on_timeout(struct mu_detect *detect, struct mu_detect_update *update);
uint64_t mu_out_deadline_ns(const struct mu_detect *detect);

/* ---- lease.c ---- */

uint64_t mu_lease_length_ns(uint64_t period_ns, uint64_t timeout_ns);

/* Before and after each event: has it run out, or come back? */
void mu_lease_settle(struct mu_detect *detect);

/* An observer is out, and the lease ran until then before that: nobody declares in its place before
 * that is over. */
void mu_lease_on_out(struct mu_detect *detect, uint64_t lease_ns);

/* Says LEASE when it was won or lost. */
void mu_lease_note(struct mu_detect *detect, struct mu_detect_update *update);
uint64_t mu_lease_deadline_ns(const struct mu_detect *detect);

/* ---- watch.c ---- */

static inline bool mu_watcher_is_over(const struct mu_watcher *watcher)
{
    return watcher->unanswered == MU_WATCHER_ENDED;
}

/* How far onward an observer stands.  The first live one is the one that may declare this node. */
static inline uint32_t mu_watcher_onward(const struct mu_detect *detect, mu_slot place)
{
    return place >= detect->self ? place - detect->self : place + detect->size - detect->self;
}

void mu_watched_init(struct mu_detect *detect);

/* The time, for one more word of this node: above all that were given out before. */
uint64_t mu_watched_stamp_ns(struct mu_detect *detect);

void mu_watched_on_watch(struct mu_detect *detect, const struct mu_beat *beat,
                         struct mu_detect_update *update);
void mu_watched_on_ack(struct mu_detect *detect, const struct mu_beat *beat);
void mu_watched_on_release(struct mu_detect *detect, const struct mu_beat *beat);
void mu_watched_on_out(struct mu_detect *detect, mu_slot slot);
void mu_watched_on_timeout(struct mu_detect *detect, struct mu_detect_update *update);
uint64_t mu_watched_deadline_ns(const struct mu_detect *detect);

/* ---- observe.c ---- */

static inline uint64_t mu_watch_late_after_ns(const struct mu_watch *watch)
{
    return watch->period_ns + mu_detect_tolerance_ns(watch->period_ns, watch->timeout_ns);
}

/* When it is late: nothing says that both hear each other. */
static inline uint64_t mu_watch_late_ns(const struct mu_watch *watch)
{
    return watch->contact_ns + watch->lag_ns + mu_watch_late_after_ns(watch);
}

/* When it is silent as well: there is no sign of life. */
static inline uint64_t mu_watch_silent_ns(const struct mu_watch *watch)
{
    return watch->heard_ns + watch->lag_ns + mu_watch_late_after_ns(watch);
}

static inline uint64_t mu_watch_due_ns(const struct mu_watch *watch)
{
    return watch->heard_ns + watch->lag_ns + watch->timeout_ns;
}

void mu_observe_init(struct mu_detect *detect);

/* The ring watch of a slot, or NULL. */
struct mu_watch *mu_observe_find(struct mu_detect *detect, mu_slot slot);

static inline bool mu_observe_is_watched(const struct mu_detect *detect, mu_slot slot)
{
    return detect->ring[MU_RING_NEAREST].slot == slot || detect->ring[MU_RING_MENDED].slot == slot;
}

/* Begins to observe, with a WATCH.  Signs of life are for the caller to note. */
void mu_observe_begin(struct mu_detect *detect, struct mu_watch *watch, mu_slot slot,
                      uint32_t incarnation, struct mu_detect_update *update);

/* Ends a watch with RELEASE; nothing when there is none. */
void mu_observe_end(struct mu_detect *detect, struct mu_watch *watch,
                    struct mu_detect_update *update);

/* It has said something, at this time on its clock; 'both' when that shows that it hears us, too.
 * It is a sign of life now only when it is newer than all that was heard of it before. */
void mu_observe_said(struct mu_detect *detect, struct mu_watch *watch, uint64_t clock_ns, bool both,
                     struct mu_detect_update *update);

void mu_observe_on_beat(struct mu_detect *detect, const struct mu_beat *beat,
                        struct mu_detect_update *update);
void mu_observe_on_answer(struct mu_detect *detect, const struct mu_beat *beat,
                          struct mu_detect_update *update);

/* 'beat' answers a question of this suspicion, and its sender may be a suspect. */
void mu_observe_answered(struct mu_detect *detect, const struct mu_beat *beat,
                         struct mu_detect_update *update);

/* New times; the timeout was 'before_ns'. */
void mu_observe_on_set(struct mu_detect *detect, uint64_t before_ns,
                       struct mu_detect_update *update);

/* Somebody is out: who is observed now? */
void mu_observe_settle(struct mu_detect *detect, struct mu_detect_update *update);

/* Whatever came while this node took in nothing is lost: nobody can be blamed for that, and all
 * have a full timeout again. */
void mu_observe_forgive(struct mu_detect *detect);
void mu_observe_give_back(struct mu_detect *detect, uint64_t lag_ns);
void mu_observe_on_timeout(struct mu_detect *detect, struct mu_detect_update *update);
uint64_t mu_observe_deadline_ns(const struct mu_detect *detect);

/* ---- verdict.c ---- */

/* What is known of a suspect now. */
struct mu_detect_evidence mu_verdict_evidence(const struct mu_detect *detect, mu_slot subject,
                                              enum mu_detect_cause cause);

/* Declares everybody who is due, nearest first. */
void mu_verdict_on_timeout(struct mu_detect *detect, struct mu_detect_update *update);
uint64_t mu_verdict_deadline_ns(const struct mu_detect *detect);

/* Says REPORT when nobody at all answers about one that is due, and when that is over. */
void mu_verdict_note_undecided(struct mu_detect *detect, struct mu_detect_update *update);

/* Declares one; false when there is no room for one more death. */
bool mu_verdict_declare(struct mu_detect *detect, mu_slot subject, enum mu_detect_cause cause,
                        struct mu_detect_update *update);

/* ---- mend.c ---- */

/* The farthest suspect's distance; without mending, that of the nearest node. */
uint32_t mu_mend_reach(const struct mu_detect *detect);

bool mu_mend_is_suspect(const struct mu_detect *detect, mu_slot slot);

/* When this suspect, which is not observed, was probed first (a timeout before the grace is over at
 * the earliest); MU_NEVER: it was not. */
uint64_t mu_mend_probed_ns(const struct mu_detect *detect, mu_slot slot);

/* The one before this suspect was only probed as well, so that nobody knows when it stopped. */
bool mu_mend_is_far(const struct mu_detect *detect, mu_slot slot);

/* A suspect lives: nobody beyond it is a suspect any more, and it is observed in place of whoever
 * was found before.  What it has said is for the caller to note, who then settles.  NULL: one that
 * is nearer is still observed, and silent; this one has to wait. */
struct mu_watch *mu_mend_found(struct mu_detect *detect, mu_slot slot, uint32_t incarnation,
                               struct mu_detect_update *update);

/* The one that was found, and then was silent, lives after all. */
void mu_mend_heard_again(struct mu_detect *detect);

/* Whoever lies before 'distance' is out. */
void mu_mend_trim(struct mu_detect *detect, uint32_t distance);

void mu_mend_stop(struct mu_detect *detect, struct mu_detect_update *update);

/* The one that had answered is gone, or observed for good: the search goes on. */
void mu_mend_resume(struct mu_detect *detect);

/* A round begins: all suspects are probed again. */
void mu_mend_again(struct mu_detect *detect);
void mu_mend_on_timeout(struct mu_detect *detect, struct mu_detect_update *update);
uint64_t mu_mend_deadline_ns(const struct mu_detect *detect);
void mu_mend_forgive(struct mu_detect *detect);
void mu_mend_give_back(struct mu_detect *detect, uint64_t lag_ns);

/* ---- ask.c ---- */

static inline bool mu_ask_is_on(const struct mu_detect *detect)
{
    return detect->ask.round_ns != MU_NEVER;
}

void mu_ask_init(struct mu_detect *detect);
void mu_ask_begin(struct mu_detect *detect);

/* Nobody is late any more. */
void mu_ask_end(struct mu_detect *detect);

void mu_ask_probe(struct mu_detect *detect, mu_slot slot, uint32_t incarnation,
                  struct mu_detect_update *update);

/* Of the suspicion: while the times change, the longer one. */
uint64_t mu_ask_timeout_ns(const struct mu_detect *detect);

/* Does it answer a question that was asked within a timeout?  What comes later says what was, and
 * may have been recorded. */
bool mu_ask_is_answered_in_time(const struct mu_detect *detect, uint64_t nonce, uint64_t stamp_ns);

/* Asks one helper about one more suspect. */
void mu_ask_one(struct mu_detect *detect, mu_slot subject, uint32_t incarnation, uint32_t turn,
                struct mu_detect_update *update);

/* An unsuspected node, or the launcher (MU_SLOT_NONE), has answered a question. */
void mu_ask_vouch(struct mu_detect *detect, mu_slot by, uint64_t nonce, uint64_t stamp_ns);

/* Has somebody unsuspected answered what was asked since? */
bool mu_ask_is_vouched(const struct mu_detect *detect, uint64_t since_ns);

/* Where the launcher vouches: has it said something of this one? */
bool mu_ask_knows_of(const struct mu_detect *detect, mu_slot slot);

/* Somebody is out: of the next one the launcher is asked at once, if it is its turn. */
void mu_ask_on_next(struct mu_detect *detect, struct mu_detect_update *update);

void mu_ask_on_reply(struct mu_detect *detect, const struct mu_beat *beat,
                     struct mu_detect_update *update);
void mu_ask_on_timeout(struct mu_detect *detect, struct mu_detect_update *update);

/* Nobody is left: does the launcher listen to this node alone, and no more to that one, which is
 * out without proof? */
void mu_ask_to_be_chosen(struct mu_detect *detect, mu_slot subject,
                         struct mu_detect_update *update);

/* A connection broke: if it was to the node observed, that one is asked now. */
void mu_ask_on_broke(struct mu_detect *detect, mu_slot slot);
void mu_ask_on_launcher(struct mu_detect *detect, const struct mu_detect_event *event,
                        struct mu_detect_update *update);

/* ---- part.c ---- */

void mu_part_clear(struct mu_detect *detect);

/* The two hear each other again.  Were they parted? */
bool mu_part_mended(struct mu_detect *detect, struct mu_detect_update *update);

/* A helper hears the node that this one does not. */
void mu_part_on_heard(struct mu_detect *detect, const struct mu_beat *beat,
                      struct mu_detect_update *update);
void mu_part_on_taken(struct mu_detect *detect, const struct mu_beat *beat);
void mu_part_renew(struct mu_detect *detect, struct mu_detect_update *update);
void mu_part_on_timeout(struct mu_detect *detect, struct mu_detect_update *update);
uint64_t mu_part_deadline_ns(const struct mu_detect *detect);

/* ---- help.c ---- */

void mu_help_init(struct mu_detect *detect);
void mu_help_on_probe(struct mu_detect *detect, const struct mu_beat *beat,
                      struct mu_detect_update *update);
void mu_help_on_ask(struct mu_detect *detect, const struct mu_beat *beat,
                    struct mu_detect_update *update);

/* The suspect has answered: tells who wants to know. */
void mu_help_on_answer(struct mu_detect *detect, const struct mu_beat *beat,
                       struct mu_detect_update *update);
void mu_help_on_take(struct mu_detect *detect, const struct mu_beat *beat,
                     struct mu_detect_update *update);
void mu_help_on_release(struct mu_detect *detect, const struct mu_beat *beat);

/* A beat of somebody that this node does not observe for itself. */
void mu_help_on_beat(struct mu_detect *detect, const struct mu_beat *beat,
                     struct mu_detect_update *update);
void mu_help_on_out(struct mu_detect *detect, mu_slot slot);

/* This node observes it for itself now, and not in the place of another. */
void mu_help_on_observed(struct mu_detect *detect, mu_slot slot);
void mu_help_on_timeout(struct mu_detect *detect, struct mu_detect_update *update);
uint64_t mu_help_deadline_ns(const struct mu_detect *detect);

#endif
