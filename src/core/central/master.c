/* The master: polls in rounds, and judges when all that has come was taken in (C1, C3 to C6). */
#include "core/central/inside.h"

#include <string.h>

static void forget_question(struct mu_central_host *host)
{
    host->asked_ns = host->suspect_ns = host->due_ns = MU_NEVER;
    host->vouched = false;
    host->polls = 0;
}

void mu_central_begin(struct mu_central *central)
{
    for (uint32_t i = 0; i < central->count; i++) {
        struct mu_central_host *host = &central->hosts[i];
        forget_question(host);
        host->srtt_ns = host->rttvar_ns = 0;
        host->heard_ns = host->echo_ns = host->acked_ns = 0;
        host->grant_ns = host->granted_ns = 0;
        host->helpers = 0;
        host->reported = false;
    }
    central->vouched_ns = 0;
    central->round_ns = central->now_ns;
}

/* Own lag: nobody is judged by what may have been lost meanwhile. */
void mu_central_forgive(struct mu_central *central)
{
    if (!mu_central_is_master(central)) {
        mu_central_give_back(central);
        return;
    }
    for (uint32_t i = 0; i < central->count; i++)
        forget_question(&central->hosts[i]);
    central->round_ns = central->now_ns;
}

/* ---- who vouches (C6) ---- */

static bool needs_nobody(const struct mu_central *central)
{
    return mu_central_half(central) <= 1 || mu_central_is_broken(central, MU_CENTRAL_BROKEN_HALF);
}

/* A poll that was not answered says something when half of the view have answered theirs of the
 * same round.  When they answered only a later one, this node was the one that was not heard: then
 * both timeouts count from that round on. */
static void settle(struct mu_central *central, struct mu_central_host *host)
{
    uint64_t vouched_ns = central->vouched_ns;
    if (host->suspect_ns == vouched_ns && host->due_ns == MU_NEVER) {
        host->due_ns = vouched_ns + host->wait_ns;
    } else if (host->suspect_ns < vouched_ns && host->due_ns == MU_NEVER) {
        host->asked_ns = vouched_ns;
        host->suspect_ns = MU_NEVER;
    } else if (host->asked_ns <= vouched_ns && !host->vouched) {
        host->asked_ns = vouched_ns;
        host->vouched = true;
    }
}

static void settle_all(struct mu_central *central)
{
    for (uint32_t i = 0; i < central->count; i++)
        settle(central, &central->hosts[i]);
}

/* The next round above the last one that enough have answered, if there is one. */
static bool next_vouched(const struct mu_central *central, uint64_t *round_ns)
{
    uint32_t count = 1; /* this node */
    *round_ns = MU_NEVER;
    for (uint32_t i = 0; i < central->count; i++) {
        const struct mu_central_host *host = &central->hosts[i];
        if (!mu_central_is_peer(central, host) || host->echo_ns <= central->vouched_ns)
            continue;
        count++;
        *round_ns = mu_central_min(*round_ns, host->echo_ns);
    }
    return count > 1 && count >= mu_central_half(central);
}

static void vouch(struct mu_central *central)
{
    uint64_t round_ns;
    if (needs_nobody(central)) {
        central->vouched_ns = central->now_ns;
        settle_all(central);
        return;
    }
    while (next_vouched(central, &round_ns)) {
        central->vouched_ns = round_ns;
        settle_all(central);
    }
}

/* Who answered that round says to nobody for a ceiling that it misses this master (C7).  One that
 * needs nobody vouches for itself, as long as it moves. */
uint64_t mu_central_master_lease_ns(const struct mu_central *central)
{
    return central->vouched_ns == 0 ? 0 : central->vouched_ns + central->config.ceiling_ns;
}

static bool has_lease(const struct mu_central *central)
{
    return mu_central_master_lease_ns(central) > central->now_ns;
}

/* ---- rounds ---- */

/* C5. */
static uint64_t grant(const struct mu_central *central, struct mu_central_host *host)
{
    if (host->acked_ns == 0 || !has_lease(central))
        return 0;
    host->granted_ns = mu_central_max(host->granted_ns, host->heard_ns + host->grant_ns);
    return host->grant_ns;
}

static void poll(struct mu_central *central, struct mu_central_host *host,
                 struct mu_central_update *update)
{
    if (host->asked_ns == MU_NEVER)
        host->asked_ns = central->now_ns;
    host->polls++;
    host->sent = ++central->nonce;
    struct mu_poll *poll = mu_central_send(central, MU_POLL_POLL, host, update);
    poll->view = central->number;
    poll->hash = central->hash;
    poll->cycle = central->cycle;
    poll->nonce = host->sent;
    poll->stamp_ns = central->now_ns;
    poll->grant_ns = grant(central, host);
    poll->acked_ns = poll->grant_ns == 0 ? 0 : host->acked_ns;
}

