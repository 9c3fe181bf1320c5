/* A daemon whose main loop stands still must not pass for one that works: as N13 of the ring. */
#include "core/central/inside.h"

enum { ASK_PARTS = 10 };

bool mu_central_loop_stands(const struct mu_central *central)
{
    return central->loop_asked_ns != MU_NEVER &&
           central->now_ns - central->loop_asked_ns >= central->config.loop_ns &&
           !mu_central_is_broken(central, MU_CENTRAL_BROKEN_LOOP);
}

void mu_central_loop_ask(struct mu_central *central, struct mu_central_update *update)
{
    if (central->loop_next_ns > central->now_ns || central->loop_asked_ns != MU_NEVER)
        return;
    central->loop_asked_ns = central->now_ns;
    central->loop_next_ns = central->now_ns + central->config.loop_ns / ASK_PARTS;
    mu_central_add(update, MU_CENTRAL_ASK_LOOP);
}

/* What came while it stood still is lost: nobody is judged by that. */
void mu_central_loop_answer(struct mu_central *central)
{
    bool stood = mu_central_loop_stands(central);
    if (stood)
        central->lag_ns = central->now_ns - central->loop_asked_ns;
    central->loop_asked_ns = MU_NEVER;
    if (stood)
        mu_central_forgive(central);
}

uint64_t mu_central_loop_deadline_ns(const struct mu_central *central)
{
    if (central->loop_asked_ns == MU_NEVER)
        return central->loop_next_ns;
    return central->loop_asked_ns + central->config.loop_ns;
}
