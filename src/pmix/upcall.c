/* What libpmix calls, on its own thread: copied, and handed over to the loop.
 *
 * A member that is not here is answered by libpmix itself with PMIX_ERR_NOT_SUPPORTED. */
#include "pmix/inside.h"
#include "pmix/libpmix.h"

#include <stdlib.h>

/* ---- processes come and go ---- */

struct contact {
    struct mu_upcall upcall;
    pmix_proc_t proc;
    enum mu_client_state state;
};

static void run_contact(struct mu_pmix *pmix, struct mu_upcall *upcall)
{
    struct contact *contact = (struct contact *)upcall;
    mu_space_connected(pmix, &contact->proc, contact->state);
    free(contact);
}

static void put_contact(const pmix_proc_t *proc, enum mu_client_state state)
{
    if (mu_pmix_is_closing())
        return;
    struct contact *contact = malloc(sizeof *contact);
    if (contact == NULL)
        abort(); /* a collective could wait for ever */
    *contact = (struct contact){.upcall.run = run_contact, .proc = *proc, .state = state};
    mu_upcall_put(&contact->upcall);
}

/* The loop alone takes from the queue, so what it finds there stays while it looks.  The newest is
 * the first. */
bool mu_upcall_inside(const struct mu_pmix *pmix, const pmix_proc_t *proc, bool inside)
{
    for (struct mu_upcall *at = atomic_load(&pmix->newest); at != NULL; at = at->next) {
        const struct contact *contact = (const struct contact *)at;
        if (at->run == run_contact && contact->state != MU_CLIENT_LOST &&
            PMIX_CHECK_PROCID(&contact->proc, proc))
            return mu_client_inside(inside, contact->state);
    }
    return inside;
}

static pmix_status_t on_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
                                  size_t info_count, pmix_op_cbfunc_t done, void *data)
{
    (void)object, (void)info, (void)info_count, (void)done, (void)data;
    mu_libpmix_connected(proc);
    put_contact(proc, MU_CLIENT_CONNECTED);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
                                  void *data)
{
    (void)object, (void)done, (void)data;
    put_contact(proc, MU_CLIENT_FINALIZED);
    return PMIX_OPERATION_SUCCEEDED;
}

static void on_forgotten_again(pmix_status_t status, void *data)
{
    (void)status, (void)data;
    mu_libpmix_pass_on_groups();
}

/* The second call does nothing but to call back after what waits on this thread now. */
static void on_forgotten(pmix_status_t status, void *data)
{
    (void)status;
    if (mu_libpmix_forget(data) && !mu_pmix_is_closing())
        PMIx_server_deregister_client(data, on_forgotten_again, NULL);
    free(data);
}

/* libpmix has taken it out of the collectives that are under way.  Those to come would count it,
 * when they list it by its rank, as long as it is registered.  So this does not wait for the loop.
 */
static void forget(const pmix_proc_t *proc)
{
    if (mu_pmix_is_closing())
        return;
    pmix_proc_t *copy = malloc(sizeof *copy);
    if (copy == NULL)
        abort(); /* a collective could wait for ever */
    *copy = *proc;
    PMIx_server_deregister_client(proc, on_forgotten, copy);
    put_contact(proc, MU_CLIENT_LOST);
}

/* libpmix's mark for what a client has said: PMIX_SERVER_INTERNAL_NOTIFY, of its inside. */
#define FROM_CLIENT "pmix.srvr.internal.notify"

