/* Jobs as namespaces: registered before their processes start, forgotten when they are over. */
#define _GNU_SOURCE
#include "pmix/inside.h"
#include "pmix/libpmix.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- looking up ---- */

struct mu_space *mu_space_find(const struct mu_pmix *pmix, uint32_t job)
{
    struct mu_space *space = pmix->spaces;
    while (space != NULL && space->number != job)
        space = space->next;
    return space;
}

struct mu_space *mu_space_named(const struct mu_pmix *pmix, const char *name)
{
    struct mu_space *space = pmix->spaces;
    while (space != NULL && strncmp(space->name, name, sizeof space->name) != 0)
        space = space->next;
    return space;
}

struct mu_space *mu_space_root(const struct mu_pmix *pmix, const struct mu_space *space)
{
    return mu_space_find(pmix, space->parent.root != 0 ? space->parent.root : space->number);
}

static void name_job(const struct mu_pmix_config *config, uint32_t job, pmix_nspace_t name)
{
    snprintf(name, sizeof(pmix_nspace_t), "muster-%016" PRIx64 "-%" PRIu32, config->machine, job);
}

void mu_space_name(const struct mu_pmix *pmix, uint32_t job, pmix_nspace_t name)
{
    name_job(&pmix->config, job, name);
}

void mu_space_server(const struct mu_pmix_config *config, pmix_nspace_t name)
{
    snprintf(name, sizeof(pmix_nspace_t), "musterd-%016" PRIx64 "-%" PRIu32, config->machine,
             config->self);
}

