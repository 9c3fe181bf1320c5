/* D6, exactly: two nodes cannot reach each other, and nothing else is wrong. */
#include "sim/ring/law.h"

#include "core/ring/inside.h"
#include "sim/ring/law_inside.h"

enum {
    PATIENCE = 5,  /* timeouts, until the one that fewer reach is declared */
    NOTICED = 2,   /* timeouts, until it is reported at the latest */
    DECLARED = 12, /* timeouts, until it is declared at the latest */
};

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static void expect_nothing(struct ring_world *world, const char *why)
{
    const struct ring_law *law = &world->law;
    if (law->verdicts > 0)
        ring_law_fail(world, "D6", "node %u is declared: %s", law->first_declared, why);
}

static void expect_one(struct ring_world *world, mu_slot which)
{
    const struct ring_law *law = &world->law;
    if (law->verdicts == 0)
        ring_law_fail(world, "D6",
                      "node %u cannot reach its observer or the other way round, for "
                      "more than %d timeouts, and nobody is declared",
                      which, DECLARED);
    else if (law->first_cause != MU_DETECT_UNREACHABLE || law->first_declared != which)
        ring_law_fail(world, "D6",
                      "node %u is declared for cause %u; others reach both, so it "
                      "should be node %u, the higher one, for %u",
                      law->first_declared, law->first_cause, which, MU_DETECT_UNREACHABLE);
}

/* The launcher stands outside, reaches both, and is always there. */
static bool has_launcher(const struct ring_world *world, mu_slot low, mu_slot high)
{
    return ring_launcher_reaches(world, low) && ring_launcher_reaches(world, high) &&
           world->plan->launcher.still_until_ns == 0;
}

void ring_law_on_end_of_pair(struct ring_world *world)
{
    const struct ring_fault *cut = world->plan->pair;
    const struct ring_law *law = &world->law;
    mu_slot low = cut->node < cut->peer ? cut->node : cut->peer;
    mu_slot high = cut->node + cut->peer - low;
    uint64_t timeout_ns = law->timeout_ns_max;
    bool adjacent = high == low + 1 || (low == 0 && high == world->size - 1);
    bool is_helped = world->size > 2 || has_launcher(world, low, high);
    if (world->size == 2 && world->plan->launcher.there && !is_helped)
        return; /* it helps one of them, or for some of the time */
    if (!adjacent || !is_helped) {
        expect_nothing(world, world->size == 2 ? "nobody could help to find out"
                                               : "those that were cut have nothing to do with "
                                                 "each other");
        return;
    }
    uint64_t reported_ns = law->pair_reported_ns == 0 ? MU_NEVER : law->pair_reported_ns;
    if (cut->for_ns > (NOTICED + 1) * timeout_ns &&
        reported_ns > cut->at_ns + NOTICED * timeout_ns + timeout_ns / MU_DETECT_SLACKS +
                          4 * world->plan->net.delay_ns_max + NOTICED * world->plan->timer_ns_max)
        ring_law_fail(world, "D6",
                      "nodes %u and %u are cut off from each other, and that is not "
                      "reported within %.3f ms",
                      low, high, ms(NOTICED * timeout_ns));
    if (cut->for_ns < PATIENCE * timeout_ns)
        expect_nothing(world, "the cut was mended before five timeouts");
    else if (cut->for_ns > DECLARED * timeout_ns)
        expect_one(world, high);
    else if (law->verdicts > 0)
        expect_one(world, high);
}
