/* The time that a run takes here, for its figures; nothing in a virtual world depends on it. */
#ifndef MU_SIM_BASE_WALL_H
#define MU_SIM_BASE_WALL_H

#include <time.h>

static inline double sim_wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#endif
