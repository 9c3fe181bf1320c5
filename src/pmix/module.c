/* The module's beginning and end. */
#define _GNU_SOURCE
#include "pmix/inside.h"
#include "pmix/libpmix.h"
#include "pmix/priority.h"

#include <inttypes.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The processes are given the topology of the host that hwloc finds here: else each would look for
 * every PCI device itself, which takes longer than all the rest.  Where many nodes are on one host
 * they find the cores only, because each daemon would look.  Who has set the variable knows better.
 */
#define HWLOC_VARIABLE "HWLOC_COMPONENTS"
#define HWLOC_LITTLE   "-linux:0x78,-x86,-pci,-opencl,-cuda,-nvml,-gl,-rsmi"

/* Job data in memory that is sent, not in shared files, which somebody would have to remove when
 * this daemon is killed.  And a lost connection is known at once, not a second later. */
static const char *const settings[][2] = {
    {"PMIX_MCA_gds", "hash"},
    {"PMIX_MCA_psec", "native"},
    {"PMIX_MCA_pcompress", "^zlib"},
    {"PMIX_MCA_prm", "^slurm"},
    {"PMIX_MCA_pmix_event_caching_window", "0"},
};

static atomic_bool closing;

/* When 'muster run' is itself a process of some PMIx server: this daemon is not. */
static void forget_others(void)
{
    for (char **at = environ; *at != NULL;) {
        char name[128];
        size_t length = strcspn(*at, "=");
        bool other = strncmp(*at, "PMIX_", 5) == 0 && length < sizeof name;
        if (other) {
            memcpy(name, *at, length);
            name[length] = '\0';
            unsetenv(name);
            at = environ; /* it has moved */
        } else {
            at++;
        }
    }
}

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
    snprintf(name, sizeof name, "musterd-%016" PRIx64 "-%" PRIu32, pmix->config.machine,
             pmix->config.self);
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
    bool *dead = calloc(config->size, sizeof *dead);
    if (pmix == NULL || dead == NULL) {
        free(pmix);
        free(dead);
        snprintf(text, MU_PMIX_TEXT_MAX, "no memory");
        return NULL;
    }
    pmix->config = *config;
    pmix->dead = dead;
    snprintf(pmix->hostname, sizeof pmix->hostname, "%s", config->names[config->self]);
    bool has_hwloc = getenv(HWLOC_VARIABLE) != NULL;
    if (config->shares_host)
        setenv(HWLOC_VARIABLE, HWLOC_LITTLE, 0);
    forget_others();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        setenv(settings[i][0], settings[i][1], 1);
    atomic_store(&closing, false);
    mu_pmix_open_one = pmix;
    pmix_status_t status = start(pmix);
    if (!has_hwloc)
        unsetenv(HWLOC_VARIABLE);
    if (status == PMIX_SUCCESS) {
        mu_upcall_watch_connections();
        mu_libpmix_send_at_once();
        return pmix;
    }
    snprintf(text, MU_PMIX_TEXT_MAX, "PMIx_server_init: %s", PMIx_Error_string(status));
    mu_pmix_open_one = NULL;
    free(pmix->dead);
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

/* PMIx_server_finalize() holds a lock while it waits for libpmix's thread, which takes that lock in
 * each function that it would call for us: so from here on it calls none.  What it is in the midst
 * of now is over when it calls back for a process that is none. */
static void stop_calls(void)
{
    sem_t turn_over;
    pmix_proc_t nobody;
    PMIX_LOAD_PROCID(&nobody, "", PMIX_RANK_UNDEF);
    sem_init(&turn_over, 0, 0);
    atomic_store(&closing, true);
    PMIx_server_deregister_client(&nobody, on_turn_over, &turn_over);
    while (sem_wait(&turn_over) != 0)
        ;
    sem_destroy(&turn_over);
}

static void close_module(struct mu_pmix *pmix)
{
    stop_calls();
    PMIx_server_finalize(); /* its thread has ended, and nothing is put any more */
    mu_upcall_turn(pmix);
    while (pmix->spaces != NULL)
        mu_space_over(pmix, pmix->spaces->number);
    mu_pmix_open_one = NULL;
    free(pmix->dead);
    free(pmix);
}

__attribute__((visibility("default"))) const struct mu_pmix_module mu_pmix_module = {
    .version = MU_PMIX_VERSION,
    .open = open_module,
    .close = close_module,
    .turn = mu_upcall_turn,
    .job_begin = mu_space_begin,
    .job_over = mu_space_over,
    .env = mu_space_env,
    .usual_env = mu_space_usual_env,
    .env_free = mu_space_env_free,
    .told = mu_events_told,
    .ended = mu_space_ended,
    .asked = mu_ask_asked,
};
