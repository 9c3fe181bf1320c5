#define _GNU_SOURCE
#include "daemon/pmix/loader.h"

#include "host/cores.h"
#include "host/log.h"
#include "host/scratch.h"

#include <arpa/inet.h>
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum loader_state {
    LOADING, /* the module, on a thread */
    LOADED,  /* libpmix is started for the first job, or where it can wait for the first process */
    OPENING, /* it is being started, on a thread */
    RUNS,
    FAILED,
};

/* A job that libpmix does not know yet. */
struct waiting {
    struct waiting *next;
    struct mu_pmix_job job;
    char folder[PATH_MAX];
};

/* A question that came meanwhile: the module of another node was faster. */
struct early {
    struct early *next;
    uint32_t job;
    void *ticket;
    size_t count;
    uint8_t bytes[];
};

struct mu_pmix_loader {
    struct mu_pmix_loader_config config;
    enum loader_state state;
    struct mu_scratch scratch;
    char (*names)[MU_PMIX_NAME_MAX];
    uint32_t processors;
    int bell; /* an eventfd: the module wants a turn, or the thread has ended; -1: none */
    uv_poll_t poll;
    uv_timer_t timer;    /* the module wants a turn then */
    int listener;        /* where processes come that were started before libpmix; -1: nowhere */
    uint16_t port;       /* of it */
    uv_poll_t came;      /* somebody did */
    uint32_t handles;    /* of these three, not closed yet */
    pthread_t thread;    /* while LOADING and OPENING */
    _Atomic bool worked; /* it has done its work; what it found is below */
    uint64_t begin_ns;
    const struct mu_pmix_module *module;
    struct mu_pmix *pmix;
    char text[MU_PMIX_TEXT_MAX]; /* why there is none */
    struct waiting *waiting;     /* in their order */
    struct early *early;         /* the newest first */
};

/* ---- the thread ---- */

/* From any thread.  uv_async_send() would not do: the loop waits actively for a thread that is in
 * the middle of it, and with a real-time priority it keeps that thread from going on. */
void mu_pmix_loader_wake(struct mu_pmix_loader *loader)
{
    uint64_t one = 1;
    while (write(loader->bell, &one, sizeof one) < 0 && errno == EINTR)
        ; /* full: it rings already */
}

static const struct mu_pmix_module *load_module(char text[MU_PMIX_TEXT_MAX])
{
    char path[PATH_MAX];
    mu_pmix_find(path, "/" MUSTER_MODULES "/muster-pmix.so");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct mu_pmix_module *module = library != NULL ? dlsym(library, MU_PMIX_SYMBOL) : NULL;
    if (module == NULL)
        snprintf(text, MU_PMIX_TEXT_MAX, "%s", dlerror());
    else if (module->version != MU_PMIX_VERSION)
        snprintf(text, MU_PMIX_TEXT_MAX, "%.200s is of version %" PRIu32 ", this daemon of %d",
                 path, module->version, MU_PMIX_VERSION);
    else
        return module;
    return NULL;
}

static struct mu_pmix_config config_of(struct mu_pmix_loader *loader)
{
    struct mu_pmix_config config = {.host = loader->config.host,
                                    .machine = loader->config.machine,
                                    .self = loader->config.self,
                                    .size = loader->config.size,
                                    .processors = loader->processors,
                                    .names = (const char(*)[MU_PMIX_NAME_MAX])loader->names,
                                    .folder = loader->scratch.path};
    return config;
}

static void has_worked(struct mu_pmix_loader *loader)
{
    atomic_store(&loader->worked, true);
    mu_pmix_loader_wake(loader);
}

static void *load(void *arg)
{
    struct mu_pmix_loader *loader = arg;
    loader->module = load_module(loader->text);
    has_worked(loader);
    return NULL;
}

static void *open_libpmix(void *arg)
{
    struct mu_pmix_loader *loader = arg;
    struct mu_pmix_config config = config_of(loader);
    loader->pmix = loader->module->open(&config, loader->text);
    has_worked(loader);
    return NULL;
}

