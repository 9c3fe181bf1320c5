/* From libpmix's thread to the loop, which never waits for it: it may have a real-time priority,
 * and the other thread none. */
#include "pmix/inside.h"

#include <assert.h>

struct mu_pmix *mu_pmix_open_one;

/* libpmix has its own ways to pass things from thread to thread; a checker of races does not see
 * them. */
static atomic_uint given;

void mu_pmix_gives(void)
{
    atomic_fetch_add(&given, 1);
}

void mu_pmix_takes(void)
{
    (void)atomic_load(&given);
}

void mu_upcall_put(struct mu_upcall *upcall)
{
    struct mu_pmix *pmix = mu_pmix_open_one;
    assert(pmix != NULL);
    upcall->next = atomic_load(&pmix->newest);
    while (!atomic_compare_exchange_weak(&pmix->newest, &upcall->next, upcall))
        ;
    pmix->config.host.wake(pmix->config.host.owner);
}

void mu_upcall_turn(struct mu_pmix *pmix)
{
    struct mu_upcall *newest = atomic_exchange(&pmix->newest, NULL), *oldest = NULL;
    while (newest != NULL) {
        struct mu_upcall *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest != NULL) {
        struct mu_upcall *next = oldest->next;
        oldest->run(pmix, oldest);
        oldest = next;
    }
}
