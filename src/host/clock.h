/* The clock that all times in ns of daemon, launcher and library are on: CLOCK_MONOTONIC. Processes
 * of one host share it; hosts do not. */
#ifndef MU_HOST_CLOCK_H
#define MU_HOST_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t mu_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline int64_t mu_now_ms(void)
{
    return (int64_t)(mu_now_ns() / 1000000);
}

#endif
