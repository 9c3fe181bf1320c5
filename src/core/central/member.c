/* A host: it answers its master, and helps to reach another one. */
#include "core/central/inside.h"

/* C5: who is acknowledged has a lease from the answer on that came. */
static void take_lease(struct mu_central *central, const struct mu_poll *poll)
{
    bool from_here = mu_central_is_broken(central, MU_CENTRAL_BROKEN_LEASE);
    central->lease_ns = (from_here ? central->now_ns : poll->acked_ns) + poll->grant_ns;
    central->grant_ns = poll->grant_ns;
}

/* C7: who says that it misses the master has promised not to vouch for it; and who is about to say
 * so does not vouch for one that grants nothing.  It answers all the same: it lives. */
static bool is_promised(const struct mu_central *central, bool granted)
{
    if (mu_central_is_broken(central, MU_CENTRAL_BROKEN_PROMISE))
        return false;
    return central->now_ns < central->promise_ns || (!granted && central->alarm_ns != MU_NEVER);
}

static void note_polled(struct mu_central *central)
{
    central->polled = true;
    central->since_ns = central->now_ns;
    central->alarm_ns = central->missed_ns = MU_NEVER;
}

void mu_central_on_poll(struct mu_central *central, struct mu_central_host *from,
                        const struct mu_poll *poll, struct mu_central_update *update)
{
    bool mine = from->slot == central->master, granted = poll->grant_ns > 0;
    bool follows = mine && !is_promised(central, granted);
    if (poll->nonce <= from->seen || poll->acked_ns > central->now_ns)
        return;
    from->seen = poll->nonce;
    if (follows && granted)
        take_lease(central, poll);
    if (mine && (granted || mu_central_is_broken(central, MU_CENTRAL_BROKEN_UNGRANTED)))
        note_polled(central);
    if (follows)
        central->answered_ns = central->now_ns;
    struct mu_poll *answer = mu_central_send(central, MU_POLL_ANSWER, from, update);
    answer->follows = follows;
    answer->view = central->number;
    answer->hash = central->hash;
    answer->cycle = poll->cycle;
    answer->nonce = poll->nonce;
    answer->stamp_ns = poll->stamp_ns;
    answer->clock_ns = central->now_ns;
    answer->grant_ns = central->grant_ns;
}

/* ---- helping: nothing is kept of it, the messages carry all ---- */

static void reply(struct mu_central *central, const struct mu_central_host *to, uint64_t stamp_ns,
                  const struct mu_central_host *suspect, enum mu_reach reach,
                  struct mu_central_update *update)
{
    struct mu_poll *reply = mu_central_send(central, MU_POLL_REPLY, to, update);
    reply->reach = (uint8_t)reach;
    reply->stamp_ns = stamp_ns;
    reply->subject = suspect->slot;
    reply->subject_incarnation = suspect->incarnation;
}

void mu_central_on_ask(struct mu_central *central, const struct mu_central_host *from,
                       const struct mu_poll *ask, struct mu_central_update *update)
{
    const struct mu_central_host *suspect = mu_central_find(central, ask->subject);
    if (suspect == NULL || suspect->slot == central->config.self)
        return;
    reply(central, from, ask->stamp_ns, suspect, suspect->out ? MU_REACH_DEAD : MU_REACH_TRYING,
          update);
    if (suspect->out)
        return;
    struct mu_poll *try_ = mu_central_send(central, MU_POLL_TRY, suspect, update);
    try_->stamp_ns = ask->stamp_ns;
    try_->subject = from->slot;
    try_->subject_incarnation = from->incarnation;
}

void mu_central_on_try(struct mu_central *central, const struct mu_central_host *from,
                       const struct mu_poll *try_, struct mu_central_update *update)
{
    struct mu_poll *tried = mu_central_send(central, MU_POLL_TRIED, from, update);
    tried->stamp_ns = try_->stamp_ns;
    tried->subject = try_->subject;
    tried->subject_incarnation = try_->subject_incarnation;
}

void mu_central_on_tried(struct mu_central *central, const struct mu_central_host *from,
                         const struct mu_poll *tried, struct mu_central_update *update)
{
    const struct mu_central_host *asker = mu_central_find(central, tried->subject);
    if (asker != NULL && mu_central_is_peer(central, asker))
        reply(central, asker, tried->stamp_ns, from, MU_REACH_HEARD, update);
}
