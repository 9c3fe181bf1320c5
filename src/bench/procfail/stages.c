#include "bench/procfail/stages.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *name, *about;
} texts[BENCH_STAGES] = {
    [BENCH_STAGE_SEEN] = {"seen_ms", "kill -> seen by its daemon"},
    [BENCH_STAGE_HOP + 0] = {"hop0_ms", "seen -> told there"},
    [BENCH_STAGE_HOP + 1] = {"hop1_ms", "seen -> told by daemons 1 hop away, half of them"},
    [BENCH_STAGE_HOP + 2] = {"hop2_ms", "seen -> told by daemons 2 hops away, half of them"},
    [BENCH_STAGE_HOP + 3] = {"hop3_ms", "seen -> told by daemons 3 hops away, half of them"},
    [BENCH_STAGE_HOP + 4] = {"hop4_ms", "seen -> told by daemons 4 hops away, half of them"},
    [BENCH_STAGE_HOP + 5] = {"hop5_ms", "seen -> told by daemons 5 hops away, half of them"},
    [BENCH_STAGE_HOP_LAST] = {"hop6_ms", "seen -> told by daemons further away, half of them"},
    [BENCH_STAGE_DAEMONS] = {"daemons_ms", "seen -> told by the last daemon"},
    [BENCH_STAGE_READ] = {"read_ms", "told -> read by its client, half of them"},
    [BENCH_STAGE_READ_LAST] = {"read_last_ms", "told -> read by its client, the longest"},
    [BENCH_STAGE_HALF] = {"half_ms", "kill -> read by half of the survivors"},
    [BENCH_STAGE_BARE_HALF] = {"bare_half_ms", "bare sockets: sent -> read by half of them"},
    [BENCH_STAGE_BARE_REALTIME_HALF] = {"bare_realtime_half_ms",
                                        "the same with the daemons' priority"},
};

int bench_stages_make(struct bench_stages *stages, size_t reps, uint32_t size)
{
    *stages = (struct bench_stages){.scratch = calloc(size, sizeof *stages->scratch)};
    bool is_ok = stages->scratch != NULL;
    for (int i = 0; i < BENCH_STAGES; i++) {
        stages->values[i] = calloc(reps, sizeof **stages->values);
        is_ok = is_ok && stages->values[i] != NULL;
    }
    if (!is_ok)
        bench_stages_free(stages);
    return is_ok ? 0 : -1;
}

void bench_stages_free(struct bench_stages *stages)
{
    for (int i = 0; i < BENCH_STAGES; i++)
        free(stages->values[i]);
    free(stages->scratch);
}

static double ms_between(uint64_t from_ns, uint64_t to_ns)
{
    return ((double)to_ns - (double)from_ns) / 1e6;
}

static void add(struct bench_stages *stages, int stage, double value)
{
    stages->values[stage][stages->count[stage]++] = value;
}

/* The figures of 'count' values in the scratch; nothing is added when there are none. */
static struct bench_figures of_scratch(struct bench_stages *stages, int stage, size_t count)
{
    struct bench_figures figures = bench_figures_of(stages->scratch, count);
    if (count > 0)
        add(stages, stage, figures.median);
    return figures;
}

static void add_hops(struct bench_stages *stages, const struct bench_rig *rig)
{
    uint32_t nodes = rig->nodes;
    double last_ms = 0;
    for (int hops = 0; hops <= BENCH_HOPS_MAX; hops++) {
        size_t count = 0;
        for (uint32_t i = 0; i < nodes; i++) {
            int at = rig->told[i].hops < BENCH_HOPS_MAX ? rig->told[i].hops : BENCH_HOPS_MAX;
            if (rig->told[i].ns > 0 && at == hops)
                stages->scratch[count++] = ms_between(rig->seen_ns, rig->told[i].ns);
        }
        struct bench_figures figures = of_scratch(stages, BENCH_STAGE_HOP + hops, count);
        if (figures.max > last_ms)
            last_ms = figures.max;
    }
    add(stages, BENCH_STAGE_DAEMONS, last_ms);
}

static void add_reads(struct bench_stages *stages, const struct bench_rig *rig)
{
    const struct rig_page *page = rig->page;
    size_t count = 0;
    for (uint32_t i = 0; i < page->size; i++) {
        uint64_t read_ns = page->slots[i].read_ns[BENCH_DEATH];
        uint64_t told_ns = rig->told[i / page->procs].ns;
        if (read_ns > 0 && told_ns > 0)
            stages->scratch[count++] = ms_between(told_ns, read_ns);
    }
    struct bench_figures read = of_scratch(stages, BENCH_STAGE_READ, count);
    add(stages, BENCH_STAGE_READ_LAST, read.max);
}

static void add_half(struct bench_stages *stages, int stage, const struct rig_page *page,
                     enum bench_kind kind, uint64_t from_ns)
{
    size_t count = 0;
    for (uint32_t i = 0; i < page->size; i++)
        if (page->slots[i].read_ns[kind] > 0)
            stages->scratch[count++] = ms_between(from_ns, page->slots[i].read_ns[kind]);
    of_scratch(stages, stage, count);
}

void bench_stages_add(struct bench_stages *stages, const struct bench_rig *rig,
                      const uint64_t from_ns[BENCH_KINDS])
{
    static const int halves[BENCH_KINDS] = {
        [BENCH_DEATH] = BENCH_STAGE_HALF,
        [BENCH_BARE] = BENCH_STAGE_BARE_HALF,
        [BENCH_BARE_REALTIME] = BENCH_STAGE_BARE_REALTIME_HALF,
    };
    add(stages, BENCH_STAGE_SEEN, ms_between(from_ns[BENCH_DEATH], rig->seen_ns));
    add_hops(stages, rig);
    add_reads(stages, rig);
    for (int kind = 0; kind < BENCH_KINDS; kind++)
        add_half(stages, halves[kind], rig->page, (enum bench_kind)kind, from_ns[kind]);
}

void bench_stages_print(struct bench_stages *stages)
{
    printf("\n%-52s %10s %10s %10s\n", "stage by stage, ms", "median", "99 %", "max");
    for (int i = 0; i < BENCH_STAGES; i++) {
        if (stages->count[i] == 0)
            continue;
        struct bench_figures figures = bench_figures_of(stages->values[i], stages->count[i]);
        printf("  %-50s %10.3f %10.3f %10.3f\n", texts[i].about, figures.median, figures.p99,
               figures.max);
    }
}

json_t *bench_stages_json(struct bench_stages *stages)
{
    json_t *object = json_object();
    for (int i = 0; i < BENCH_STAGES; i++) {
        if (stages->count[i] == 0)
            continue;
        struct bench_figures figures = bench_figures_of(stages->values[i], stages->count[i]);
        json_object_set_new(object, texts[i].name, bench_figures_json(&figures));
    }
    return object;
}
