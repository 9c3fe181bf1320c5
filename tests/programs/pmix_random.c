/* A process of a PMIx job in which some die, without MPI: fences, connects, groups, one after the
 * other, whatever becomes of them.
 *
 *     pmix_random ROUNDS KILL...        KILL: RANK:process|node:OPERATION:MICROSECONDS
 *
 * RANK kills itself, or its daemon and so its whole node, so long after it has begun that
 * operation; 0: after its start, so before or in PMIx_Init, and the first operation is 1. Everybody
 * else says with which status each operation ended (S: with success, p: without somebody who has
 * failed):
 *
 *     rank RANK STATUSES
 *     times RANK OPERATION BEGUN NEWS ENDED     in ns; NEWS: the newest of a death then, or 0 */
#include <pmix.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint32_t rank, size;
static pmix_proc_t self, *ranks, everybody;
static _Atomic int64_t news_ns; /* the newest; 0: none */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- deaths ---- */

struct kill_plan {
    uint32_t rank, operation, us;
    char whom[16];
};

static void *die(void *arg)
{
    const struct kill_plan *plan = arg;
    usleep(plan->us);
    kill(strcmp(plan->whom, "node") == 0 ? getppid() : getpid(), SIGKILL);
    return NULL;
}

static void begin(uint32_t operation, char **kills)
{
    static struct kill_plan plan; /* of the thread */
    pthread_t thread;
    for (; *kills != NULL; kills++) {
        struct kill_plan read;
        if (sscanf(*kills, "%u:%15[a-z]:%u:%u", &read.rank, read.whom, &read.operation, &read.us) !=
            4)
            exit(2);
        if (read.rank != rank || read.operation != operation)
            continue;
        plan = read;
        if (pthread_create(&thread, NULL, die, &plan) != 0)
            exit(2);
        return;
    }
}

static void on_death(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t info_count, pmix_info_t *results, size_t result_count,
                     pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)status, (void)source, (void)info, (void)info_count;
    (void)results, (void)result_count;
    news_ns = now_ns();
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

/* ---- operations ---- */

enum { FENCE_ALL, FENCE_LIST, CONNECT, DISCONNECT, CONSTRUCT, DESTRUCT, OPERATIONS };

static pmix_status_t operate(uint32_t operation, uint32_t round)
{
    char name[32];
    pmix_info_t *results = NULL;
    size_t result_count = 0;
    pmix_status_t status;
    snprintf(name, sizeof name, "group %u", round % 2);
    switch (operation) {
    case FENCE_ALL:
        return PMIx_Fence(&everybody, 1, NULL, 0);
    case FENCE_LIST:
        return PMIx_Fence(ranks, size, NULL, 0);
    case CONNECT:
        return PMIx_Connect(ranks, size, NULL, 0);
    case DISCONNECT:
        return PMIx_Disconnect(ranks, size, NULL, 0);
    case CONSTRUCT:
        status = PMIx_Group_construct(name, ranks, size, NULL, 0, &results, &result_count);
        PMIX_INFO_FREE(results, result_count);
        return status;
    case DESTRUCT:
        return PMIx_Group_destruct(name, NULL, 0);
    }
    abort();
}

int main(int argc, char **argv)
{
    pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED_BY_SIG, PMIX_ERR_PROC_TERM_WO_SYNC};
    if (argc < 2)
        return 2;
    rank = (uint32_t)atoi(getenv("MUSTER_RANK"));
    size = (uint32_t)atoi(getenv("MUSTER_SIZE"));
    uint32_t count = (uint32_t)atoi(argv[1]) * OPERATIONS;
    char *statuses = calloc(count + 1, 1);
    int64_t(*times)[3] = calloc(count + 1, sizeof *times);
    begin(0, argv + 2);
    pmix_status_t status = PMIx_Init(&self, NULL, 0);
    if (status != PMIX_SUCCESS) {
        printf("rank %u: init: %s\n", rank, PMIx_Error_string(status));
        return 1;
    }
    PMIx_Register_event_handler(codes, 2, NULL, 0, on_death, NULL, NULL);
    ranks = calloc(size, sizeof *ranks);
    PMIX_LOAD_PROCID(&everybody, self.nspace, PMIX_RANK_WILDCARD);
    for (uint32_t i = 0; i < size; i++)
        PMIX_LOAD_PROCID(&ranks[i], self.nspace, i);
    for (uint32_t i = 0; i < count; i++) {
        times[i][0] = now_ns();
        begin(i + 1, argv + 2);
        status = operate(i % OPERATIONS, i / OPERATIONS);
        times[i][1] = news_ns;
        times[i][2] = now_ns();
        statuses[i] = status == PMIX_SUCCESS ? 'S' : status == PMIX_ERR_PARTIAL_SUCCESS ? 'p' : '?';
        if (statuses[i] == '?')
            printf("rank %u: operation %u: %s\n", rank, i + 1, PMIx_Error_string(status));
    }
    printf("rank %u %s\n", rank, statuses);
    for (uint32_t i = 0; i < count; i++)
        printf("times %u %u %lld %lld %lld\n", rank, i + 1, (long long)times[i][0],
               (long long)times[i][1], (long long)times[i][2]);
    fflush(stdout);
    PMIx_Finalize(NULL, 0);
    free(statuses);
    free(times);
    free(ranks);
    return 0;
}
