/* PMI_dead_processes: "1,3-5", the ranks of the job that have failed, in order, as hydra says it.
 */
#include "daemon/pmi/space.h"

#include <inttypes.h>
#include <stdio.h>

/* How many follow each other from here on. */
static uint32_t run_at(const uint64_t *failed, uint32_t size, uint32_t rank)
{
    uint32_t count = 0;
    while (rank + count < size && mu_pmi1_has_failed(failed, rank + count))
        count++;
    return count;
}

bool mu_pmi1_dead(const uint64_t *failed, uint32_t size, char text[MU_PMI1_VALUE_MAX])
{
    int used = 0;
    text[0] = '\0';
    for (uint32_t rank = 0, count; rank < size; rank += count + 1) {
        char dash[16] = "";
        count = run_at(failed, size, rank);
        if (count == 0)
            continue;
        if (count > 1)
            snprintf(dash, sizeof dash, "-%" PRIu32, rank + count - 1);
        used += snprintf(text + used, (size_t)(MU_PMI1_VALUE_MAX - used), "%s%" PRIu32 "%s",
                         used == 0 ? "" : ",", rank, dash);
        if (used >= MU_PMI1_VALUE_MAX)
            return false;
    }
    return true;
}