/* The signals are for the main thread. */
static int start_thread(struct mu_pmix_loader *loader, void *(*work)(void *))
{
    sigset_t all, before;
    atomic_store(&loader->worked, false);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&loader->thread, NULL, work, loader);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void on_timer(uv_timer_t *timer)
{
    struct mu_pmix_loader *loader = timer->data;
    if (loader->state == RUNS)
        loader->module->turn(loader->pmix);
}

void mu_pmix_loader_later(struct mu_pmix_loader *loader, uint64_t ms)
{
    uv_timer_start(&loader->timer, on_timer, ms, 0);
}

static void let_go(const struct mu_pmix_loader *loader, uint32_t job)
{
    loader->config.host.ready(loader->config.host.owner, job);
}

static void answer_nothing(const struct mu_pmix_loader *loader, void *ticket)
{
    loader->config.host.answer(loader->config.host.owner, ticket, NULL, 0);
}

/* ---- jobs ---- */

static struct waiting *find_waiting(const struct mu_pmix_loader *loader, uint32_t job)
{
    struct waiting *waiting = loader->waiting;
    while (waiting != NULL && waiting->job.number != job)
        waiting = waiting->next;
    return waiting;
}

/* Without it the job runs without PMIx. */
static struct waiting *keep_waiting(struct mu_pmix_loader *loader, const struct mu_pmix_job *job)
{
    struct waiting *waiting = calloc(1, sizeof *waiting);
    int error =
        waiting == NULL ? ENOMEM : mu_scratch_job(&loader->scratch, job->number, waiting->folder);
    if (error != 0) {
        mu_warn("job %" PRIu32 " runs without PMIx: %s", job->number, strerror(error));
        free(waiting);
        return NULL;
    }
    waiting->job = *job;
    waiting->job.folder = waiting->folder;
    struct waiting **end = &loader->waiting;
    while (*end != NULL)
        end = &(*end)->next;
    *end = waiting;
    return waiting;
}

/* Processes of this node that have ended meanwhile. */
static void tell_ended(struct mu_pmix_loader *loader, uint32_t job)
{
    const struct mu_roll_job *known = mu_roll_find(loader->config.roll, job);
    for (uint32_t i = 0; known != NULL && i < known->here_count; i++)
        if (mu_roll_state(known, known->here[i].rank) >= MU_RANK_LEFT)
            loader->module->ended(loader->pmix, job, known->here[i].rank);
}

/* The first one that waits. */
static void begin(struct mu_pmix_loader *loader)
{
    struct waiting *waiting = loader->waiting;
    uint32_t job = waiting->job.number;
    loader->waiting = waiting->next;
    const char *why_not = loader->state == RUNS
                              ? loader->module->job_begin(loader->pmix, &waiting->job)
                              : "it is not served";
    if (why_not == NULL) {
        tell_ended(loader, job);
    } else {
        if (loader->state == RUNS)
            mu_warn("job %" PRIu32 " runs without PMIx: %s", job, why_not);
        let_go(loader, job);
    }
    free(waiting);
}

static void begin_all(struct mu_pmix_loader *loader)
{
    while (loader->waiting != NULL)
        begin(loader);
}

static void answer_early(struct mu_pmix_loader *loader)
{
    while (loader->early != NULL) {
        struct early *early = loader->early;
        loader->early = early->next;
        if (loader->state == RUNS)
            loader->module->asked(loader->pmix, early->job, early->bytes, early->count,
                                  early->ticket);
        else
            answer_nothing(loader, early->ticket);
        free(early);
    }
}

/* ---- starting libpmix ---- */

static void fail(struct mu_pmix_loader *loader, const char *why)
{
    loader->state = FAILED;
    mu_tell("no PMIx for programs: %s", why);
    begin_all(loader); /* without */
    answer_early(loader);
    mu_scratch_close(&loader->scratch);
}