static void ask_helpers(struct mu_central *central, const struct mu_central_host *host,
                        struct mu_central_update *update)
{
    for (uint8_t i = 0; i < host->helpers; i++) {
        const struct mu_central_host *helper = mu_central_find(central, host->helper[i].slot);
        if (helper == NULL || helper->out)
            continue;
        struct mu_poll *ask = mu_central_send(central, MU_POLL_ASK, helper, update);
        ask->stamp_ns = central->now_ns;
        ask->subject = host->slot;
        ask->subject_incarnation = host->incarnation;
    }
}

/* C4: a declared host may live, and be cut off for now. */
static void tell_declared(struct mu_central *central, struct mu_central_update *update)
{
    if (central->cycle % MU_CENTRAL_TELL_CYCLES != 0 ||
        mu_central_is_broken(central, MU_CENTRAL_BROKEN_TELLING))
        return;
    for (uint32_t i = 0; i < central->dead.count; i++) {
        const struct mu_roster_entry *dead = &central->dead.entries[i];
        const struct mu_central_host *host = mu_central_find(central, dead->slot);
        bool returned = host != NULL && host->incarnation > dead->incarnation;
        if (!dead->proven && !returned)
            mu_central_tell(central, dead->slot, dead->incarnation, update);
    }
}

void mu_central_keep_rounds(struct mu_central *central, struct mu_central_update *update)
{
    if (central->round_ns > central->now_ns)
        return;
    central->cycle++;
    central->round_ns += central->config.cycle_ns;
    if (central->round_ns <= central->now_ns)
        central->round_ns = central->now_ns + central->config.cycle_ns;
    for (uint32_t i = 0; i < central->count; i++) {
        struct mu_central_host *host = &central->hosts[i];
        if (!mu_central_is_peer(central, host))
            continue;
        poll(central, host, update);
        if (host->suspect_ns != MU_NEVER)
            ask_helpers(central, host, update);
    }
    vouch(central); /* it may need nobody for that */
    tell_declared(central, update);
}

/* ---- answers ---- */

static void clear(struct mu_central_host *host, struct mu_central_update *update)
{
    forget_question(host);
    host->helpers = 0;
    if (!host->reported)
        return;
    host->reported = false;
    struct mu_detect_evidence *evidence = &mu_central_add(update, MU_CENTRAL_REPORT)->evidence;
    evidence->subject = host->slot;
    evidence->incarnation = host->incarnation;
    evidence->vouched_by = MU_SLOT_NONE;
}

/* Does it answer what was asked last, and not before? */
static bool is_fresh(const struct mu_central *central, const struct mu_central_host *host,
                     const struct mu_poll *answer)
{
    return host->asked_ns == MU_NEVER || answer->stamp_ns >= host->asked_ns ||
           mu_central_is_broken(central, MU_CENTRAL_BROKEN_NONCE);
}

static void take_sample(struct mu_central *central, struct mu_central_host *host,
                        const struct mu_poll *answer)
{
    uint64_t round_trip_ns = central->now_ns - answer->stamp_ns;
    bool late = round_trip_ns > mu_central_wait_ns(central, host);
    if (!late || !mu_central_is_broken(central, MU_CENTRAL_BROKEN_LATE))
        mu_central_sample(central, host, round_trip_ns, answer->grant_ns);
}

/* C2: a nonce counts once, and an older one not any more. */
void mu_central_on_answer(struct mu_central *central, struct mu_central_host *host,
                          const struct mu_poll *answer, struct mu_central_update *update)
{
    bool sound = answer->nonce > host->answered && answer->nonce <= host->sent;
    if (mu_central_is_broken(central, MU_CENTRAL_BROKEN_NONCE))
        sound = true;
    if (!mu_central_is_master(central) || answer->stamp_ns > central->now_ns || !sound)
        return;
    host->answered = answer->nonce;
    take_sample(central, host, answer);
    if (!is_fresh(central, host, answer))
        return;
    clear(host, update);
    if (!answer->follows)
        return;
    host->heard_ns = central->now_ns;
    host->acked_ns = answer->clock_ns;
    host->grant_ns = central->config.cycle_ns + 2 * mu_central_wait_ns(central, host);
    host->echo_ns = mu_central_max(host->echo_ns, answer->stamp_ns);
    vouch(central);
}

