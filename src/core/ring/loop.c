/* The main loop of this node's daemon, which carries verdicts and everything else: does it still
 * move?  (N13) */
#include "core/ring/inside.h"

uint64_t mu_detect_loop_patience_ns(uint64_t timeout_ns, uint64_t least_ns)
{
    return mu_max_ns(MU_DETECT_LOOP_TIMEOUTS * timeout_ns, least_ns);
}

uint64_t mu_detect_loop_bound_ns(uint64_t timeout_ns, uint64_t least_ns)
{
    uint64_t patience_ns = mu_detect_loop_patience_ns(timeout_ns, least_ns);
    return patience_ns / MU_DETECT_LOOP_PART + patience_ns + 2 * timeout_ns;
}

static uint64_t patience_ns(const struct mu_detect *detect)
{
    return mu_detect_loop_patience_ns(detect->timeout_ns, detect->loop.least_ns);
}

static bool is_asked(const struct mu_detect *detect)
{
    return detect->loop.asked_ns != MU_NEVER;
}

/* Who is left alone has nobody who could take its place. */
static bool is_on(const struct mu_detect *detect)
{
    return detect->loop.least_ns != 0 && detect->nearest != MU_SLOT_NONE;
}

void mu_loop_init(struct mu_detect *detect, uint64_t least_ns)
{
    detect->loop = (struct mu_loop){.least_ns = least_ns, .asked_ns = MU_NEVER};
}

/* ---- what comes of it ---- */

static void say(struct mu_detect *detect, enum mu_loop_phase phase, struct mu_detect_update *update)
{
    struct mu_detect_effect *effect = mu_detect_add(update, MU_DETECT_STOOD);
    detect->loop.phase = phase;
    effect->stood.phase = phase;
    effect->stood.ns = mu_since_ns(detect->now_ns, detect->loop.asked_ns);
}

void mu_loop_on_answer(struct mu_detect *detect, struct mu_detect_update *update)
{
    if (mu_loop_is_silent(detect))
        mu_observe_forgive(detect);
    if (detect->loop.phase != MU_LOOP_MOVES)
        say(detect, MU_LOOP_MOVES, update);
    detect->loop.asked_ns = MU_NEVER;
}

static void ask(struct mu_detect *detect, struct mu_detect_update *update)
{
    mu_detect_add(update, MU_DETECT_ASK_LOOP);
    detect->loop.asked_ns = detect->now_ns;
    detect->loop.next_ns = detect->now_ns + patience_ns(detect) / MU_DETECT_LOOP_PART;
}

void mu_loop_on_timeout(struct mu_detect *detect, struct mu_detect_update *update)
{
    if (!is_on(detect))
        return;
    if (!is_asked(detect)) {
        if (detect->loop.next_ns <= detect->now_ns)
            ask(detect, update);
        return;
    }
    uint64_t stood_ns = mu_since_ns(detect->now_ns, detect->loop.asked_ns);
    if (mu_detect_is_broken(detect, MU_DETECT_BROKEN_LOOP))
        return;
    if (stood_ns >= patience_ns(detect) + detect->timeout_ns)
        say(detect, MU_LOOP_SILENT, update);
    else if (stood_ns >= patience_ns(detect) && detect->loop.phase == MU_LOOP_MOVES)
        say(detect, MU_LOOP_LATE, update);
}

uint64_t mu_loop_deadline_ns(const struct mu_detect *detect)
{
    if (!is_on(detect) || (is_asked(detect) && mu_detect_is_broken(detect, MU_DETECT_BROKEN_LOOP)))
        return MU_NEVER;
    if (!is_asked(detect))
        return detect->loop.next_ns;
    uint64_t late_ns = detect->loop.asked_ns + patience_ns(detect);
    return detect->loop.phase == MU_LOOP_MOVES ? late_ns : late_ns + detect->timeout_ns;
}

/* What this thread itself missed, the loop may have missed as well: a host that stood still. */
void mu_loop_give_back(struct mu_detect *detect, uint64_t lag_ns)
{
    if (is_asked(detect) && !mu_loop_is_silent(detect))
        detect->loop.asked_ns = mu_min_ns(detect->loop.asked_ns + lag_ns, detect->now_ns);
}

uint64_t mu_loop_lease_ns(const struct mu_detect *detect, uint64_t lease_ns)
{
    if (!is_on(detect) || !is_asked(detect) || mu_detect_is_broken(detect, MU_DETECT_BROKEN_LOOP))
        return lease_ns;
    return mu_min_ns(lease_ns, detect->loop.asked_ns + patience_ns(detect));
}

/* ---- silence ---- */

enum mu_loop_phase mu_detect_loop_phase(const struct mu_detect *detect)
{
    return (enum mu_loop_phase)detect->loop.phase;
}

bool mu_loop_is_silent(const struct mu_detect *detect)
{
    return detect->loop.phase == MU_LOOP_SILENT;
}

/* Its own death is all that it takes in: whatever else comes is lost, as in a full socket. */
bool mu_loop_keeps_out(const struct mu_detect *detect, const struct mu_detect_event *event)
{
    return mu_loop_is_silent(detect) &&
           (event->type == MU_DETECT_TIMEOUT ||
            (event->type == MU_DETECT_RECV && event->beat->type != MU_BEAT_DEAD));
}

void mu_loop_hush(struct mu_detect_update *update)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < update->count; i++)
        if (update->effects[i].type != MU_DETECT_SEND)
            update->effects[kept++] = update->effects[i];
    update->count = kept;
}
