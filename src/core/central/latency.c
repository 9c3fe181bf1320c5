#include "core/central/latency.h"

#include <assert.h>

/* An hour in nanoseconds has 42 bits; its square in microseconds 64, so distances are cut below. */
#define HOUR_NS    (UINT64_C(3600) * 1000 * 1000 * 1000)
#define SQUARE_MAX (UINT64_MAX / 4)
enum { US = 1000 };

static uint64_t root(uint64_t value)
{
    uint64_t low = 0, high = UINT64_C(1) << 32;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (middle * middle <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The mean moves by (took - mean) / count; the rest of the division is kept for the next. */
static void move_mean(struct mu_latency *latency, uint64_t took_ns)
{
    if (took_ns >= latency->mean_ns) {
        uint64_t up = took_ns - latency->mean_ns + latency->left;
        latency->mean_ns += up / latency->count;
        latency->left = up % latency->count;
        return;
    }
    uint64_t down = latency->mean_ns - took_ns;
    uint64_t step =
        down <= latency->left ? 0 : (down - latency->left + latency->count - 1) / latency->count;
    latency->left = step * latency->count + latency->left - down;
    latency->mean_ns -= step;
}

static uint64_t distance_us(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) / US;
}

/* Welford's way: no sum of large squares whose difference is small. */
void mu_latency_add(struct mu_latency *latency, uint64_t took_ns, uint64_t round_trip_ns)
{
    if (took_ns > HOUR_NS)
        took_ns = HOUR_NS;
    uint64_t estimate_ns = mu_latency_estimate_ns(latency, round_trip_ns);
    if (estimate_ns > 0) {
        latency->judged++;
        latency->exceeded += took_ns > estimate_ns ? 1 : 0;
    }
    uint64_t before_us = distance_us(took_ns, latency->mean_ns);
    if (latency->count++ == 0)
        before_us = 0;
    move_mean(latency, took_ns);
    uint64_t more = before_us * distance_us(took_ns, latency->mean_ns);
    latency->square = more > SQUARE_MAX - latency->square ? SQUARE_MAX : latency->square + more;
}

uint64_t mu_latency_sigma_ns(const struct mu_latency *latency)
{
    return latency->count < 2 ? 0 : root(latency->square / (latency->count - 1)) * US;
}

uint64_t mu_latency_estimate_ns(const struct mu_latency *latency, uint64_t round_trip_ns)
{
    if (latency->count < MU_LATENCY_SAMPLES_MIN)
        return 0;
    return latency->mean_ns + 3 * mu_latency_sigma_ns(latency) + round_trip_ns;
}
