#include "host/cores.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the threads of a core end. */
static uint32_t core_end(const struct mu_cores *cores, uint32_t first)
{
    uint32_t end = first;
    while (end < cores->count && cores->threads[end].core == cores->threads[first].core)
        end++;
    return end;
}

static bool is_usable(const struct mu_cores *cores, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        if (cores->threads[i].usable)
            return true;
    return false;
}

/* The first thread of the usable core with this index; 'count' when there is none. */
static uint32_t find(const struct mu_cores *cores, uint32_t index)
{
    uint32_t end, usable = 0;
    for (uint32_t first = 0; first < cores->count; first = end) {
        end = core_end(cores, first);
        if (is_usable(cores, first, end) && usable++ == index)
            return first;
    }
    return cores->count;
}

uint32_t mu_cores_usable(const struct mu_cores *cores)
{
    uint32_t end, usable = 0;
    for (uint32_t first = 0; first < cores->count; first = end) {
        end = core_end(cores, first);
        usable += is_usable(cores, first, end);
    }
    return usable;
}

void mu_cores_mask(const struct mu_cores *cores, uint32_t index, struct mu_spawn_cpus *cpus)
{
    uint32_t first = find(cores, index);
    assert(first < cores->count);
    memset(cpus, 0, sizeof *cpus);
    for (uint32_t i = first; i < core_end(cores, first); i++) {
        uint32_t cpu = cores->threads[i].cpu;
        if (cores->threads[i].usable)
            cpus->words[cpu / MU_SPAWN_WORD_BITS] |= 1ul << cpu % MU_SPAWN_WORD_BITS;
    }
}

/* What stands before a thread in the picture. */
static const char *between(const struct mu_cores *cores, uint32_t i)
{
    if (i == 0)
        return "[";
    const struct mu_cores_thread *before = &cores->threads[i - 1], *here = &cores->threads[i];
    if (here->package != before->package)
        return "][";
    return here->core != before->core ? "/" : "";
}

void mu_cores_text(const struct mu_cores *cores, uint32_t index, char *text, size_t room)
{
    uint32_t core_first = find(cores, index), core_last = core_end(cores, core_first);
    assert(core_first < cores->count);
    size_t words = (size_t)snprintf(text, room, "core %" PRIu32, cores->threads[core_first].core);
    assert(words < room);
    size_t used = words + (size_t)snprintf(text + words, room - words, ": ");
    for (uint32_t i = 0; i < cores->count && used < room; i++) {
        bool bound = i >= core_first && i < core_last && cores->threads[i].usable;
        used += (size_t)snprintf(text + used, room - used, "%s%s%s", between(cores, i),
                                 bound ? "B" : ".", i + 1 == cores->count ? "]" : "");
    }
    if (used >= room)
        text[words] = '\0';
}

void mu_cores_free(struct mu_cores *cores)
{
    free(cores->threads);
    *cores = (struct mu_cores){0};
}

/* ---- who gets which ---- */

bool mu_cores_has(const struct mu_spawn_cpus *cpus, uint32_t cpu)
{
    return (cpus->words[cpu / MU_SPAWN_WORD_BITS] >> cpu % MU_SPAWN_WORD_BITS & 1) != 0;
}

uint32_t mu_cores_count(const struct mu_spawn_cpus *cpus)
{
    uint32_t count = 0;
    for (uint32_t cpu = 0; cpu < MU_SPAWN_CPUS_MAX; cpu++)
        count += mu_cores_has(cpus, cpu);
    return count;
}

void mu_cores_part(const struct mu_spawn_cpus *allowed, mu_slot slot, uint32_t nodes,
                   struct mu_spawn_cpus *part)
{
    struct mu_launch_part row = mu_launch_part(slot, nodes, mu_cores_count(allowed));
    uint32_t at = 0;
    memset(part, 0, sizeof *part);
    for (uint32_t cpu = 0; cpu < MU_SPAWN_CPUS_MAX; cpu++) {
        if (!mu_cores_has(allowed, cpu))
            continue;
        if (at >= row.first && at < row.first + row.count)
            part->words[cpu / MU_SPAWN_WORD_BITS] |= 1ul << cpu % MU_SPAWN_WORD_BITS;
        at++;
    }
}

void mu_cores_list(const struct mu_spawn_cpus *cpus, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t cpu = 0, end; cpu < MU_SPAWN_CPUS_MAX && used < room; cpu = end + 1) {
        for (end = cpu; end < MU_SPAWN_CPUS_MAX && mu_cores_has(cpus, end); end++)
            ;
        const char *comma = used > 0 ? "," : "";
        if (end > cpu + 1)
            used += (size_t)snprintf(text + used, room - used, "%s%" PRIu32 "-%" PRIu32, comma, cpu,
                                     end - 1);
        else if (end > cpu)
            used += (size_t)snprintf(text + used, room - used, "%s%" PRIu32, comma, cpu);
    }
}

/* Ranks of slots from 'low' to before 'high'. */
static uint32_t ranks_at(const struct mu_launch_job *spec, mu_slot low, mu_slot high)
{
    uint32_t ranks = 0;
    for (uint32_t i = 0; i < spec->run_count; i++)
        if (spec->runs[i].slot >= low && spec->runs[i].slot < high)
            ranks += spec->runs[i].count;
    return ranks;
}

uint32_t mu_cores_wanted(const struct mu_launch_job *spec, mu_slot self, bool shared_host)
{
    return shared_host ? spec->size : ranks_at(spec, self, self + 1);
}

uint32_t mu_cores_before(const struct mu_launch_job *spec, mu_slot self, bool shared_host)
{
    return shared_host ? ranks_at(spec, 0, self) : 0;
}
