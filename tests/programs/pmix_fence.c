/* A process of a PMIx job: fences with a member that dies, without MPI.
 *
 *     pmix_fence VICTIM never|before|during|after|large|absent all|list|group
 *
 * VICTIM dies before it has come to PMIx at all, before the fence, in it, or after it; or it lives,
 * and the first fence collects more of it than one node can bring, or it never comes, and nobody
 * ends.  Everybody else says with which status it left each of three fences: over the namespace, or
 * over the list of its ranks; or groups of these are made in place of fences. */
#include <pmix.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FENCES = 3, TOO_LARGE = 65 * 1024 * 1024 };

static void ignore(pmix_status_t status, void *data)
{
    (void)status, (void)data;
}

static pmix_status_t make_group(int number, const pmix_proc_t *procs, size_t count)
{
    pmix_info_t *results = NULL;
    size_t result_count = 0;
    char name[16];
    snprintf(name, sizeof name, "group-%d", number);
    pmix_status_t status =
        PMIx_Group_construct(name, procs, count, NULL, 0, &results, &result_count);
    if (results != NULL)
        PMIX_INFO_FREE(results, result_count);
    PMIx_Group_destruct(name, NULL, 0);
    return status;
}

static void put_too_much(void)
{
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
    value.data.bo.size = TOO_LARGE;
    value.data.bo.bytes = calloc(1, TOO_LARGE);
    if (value.data.bo.bytes == NULL || PMIx_Put(PMIX_GLOBAL, "large", &value) != PMIX_SUCCESS ||
        PMIx_Commit() != PMIX_SUCCESS)
        printf("put: failed\n");
    free(value.data.bo.bytes);
}

/* For ever.  The server hears of the fence before it hears of the lookup, and answers that. */
static void wait_in_fence(const pmix_proc_t *procs, size_t count, bool absent)
{
    pmix_pdata_t data;
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, "nothing");
    if (!absent) {
        PMIx_Fence_nb(procs, count, NULL, 0, ignore, NULL);
        PMIx_Lookup(&data, 1, NULL, 0);
        printf("child of %d waits\n", (int)getppid());
        fflush(stdout);
    }
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    uint32_t victim = (uint32_t)atoi(argv[1]), rank = (uint32_t)atoi(getenv("MUSTER_RANK"));
    uint32_t size = (uint32_t)atoi(getenv("MUSTER_SIZE"));
    const char *when = argv[2];
    pmix_proc_t self, *procs = calloc(size, sizeof *procs);
    if (rank == victim && strcmp(when, "never") == 0)
        raise(SIGKILL);
    pmix_status_t status = PMIx_Init(&self, NULL, 0);
    if (status != PMIX_SUCCESS) {
        printf("init: %s\n", PMIx_Error_string(status));
        return 1;
    }
    size_t count = 0;
    for (uint32_t i = 0; strcmp(argv[3], "all") != 0 && i < size; i++) {
        PMIX_LOAD_PROCID(&procs[i], self.nspace, i);
        count++;
    }
    if (count == 0) {
        PMIX_LOAD_PROCID(&procs[0], self.nspace, PMIX_RANK_WILDCARD);
        count = 1;
    }
    if (rank == victim && strcmp(when, "before") == 0)
        raise(SIGKILL);
    bool large = strcmp(when, "large") == 0;
    pmix_info_t collect;
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, NULL, PMIX_BOOL);
    if (rank == victim && large)
        put_too_much();
    if (strcmp(when, "absent") == 0)
        wait_in_fence(procs, count, rank == victim);
    printf("rank %u", rank);
    for (int i = 0; i < FENCES; i++) {
        if (rank == victim && strcmp(when, "during") == 0) {
            PMIx_Fence_nb(procs, count, NULL, 0, ignore, NULL);
            usleep(20 * 1000);
            raise(SIGKILL);
        }
        status = strcmp(argv[3], "group") == 0
                     ? make_group(i, procs, count)
                     : PMIx_Fence(procs, count, &collect, large && i == 0);
        printf(" %s", PMIx_Error_string(status));
        if (rank == victim && strcmp(when, "after") == 0)
            raise(SIGKILL);
    }
    printf("\n");
    fflush(stdout);
    PMIx_Finalize(NULL, 0);
    free(procs);
    return 0;
}