struct mu_client_here *mu_space_client(const struct mu_space *space, uint32_t rank)
{
    uint32_t low = 0, high = space->here_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (space->here[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < space->here_count && space->here[low].rank == rank;
    return found ? &space->here[low] : NULL;
}

bool mu_space_gone(const struct mu_space *space, uint32_t rank, struct mu_local_event *event)
{
    const struct mu_pmix_host *host = &mu_pmix_open_one->config.host;
    return host->gone(host->owner, space->number, rank, event);
}

mu_slot mu_space_node(const struct mu_space *space, uint32_t rank)
{
    struct mu_launch_job spec = {
        .size = space->size, .run_count = space->run_count, .runs = space->runs};
    const struct mu_launch_run *run = mu_launch_run_of(&spec, rank);
    assert(run != NULL); /* the caller has looked at the rank */
    return run->slot;
}

/* ---- with whom it has connected ---- */

void mu_space_link(struct mu_space *space, uint32_t job, bool linked)
{
    uint32_t at = 0;
    while (at < space->linked_count && space->linked[at] != job)
        at++;
    if (linked == (at < space->linked_count))
        return;
    if (!linked) {
        space->linked[at] = space->linked[--space->linked_count];
        return;
    }
    uint32_t *more = realloc(space->linked, (at + (size_t)1) * sizeof *more);
    if (more == NULL)
        abort(); /* somebody would stay untold */
    more[at] = job;
    space->linked = more;
    space->linked_count++;
}

/* PMIx_Spawn connects parent and children, without a word from them. */
static void link_family(const struct mu_pmix *pmix, struct mu_space *space)
{
    for (struct mu_space *other = pmix->spaces; other != NULL; other = other->next)
        if (other->number == space->parent.job || other->parent.job == space->number) {
            mu_space_link(space, other->number, true);
            mu_space_link(other, space->number, true);
        }
}

/* ---- what it waits for ---- */

void mu_pending_add(struct mu_pending **list, struct mu_pending *pending,
                    void (*give_up)(struct mu_pending *pending))
{
    pending->give_up = give_up;
    pending->next = *list;
    pending->link = list;
    if (pending->next != NULL)
        pending->next->link = &pending->next;
    *list = pending;
}

void mu_pending_remove(struct mu_pending *pending)
{
    if (pending->link == NULL)
        return;
    *pending->link = pending->next;
    if (pending->next != NULL)
        pending->next->link = pending->link;
    pending->link = NULL;
}

/* ---- what libpmix is to know of a job ---- */

enum { JOB_KEYS = 10 };

/* What lives until libpmix has confirmed. */
struct registration {
    struct mu_upcall upcall;
    uint32_t job;
    pmix_nspace_t name;
    size_t info_count; /* 0: it is one of its processes */
    pmix_info_t info[JOB_KEYS];
};

static int by_slot(const void *a, const void *b)
{
    const struct mu_launch_run *left = a, *right = b;
    if (left->slot != right->slot)
        return left->slot < right->slot ? -1 : 1;
    return left->first < right->first ? -1 : left->first > right->first;
}

/* "node0,node1" and "0,1,2;3,5": the nodes that host ranks, and which.  libpmix also has ranges, of
 * which it would store the first rank only. */
static bool write_maps(const struct mu_pmix *pmix, const struct mu_space *space, char **nodes,
                       char **ranks)
{
    size_t nodes_size, ranks_size;
    struct mu_launch_run *runs = malloc(space->run_count * sizeof *runs);
    FILE *node_file = open_memstream(nodes, &nodes_size);
    FILE *rank_file = open_memstream(ranks, &ranks_size);
    bool good = runs != NULL && node_file != NULL && rank_file != NULL;
    if (good) {
        memcpy(runs, space->runs, space->run_count * sizeof *runs);
        qsort(runs, space->run_count, sizeof *runs, by_slot);
    }
    for (uint32_t i = 0; good && i < space->run_count; i++) {
        bool same = i > 0 && runs[i - 1].slot == runs[i].slot;
        if (!same)
            fprintf(node_file, "%s%s", i > 0 ? "," : "", pmix->config.names[runs[i].slot]);
        for (uint32_t k = 0; k < runs[i].count; k++) {
            const char *between = i == 0 && k == 0 ? "" : k > 0 || same ? "," : ";";
            fprintf(rank_file, "%s%" PRIu32, between, runs[i].first + k);
        }
    }
    good = node_file != NULL && fclose(node_file) == 0 && good;
    good = rank_file != NULL && fclose(rank_file) == 0 && good;
    free(runs);
    return good;
}

static void add_info(struct registration *made, const char *key, const void *value,
                     pmix_data_type_t type)
{
    assert(made->info_count < JOB_KEYS);
    PMIX_INFO_LOAD(&made->info[made->info_count], key, value, type);
    made->info_count++;
}

static bool add_maps(const struct mu_pmix *pmix, const struct mu_space *space,
                     struct registration *made)
{
    char *nodes = NULL, *ranks = NULL, *node_map = NULL, *rank_map = NULL;
    bool good = write_maps(pmix, space, &nodes, &ranks) &&
                PMIx_generate_regex(nodes, &node_map) == PMIX_SUCCESS &&
                PMIx_generate_ppn(ranks, &rank_map) == PMIX_SUCCESS;
    if (good) {
        add_info(made, PMIX_NODE_MAP, node_map, PMIX_REGEX);
        add_info(made, PMIX_PROC_MAP, rank_map, PMIX_REGEX);
    }
    free(nodes);
    free(ranks);
    free(node_map);
    free(rank_map);
    return good;
}

static struct registration *make_registration(const struct mu_pmix *pmix,
                                              const struct mu_space *space)
{
    struct registration *made = calloc(1, sizeof *made);
    bool yes = true;
    if (made == NULL)
        return NULL;
    made->job = space->number;
    if (!add_maps(pmix, space, made)) {
        free(made);
        return NULL;
    }
    add_info(made, PMIX_JOB_SIZE, &space->size, PMIX_UINT32);
    add_info(made, PMIX_UNIV_SIZE, &space->size, PMIX_UINT32);
    add_info(made, PMIX_MAX_PROCS, &space->size, PMIX_UINT32);
    /* Ours to remove: a process that is killed cannot. */
    add_info(made, PMIX_TMPDIR, pmix->config.folder, PMIX_STRING);
    add_info(made, PMIX_NSDIR, space->folder, PMIX_STRING);
    add_info(made, PMIX_TDIR_RMCLEAN, &yes, PMIX_BOOL);
    if (space->parent.job != 0) {
        pmix_proc_t parent = {.rank = space->parent.rank};
        mu_space_name(pmix, space->parent.job, parent.nspace);
        add_info(made, PMIX_SPAWNED, &yes, PMIX_BOOL);
        add_info(made, PMIX_PARENT_ID, &parent, PMIX_PROC);
    }
    return made;
}

/* ---- registering ---- */

/* On the loop: libpmix has confirmed one more thing. */
static void run_registered(struct mu_pmix *pmix, struct mu_upcall *upcall)
{
    struct registration *made = (struct registration *)upcall;
    struct mu_space *space = mu_space_find(pmix, made->job);
    for (size_t i = 0; i < made->info_count; i++)
        PMIX_INFO_DESTRUCT(&made->info[i]);
    free(made);
    if (space != NULL && --space->to_register == 0)
        pmix->config.host.ready(pmix->config.host.owner, space->number);
}

/* On libpmix's thread; but where it could not begin. */
static void on_registered(pmix_status_t status, void *data)
{
    struct registration *made = data;
    mu_pmix_takes();
    if (status == PMIX_SUCCESS &&
        made->info_count > 0) /* else a process finds nothing, and says so */
        mu_libpmix_drop_peers();
    else if (status == PMIX_SUCCESS)
        mu_libpmix_hold(made->name);
    made->upcall.run = run_registered;
    mu_upcall_put(&made->upcall);
}

static void register_client(struct mu_space *space, uint32_t rank)
{
    struct registration *made = calloc(1, sizeof *made);
    pmix_proc_t proc;
    if (made == NULL)
        abort(); /* its processes would hang */
    made->job = space->number;
    PMIX_LOAD_NSPACE(made->name, space->name);
    PMIX_LOAD_PROCID(&proc, space->name, rank);
    mu_pmix_gives();
    if (PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, on_registered, made) ==
        PMIX_SUCCESS) {
        space->to_register++;
        return;
    }
    free(made);
}

static void free_space(struct mu_space *space)
{
    free(space->here);
    free(space->folder);
    free(space->linked);
    free(space);
}

static uint32_t count_on_host(const struct mu_pmix *pmix)
{
    uint32_t count = 0;
    for (const struct mu_space *space = pmix->spaces; space != NULL; space = space->next)
        count += space->on_host;
    return count;
}

static struct mu_space *make_space(const struct mu_pmix *pmix, const struct mu_pmix_job *job)
{
    struct mu_space *space = calloc(1, sizeof *space);
    uint32_t here = 0;
    if (space == NULL)
        return NULL;
    for (uint32_t i = 0; i < job->run_count; i++)
        here += job->runs[i].slot == pmix->config.self ? job->runs[i].count : 0;
    space->number = job->number;
    space->size = job->size;
    space->run_count = job->run_count;
    space->runs = job->runs;
    space->here = calloc(here + (size_t)1, sizeof *space->here);
    space->folder = strdup(job->folder);
    space->on_host = job->on_host;
    space->crowded = count_on_host(pmix) + job->on_host > pmix->config.processors;
    space->parent = job->parent;
    mu_space_name(pmix, job->number, space->name);
    if (space->here == NULL || space->folder == NULL) {
        free_space(space);
        return NULL;
    }
    for (uint32_t i = 0; i < job->run_count; i++)
        for (uint32_t k = 0; job->runs[i].slot == pmix->config.self && k < job->runs[i].count; k++)
            space->here[space->here_count++].rank = job->runs[i].first + k;
    return space;
}

const char *mu_space_begin(struct mu_pmix *pmix, const struct mu_pmix_job *job)
{
    struct mu_space *space = make_space(pmix, job);
    struct registration *made = space != NULL ? make_registration(pmix, space) : NULL;
    if (made == NULL) {
        if (space != NULL)
            free_space(space);
        return "no memory for the namespace of the job";
    }
    link_family(pmix, space);
    space->next = pmix->spaces;
    pmix->spaces = space;
    space->to_register = 1;
    mu_pmix_gives();
    pmix_status_t status = PMIx_server_register_nspace(
        space->name, (int)space->here_count, made->info, made->info_count, on_registered, made);
    if (status != PMIX_SUCCESS) {
        on_registered(status, made);
        return NULL;
    }
    for (uint32_t i = 0; i < space->here_count; i++)
        register_client(space, space->here[i].rank);
    return NULL;
}

/* On libpmix's thread, unless libpmix has ended. */
static void on_over(pmix_status_t status, void *data)
{
    if (status != PMIX_ERR_INIT)
        mu_libpmix_let_go(data);
}

static void on_forgotten(pmix_status_t status, void *data)
{
    if (status != PMIX_ERR_INIT)
        mu_libpmix_drop_groups(data);
    free(data);
}

/* The process is none: this only calls back, before the namespace is gone. */
static void forget_space(const struct mu_space *space)
{
    char *name = strdup(space->name);
    pmix_proc_t nobody;
    if (name == NULL)
        abort(); /* groups of this job would be found by the next one */
    PMIX_LOAD_PROCID(&nobody, space->name, PMIX_RANK_UNDEF);
    mu_pmix_gives();
    PMIx_server_deregister_client(&nobody, on_over, name);
    PMIx_server_deregister_nspace(space->name, on_forgotten, name);
}

void mu_space_over(struct mu_pmix *pmix, uint32_t job)
{
    struct mu_space **link = &pmix->spaces;
    while (*link != NULL && (*link)->number != job)
        link = &(*link)->next;
    struct mu_space *space = *link;
    if (space == NULL)
        return;
    *link = space->next;
    mu_modex_over(pmix, job);
    mu_keep_over(pmix, job);
    mu_collective_over(pmix, space);
    for (struct mu_space *other = pmix->spaces; other != NULL; other = other->next)
        mu_space_link(other, job, false);
    while (space->pending != NULL)
        space->pending->give_up(space->pending);
    forget_space(space);
    free_space(space);
}

/* ---- what its processes find ---- */

static bool add_variable(char ***env, const char *name, const char *value)
{
    size_t count = 0;
    while (*env != NULL && (*env)[count] != NULL)
        count++;
    char **grown = realloc(*env, (count + 2) * sizeof *grown);
    if (grown == NULL)
        return false;
    *env = grown;
    grown[count] = grown[count + 1] = NULL;
    return asprintf(&grown[count], "%s=%s", name, value) >= 0;
}

/* Open MPI 4 looks for PMIx only where it knows the launcher, and this name is the one that changes
 * nothing else. */
static char **or_nothing(char **env, bool good)
{
    if (good && add_variable(&env, "JSM_JSRUN_PORT", "1"))
        return env;
    mu_space_env_free(env);
    return NULL;
}

char **mu_space_env(struct mu_pmix *pmix, uint32_t job, uint32_t rank)
{
    const struct mu_space *space = mu_space_find(pmix, job);
    pmix_proc_t proc;
    char **env = NULL;
    if (space == NULL)
        return NULL;
    PMIX_LOAD_PROCID(&proc, space->name, rank);
    bool good = PMIx_server_setup_fork(&proc, &env) == PMIX_SUCCESS;
    return or_nothing(env, good);
}

/* Where the server is, under all names that libraries of other versions know. */
static bool add_uris(char ***env, const struct mu_pmix_config *config, uint16_t port)
{
    static const char *const names[] = {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
                                        "PMIX_SERVER_URI2", "PMIX_SERVER_URI21"};
    pmix_nspace_t server;
    char uri[2 * sizeof server];
    bool good = true;
    mu_space_server(config, server);
    snprintf(uri, sizeof uri, "%s.%d;tcp4://127.0.0.1:%u", server, (int)getpid(), (unsigned)port);
    for (size_t i = 0; good && i < sizeof names / sizeof *names; i++)
        good = add_variable(env, names[i], uri);
    return good;
}

/* "4.2.2rc2" out of "OpenPMIx 4.2.2rc2 (...)". */
static void find_version(char version[64])
{
    if (sscanf(PMIx_Get_version(), "%*s %63[^ ,]", version) != 1)
        version[0] = '\0';
}

/* What PMIx_server_setup_fork() of the version that is known says, with daemon/pmix/environment.c.
 * tests/system/pmix_late.sh compares the two. */
char **mu_space_early_env(const struct mu_pmix_config *config, uint32_t job, uint32_t rank,
                          uint16_t port)
{
    pmix_nspace_t name;
    char number[16], version[64];
    char **env = NULL;
    name_job(config, job, name);
    snprintf(number, sizeof number, "%" PRIu32, rank);
    find_version(version);
    const char *const variables[][2] = {
        {"PMIX_NAMESPACE", name},
        {"PMIX_RANK", number},
        {"PMIX_SECURITY_MODE", "native"},
        {"PMIX_BFROP_BUFFER_TYPE", "PMIX_BFROP_BUFFER_NON_DESC"},
        {"PMIX_GDS_MODULE", "hash"},
        {"PMIX_SERVER_TMPDIR", config->folder},
        {"PMIX_SYSTEM_TMPDIR", config->folder},
        {"PMIX_HOSTNAME", config->names[config->self]},
        {"PMIX_VERSION", version},
    };
    bool good = true;
    for (size_t i = 0; good && i < sizeof variables / sizeof *variables; i++)
        good = add_variable(&env, variables[i][0], variables[i][1]);
    good = good && add_uris(&env, config, port);
    return or_nothing(env, good);
}

/* Where Open MPI's shared memory is, so that what a killed process leaves is removed with the job.
 */
static char **usual_env(const char *folder, bool crowded)
{
    static const char *const names[] = {"OMPI_MCA_btl_vader_backing_directory",
                                        "OMPI_MCA_osc_rdma_backing_directory",
                                        "OMPI_MCA_btl_sm_backing_directory"};
    char **env = NULL;
    bool good = true;
    for (size_t i = 0; good && i < sizeof names / sizeof *names; i++)
        good = add_variable(&env, names[i], folder);
    /* Its other ways are tried out with a segment each, which whoever is killed then leaves. */
    good = good && add_variable(&env, "OMPI_MCA_shmem", "mmap");
    /* Each would load X11 and libxml2, with all that they need, and is given the topology. */
    good = good && add_variable(&env, "HWLOC_PLUGINS_BLACKLIST", "hwloc_gl.so,hwloc_xml_libxml.so");
    if (good && crowded)
        good = add_variable(&env, "OMPI_MCA_mpi_yield_when_idle", "1");
    if (good)
        return env;
    mu_space_env_free(env);
    return NULL;
}

char **mu_space_usual_env(struct mu_pmix *pmix, uint32_t job)
{
    const struct mu_space *space = mu_space_find(pmix, job);
    return space != NULL ? usual_env(space->folder, space->crowded) : NULL;
}

char **mu_space_early_usual_env(const struct mu_pmix_config *config, const struct mu_pmix_job *job)
{
    return usual_env(job->folder, job->on_host > config->processors);
}

void mu_space_env_free(char **env)
{
    for (char **at = env; at != NULL && *at != NULL; at++)
        free(*at);
    free(env);
}

/* ---- its processes here ---- */

void mu_space_connected(struct mu_pmix *pmix, const pmix_proc_t *proc, enum mu_client_state state)
{
    struct mu_space *space = mu_space_named(pmix, proc->nspace);
    struct mu_client_here *client = space != NULL ? mu_space_client(space, proc->rank) : NULL;
    if (client == NULL)
        return;
    client->state = state;
    client->inside = mu_client_inside(client->inside, state);
    space->is_used = true;
    mu_stand_in_look(pmix, space);
}

/* libpmix calls us before it lets the process go on, both times: so of one that has ended, all is
 * here or in the queue. */
bool mu_space_inside(struct mu_pmix *pmix, uint32_t job, uint32_t rank)
{
    const struct mu_space *space = mu_space_find(pmix, job);
    const struct mu_client_here *client = space != NULL ? mu_space_client(space, rank) : NULL;
    pmix_proc_t proc;
    if (client == NULL)
        return false;
    PMIX_LOAD_PROCID(&proc, space->name, rank);
    return mu_upcall_inside(pmix, &proc, client->inside);
}

void mu_space_ended(struct mu_pmix *pmix, uint32_t job, uint32_t rank)
{
    struct mu_space *space = mu_space_find(pmix, job);
    struct mu_client_here *client = space != NULL ? mu_space_client(space, rank) : NULL;
    if (client == NULL || client->ended)
        return;
    client->ended = true;
    mu_stand_in_look(pmix, space);
    mu_modex_ended(pmix, job, rank);
}