static void start_opening(struct mu_pmix_loader *loader)
{
    if (loader->state != LOADED)
        return;
    loader->begin_ns = uv_hrtime();
    if (loader->listener >= 0)
        uv_poll_stop(&loader->came);
    loader->state = OPENING;
    int error = start_thread(loader, open_libpmix);
    if (error != 0)
        fail(loader, strerror(error));
}

static void on_came(uv_poll_t *poll, int status, int events)
{
    struct mu_pmix_loader *loader = poll->data;
    int connection;
    (void)status, (void)events;
    if (loader->state != RUNS) {
        start_opening(loader);
        return;
    }
    while ((connection = accept4(loader->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        loader->module->take(loader->pmix, connection);
}

static void watch_listener(struct mu_pmix_loader *loader)
{
    if (loader->listener >= 0)
        uv_poll_start(&loader->came, UV_READABLE, on_came);
}

/* The connections have what the listener has: none waits with a second message until the first is
 * confirmed. */
static int listen_here(void)
{
    const struct sockaddr_in here = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (bind(fd, (const struct sockaddr *)&here, sizeof here) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Else libpmix is started with the first job, and listens itself. */
static void listen_for_processes(struct mu_pmix_loader *loader)
{
    struct sockaddr_in here;
    socklen_t size = sizeof here;
    int fd = listen_here();
    if (fd < 0)
        return;
    if (getsockname(fd, (struct sockaddr *)&here, &size) != 0 ||
        uv_poll_init(loader->config.loop, &loader->came, fd) != 0) {
        close(fd);
        return;
    }
    loader->came.data = loader;
    loader->handles++;
    loader->listener = fd;
    loader->port = ntohs(here.sin_port);
    watch_listener(loader);
}

static void has_loaded(struct mu_pmix_loader *loader)
{
    if (loader->module == NULL) {
        fail(loader, loader->text);
        return;
    }
    loader->state = LOADED;
    if (loader->module->can_wait())
        listen_for_processes(loader);
    if (loader->early != NULL || (loader->waiting != NULL && loader->listener < 0)) {
        start_opening(loader);
        return;
    }
    for (struct waiting *waiting = loader->waiting; waiting != NULL; waiting = waiting->next)
        let_go(loader, waiting->job.number);
}

static void has_opened(struct mu_pmix_loader *loader)
{
    if (loader->pmix == NULL) {
        fail(loader, loader->text);
        return;
    }
    loader->state = RUNS;
    mu_tell("serves PMIx after %.1f ms", (double)(uv_hrtime() - loader->begin_ns) / 1e6);
    begin_all(loader);
    answer_early(loader);
    watch_listener(loader);
}

static void on_bell(uv_poll_t *poll, int status, int events)
{
    struct mu_pmix_loader *loader = poll->data;
    uint64_t count;
    (void)status, (void)events;
    if (read(loader->bell, &count, sizeof count) < 0)
        return; /* somebody else was woken up by it */
    bool works = loader->state == LOADING || loader->state == OPENING;
    if (works && atomic_load(&loader->worked)) {
        pthread_join(loader->thread, NULL);
        if (loader->state == LOADING)
            has_loaded(loader);
        else
            has_opened(loader);
    }
    if (loader->state == RUNS)
        loader->module->turn(loader->pmix);
}

static int hang_bell(struct mu_pmix_loader *loader)
{
    loader->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loader->bell < 0)
        return errno;
    int failed = uv_poll_init(loader->config.loop, &loader->poll, loader->bell);
    if (failed != 0)
        return -failed;
    loader->handles++;
    loader->poll.data = loader;
    return -uv_poll_start(&loader->poll, UV_READABLE, on_bell);
}

static void start_loading(struct mu_pmix_loader *loader)
{
    uv_timer_init(loader->config.loop, &loader->timer); /* cannot fail */
    loader->timer.data = loader;
    loader->handles++;
    int error = mu_scratch_open(&loader->scratch, loader->config.machine, loader->config.self);
    if (error == 0)
        error = hang_bell(loader);
    if (error == 0)
        error = start_thread(loader, load);
    if (error != 0)
        fail(loader, strerror(error));
}

static uint32_t count_on_host(const struct mu_pmix_loader *loader, const struct mu_launch_job *spec)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < spec->run_count; i++)
        if (loader->config.shared_host || spec->runs[i].slot == loader->config.self)
            count += spec->runs[i].count;
    return count;
}

bool mu_pmix_loader_job(struct mu_pmix_loader *loader, uint32_t number,
                        const struct mu_launch_job *spec)
{
    if (loader == NULL)
        return false;
    const struct mu_roll_job *known = mu_roll_find(loader->config.roll, number);
    assert(known != NULL); /* it has begun */
    struct mu_pmix_job job = {.number = number,
                              .size = spec->size,
                              .run_count = spec->run_count,
                              .runs = known->spec.runs,
                              .on_host = count_on_host(loader, spec),
                              .parent = spec->parent};
    if (loader->state == FAILED || keep_waiting(loader, &job) == NULL)
        return false;
    if (loader->state == LOADED && loader->listener >= 0)
        return false; /* its processes may start */
    start_opening(loader);
    if (loader->state == RUNS)
        begin(loader);
    return loader->state != FAILED;
}

void mu_pmix_loader_over(struct mu_pmix_loader *loader, uint32_t job)
{
    if (loader == NULL)
        return;
    for (struct waiting **link = &loader->waiting; *link != NULL;) {
        struct waiting *waiting = *link;
        if (waiting->job.number != job) {
            link = &waiting->next;
            continue;
        }
        *link = waiting->next;
        free(waiting);
    }
    if (loader->state == RUNS)
        loader->module->job_over(loader->pmix, job);
    if (loader->state != FAILED)
        mu_scratch_job_over(&loader->scratch, job);
}

/* ---- passing on ---- */

static bool runs(const struct mu_pmix_loader *loader)
{
    return loader != NULL && loader->state == RUNS;
}

char **mu_pmix_loader_env(struct mu_pmix_loader *loader, uint32_t job, uint32_t rank)
{
    if (runs(loader))
        return loader->module->env(loader->pmix, job, rank);
    if (loader == NULL || find_waiting(loader, job) == NULL)
        return NULL;
    struct mu_pmix_config config = config_of(loader);
    return loader->module->early_env(&config, job, rank, loader->port);
}

char **mu_pmix_loader_usual_env(struct mu_pmix_loader *loader, uint32_t job)
{
    if (runs(loader))
        return loader->module->usual_env(loader->pmix, job);
    const struct waiting *waiting = loader != NULL ? find_waiting(loader, job) : NULL;
    if (waiting == NULL)
        return NULL;
    struct mu_pmix_config config = config_of(loader);
    return loader->module->early_usual_env(&config, &waiting->job);
}

void mu_pmix_loader_env_free(struct mu_pmix_loader *loader, char **env)
{
    if (env != NULL)
        loader->module->env_free(env);
}

void mu_pmix_loader_told(struct mu_pmix_loader *loader, const struct mu_local_event *event)
{
    if (runs(loader))
        loader->module->told(loader->pmix, event);
}

void mu_pmix_loader_ended(struct mu_pmix_loader *loader, uint32_t job, uint32_t rank)
{
    if (runs(loader))
        loader->module->ended(loader->pmix, job, rank);
}

bool mu_pmix_loader_inside(struct mu_pmix_loader *loader, uint32_t job, uint32_t rank)
{
    return runs(loader) && loader->module->inside(loader->pmix, job, rank);
}

static void keep_early(struct mu_pmix_loader *loader, uint32_t job, const uint8_t *bytes,
                       size_t count, void *ticket)
{
    struct early *early = malloc(sizeof *early + count);
    if (early == NULL)
        abort(); /* somebody would wait for ever */
    *early = (struct early){.next = loader->early, .job = job, .ticket = ticket, .count = count};
    if (count > 0)
        memcpy(early->bytes, bytes, count);
    loader->early = early;
}

void mu_pmix_loader_asked(struct mu_pmix_loader *loader, uint32_t job, const uint8_t *bytes,
                          size_t count, void *ticket)
{
    if (runs(loader)) {
        loader->module->asked(loader->pmix, job, bytes, count, ticket);
    } else if (loader->state == FAILED) {
        answer_nothing(loader, ticket);
    } else {
        keep_early(loader, job, bytes, count, ticket);
        start_opening(loader);
    }
}

void mu_pmix_loader_quiet(struct mu_pmix_loader *loader, uint32_t job, uint32_t rank, mu_slot node)
{
    if (runs(loader))
        loader->module->quiet(loader->pmix, job, rank, node);
}

void mu_pmix_loader_spawned(struct mu_pmix_loader *loader, uint32_t job, uint32_t number,
                            uint32_t made, const char *text)
{
    if (runs(loader))
        loader->module->spawned(loader->pmix, job, number, made, text);
}

/* ---- beginning and end ---- */

struct mu_pmix_loader *mu_pmix_loader_open(const struct mu_pmix_loader_config *config)
{
    struct mu_pmix_loader *loader = calloc(1, sizeof *loader);
    struct mu_spawn_cpus allowed;
    if (loader == NULL)
        return NULL;
    loader->names = calloc(config->size, sizeof *loader->names);
    if (loader->names == NULL) {
        free(loader);
        return NULL;
    }
    loader->config = *config;
    loader->processors = mu_cores_allowed(&allowed) ? mu_cores_count(&allowed) : UINT32_MAX;
    loader->scratch.fd = loader->bell = loader->listener = -1;
    start_loading(loader);
    return loader;
}

/* A daemon knows its own name only, and all must say the same: on a shared host as those that
 * virtual nodes have, else the addresses. */
void mu_pmix_loader_nodes(struct mu_pmix_loader *loader, const struct sockaddr_in *addresses)
{
    if (loader == NULL)
        return;
    for (uint32_t i = 0; i < loader->config.size; i++) {
        if (loader->config.shared_host)
            snprintf(loader->names[i], MU_PMIX_NAME_MAX, "node%" PRIu32, i);
        else
            inet_ntop(AF_INET, &addresses[i].sin_addr, loader->names[i], MU_PMIX_NAME_MAX);
    }
}

static void free_loader(struct mu_pmix_loader *loader)
{
    if (loader->bell >= 0)
        close(loader->bell);
    if (loader->listener >= 0)
        close(loader->listener);
    free(loader->names);
    free(loader);
}

static void on_closed(uv_handle_t *handle)
{
    struct mu_pmix_loader *loader = handle->data;
    if (--loader->handles == 0)
        free_loader(loader);
}

void mu_pmix_loader_close(struct mu_pmix_loader *loader)
{
    if (loader == NULL)
        return;
    if (loader->state == LOADING || loader->state == OPENING)
        pthread_join(loader->thread, NULL);
    if (loader->pmix != NULL)
        loader->module->close(loader->pmix);
    loader->state = FAILED;
    answer_early(loader);
    while (loader->waiting != NULL) {
        struct waiting *waiting = loader->waiting;
        loader->waiting = waiting->next;
        free(waiting);
    }
    mu_scratch_close(&loader->scratch);
    bool has_handles = loader->handles > 0;
    if (loader->timer.data != NULL)
        uv_close((uv_handle_t *)&loader->timer, on_closed);
    if (loader->poll.data != NULL)
        uv_close((uv_handle_t *)&loader->poll, on_closed);
    if (loader->came.data != NULL)
        uv_close((uv_handle_t *)&loader->came, on_closed);
    if (!has_handles)
        free_loader(loader);
}
