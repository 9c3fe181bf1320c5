/* The module's beginning and end. */
#define _GNU_SOURCE
#include "pmix/inside.h"
#include "pmix/libpmix.h"
#include "pmix/priority.h"

#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_bool closing;

static pmix_status_t start(struct mu_pmix *pmix)
{
    pmix_info_t info[5];
    bool yes = true;
    pmix_nspace_t name;
    for (size_t i = 0; i < sizeof info / sizeof *info; i++)
        PMIX_INFO_CONSTRUCT(&info[i]);
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, pmix->config.folder, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, pmix->config.folder, PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_HOSTNAME, pmix->hostname, PMIX_STRING);
    mu_space_server(&pmix->config, name);
    PMIX_INFO_LOAD(&info[3], PMIX_SERVER_NSPACE, name, PMIX_STRING);
    PMIX_INFO_LOAD(&info[4], PMIX_SERVER_SHARE_TOPOLOGY, &yes, PMIX_BOOL);
    struct sigaction child;
    struct mu_priority priority;
    sigaction(SIGCHLD, NULL, &child);
    mu_priority_begin(&priority);
    pmix_status_t status = PMIx_server_init(&mu_pmix_upcalls, info, sizeof info / sizeof *info);
    mu_priority_end(&priority);
    sigaction(SIGCHLD, &child, NULL); /* it has no children, and we have other ways */
    for (size_t i = 0; i < sizeof info / sizeof *info; i++)
        PMIX_INFO_DESTRUCT(&info[i]);
    return status;
}

static struct mu_pmix *open_module(const struct mu_pmix_config *config, char text[MU_PMIX_TEXT_MAX])
{
    struct mu_pmix *pmix = calloc(1, sizeof *pmix);
    if (pmix == NULL) {
        snprintf(text, MU_PMIX_TEXT_MAX, "no memory");
        return NULL;
    }
    pmix->config = *config;
    snprintf(pmix->hostname, sizeof pmix->hostname, "%s", config->names[config->self]);
    atomic_store(&closing, false);
    mu_pmix_open_one = pmix;
    pmix_status_t status = start(pmix);
    if (status == PMIX_SUCCESS) {
        mu_upcall_watch();
        mu_libpmix_send_at_once();
        return pmix;
    }
    snprintf(text, MU_PMIX_TEXT_MAX, "PMIx_server_init: %s", PMIx_Error_string(status));
    mu_pmix_open_one = NULL;
    free(pmix);
    return NULL;
}

bool mu_pmix_is_closing(void)
{
    return atomic_load(&closing);
}

/* On libpmix's thread. */
static void on_turn_over(pmix_status_t status, void *data)
{
    (void)status;
    sem_post(data);
}

static void take_now(pmix_status_t status, void *data)
{
    int *connection = data;
    if (status != PMIX_ERR_INIT)
        mu_libpmix_take(*connection);
    else
        close(*connection);
    free(connection);
}

/* On libpmix's thread, when it calls back for a process that is none: after all that it was told of
 * jobs before. */
static void take(struct mu_pmix *pmix, int connection)
{
    int *kept = malloc(sizeof *kept);
    pmix_proc_t nobody;
    (void)pmix;
    if (kept == NULL)
        abort(); /* a process would wait for ever */
    *kept = connection;
    PMIX_LOAD_PROCID(&nobody, "", PMIX_RANK_UNDEF);
    mu_pmix_gives();
    PMIx_server_deregister_client(&nobody, take_now, kept);
}

/* What libpmix's thread is in the midst of, and what waits there, is over when it calls back for a
 * process that is none. */
static void wait_for_turn(void)
{
    sem_t turn_over;
    pmix_proc_t nobody;
    PMIX_LOAD_PROCID(&nobody, "", PMIX_RANK_UNDEF);
    sem_init(&turn_over, 0, 0);
    PMIx_server_deregister_client(&nobody, on_turn_over, &turn_over);
    while (sem_wait(&turn_over) != 0)
        ;
    sem_destroy(&turn_over);
}

/* PMIx_server_finalize() holds a lock while it waits for libpmix's thread, which takes that lock in
 * each function that it would call for us: so from here on it calls none.  Nor does it ask for
 * anything more, and whatever it waits for is answered, because after that nothing can be.  What is
 * left then is only freed. */
static void close_module(struct mu_pmix *pmix)
{
    atomic_store(&closing, true);
    wait_for_turn();
    while (pmix->spaces != NULL)
        mu_space_over(pmix, pmix->spaces->number);
    mu_upcall_turn(pmix);
    wait_for_turn();
    PMIx_server_finalize(); /* its thread has ended, and nothing is put any more */
    mu_upcall_turn(pmix);
    mu_modex_free(pmix);
    mu_pmix_open_one = NULL;
    free(pmix);
}

static void turn(struct mu_pmix *pmix)
{
    mu_upcall_turn(pmix);
    mu_keep_turn(pmix);
}

__attribute__((visibility("default"))) const struct mu_pmix_module mu_pmix_module = {
    .version = MU_PMIX_VERSION,
    .can_wait = mu_libpmix_is_known,
    .early_env = mu_space_early_env,
    .early_usual_env = mu_space_early_usual_env,
    .open = open_module,
    .close = close_module,
    .take = take,
    .turn = turn,
    .job_begin = mu_space_begin,
    .job_over = mu_space_over,
    .env = mu_space_env,
    .usual_env = mu_space_usual_env,
    .env_free = mu_space_env_free,
    .told = mu_events_told,
    .ended = mu_space_ended,
    .inside = mu_space_inside,
    .quiet = mu_events_quiet,
    .asked = mu_ask_asked,
    .spawned = mu_spawn_spawned,
};
