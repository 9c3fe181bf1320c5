/* What the parts of the central detector share; for the core, and for checkers that look inside. */
#ifndef MU_CORE_CENTRAL_INSIDE_H
#define MU_CORE_CENTRAL_INSIDE_H

#include "core/central/central.h"

/* One member of the view.  Times are this node's; MU_NEVER: not now. */
struct mu_central_host {
    mu_slot slot;
    uint32_t incarnation;
    bool out;

    /* at the master */
    uint64_t srtt_ns, rttvar_ns; /* C2; srtt_ns 0: no sample yet */
    uint64_t sent;               /* nonce of the last poll */
    uint64_t answered;           /* highest nonce that came back */
    uint64_t asked_ns;           /* the first poll since it was last heard */
    bool vouched;                /* half of the view have answered that round */
    uint64_t suspect_ns;         /* it missed a timeout; it was polled again then */
    uint64_t wait_ns;            /* its timeout at that moment */
    uint64_t due_ns;             /* its second timeout: known once somebody vouches (C6) */
    uint64_t heard_ns;           /* its newest answer came */
    uint64_t echo_ns;            /* when the poll was sent that it answered */
    uint64_t acked_ns;           /* its own clock in that answer */
    uint64_t grant_ns;           /* what the next poll grants */
    uint64_t granted_ns;         /* its lease is over by then, whatever it has received */
    uint32_t polls;              /* since asked_ns */
    bool reported;               /* as unreachable */
    uint8_t helpers;
    struct {
        mu_slot slot;
        uint8_t reach;
    } helper[MU_CENTRAL_HELPERS];

    /* at any other member */
    uint64_t seen;       /* highest nonce of its polls */
    uint64_t present_ns; /* its newest PRESENT came */
    uint64_t clock_ns;   /* its own clock in that */
    uint64_t confirm_ns; /* it misses the master: it said so after this, on this node's clock */
};

struct mu_central {
    struct mu_central_config config;
    bool started, fenced, held;
    uint64_t now_ns;
    uint64_t deadline_ns; /* asked for by the last step */
    struct mu_roster dead;

    /* the view */
    uint64_t number, hash;
    struct mu_central_host *hosts, *other; /* by slot; room to build the next view */
    uint32_t count;
    mu_slot master;
    uint32_t master_incarnation;

    /* as the master */
    uint64_t nonce, cycle;
    uint64_t round_ns;   /* the next one */
    uint64_t vouched_ns; /* the newest round that enough of the view have answered (C6) */
    uint64_t quiet_ns;   /* what others have granted is over then (C7) */
    uint64_t lag_ns;     /* the last that was given back */

    /* as a member */
    bool polled;          /* this master has granted a lease */
    uint64_t since_ns;    /* that, the newest time; or since it is the master */
    uint64_t answered_ns; /* the last poll that was answered */
    uint64_t promise_ns;  /* no poll of the master is answered until then */
    uint64_t alarm_ns;    /* the master is missed since then */
    uint64_t missed_ns;   /* MISSED goes out again */
    uint64_t lease_ns;    /* granted by this master; as the master, unused */
    uint64_t left_ns;     /* granted by those before */
    uint64_t grant_ns;

    /* the main loop */
    uint64_t loop_asked_ns, loop_next_ns;
};

static inline bool mu_central_is_broken(const struct mu_central *central,
                                        enum mu_central_broken rule)
{
    return (central->config.broken_rules & rule) != 0;
}

static inline uint64_t mu_central_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t mu_central_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline bool mu_central_is_master(const struct mu_central *central)
{
    return central->master == central->config.self;
}

/* ---- central.c ---- */

struct mu_central_effect *mu_central_add(struct mu_central_update *update,
                                         enum mu_central_effect_type type);
struct mu_poll *mu_central_send(struct mu_central *central, enum mu_poll_type type,
                                const struct mu_central_host *to, struct mu_central_update *update);

/* ---- table.c: the view, and who of it is out ---- */

