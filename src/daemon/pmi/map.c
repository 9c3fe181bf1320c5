/* PMI_process_mapping: "(vector,(FIRST,NODES,EACH),...)", in the order of ranks.  Each block is as
 * many nodes from FIRST on, with EACH ranks on every one; after the last block the first one comes
 * again.  Nodes are numbered without gaps, in the order of slots. */
#include "daemon/pmi/space.h"
#include "daemon/roll/roll.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct block {
    uint32_t first, nodes, each;
};

/* The slots of the job in order, each once.  Returns how many. */
static uint32_t list_slots(const struct mu_launch_job *spec, mu_slot *slots)
{
    for (uint32_t i = 0; i < spec->run_count; i++)
        slots[i] = spec->runs[i].slot;
    return mu_roll_slots(slots, spec->run_count);
}

static uint32_t number_of(mu_slot slot, const mu_slot *slots, uint32_t count)
{
    return mu_roll_slot_place(slots, count, slot);
}

static uint32_t make_blocks(const struct mu_launch_job *spec, const mu_slot *slots, uint32_t count,
                            struct block *blocks)
{
    uint32_t filled = 0;
    for (uint32_t i = 0; i < spec->run_count; i++) {
        uint32_t node = number_of(spec->runs[i].slot, slots, count), each = spec->runs[i].count;
        struct block *last = filled > 0 ? &blocks[filled - 1] : NULL;
        if (last != NULL && last->each == each && last->first + last->nodes == node)
            last->nodes++;
        else
            blocks[filled++] = (struct block){node, 1, each};
    }
    return filled;
}

/* How many blocks there are before they come again; the last round may end early. */
static uint32_t period_of(const struct block *blocks, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        bool last = i + 1 == count;
        const struct block *block = &blocks[i];
        bool same = block->first == blocks[0].first && block->each == blocks[0].each &&
                    (last ? block->nodes <= blocks[0].nodes : block->nodes == blocks[0].nodes);
        if (!same)
            return count;
    }
    return 1;
}

static bool write_blocks(const struct block *blocks, uint32_t count, char text[MU_PMI1_VALUE_MAX])
{
    int used = snprintf(text, MU_PMI1_VALUE_MAX, "(vector");
    for (uint32_t i = 0; i < count && used < MU_PMI1_VALUE_MAX; i++)
        used += snprintf(text + used, (size_t)(MU_PMI1_VALUE_MAX - used),
                         ",(%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")", blocks[i].first, blocks[i].nodes,
                         blocks[i].each);
    if (used < MU_PMI1_VALUE_MAX)
        used += snprintf(text + used, (size_t)(MU_PMI1_VALUE_MAX - used), ")");
    return used < MU_PMI1_VALUE_MAX;
}

bool mu_pmi1_mapping(const struct mu_launch_job *spec, char text[MU_PMI1_VALUE_MAX])
{
    mu_slot *slots = calloc(spec->run_count, sizeof *slots);
    struct block *blocks = calloc(spec->run_count, sizeof *blocks);
    bool good = slots != NULL && blocks != NULL;
    if (good) {
        uint32_t count = make_blocks(spec, slots, list_slots(spec, slots), blocks);
        good = write_blocks(blocks, period_of(blocks, count), text);
    }
    free(slots);
    free(blocks);
    return good;
}
