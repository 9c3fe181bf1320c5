#include "launch/map.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

uint32_t map_ranks_per_node(uint32_t ranks, uint32_t nodes)
{
    assert(nodes > 0);
    return ranks / nodes + (ranks % nodes != 0);
}

/* The first rank r with r * nodes / ranks >= node. */
static uint32_t first_of(uint32_t node, uint32_t ranks, uint32_t nodes)
{
    return (uint32_t)(((uint64_t)node * ranks + nodes - 1) / nodes);
}

uint32_t map_blocks(uint32_t ranks, uint32_t nodes, struct mu_launch_run *runs)
{
    assert(nodes > 0);
    uint32_t filled = 0;
    for (uint32_t node = 0; node < nodes; node++) {
        uint32_t first = first_of(node, ranks, nodes);
        uint32_t count = first_of(node + 1, ranks, nodes) - first;
        if (count > 0)
            runs[filled++] = (struct mu_launch_run){.slot = node, .first = first, .count = count};
    }
    return filled;
}

uint32_t map_slots(uint32_t ranks, const uint32_t *slots, uint32_t nodes,
                   struct mu_launch_run *runs)
{
    uint32_t filled = 0, first = 0;
    for (uint32_t node = 0; node < nodes && first < ranks; node++) {
        uint32_t left = ranks - first, count = slots[node] < left ? slots[node] : left;
        if (count > 0)
            runs[filled++] = (struct mu_launch_run){.slot = node, .first = first, .count = count};
        first += count;
    }
    assert(first == ranks);
    return filled;
}

uint32_t map_by_node(uint32_t ranks, const uint32_t *slots, uint32_t nodes,
                     struct mu_launch_run *runs)
{
    uint32_t filled = 0, rank = 0;
    for (uint32_t round = 0; rank < ranks; round++) {
        uint32_t before = rank;
        for (uint32_t node = 0; node < nodes && rank < ranks; node++) {
            if (slots[node] <= round)
                continue;
            if (filled > 0 && runs[filled - 1].slot == node)
                runs[filled - 1].count++;
            else
                runs[filled++] = (struct mu_launch_run){.slot = node, .first = rank, .count = 1};
            rank++;
        }
        assert(rank > before); /* there are no more ranks than slots */
    }
    return filled;
}

void map_widen(uint32_t ranks, uint32_t *slots, const uint32_t *most, uint32_t nodes)
{
    uint64_t sum = 0;
    for (uint32_t node = 0; node < nodes; node++)
        sum += slots[node];
    while (sum < ranks) {
        uint64_t before = sum;
        for (uint32_t node = 0; node < nodes && sum < ranks; node++)
            if (slots[node] < most[node]) {
                slots[node]++;
                sum++;
            }
        assert(sum > before);
    }
}

bool map_is_even(const struct mu_launch_run *runs, uint32_t run_count, uint32_t nodes,
                 uint32_t processors)
{
    uint64_t ranks = 0, *has = calloc(processors, sizeof *has); /* by a part's first processor */
    bool is_even = has != NULL;
    for (uint32_t i = 0; is_even && i < run_count; i++) {
        ranks += runs[i].count;
        has[mu_launch_part(runs[i].slot, nodes, processors).first] += runs[i].count;
    }
    for (mu_slot slot = 0; is_even && slot < nodes; slot++) {
        struct mu_launch_part part = mu_launch_part(slot, nodes, processors);
        uint64_t most = (ranks * part.count + processors - 1) / processors;
        is_even = has[part.first] >= part.count && has[part.first] <= most;
    }
    free(has);
    return is_even;
}

const char *map_ranks_text(uint32_t first, uint32_t count, char text[MAP_RANKS_TEXT_MAX])
{
    assert(count > 0);
    if (count == 1)
        snprintf(text, MAP_RANKS_TEXT_MAX, "%u", first);
    else
        snprintf(text, MAP_RANKS_TEXT_MAX, "%u-%u", first, first + count - 1);
    return text;
}