static bool is_from_client(const pmix_info_t info[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (PMIX_CHECK_KEY(&info[i], FROM_CLIENT))
            return true;
    return false;
}

/* Of several that are lost at once, all but one stand in the list. */
static void on_lost(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                    size_t info_count, pmix_info_t *results, size_t result_count,
                    pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)status, (void)results, (void)result_count;
    if (!is_from_client(info, info_count)) {
        forget(source);
        for (size_t i = 0; i < info_count; i++)
            if (PMIX_CHECK_KEY(&info[i], PMIX_PROCID) && info[i].value.type == PMIX_PROC)
                forget(info[i].value.data.proc);
    }
    if (done != NULL)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

/* ---- heartbeats of clients ---- */

struct quiet {
    struct mu_upcall upcall;
    pmix_proc_t proc;
};

/* What other nodes have told here comes by as well. */
static void run_quiet(struct mu_pmix *pmix, struct mu_upcall *upcall)
{
    struct quiet *quiet = (struct quiet *)upcall;
    const struct mu_space *space = mu_space_named(pmix, quiet->proc.nspace);
    const struct mu_client_here *client =
        space != NULL ? mu_space_client(space, quiet->proc.rank) : NULL;
    if (client != NULL && !client->ended) /* that is told otherwise */
        pmix->config.host.quiet(pmix->config.host.owner, space->number, quiet->proc.rank);
    free(quiet);
}

/* libpmix counts heartbeats itself, and tells the processes of this node. */
static void on_quiet(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t info_count, pmix_info_t *results, size_t result_count,
                     pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)status, (void)results, (void)result_count;
    struct quiet *quiet =
        mu_pmix_is_closing() || is_from_client(info, info_count) ? NULL : malloc(sizeof *quiet);
    if (quiet != NULL) {
        *quiet = (struct quiet){.upcall.run = run_quiet, .proc = *source};
        mu_upcall_put(&quiet->upcall);
    }
    if (done != NULL)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

void mu_upcall_watch(void)
{
    pmix_status_t lost = PMIX_ERR_LOST_CONNECTION, alert = PMIX_MONITOR_HEARTBEAT_ALERT;
    PMIx_Register_event_handler(&lost, 1, NULL, 0, on_lost, NULL, NULL);
    PMIx_Register_event_handler(&alert, 1, NULL, 0, on_quiet, NULL, NULL);
}

/* ---- collectives ---- */

/* libpmix says so when it calls because a connection was lost, before it says anything of that. */
static bool all_came(const pmix_info_t info[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_LOCAL_COLLECTIVE_STATUS) &&
            info[i].value.data.status != PMIX_SUCCESS)
            return false;
    return true;
}

static pmix_status_t on_fence(const pmix_proc_t procs[], size_t proc_count,
                              const pmix_info_t info[], size_t info_count, char *bytes,
                              size_t count, pmix_modex_cbfunc_t done, void *data)
{
    struct mu_collective *made =
        mu_collective_make(MU_COLLECTIVE_FENCE, NULL, procs, proc_count, bytes, count,
                           all_came(info, info_count), mu_libpmix_came(data));
    return mu_collective_fence(made, done, data);
}

static pmix_status_t on_connect(const pmix_proc_t procs[], size_t proc_count,
                                const pmix_info_t info[], size_t info_count, pmix_op_cbfunc_t done,
                                void *data)
{
    struct mu_collective *made =
        mu_collective_make(MU_COLLECTIVE_CONNECT, NULL, procs, proc_count, NULL, 0,
                           all_came(info, info_count), mu_libpmix_came(data));
    return mu_collective_op(made, done, data);
}

static pmix_status_t on_disconnect(const pmix_proc_t procs[], size_t proc_count,
                                   const pmix_info_t info[], size_t info_count,
                                   pmix_op_cbfunc_t done, void *data)
{
    struct mu_collective *made =
        mu_collective_make(MU_COLLECTIVE_DISCONNECT, NULL, procs, proc_count, NULL, 0,
                           all_came(info, info_count), mu_libpmix_came(data));
    return mu_collective_op(made, done, data);
}

