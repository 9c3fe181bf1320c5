/* Faults of the network on purpose: an operator's word, kept until its time is over, its operator
 * gone, or the next one there.  Both threads have their own copy of the fault in force. */
#include "daemon/inside.h"
#include "host/log.h"

#include <string.h>

enum { AGAIN_MS = 1 };

static uint64_t to_ms(uint64_t ns)
{
    return (ns + 999999) / 1000000;
}

static void on_again(uv_timer_t *timer);

/* The heartbeat thread first: nobody is to hear it once others hear nothing else. */
static void apply(struct mu_daemon *daemon)
{
    if (daemon->ring_runs && !mu_heartbeat_harm(daemon->heartbeat, &daemon->harm))
        uv_timer_start(&daemon->again_timer, on_again, AGAIN_MS, 0);
    mu_net_harm(&daemon->net, &daemon->harm);
    mu_door_look_again(&daemon->door);
}

static void on_again(uv_timer_t *timer)
{
    apply(timer->data);
}

static void on_flap(uv_timer_t *timer)
{
    struct mu_daemon *daemon = timer->data;
    const struct mu_chaos *chaos = &daemon->harm.chaos;
    daemon->harm.is_on = !daemon->harm.is_on;
    uv_timer_start(timer, on_flap, to_ms(daemon->harm.is_on ? chaos->down_ns : chaos->up_ns), 0);
    apply(daemon);
}

void mu_daemon_chaos_end(struct mu_daemon *daemon)
{
    uv_timer_stop(&daemon->harm_timer);
    uv_timer_stop(&daemon->flap_timer);
    if (daemon->harm.chaos.kind == MU_CHAOS_NONE)
        return;
    memset(&daemon->harm, 0, sizeof daemon->harm);
    mu_warn("the injected network fault has ended");
    apply(daemon);
}

static void on_end(uv_timer_t *timer)
{
    mu_daemon_chaos_end(timer->data);
}

/* ---- an operator's words ---- */

static void say(const struct mu_chaos *chaos)
{
    static const char *const what[] = {"", "is cut off", "flaps", "is slow"};
    mu_warn("%s, %s%s (injected)", what[chaos->kind],
            chaos->in && chaos->out ? "both ways"
            : chaos->in             ? "inwards"
                                    : "outwards",
            chaos->range_count > 0 ? ", for some" : "");
}

const char *mu_daemon_chaos(void *owner, const struct mu_chaos *chaos, uint64_t holder)
{
    struct mu_daemon *daemon = owner;
    if (!daemon->ring_runs)
        return "the machine is not up yet";
    if (daemon->ending)
        return "the daemon ends";
    if (chaos->kind == MU_CHAOS_NONE) {
        mu_daemon_chaos_end(daemon);
        return NULL;
    }
    uv_timer_stop(&daemon->harm_timer);
    uv_timer_stop(&daemon->flap_timer);
    daemon->harm = (struct mu_harm){.is_on = true, .chaos = *chaos, .random = chaos->seed};
    daemon->harm_holder = holder;
    uv_update_time(&daemon->loop);
    if (chaos->for_ns != 0)
        uv_timer_start(&daemon->harm_timer, on_end, to_ms(chaos->for_ns), 0);
    if (chaos->kind == MU_CHAOS_FLAP)
        uv_timer_start(&daemon->flap_timer, on_flap, to_ms(chaos->down_ns), 0);
    say(chaos);
    apply(daemon);
    return NULL;
}

void mu_daemon_chaos_let_go(void *owner, uint64_t holder)
{
    struct mu_daemon *daemon = owner;
    if (daemon->harm.chaos.held && daemon->harm_holder == holder)
        mu_daemon_chaos_end(daemon);
}

/* ---- beginning and end ---- */

void mu_daemon_chaos_open(struct mu_daemon *daemon)
{
    uv_timer_t *timers[] = {&daemon->harm_timer, &daemon->flap_timer, &daemon->again_timer};
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        uv_timer_init(&daemon->loop, timers[i]);
        timers[i]->data = daemon;
    }
}

void mu_daemon_chaos_close(struct mu_daemon *daemon)
{
    uv_timer_t *timers[] = {&daemon->harm_timer, &daemon->flap_timer, &daemon->again_timer};
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++)
        uv_close((uv_handle_t *)timers[i], NULL);
}
