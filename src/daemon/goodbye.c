/* Who ends without a word, though it had joined its job: docs/spec/daemon.md, "Goodbyes". */
#include "daemon/inside.h"

#include "daemon/pmi/pmi1.h"

static bool in_pmi1(struct mu_daemon *daemon, uint32_t job, uint32_t rank)
{
    struct mu_pmi1_job *pmi = mu_jobs_pmi(daemon->jobs, job);
    return pmi != NULL && mu_pmi1_inside(pmi, rank);
}

enum mu_goodbye mu_daemon_owes(void *owner, uint32_t job, uint32_t rank)
{
    struct mu_daemon *daemon = owner;
    if (!mu_roll_others(&daemon->roll, job, rank))
        return MU_GOODBYE_SAID; /* nobody is left who could wait */
    if (mu_pmix_loader_inside(daemon->pmix, job, rank))
        return MU_GOODBYE_PMIX;
    if (in_pmi1(daemon, job, rank))
        return MU_GOODBYE_PMI1;
    return mu_notify_inside(daemon->notify, job, rank) ? MU_GOODBYE_MUSTER : MU_GOODBYE_SAID;
}
