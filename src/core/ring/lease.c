/* The lease: until when nobody can have declared this node (N3). */
#include "core/ring/inside.h"

#include <assert.h>

/* A beat with this stamp is heard after it, so its observer has not waited for a timeout before
 * this is over.  Nor has one that only probes, and begins when its observer has missed a beat. */
uint64_t mu_lease_length_ns(uint64_t period_ns, uint64_t timeout_ns)
{
    uint64_t slack_ns = mu_detect_slack_ns(period_ns, timeout_ns);
    uint64_t tolerance_ns = mu_detect_tolerance_ns(period_ns, timeout_ns);
    return mu_min_ns(timeout_ns - slack_ns, timeout_ns - period_ns + tolerance_ns);
}

/* ---- what is granted ---- */

static bool counts(const struct mu_watcher *watcher)
{
    return !mu_watcher_is_over(watcher) && !watcher->made_way;
}

/* An observer and a helper in its place: what one of them acknowledges counts for both. */
static uint64_t granted_at_ns(const struct mu_detect *detect, mu_slot place)
{
    uint64_t lease_ns = 0;
    for (int i = 0; i < MU_DETECT_WATCHERS; i++)
        if (counts(&detect->watchers[i]) && detect->watchers[i].place == place)
            lease_ns = mu_max_ns(lease_ns, detect->watchers[i].lease_ns);
    return lease_ns;
}

static const struct mu_watcher *first_onward(const struct mu_detect *detect)
{
    const struct mu_watcher *first = NULL;
    for (int i = 0; i < MU_DETECT_WATCHERS; i++) {
        const struct mu_watcher *watcher = &detect->watchers[i];
        if (counts(watcher) && (first == NULL || mu_watcher_onward(detect, watcher->place) <
                                                     mu_watcher_onward(detect, first->place)))
            first = watcher;
    }
    return first;
}

/* Of several observers each may turn out to be the one that declares this node, because those
 * between are out: the least of their leases counts, and 'place' is whose that is.  One that stands
 * farther onward and has acknowledged nothing yet has just asked, and waits for a timeout from
 * there. */
static uint64_t least_ns(const struct mu_detect *detect, mu_slot *place)
{
    const struct mu_watcher *first = first_onward(detect);
    *place = first == NULL ? MU_SLOT_NONE : first->place;
    uint64_t lease_ns = first == NULL ? detect->lease.left_ns : granted_at_ns(detect, first->place);
    for (int i = 0; i < MU_DETECT_WATCHERS; i++) {
        const struct mu_watcher *watcher = &detect->watchers[i];
        if (!counts(watcher) || watcher->acked_ns == 0 ||
            granted_at_ns(detect, watcher->place) >= lease_ns)
            continue;
        *place = watcher->place;
        lease_ns = granted_at_ns(detect, watcher->place);
    }
    return lease_ns;
}

/* ---- how it ends, and comes back ---- */

static bool has_lapsed(const struct mu_detect *detect, const struct mu_watcher *watcher)
{
    return !mu_watcher_is_over(watcher) && granted_at_ns(detect, watcher->place) <= detect->now_ns;
}

static bool acknowledges(const struct mu_detect *detect, const struct mu_watcher *watcher)
{
    return counts(watcher) && watcher->acked_ns != 0 &&
           granted_at_ns(detect, watcher->place) > detect->now_ns;
}

/* When 'now' may stand for 'before', which is out or silent: a timeout after it took over, and
 * after the lease was over.  Whatever 'before' has said of this node has come to somebody by then,
 * and to whoever acknowledges it. */
static uint64_t replaced_ns(const struct mu_detect *detect, const struct mu_watcher *now,
                            const struct mu_watcher *before)
{
    uint64_t since_ns = mu_max_ns(now->since_ns, detect->lease.ended_ns);
    if (before != NULL)
        since_ns = mu_max_ns(since_ns, mu_max_ns(before->since_ns, before->lease_ns));
    if (mu_detect_is_broken(detect, MU_DETECT_BROKEN_LEASE_BACK))
        return 0;
    return since_ns + now->timeout_ns;
}