void mu_central_on_reply(struct mu_central *central, const struct mu_poll *reply,
                         struct mu_central_update *update)
{
    struct mu_central_host *host = mu_central_find(central, reply->subject);
    if (!mu_central_is_master(central) || host == NULL || host->suspect_ns == MU_NEVER ||
        reply->stamp_ns < host->suspect_ns ||
        mu_central_is_broken(central, MU_CENTRAL_BROKEN_HELPERS))
        return;
    for (uint8_t i = 0; i < host->helpers; i++)
        if (host->helper[i].slot == reply->from && host->helper[i].reach < reply->reach)
            host->helper[i].reach = reply->reach;
    if (reply->reach != MU_REACH_HEARD || host->reported)
        return;
    host->reported = true;
    mu_central_evidence(central, host, &mu_central_add(update, MU_CENTRAL_REPORT)->evidence);
}

/* ---- judging (C3) ---- */

static bool is_chosen(const struct mu_central_host *host, mu_slot slot)
{
    for (uint8_t i = 0; i < host->helpers; i++)
        if (host->helper[i].slot == slot)
            return true;
    return false;
}

/* Three that are not suspect, far apart. */
static void choose_helpers(struct mu_central *central, struct mu_central_host *host)
{
    uint32_t index = (uint32_t)(host - central->hosts);
    host->helpers = 0;
    for (uint32_t part = 0; part < MU_CENTRAL_HELPERS; part++)
        for (uint32_t i = 1; i < central->count; i++) {
            uint32_t at = (index + i + part * central->count / MU_CENTRAL_HELPERS) % central->count;
            const struct mu_central_host *helper = &central->hosts[at];
            if (helper == host || !mu_central_is_peer(central, helper) ||
                helper->suspect_ns != MU_NEVER || is_chosen(host, helper->slot))
                continue;
            host->helper[host->helpers].slot = helper->slot;
            host->helper[host->helpers++].reach = MU_REACH_NONE;
            break;
        }
}

/* It is polled again at once, and so is everybody else: is it the suspect that does not hear, or
 * this node? */
static void suspect(struct mu_central *central, struct mu_central_host *host)
{
    host->suspect_ns = central->now_ns;
    host->wait_ns = mu_central_wait_ns(central, host);
    host->due_ns =
        mu_central_is_broken(central, MU_CENTRAL_BROKEN_ONCE) ? central->now_ns : MU_NEVER;
    choose_helpers(central, host);
    central->round_ns = central->now_ns;
}

static bool is_late(const struct mu_central *central, const struct mu_central_host *host)
{
    return mu_central_is_peer(central, host) && host->suspect_ns == MU_NEVER && host->vouched &&
           central->now_ns >= host->asked_ns + mu_central_wait_ns(central, host);
}

/* When it may be declared, if this node has its lease then. */
static uint64_t over_ns(const struct mu_central *central, const struct mu_central_host *host)
{
    if (mu_central_is_broken(central, MU_CENTRAL_BROKEN_GRANT))
        return mu_central_max(host->due_ns, central->quiet_ns);
    return mu_central_max(host->due_ns, mu_central_max(host->granted_ns, central->quiet_ns));
}

void mu_central_judge(struct mu_central *central, struct mu_central_update *update)
{
    for (uint32_t i = 0; i < central->count; i++)
        if (is_late(central, &central->hosts[i]))
            suspect(central, &central->hosts[i]);
    vouch(central);
    for (uint32_t i = 0; i < central->count && has_lease(central); i++) {
        struct mu_central_host *host = &central->hosts[i];
        if (mu_central_is_peer(central, host) && over_ns(central, host) <= central->now_ns &&
            !mu_central_declare(central, host, update))
            return;
    }
}

static uint64_t host_deadline_ns(const struct mu_central *central,
                                 const struct mu_central_host *host)
{
    if (!mu_central_is_peer(central, host))
        return MU_NEVER;
    if (host->suspect_ns == MU_NEVER)
        return !host->vouched ? MU_NEVER : host->asked_ns + mu_central_wait_ns(central, host);
    /* One that is due, and cannot be declared now, is looked at in every round. */
    uint64_t at_ns = over_ns(central, host);
    return at_ns > central->now_ns ? at_ns : MU_NEVER;
}

uint64_t mu_central_master_deadline_ns(const struct mu_central *central)
{
    uint64_t at_ns = central->round_ns;
    for (uint32_t i = 0; i < central->count; i++)
        at_ns = mu_central_min(at_ns, host_deadline_ns(central, &central->hosts[i]));
    return at_ns;
}
