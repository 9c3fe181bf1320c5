#include "rig/stats.h"

#include <stdio.h>
#include <stdlib.h>

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The smallest value that at least 'percent' of all do not exceed. */
static double nearest_rank(const double *sorted, size_t count, size_t percent)
{
    size_t rank = (count * percent + 99) / 100;
    return sorted[rank == 0 ? 0 : rank - 1];
}

struct bench_figures bench_figures_of(double *values, size_t count)
{
    struct bench_figures figures = {0};
    if (count == 0)
        return figures;
    qsort(values, count, sizeof *values, by_value);
    figures.p10 = nearest_rank(values, count, 10);
    figures.median = (values[(count - 1) / 2] + values[count / 2]) / 2;
    figures.p99 = nearest_rank(values, count, 99);
    figures.max = values[count - 1];
    return figures;
}

json_t *bench_figures_json(const struct bench_figures *figures)
{
    json_t *object = json_object();
    json_object_set_new(object, "median", json_real(figures->median));
    json_object_set_new(object, "p10", json_real(figures->p10));
    json_object_set_new(object, "p99", json_real(figures->p99));
    json_object_set_new(object, "max", json_real(figures->max));
    return object;
}

double bench_pss_kib(pid_t pid)
{
    char path[64], line[256];
    unsigned long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Pss: %lu kB", &kib) == 1)
            break;
    fclose(file);
    return (double)kib;
}