/* Those that are silent make way for one that acknowledges. */
static void make_way(struct mu_detect *detect, const struct mu_watcher *now)
{
    for (int i = 0; i < MU_DETECT_WATCHERS; i++) {
        struct mu_watcher *before = &detect->watchers[i];
        if (before->place != now->place && has_lapsed(detect, before) &&
            replaced_ns(detect, now, before) <= detect->now_ns)
            before->made_way = true; /* it is beaten to all the same: it may live */
    }
}

/* The observer on whose watch it ended acknowledges again, or one that has taken its place. */
static bool is_back(struct mu_detect *detect)
{
    mu_slot place = MU_SLOT_NONE;
    bool is_back = false;
    for (int i = 0; i < MU_DETECT_WATCHERS; i++) {
        const struct mu_watcher *watcher = &detect->watchers[i];
        if (!acknowledges(detect, watcher))
            continue;
        make_way(detect, watcher);
        is_back |= watcher->place == detect->lease.ended_by ||
                   replaced_ns(detect, watcher, NULL) <= detect->now_ns;
    }
    return is_back && least_ns(detect, &place) > detect->now_ns;
}

void mu_lease_settle(struct mu_detect *detect)
{
    struct mu_lease *lease = &detect->lease;
    if (mu_detect_lease_until_ns(detect) > detect->now_ns)
        return;
    if (lease->held && !lease->ended) {
        lease->ended = true;
        lease->ended_ns = mu_loop_lease_ns(detect, least_ns(detect, &lease->ended_by));
    }
    bool moves = mu_loop_lease_ns(detect, MU_NEVER) > detect->now_ns;
    if (lease->ended && moves && is_back(detect))
        lease->ended = false;
}

void mu_lease_on_out(struct mu_detect *detect, uint64_t lease_ns)
{
    detect->lease.left_ns = lease_ns == MU_NEVER ? 0 : lease_ns;
}

void mu_lease_note(struct mu_detect *detect, struct mu_detect_update *update)
{
    bool held = mu_detect_lease_until_ns(detect) > detect->now_ns;
    if (held == detect->lease.held)
        return;
    detect->lease.held = held;
    mu_detect_add(update, MU_DETECT_LEASE)->held = held;
}

/* ---- when to look ---- */

static uint64_t later_ns(const struct mu_detect *detect, uint64_t at_ns)
{
    return at_ns > detect->now_ns ? at_ns : MU_NEVER;
}

uint64_t mu_lease_deadline_ns(const struct mu_detect *detect)
{
    uint64_t at_ns = detect->lease.held ? mu_detect_lease_until_ns(detect) : MU_NEVER;
    for (int i = 0; detect->lease.ended && i < MU_DETECT_WATCHERS; i++) {
        const struct mu_watcher *now = &detect->watchers[i];
        if (!counts(now))
            continue;
        at_ns = mu_min_ns(at_ns, later_ns(detect, replaced_ns(detect, now, NULL)));
        for (int k = 0; k < MU_DETECT_WATCHERS; k++)
            if (has_lapsed(detect, &detect->watchers[k]))
                at_ns = mu_min_ns(at_ns,
                                  later_ns(detect, replaced_ns(detect, now, &detect->watchers[k])));
    }
    return at_ns;
}

uint64_t mu_detect_lease_until_ns(const struct mu_detect *detect)
{
    mu_slot place = MU_SLOT_NONE;
    bool is_alone = detect->nearest == MU_SLOT_NONE;
    bool proven = detect->unproven_count == 0;
    if (detect->fenced || !detect->started)
        return 0;
    if (is_alone && mu_detect_is_broken(detect, MU_DETECT_BROKEN_ALONE))
        return MU_NEVER;
    if (is_alone && detect->chosen)
        return MU_NEVER; /* the launcher listens to none of the others any more */
    if (detect->lease.ended)
        return 0;
    if (is_alone && proven)
        return MU_NEVER; /* nobody is left to declare this node, and nobody has */
    if (detect->lease.held && mu_detect_is_broken(detect, MU_DETECT_BROKEN_LEASE))
        return detect->now_ns + detect->timeout_ns;
    return mu_loop_lease_ns(detect, least_ns(detect, &place));
}

bool mu_detect_lease_held(const struct mu_detect *detect)
{
    return detect->lease.held;
}
