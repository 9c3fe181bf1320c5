/* Drawn numbers: the same seed gives the same run, on every machine. */
#ifndef MU_SIM_BASE_RANDOM_H
#define MU_SIM_BASE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct sim_random {
    uint64_t state;
};

void sim_random_init(struct sim_random *random, uint64_t seed);

uint64_t sim_random_next(struct sim_random *random);

/* Uniform in 0 .. bound-1; bound > 0. */
uint64_t sim_random_below(struct sim_random *random, uint64_t bound);

/* Uniform in low .. high, both included. */
uint64_t sim_random_between(struct sim_random *random, uint64_t low, uint64_t high);

/* True in 'percent' of 100 draws. */
bool sim_random_chance(struct sim_random *random, uint32_t percent);

/* A well mixed function of its argument: for properties that are looked up instead of stored. */
uint64_t sim_random_hash(uint64_t value);

#endif
