#include "sim/base/random.h"

#include <assert.h>

/* A counter through a strong mixer: every seed is a good one, and neighbouring seeds differ. */
uint64_t sim_random_hash(uint64_t value)
{
    value ^= value >> 32;
    value *= 0xe9846af9b1a615d7u;
    value ^= value >> 32;
    value *= 0xe9846af9b1a615d7u;
    value ^= value >> 28;
    return value;
}

void sim_random_init(struct sim_random *random, uint64_t seed)
{
    random->state = sim_random_hash(seed + 0x9e3779b97f4a7c15u);
}

uint64_t sim_random_next(struct sim_random *random)
{
    random->state += 0x9e3779b97f4a7c15u;
    return sim_random_hash(random->state);
}

uint64_t sim_random_below(struct sim_random *random, uint64_t bound)
{
    assert(bound > 0);
    return (uint64_t)((unsigned __int128)sim_random_next(random) * bound >> 64);
}

uint64_t sim_random_between(struct sim_random *random, uint64_t low, uint64_t high)
{
    assert(low <= high);
    return low + sim_random_below(random, high - low + 1);
}

bool sim_random_chance(struct sim_random *random, uint32_t percent)
{
    return sim_random_below(random, 100) < percent;
}
