#include "bench/nodefail/tally.h"

#include <assert.h>
#include <stdlib.h>

void nodefail_draw(struct sim_random *random, uint32_t nodes, uint32_t count, bool contiguous,
                   mu_slot *victims)
{
    assert(count <= nodes);
    if (contiguous) {
        uint64_t first = sim_random_below(random, nodes);
        for (uint32_t i = 0; i < count; i++)
            victims[i] = (mu_slot)((first + i) % nodes);
        return;
    }
    uint32_t taken = 0;
    for (mu_slot node = 0; node < nodes && taken < count; node++)
        if (sim_random_below(random, nodes - node) < count - taken)
            victims[taken++] = node;
}

bool nodefail_tally_make(struct nodefail_tally *tally)
{
    bool good = true;
    for (int i = 0; i < NODEFAIL_FIGURES; i++) {
        tally->ms[i] = calloc(tally->reps, sizeof *tally->ms[i]);
        good = good && tally->ms[i] != NULL;
    }
    return good;
}

void nodefail_tally_free(struct nodefail_tally *tally)
{
    for (int i = 0; i < NODEFAIL_FIGURES; i++) {
        free(tally->ms[i]);
        tally->ms[i] = NULL;
    }
}

static void take_figures(struct nodefail_tally *tally, const struct nodefail_sample *sample)
{
    size_t i = tally->taken++;
    assert(i < tally->reps);
    tally->ms[NODEFAIL_DETECT][i] = sample->detect_ms;
    tally->ms[NODEFAIL_EACH_NODE][i] = sample->each_node_ms;
    tally->ms[NODEFAIL_ALL_TOLD][i] = sample->all_told_ms;
    tally->ms[NODEFAIL_HOST_STALL][i] = sample->host_stall_ms;
}

enum nodefail_next nodefail_tally_take(struct nodefail_tally *tally,
                                       const struct nodefail_sample *sample)
{
    if (sample->stall_ns > tally->longest_ns)
        tally->longest_ns = sample->stall_ns;
    if (sample->stall_ns > tally->limit_ns) {
        if (tally->repeated == NODEFAIL_MORE * tally->reps)
            return NODEFAIL_TOO_STILL;
        tally->repeated++;
        return NODEFAIL_AGAIN;
    }
    if (sample->end == NODEFAIL_BROKEN)
        return NODEFAIL_CANNOT;
    tally->missed += sample->missed;
    tally->wrong += sample->wrong;
    if (sample->end == NODEFAIL_MEASURED)
        take_figures(tally, sample);
    return NODEFAIL_NEXT;
}
