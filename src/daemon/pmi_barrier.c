/* What PMI-1 needs of other nodes: barriers, which are exchanges of what was put; and who is dead.
 */
#include "daemon/inside.h"

#include "daemon/pmi/pmi1.h"

/* Tells these exchanges from others of all ranks of a job. */
#define TAG_PMI1 UINT64_C(0x504d4931) /* "PMI1" */

static void on_gathered(void *arg, const struct mu_exchange_result *result)
{
    struct mu_pmi1_job *job = arg;
    for (uint32_t i = 0; i < result->part_count; i++)
        mu_pmi1_part(job, result->parts[i].node, result->parts[i].bytes, result->parts[i].count);
    mu_pmi1_gathered(job);
}

/* The job is not forgotten before the exchanges are told that it is over. */
const char *mu_daemon_gather(void *owner, uint32_t job, uint32_t size, const uint8_t *bytes,
                             size_t count)
{
    struct mu_daemon *daemon = owner;
    const struct mu_rank_run all = {.first = 0, .count = size};
    return mu_exchange_begin(daemon->exchanges, job, TAG_PMI1, &all, 1, bytes, count, on_gathered,
                             mu_jobs_pmi(daemon->jobs, job));
}

void mu_daemon_dead(void *owner, uint32_t job, uint64_t *failed)
{
    struct mu_daemon *daemon = owner;
    const struct mu_roll_job *known = mu_roll_find(&daemon->roll, job);
    for (uint32_t rank = 0; known != NULL && rank < known->spec.size; rank++)
        if (mu_roll_state(known, rank) == MU_RANK_FAILED)
            failed[rank / 64] |= UINT64_C(1) << rank % 64;
}