/* Lives, and is not this node. */
bool mu_central_is_peer(const struct mu_central *central, const struct mu_central_host *host);

/* NULL: no member. */
struct mu_central_host *mu_central_find(const struct mu_central *central, mu_slot slot);

void mu_central_on_view(struct mu_central *central, const struct mu_central_event *event,
                        struct mu_central_update *update);

/* The one door of deaths: a verdict of this node, or what it was told.  False: there is no room. */
bool mu_central_mark_out(struct mu_central *central, mu_slot slot, uint32_t incarnation,
                         bool proven, struct mu_central_update *update);

/* How many members must answer a master, or miss it, this node included: any two such sets have one
 * in common.  Those that are proven dead do not count. */
uint32_t mu_central_half(const struct mu_central *central);
uint32_t mu_central_majority(const struct mu_central *central);

/* Whatever was granted before now by others is over then. */
uint64_t mu_central_grants_over_ns(const struct mu_central *central);

void mu_central_fence(struct mu_central *central, mu_slot by, struct mu_central_update *update);
void mu_central_tell(struct mu_central *central, mu_slot slot, uint32_t incarnation,
                     struct mu_central_update *update);

/* ---- master.c ---- */

void mu_central_begin(struct mu_central *central);
void mu_central_forgive(struct mu_central *central);
void mu_central_on_answer(struct mu_central *central, struct mu_central_host *host,
                          const struct mu_poll *answer, struct mu_central_update *update);
void mu_central_on_reply(struct mu_central *central, const struct mu_poll *reply,
                         struct mu_central_update *update);
void mu_central_keep_rounds(struct mu_central *central, struct mu_central_update *update);
void mu_central_judge(struct mu_central *central, struct mu_central_update *update);
uint64_t mu_central_master_deadline_ns(const struct mu_central *central);
uint64_t mu_central_master_lease_ns(const struct mu_central *central);

/* ---- timeout.c ---- */

void mu_central_sample(const struct mu_central *central, struct mu_central_host *host,
                       uint64_t round_trip_ns, uint64_t grant_ns);
uint64_t mu_central_wait_ns(const struct mu_central *central, const struct mu_central_host *host);

/* ---- verdict.c ---- */

void mu_central_evidence(const struct mu_central *central, const struct mu_central_host *host,
                         struct mu_detect_evidence *evidence);
bool mu_central_declare(struct mu_central *central, struct mu_central_host *host,
                        struct mu_central_update *update);

/* ---- member.c ---- */

void mu_central_on_poll(struct mu_central *central, struct mu_central_host *from,
                        const struct mu_poll *poll, struct mu_central_update *update);
void mu_central_on_ask(struct mu_central *central, const struct mu_central_host *from,
                       const struct mu_poll *ask, struct mu_central_update *update);
void mu_central_on_try(struct mu_central *central, const struct mu_central_host *from,
                       const struct mu_poll *try_, struct mu_central_update *update);
void mu_central_on_tried(struct mu_central *central, const struct mu_central_host *from,
                         const struct mu_poll *tried, struct mu_central_update *update);

/* ---- alarm.c: the master is missed (C7) ---- */

void mu_central_new_master(struct mu_central *central);
void mu_central_give_back(struct mu_central *central);
void mu_central_on_missed(struct mu_central *central, struct mu_central_host *from,
                          const struct mu_poll *missed, struct mu_central_update *update);
void mu_central_on_present(struct mu_central *central, struct mu_central_host *from,
                           const struct mu_poll *present);
void mu_central_watch_master(struct mu_central *central, struct mu_central_update *update);
uint64_t mu_central_member_deadline_ns(const struct mu_central *central);

/* ---- loop.c: the main loop of the daemon ---- */

bool mu_central_loop_stands(const struct mu_central *central);
void mu_central_loop_ask(struct mu_central *central, struct mu_central_update *update);
void mu_central_loop_answer(struct mu_central *central);
uint64_t mu_central_loop_deadline_ns(const struct mu_central *central);

#endif
