#include "net/harm.h"

static bool cuts(const struct mu_harm *harm, bool direction, mu_slot peer)
{
    return harm->is_on && harm->chaos.kind != MU_CHAOS_SLOW && direction &&
           mu_chaos_concerns(&harm->chaos, peer);
}

bool mu_harm_cuts_in(const struct mu_harm *harm, mu_slot peer)
{
    return cuts(harm, harm->chaos.in, peer);
}

bool mu_harm_cuts_out(const struct mu_harm *harm, mu_slot peer)
{
    return cuts(harm, harm->chaos.out, peer);
}

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t late_ns(struct mu_harm *harm, bool direction, mu_slot peer)
{
    const struct mu_chaos *chaos = &harm->chaos;
    if (!harm->is_on || chaos->kind != MU_CHAOS_SLOW || !direction ||
        !mu_chaos_concerns(chaos, peer))
        return 0;
    return chaos->delay_ns + draw(&harm->random) % (chaos->jitter_ns + 1);
}

uint64_t mu_harm_late_in_ns(struct mu_harm *harm, mu_slot peer)
{
    return late_ns(harm, harm->chaos.in, peer);
}

uint64_t mu_harm_late_out_ns(struct mu_harm *harm, mu_slot peer)
{
    return late_ns(harm, harm->chaos.out, peer);
}
