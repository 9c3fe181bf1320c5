/* A process of a PMIx job that uses what there is besides fences, without MPI:
 *
 *     pmix_ask [VICTIM]
 *     pmix_ask state RANK
 *
 * Each publishes a key, looks up that of its neighbour, and asks for what is published last; one
 * publishes more than is kept;
 * connects and disconnects; makes a group and ends it.  Then VICTIM dies, and the others find that
 * in the table of processes.  The second one only looks there, at once: that one has ended with an
 * exit code.  Says what went wrong, or "well". */
#include <pmix.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pmix_proc_t self, all;
static uint32_t size;

static void check(const char *what, pmix_status_t status, pmix_status_t expected)
{
    if (status == expected)
        return;
    printf("rank %u: %s: %s instead of %s\n", self.rank, what, PMIx_Error_string(status),
           PMIx_Error_string(expected));
    fflush(stdout);
    _exit(1);
}

static pmix_status_t publish(const char *key, uint32_t value)
{
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, key, &value, PMIX_UINT32);
    pmix_status_t status = PMIx_Publish(&info, 1);
    PMIX_INFO_DESTRUCT(&info);
    return status;
}

static pmix_status_t lookup(const char *key, uint32_t *value, uint32_t *by)
{
    pmix_pdata_t data;
    pmix_info_t wait;
    int all_of_it = 0;
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, key);
    PMIX_INFO_LOAD(&wait, PMIX_WAIT, &all_of_it, PMIX_INT);
    pmix_status_t status = PMIx_Lookup(&data, 1, value != NULL ? &wait : NULL, value != NULL);
    if (status == PMIX_SUCCESS && value != NULL) {
        *value = data.value.data.uint32;
        *by = data.proc.rank;
    }
    PMIX_PDATA_DESTRUCT(&data);
    PMIX_INFO_DESTRUCT(&wait);
    return status;
}

/* Of what nobody will publish. */
static pmix_status_t lookup_for_a_second(const char *key)
{
    pmix_pdata_t data;
    pmix_info_t info[2];
    int all_of_it = 0, seconds = 1;
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, key);
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &all_of_it, PMIX_INT);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    pmix_status_t status = PMIx_Lookup(&data, 1, info, 2);
    clock_gettime(CLOCK_MONOTONIC, &to);
    int64_t took_ns = (to.tv_sec - from.tv_sec) * INT64_C(1000000000) + to.tv_nsec - from.tv_nsec;
    PMIX_PDATA_DESTRUCT(&data);
    return took_ns < INT64_C(1000000000) ? PMIX_ERROR : status;
}

static pmix_status_t publish_bytes(const char *key, size_t count)
{
    pmix_info_t info;
    pmix_byte_object_t bytes = {.bytes = calloc(1, count), .size = count};
    PMIX_INFO_LOAD(&info, key, &bytes, PMIX_BYTE_OBJECT);
    pmix_status_t status = PMIx_Publish(&info, 1);
    PMIX_INFO_DESTRUCT(&info);
    free(bytes.bytes);
    return status;
}

/* All under one key, so at one node. */
static void use_too_much(void)
{
    enum { MOST = 16 * 1024 * 1024 };
    char *key[] = {"much", NULL};
    check("too much", publish_bytes(*key, MOST), PMIX_ERR_OUT_OF_RESOURCE);
    check("nearly too much", publish_bytes(*key, MOST - 64 * 1024), PMIX_SUCCESS);
    check("unpublish much", PMIx_Unpublish(key, NULL, 0), PMIX_SUCCESS);
}

static void use_keys(void)
{
    char key[32], *mine[2] = {key, NULL};
    uint32_t value, by, next = (self.rank + 1) % size;
    snprintf(key, sizeof key, "key-%u", next);
    check("lookup of the neighbour's", lookup(key, &value, &by), PMIX_SUCCESS); /* waits for it */
    check("its value", value == 100 + next && by == next ? PMIX_SUCCESS : PMIX_ERROR, PMIX_SUCCESS);
    check("fence", PMIx_Fence(&all, 1, NULL, 0), PMIX_SUCCESS);
    snprintf(key, sizeof key, "key-%u", self.rank);
    check("a key twice", publish(key, 1), PMIX_ERR_DUPLICATE_KEY);
    check("unpublish", PMIx_Unpublish(mine, NULL, 0), PMIX_SUCCESS);
    check("lookup of what is not there", lookup(key, NULL, NULL), PMIX_ERR_NOT_FOUND);
    check("lookup of what never comes", lookup_for_a_second(key), PMIX_ERR_TIMEOUT);
}

static void use_collectives(void)
{
    pmix_info_t *results = NULL;
    size_t count = 0;
    check("connect", PMIx_Connect(&all, 1, NULL, 0), PMIX_SUCCESS);
    check("disconnect", PMIx_Disconnect(&all, 1, NULL, 0), PMIX_SUCCESS);
    check("group", PMIx_Group_construct("everybody", &all, 1, NULL, 0, &results, &count),
          PMIX_SUCCESS);
    check("end of the group", PMIx_Group_destruct("everybody", NULL, 0), PMIX_SUCCESS);
    if (results != NULL)
        PMIX_INFO_FREE(results, count);
}

static pmix_proc_state_t state_of(uint32_t rank)
{
    pmix_query_t query;
    pmix_info_t *results = NULL;
    size_t count = 0;
    pmix_proc_state_t state = PMIX_PROC_STATE_UNDEF;
    pmix_status_t status;
    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(status, query.keys, PMIX_QUERY_PROC_TABLE);
    check("key of a query", status, PMIX_SUCCESS);
    PMIX_QUERY_QUALIFIERS_CREATE(&query, 2);
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, self.nspace, PMIX_STRING);
    PMIX_INFO_LOAD(&query.qualifiers[1], PMIX_QUERY_REFRESH_CACHE, NULL, PMIX_BOOL);
    check("query", PMIx_Query_info(&query, 1, &results, &count), PMIX_SUCCESS);
    pmix_proc_info_t *table = results[0].value.data.darray->array;
    for (size_t i = 0; i < results[0].value.data.darray->size; i++)
        if (table[i].proc.rank == rank)
            state = table[i].state;
    PMIX_INFO_FREE(results, count);
    PMIX_QUERY_DESTRUCT(&query);
    return state;
}

int main(int argc, char **argv)
{
    char key[32];
    check("init", PMIx_Init(&self, NULL, 0), PMIX_SUCCESS);
    PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
    size = (uint32_t)atoi(getenv("MUSTER_SIZE"));
    if (argc > 2) {
        bool ended = state_of((uint32_t)atoi(argv[2])) == PMIX_PROC_STATE_TERM_NON_ZERO;
        check("state", ended ? PMIX_SUCCESS : PMIX_ERROR, PMIX_SUCCESS);
        PMIx_Finalize(NULL, 0);
        return 0;
    }
    snprintf(key, sizeof key, "key-%u", self.rank);
    check("publish", publish(key, 100 + self.rank), PMIX_SUCCESS);
    use_keys();
    if (self.rank == 0)
        use_too_much();
    use_collectives();
    if (argc > 1) {
        uint32_t victim = (uint32_t)atoi(argv[1]);
        if (self.rank == victim)
            raise(SIGKILL);
        while (state_of(victim) != PMIX_PROC_STATE_ABORTED_BY_SIG)
            usleep(1000);
    }
    printf("well\n");
    PMIx_Finalize(NULL, 0);
    return 0;
}
