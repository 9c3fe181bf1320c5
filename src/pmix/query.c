/* What programs ask: which namespaces there are, and what became of their processes.  This is how a
 * process that came late, or was not told, learns who has died before. */
#include "pmix/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct query {
    struct mu_upcall upcall;
    pmix_proc_t proc;
    pmix_info_cbfunc_t done;
    void *data;
    size_t key_count;
    struct {
        pmix_key_t key;
        pmix_nspace_t nspace;
    } keys[];
};

/* What libpmix gives back when it has read it. */
struct reply {
    size_t count;
    pmix_info_t info[];
};

static void free_reply(void *data)
{
    struct reply *reply = data;
    mu_pmix_takes();
    for (size_t i = 0; i < reply->count; i++)
        PMIX_INFO_DESTRUCT(&reply->info[i]);
    free(reply);
}

static void load_names(const struct mu_pmix *pmix, pmix_info_t *info)
{
    size_t room = 1;
    for (const struct mu_space *space = pmix->spaces; space != NULL; space = space->next)
        room += strlen(space->name) + 1;
    char *names = calloc(1, room);
    for (const struct mu_space *space = pmix->spaces; names != NULL && space != NULL;
         space = space->next) {
        strcat(names, names[0] != '\0' ? "," : "");
        strcat(names, space->name);
    }
    PMIX_INFO_LOAD(info, PMIX_QUERY_NAMESPACES, names, PMIX_STRING);
    free(names);
}

/* What is not known here, as the process id elsewhere, stays 0.  The name of the program must be
 * there: libpmix in the client compares it with that of the last answer. */
static void describe(const struct mu_pmix *pmix, const struct mu_space *space, uint32_t rank,
                     pmix_proc_info_t *described)
{
    struct mu_local_event event;
    bool is_gone = mu_space_gone(space, rank, &event);
    PMIX_LOAD_PROCID(&described->proc, space->name, rank);
    described->hostname = strdup(pmix->config.names[mu_space_node(space, rank)]);
    described->executable_name = strdup("");
    described->exit_code = is_gone ? mu_events_exit_code(&event.evidence.how) : 0;
    described->state = is_gone ? mu_events_state(&event.evidence) : PMIX_PROC_STATE_RUNNING;
}

static void load_table(const struct mu_pmix *pmix, const struct mu_space *space, bool local,
                       const char *key, pmix_info_t *info)
{
    size_t count = local ? space->here_count : space->size;
    pmix_data_array_t array;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, count, PMIX_PROC_INFO);
    pmix_proc_info_t *table = array.array;
    for (size_t i = 0; i < count; i++)
        describe(pmix, space, local ? space->here[i].rank : (uint32_t)i, &table[i]);
    PMIX_INFO_LOAD(info, key, &array, PMIX_DATA_ARRAY);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
}

/* False: this is not known. */
static bool load(const struct mu_pmix *pmix, const char *key, const char *nspace, pmix_info_t *info)
{
    const struct mu_space *space = mu_space_named(pmix, nspace);
    bool local = strcmp(key, PMIX_QUERY_LOCAL_PROC_TABLE) == 0;
    if (strcmp(key, PMIX_QUERY_NAMESPACES) == 0)
        load_names(pmix, info);
    else if (space != NULL && (local || strcmp(key, PMIX_QUERY_PROC_TABLE) == 0))
        load_table(pmix, space, local, key, info);
    else
        return false;
    return true;
}

static void run_query(struct mu_pmix *pmix, struct mu_upcall *upcall)
{
    struct query *query = (struct query *)upcall;
    struct reply *reply = calloc(1, sizeof *reply + query->key_count * sizeof reply->info[0]);
    if (reply == NULL)
        abort(); /* somebody would wait for ever */
    for (size_t i = 0; i < query->key_count; i++)
        if (load(pmix, query->keys[i].key, query->keys[i].nspace, &reply->info[reply->count]))
            reply->count++;
    pmix_status_t status = reply->count == query->key_count ? PMIX_SUCCESS
                           : reply->count > 0               ? PMIX_ERR_PARTIAL_SUCCESS
                                                            : PMIX_ERR_NOT_FOUND;
    mu_pmix_gives();
    query->done(status, reply->info, reply->count, query->data, free_reply, reply);
    free(query);
}

static const char *nspace_of(const pmix_proc_t *proc, const pmix_query_t *query)
{
    for (size_t i = 0; i < query->nqual; i++) {
        const pmix_info_t *qualifier = &query->qualifiers[i];
        const pmix_value_t *value = &qualifier->value;
        if (PMIX_CHECK_KEY(qualifier, PMIX_NSPACE) && value->type == PMIX_STRING &&
            value->data.string != NULL)
            return value->data.string;
        if (PMIX_CHECK_KEY(qualifier, PMIX_PROCID) && value->type == PMIX_PROC &&
            value->data.proc != NULL)
            return value->data.proc->nspace;
    }
    return proc->nspace;
}

pmix_status_t mu_query(const pmix_proc_t *proc, const pmix_query_t *queries, size_t count,
                       pmix_info_cbfunc_t done, void *data)
{
    size_t keys = 0;
    if (mu_pmix_is_closing())
        return PMIX_ERR_JOB_TERMINATED;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; queries[i].keys != NULL && queries[i].keys[k] != NULL; k++)
            keys++;
    struct query *made = calloc(1, sizeof *made + keys * sizeof made->keys[0]);
    if (made == NULL)
        return PMIX_ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; queries[i].keys != NULL && queries[i].keys[k] != NULL; k++) {
            size_t at = made->key_count++;
            PMIX_LOAD_KEY(made->keys[at].key, queries[i].keys[k]);
            PMIX_LOAD_NSPACE(made->keys[at].nspace, nspace_of(proc, &queries[i]));
        }
    made->upcall.run = run_query;
    made->proc = *proc;
    made->done = done;
    made->data = data;
    mu_upcall_put(&made->upcall);
    return PMIX_SUCCESS;
}
