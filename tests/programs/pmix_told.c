/* A process of a PMIx job that listens for deaths, without MPI.
 *
 *     pmix_told VICTIM kill|exit|quit|node|quiet CODES=TIMES...
 *
 * Each CODES, as -402,-7, is one handler, "default" one without codes.  When all are there, VICTIM
 * dies, with its node when that is said; it quits with exit code 0 and without PMIx_Finalize; or it
 * promises heartbeats, and sends none.  The others wait until each handler was called TIMES times,
 * come together once more, and say how often each was called, with what it was told last. */
#include <pmix.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HANDLERS_MAX = 8, CODES_MAX = 8, PATIENCE_S = 20 };

struct handler {
    const char *name;
    pmix_status_t codes[CODES_MAX];
    size_t code_count;
    int expected, called;
    pmix_status_t code;
    int affected, exit_code;
    char host[64], text[256];
};

static struct handler handlers[HANDLERS_MAX];
static size_t handler_count;
static size_t ids[HANDLERS_MAX]; /* libpmix's number of each */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void fail(const char *what, pmix_status_t status)
{
    printf("%s: %s\n", what, PMIx_Error_string(status));
    exit(1);
}

static void note(struct handler *handler, pmix_status_t status, const pmix_info_t *info,
                 size_t count)
{
    handler->called++;
    handler->code = status;
    handler->affected = handler->exit_code = -1;
    for (size_t i = 0; i < count; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC))
            handler->affected = (int)info[i].value.data.proc->rank;
        else if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE))
            handler->exit_code = info[i].value.data.integer;
        else if (PMIX_CHECK_KEY(&info[i], PMIX_HOSTNAME))
            snprintf(handler->host, sizeof handler->host, "%s", info[i].value.data.string);
        else if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_TEXT_MESSAGE))
            snprintf(handler->text, sizeof handler->text, "%s", info[i].value.data.string);
    }
}

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t count, pmix_info_t *results, size_t result_count,
                     pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)source, (void)results, (void)result_count;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < handler_count; i++)
        if (ids[i] == id)
            note(&handlers[i], status, info, count);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    if (done != NULL)
        done(PMIX_SUCCESS, NULL, 0, NULL, NULL, data);
}

static void add_handler(char *spec)
{
    struct handler *handler = &handlers[handler_count];
    char *times = strchr(spec, '=');
    if (times == NULL || handler_count == HANDLERS_MAX)
        fail(spec, PMIX_ERR_BAD_PARAM);
    *times = '\0';
    handler->name = spec;
    handler->expected = atoi(times + 1);
    for (char *at = spec; strcmp(spec, "default") != 0 && at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        handler->codes[handler->code_count++] = atoi(at);
    }
    /* The id is known before the call returns, and the victim lives until all have come. */
    pmix_status_t id = PMIx_Register_event_handler(handler->codes, handler->code_count, NULL, 0,
                                                   on_event, NULL, NULL);
    if (id < 0)
        fail("register", id);
    ids[handler_count++] = (size_t)id;
}

static bool all_told(void)
{
    for (size_t i = 0; i < handler_count; i++)
        if (handlers[i].called < handlers[i].expected)
            return false;
    return true;
}

static void wait_for_news(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&mutex);
    while (!all_told() && pthread_cond_timedwait(&changed, &mutex, &until) == 0)
        ;
    pthread_mutex_unlock(&mutex);
}

static void promise_heartbeats(void)
{
    pmix_info_t monitor, time;
    uint32_t seconds = 1;
    PMIX_INFO_LOAD(&monitor, PMIX_MONITOR_HEARTBEAT, NULL, PMIX_POINTER);
    PMIX_INFO_LOAD(&time, PMIX_MONITOR_HEARTBEAT_TIME, &seconds, PMIX_UINT32);
    pmix_status_t status =
        PMIx_Process_monitor(&monitor, PMIX_MONITOR_HEARTBEAT_ALERT, &time, 1, NULL, NULL);
    if (status != PMIX_SUCCESS)
        fail("a promise of heartbeats", status);
}

static void meet_survivors(const pmix_proc_t *self, uint32_t size, uint32_t victim)
{
    pmix_proc_t *others = calloc(size, sizeof *others);
    size_t count = 0;
    for (uint32_t rank = 0; rank < size; rank++)
        if (rank != victim) {
            PMIX_LOAD_PROCID(&others[count], self->nspace, rank); /* looks at it several times */
            count++;
        }
    pmix_status_t status = PMIx_Fence(others, count, NULL, 0);
    if (status != PMIX_SUCCESS)
        fail("fence of the survivors", status);
    free(others);
}

int main(int argc, char **argv)
{
    pmix_proc_t self, all;
    pmix_value_t *size;
    pmix_status_t status = PMIx_Init(&self, NULL, 0);
    if (status != PMIX_SUCCESS || argc < 3)
        fail("init", status);
    PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
    if ((status = PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &size)) != PMIX_SUCCESS)
        fail("size", status);
    uint32_t victim = (uint32_t)atoi(argv[1]);
    for (int i = 3; i < argc; i++)
        add_handler(argv[i]);
    if ((status = PMIx_Fence(&all, 1, NULL, 0)) != PMIX_SUCCESS)
        fail("first fence", status);
    bool lives = strcmp(argv[2], "quiet") == 0;
    if (self.rank == victim && strcmp(argv[2], "node") == 0)
        kill(getppid(), SIGKILL);
    if (self.rank == victim && strcmp(argv[2], "exit") == 0)
        _exit(3);
    if (self.rank == victim && strcmp(argv[2], "quit") == 0)
        _exit(0);
    if (self.rank == victim && !lives)
        raise(SIGKILL);
    if (self.rank == victim)
        promise_heartbeats();
    else
        wait_for_news();
    if (strcmp(argv[2], "node") != 0)
        meet_survivors(&self, size->data.uint32, lives ? UINT32_MAX : victim);
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < handler_count; i++)
        printf("rank %u handler %s called %d code %d affected %d exit %d on %s: %s\n", self.rank,
               handlers[i].name, handlers[i].called, handlers[i].code, handlers[i].affected,
               handlers[i].exit_code, handlers[i].host, handlers[i].text);
    pthread_mutex_unlock(&mutex);
    PMIx_Finalize(NULL, 0);
    return 0;
}
