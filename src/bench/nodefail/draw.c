#include "bench/nodefail/draw.h"

#include <assert.h>

void nodefail_draw(struct sim_random *random, uint32_t nodes, uint32_t count, bool contiguous,
                   mu_slot *victims)
{
    assert(count <= nodes);
    if (contiguous) {
        uint64_t first = sim_random_below(random, nodes);
        for (uint32_t i = 0; i < count; i++)
            victims[i] = (mu_slot)((first + i) % nodes);
        return;
    }
    uint32_t taken = 0;
    for (mu_slot node = 0; node < nodes && taken < count; node++)
        if (sim_random_below(random, nodes - node) < count - taken)
            victims[taken++] = node;
}
