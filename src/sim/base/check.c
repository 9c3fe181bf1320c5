#include "sim/base/check.h"

#include "sim/base/random.h"

#include <string.h>

uint32_t sim_check_nodes_of(const struct sim_check *check, uint64_t seed)
{
    uint32_t span = check->nodes_last - check->nodes_first + 1;
    return check->nodes_first + (uint32_t)(sim_random_hash(seed) % span);
}

void sim_check_all(const struct sim_check *check, sim_check_one *one, bool stop_at_first,
                   struct sim_check_result *result)
{
    memset(result, 0, sizeof *result);
    uint64_t runs = check->seeds_last - check->seeds_first + 1;
    for (uint64_t seed = check->seeds_first;; seed++) {
        one(check, seed, NULL, result);
        if (check->progress != NULL)
            check->progress(result->runs, runs);
        if (seed == check->seeds_last || (stop_at_first && result->violations > 0))
            return;
    }
}

void sim_check_take(struct sim_check_result *result, const struct sim_check_outcome *outcome)
{
    result->runs++;
    result->events += outcome->events;
    result->crashes += outcome->crashes;
    if (outcome->broken == NULL || result->violations++ > 0)
        return;
    result->nodes = outcome->nodes;
    result->seed = outcome->seed;
    result->step = outcome->step;
    snprintf(result->law, sizeof result->law, "%s", outcome->broken);
    snprintf(result->message, sizeof result->message, "%s", outcome->message);
}