static pmix_status_t on_group(pmix_group_operation_t operation, char name[],
                              const pmix_proc_t procs[], size_t proc_count,
                              const pmix_info_t info[], size_t info_count, pmix_info_cbfunc_t done,
                              void *data)
{
    enum mu_collective_kind kind =
        operation == PMIX_GROUP_CONSTRUCT ? MU_COLLECTIVE_GROUP : MU_COLLECTIVE_UNGROUP;
    struct mu_collective *made = mu_collective_make(kind, name, procs, proc_count, NULL, 0,
                                                    all_came(info, info_count), UINT32_MAX);
    mu_libpmix_group_called(data);
    return mu_collective_group(made, done, data);
}

/* ---- data of a process elsewhere ---- */

static pmix_status_t on_modex(const pmix_proc_t *proc, const pmix_info_t info[], size_t info_count,
                              pmix_modex_cbfunc_t done, void *data)
{
    (void)info, (void)info_count;
    return mu_modex_want(proc, done, data);
}

/* ---- keys, and questions ---- */

static pmix_status_t on_unpublish(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                                  size_t info_count, pmix_op_cbfunc_t done, void *data)
{
    (void)info, (void)info_count;
    return mu_unpublish(proc, keys, done, data);
}

static pmix_status_t on_query(pmix_proc_t *proc, pmix_query_t *queries, size_t count,
                              pmix_info_cbfunc_t done, void *data)
{
    return mu_query(proc, queries, count, done, data);
}

/* ---- events ---- */

/* Every death is told to everybody who asked for its code: nothing to do here.  But without this,
 * nobody could ask for those of nodes. */
static pmix_status_t on_register(pmix_status_t *codes, size_t count, const pmix_info_t info[],
                                 size_t info_count, pmix_op_cbfunc_t done, void *data)
{
    (void)codes, (void)count, (void)info, (void)info_count, (void)done, (void)data;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_deregister(pmix_status_t *codes, size_t count, pmix_op_cbfunc_t done,
                                   void *data)
{
    (void)codes, (void)count, (void)done, (void)data;
    return PMIX_OPERATION_SUCCEEDED;
}

/* ---- the end of a job ---- */

struct abort_upcall {
    struct mu_upcall upcall;
    pmix_proc_t proc;
};

static void run_abort(struct mu_pmix *pmix, struct mu_upcall *upcall)
{
    struct abort_upcall *wish = (struct abort_upcall *)upcall;
    const struct mu_space *space = mu_space_named(pmix, wish->proc.nspace);
    if (space != NULL)
        pmix->config.host.abort_job(pmix->config.host.owner, space->number, wish->proc.rank);
    free(wish);
}

/* Of the whole namespace only. */
static pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int status, const char text[],
                              pmix_proc_t procs[], size_t proc_count, pmix_op_cbfunc_t done,
                              void *data)
{
    (void)object, (void)status, (void)text, (void)done, (void)data;
    bool all = procs == NULL || proc_count == 0 ||
               (proc_count == 1 && procs[0].rank == PMIX_RANK_WILDCARD &&
                PMIX_CHECK_NSPACE(procs[0].nspace, proc->nspace));
    if (mu_pmix_is_closing())
        return PMIX_ERR_JOB_TERMINATED;
    struct abort_upcall *wish = all ? malloc(sizeof *wish) : NULL;
    if (wish == NULL)
        return all ? PMIX_ERR_NOMEM : PMIX_ERR_NOT_SUPPORTED;
    *wish = (struct abort_upcall){.upcall.run = run_abort, .proc = *proc};
    mu_upcall_put(&wish->upcall);
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_server_module_t mu_pmix_upcalls = {
    .client_connected2 = on_connected,
    .client_finalized = on_finalized,
    .abort = on_abort,
    .fence_nb = on_fence,
    .direct_modex = on_modex,
    .publish = mu_publish,
    .lookup = mu_lookup,
    .unpublish = on_unpublish,
    .spawn = mu_spawn,
    .query = on_query,
    .connect = on_connect,
    .disconnect = on_disconnect,
    .register_events = on_register,
    .deregister_events = on_deregister,
    .group = on_group,
};
