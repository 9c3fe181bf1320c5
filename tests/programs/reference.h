/* Did this machine stand still?  A thread on each core sleeps and wakes at fixed times, with the
 * priority of heartbeats where that is allowed, and keeps how late it was. */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Runs until the process ends.  Returns whether it has real-time priority. */
bool reference_start(void);

/* The worst delay since the last call. */
uint64_t reference_lag_ns(void);

#endif
