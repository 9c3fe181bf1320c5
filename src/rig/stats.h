/* What a row of measurements comes to. */
#ifndef MU_RIG_STATS_H
#define MU_RIG_STATS_H

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

struct bench_figures {
    double p10, median, p99, max;
};

/* Sorts 'values' in place.  p10 and p99 are values that were measured (the nearest rank), the
 * median of an even count is the mean of the middle two.  All zero when there are none. */
struct bench_figures bench_figures_of(double *values, size_t count);

/* {"median":..,"p10":..,"p99":..,"max":..} */
json_t *bench_figures_json(const struct bench_figures *figures);

/* KiB of a process's own memory and its share of what it shares with others (Pss), or 0: it cannot
 * be read. */
double bench_pss_kib(pid_t pid);

#endif
