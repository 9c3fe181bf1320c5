#include "pmix/libpmix.h"

#include "pmix/inside.h"

#include <stdlib.h>
#include <string.h>

#ifdef MUSTER_PMIX_INSIDE

#include <pmix.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pmix_version.h>
#include <src/mca/ptl/base/base.h>
#include <src/server/pmix_server_ops.h>
#include <stdio.h>

bool mu_libpmix_is_known(void)
{
    char version[64];
    snprintf(version, sizeof version, " %ld.%ld.%ld", (long)PMIX_VERSION_MAJOR,
             (long)PMIX_VERSION_MINOR, (long)PMIX_VERSION_RELEASE);
    const char *found = strstr(PMIx_Get_version(), version);
    return found != NULL && strchr("0123456789", found[strlen(version)]) == NULL;
}

/* ---- connections ---- */

/* Those that it accepts have what the one has that it listens on. */
void mu_libpmix_send_at_once(void)
{
    int yes = 1;
    if (mu_libpmix_is_known() && pmix_ptl_base.listener.socket >= 0)
        setsockopt(pmix_ptl_base.listener.socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/* As its own thread does it that listens. */
void mu_libpmix_take(int connection)
{
    pmix_pending_connection_t *pending = PMIX_NEW(pmix_pending_connection_t);
    socklen_t size = sizeof pending->addr;
    if (pending == NULL)
        abort(); /* a process would wait for ever */
    pending->protocol = pmix_ptl_base.listener.protocol;
    pending->sd = connection;
    getpeername(connection, (struct sockaddr *)&pending->addr, &size);
    pmix_ptl_base.listener.cbfunc(-1, 0, pending);
}

/* ---- processes that end while they connect ----
 *
 * libpmix then gives up once too often what it holds of that process, and frees what its list still
 * has.  So more is held, until the process has connected or the job is over. */

enum { MORE = 2 }; /* the process, and the one that stands in for it */

static char held; /* its address marks what is held */

static int32_t holders(const pmix_rank_info_t *client)
{
    return client->super.super.obj_reference_count;
}

/* 'left' are libpmix's own. */
static void let_go(pmix_rank_info_t *client, int32_t left)
{
    if (client->server_object != &held)
        return;
    client->server_object = NULL;
    for (int i = 0; i < MORE && holders(client) > left; i++)
        PMIX_RELEASE(client);
}

static pmix_namespace_t *find_space(const char *nspace)
{
    pmix_namespace_t *space;
    PMIX_LIST_FOREACH(space, &pmix_globals.nspaces, pmix_namespace_t)
    if (PMIX_CHECK_NSPACE(space->nspace, nspace))
        return space;
    return NULL;
}

void mu_libpmix_hold(const char *nspace)
{
    pmix_namespace_t *space = mu_libpmix_is_known() ? find_space(nspace) : NULL;
    pmix_rank_info_t *client;
    if (space == NULL)
        return;
    PMIX_LIST_FOREACH(client, &space->ranks, pmix_rank_info_t)
    for (int i = 0; i < MORE && client->server_object != &held; i++) {
        PMIX_RETAIN(client);
        if (i == MORE - 1)
            client->server_object = &held;
    }
}

void mu_libpmix_connected(const pmix_proc_t *proc)
{
    pmix_namespace_t *space = mu_libpmix_is_known() ? find_space(proc->nspace) : NULL;
    pmix_rank_info_t *client;
    if (space == NULL)
        return;
    PMIX_LIST_FOREACH(client, &space->ranks, pmix_rank_info_t)
    if (client->pname.rank == proc->rank)
        let_go(client, 2); /* the list, and the connection */
}

void mu_libpmix_let_go(const char *nspace)
{
    pmix_namespace_t *space = mu_libpmix_is_known() ? find_space(nspace) : NULL;
    pmix_rank_info_t *client;
    if (space == NULL)
        return;
    PMIX_LIST_FOREACH(client, &space->ranks, pmix_rank_info_t)
    let_go(client, 1);
}

/* ---- who has asked for what ---- */

static bool asked_for(pmix_status_t code, const pmix_peer_t *peer)
{
    pmix_regevents_info_t *event;
    pmix_peer_events_info_t *each;
    PMIX_LIST_FOREACH(event, &pmix_server_globals.events, pmix_regevents_info_t)
    if (event->code == code)
        PMIX_LIST_FOREACH(each, &event->peers, pmix_peer_events_info_t)
    if (each->peer == peer)
        return true;
    return false;
}

static bool asked_before(const pmix_status_t *codes, size_t count, const pmix_peer_t *peer)
{
    for (size_t i = 0; i < count; i++)
        if (asked_for(codes[i], peer))
            return true;
    return false;
}

static void add(pmix_proc_t **procs, size_t *count, const char *nspace, pmix_rank_t rank)
{
    for (size_t i = 0; i < *count; i++)
        if ((*procs)[i].rank == rank && PMIX_CHECK_NSPACE((*procs)[i].nspace, nspace))
            return; /* it has several handlers */
    pmix_proc_t *grown = realloc(*procs, (*count + 1) * sizeof *grown);
    if (grown == NULL)
        abort(); /* somebody would stay untold */
    *procs = grown;
    PMIX_LOAD_PROCID(&grown[*count], nspace, rank);
    ++*count;
}

static bool is_one_of(const char *nspace, const pmix_proc_t *nspaces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(nspaces[i].nspace, nspace) == 0)
            return true;
    return false;
}

size_t mu_libpmix_only_of(const pmix_proc_t *nspaces, size_t nspace_count,
                          const pmix_status_t *codes, size_t count, pmix_proc_t **procs)
{
    pmix_regevents_info_t *event;
    pmix_peer_events_info_t *each;
    size_t found = 0;
    *procs = NULL;
    PMIX_LIST_FOREACH(event, &pmix_server_globals.events, pmix_regevents_info_t)
    {
        if (event->code != codes[count - 1])
            continue;
        PMIX_LIST_FOREACH(each, &event->peers, pmix_peer_events_info_t)
        if (is_one_of(each->peer->info->pname.nspace, nspaces, nspace_count) &&
            !asked_before(codes, count - 1, each->peer))
            add(procs, &found, each->peer->info->pname.nspace, each->peer->info->pname.rank);
    }
    return found;
}

/* ---- collectives ---- */

static bool is_registered(const pmix_proc_t *proc)
{
    pmix_namespace_t *space;
    pmix_rank_info_t *client;
    PMIX_LIST_FOREACH(space, &pmix_globals.nspaces, pmix_namespace_t)
    if (strcmp(space->nspace, proc->nspace) == 0)
        PMIX_LIST_FOREACH(client, &space->ranks, pmix_rank_info_t)
    if (client->pname.rank == proc->rank)
        return true;
    return false;
}

/* The participants of this node that are left of a list of ranks.  false: somebody lists everybody,
 * and of these libpmix's own count is right. */
static bool count_registered(const pmix_server_trkr_t *collective, uint32_t *registered)
{
    *registered = 0;
    for (size_t i = 0; i < collective->npcs; i++) {
        if (collective->pcs[i].rank == PMIX_RANK_WILDCARD)
            return false;
        *registered += is_registered(&collective->pcs[i]);
    }
    return true;
}

/* Whoever counts on somebody who is not there any more does not now. */
static void count_again(pmix_server_trkr_t *collective)
{
    pmix_status_t partial = PMIX_ERR_PARTIAL_SUCCESS;
    uint32_t registered;
    if (!count_registered(collective, &registered) || collective->nlocal <= registered)
        return;
    collective->nlocal = registered;
    collective->local = false;
    PMIX_INFO_LOAD(&collective->info[collective->ninfo - 1], PMIX_LOCAL_COLLECTIVE_STATUS, &partial,
                   PMIX_STATUS);
}

static bool all_have_come(pmix_server_trkr_t *collective)
{
    size_t came = pmix_list_get_size(&collective->local_cbs);
    return !collective->host_called && collective->def_complete && came > 0 &&
           came == collective->nlocal;
}

/* As libpmix does it when a connection closes: without data. */
static void pass_on(pmix_server_trkr_t *collective)
{
    const pmix_server_module_t *host = &mu_pmix_upcalls;
    collective->host_called = true;
    if (collective->type == PMIX_FENCENB_CMD)
        host->fence_nb(collective->pcs, collective->npcs, collective->info, collective->ninfo, NULL,
                       0, collective->modexcbfunc, collective);
    else if (collective->type == PMIX_CONNECTNB_CMD)
        host->connect(collective->pcs, collective->npcs, collective->info, collective->ninfo,
                      collective->op_cbfunc, collective);
    else if (collective->type == PMIX_DISCONNECTNB_CMD)
        host->disconnect(collective->pcs, collective->npcs, collective->info, collective->ninfo,
                         collective->op_cbfunc, collective);
}

/* ---- groups ----
 *
 * When a connection closes, libpmix counts right, and passes no group on.  A group that everybody
 * else has come to is found in two steps, because one among processes of this node alone looks the
 * same when libpmix has completed it and is about to say so: then it is gone at the second step. */

enum { GROUP_FOUND = 1 }; /* local_cnt, which libpmix has no use for here */

static bool is_group(const pmix_server_trkr_t *collective)
{
    return collective->type == PMIX_GROUP_CONSTRUCT_CMD ||
           collective->type == PMIX_GROUP_DESTRUCT_CMD;
}

/* What a process sends when it comes. */
static pmix_status_t write_coming(const pmix_server_trkr_t *group, pmix_peer_t *peer,
                                  pmix_buffer_t *buffer)
{
    size_t count = group->npcs, directives = 0;
    pmix_status_t status;
    PMIX_BFROPS_PACK(status, peer, buffer, &group->id, 1, PMIX_STRING);
    if (group->type == PMIX_GROUP_CONSTRUCT_CMD && status == PMIX_SUCCESS)
        PMIX_BFROPS_PACK(status, peer, buffer, &count, 1, PMIX_SIZE);
    if (group->type == PMIX_GROUP_CONSTRUCT_CMD && status == PMIX_SUCCESS)
        PMIX_BFROPS_PACK(status, peer, buffer, group->pcs, (int32_t)count, PMIX_PROC);
    if (status == PMIX_SUCCESS)
        PMIX_BFROPS_PACK(status, peer, buffer, &directives, 1, PMIX_SIZE);
    return status;
}

/* The last one who came comes again: what libpmix calls when a group is complete is its own. */
static void come_again(pmix_server_trkr_t *group)
{
    pmix_server_caddy_t *last = (pmix_server_caddy_t *)pmix_list_remove_last(&group->local_cbs);
    pmix_buffer_t buffer;
    PMIX_CONSTRUCT(&buffer, pmix_buffer_t);
    if (write_coming(group, last->peer, &buffer) != PMIX_SUCCESS)
        abort(); /* somebody would wait for ever */
    group->local = false;
    if (group->type == PMIX_GROUP_CONSTRUCT_CMD)
        pmix_server_grpconstruct(last, &buffer);
    else
        pmix_server_grpdestruct(last, &buffer);
    PMIX_DESTRUCT(&buffer);
}

void mu_libpmix_pass_on_groups(void)
{
    pmix_server_trkr_t *group, *next;
    PMIX_LIST_FOREACH_SAFE(group, next, &pmix_server_globals.collectives, pmix_server_trkr_t)
    if (is_group(group) && group->local_cnt == GROUP_FOUND && all_have_come(group))
        come_again(group);
}

uint32_t mu_libpmix_came(void *data)
{
    pmix_server_trkr_t *collective = data;
    return mu_libpmix_is_known() ? (uint32_t)pmix_list_get_size(&collective->local_cbs)
                                 : UINT32_MAX;
}

void mu_libpmix_group_called(void *data)
{
    if (mu_libpmix_is_known())
        ((pmix_server_trkr_t *)data)->host_called = true;
}

/* Everybody here is gone who had come.  Groups are known by their names alone: the next one of that
 * name would find this. */
static void drop_tracker(pmix_server_trkr_t *group)
{
    pmix_list_remove_item(&pmix_server_globals.collectives, &group->super);
}

void mu_libpmix_drop_groups(const char *nspace)
{
    pmix_server_trkr_t *tracker, *next_tracker;
    pmix_group_t *group, *next;
    if (!mu_libpmix_is_known())
        return;
    PMIX_LIST_FOREACH_SAFE(tracker, next_tracker, &pmix_server_globals.collectives,
                           pmix_server_trkr_t)
    if (is_group(tracker) && PMIX_CHECK_NSPACE(tracker->pcs[0].nspace, nspace))
        drop_tracker(tracker);
    PMIX_LIST_FOREACH_SAFE(group, next, &pmix_server_globals.groups, pmix_group_t)
    if (group->nmbrs > 0 && PMIX_CHECK_NSPACE(group->members[0].nspace, nspace)) {
        pmix_list_remove_item(&pmix_server_globals.groups, &group->super);
        PMIX_RELEASE(group);
    }
}

/* ---- processes of jobs that are over ---- */

static bool is_space(const pmix_namespace_t *searched)
{
    pmix_namespace_t *space;
    PMIX_LIST_FOREACH(space, &pmix_globals.nspaces, pmix_namespace_t)
    if (space == searched)
        return true;
    return false;
}

void mu_libpmix_drop_peers(void)
{
    pmix_pointer_array_t *peers = &pmix_server_globals.clients;
    if (!mu_libpmix_is_known())
        return;
    for (int i = 0; i < peers->size; i++) {
        pmix_peer_t *peer = pmix_pointer_array_get_item(peers, i);
        if (peer == NULL || peer == pmix_globals.mypeer || peer->sd >= 0 || peer->recv_ev_active ||
            peer->send_ev_active || is_space(peer->nptr))
            continue;
        pmix_pointer_array_set_item(peers, i, NULL);
        PMIX_RELEASE(peer);
    }
}

/* ---- a process is gone ---- */

/* libpmix keeps what it knows of the connection: there it would find a member of a group, which
 * would then be one of this node alone, and complete. */
static void forget_name(const pmix_proc_t *proc)
{
    pmix_pointer_array_t *peers = &pmix_server_globals.clients;
    for (int i = 0; i < peers->size; i++) {
        pmix_peer_t *peer = pmix_pointer_array_get_item(peers, i);
        if (peer != NULL && peer->sd < 0 && peer->info->pname.rank == proc->rank &&
            PMIX_CHECK_NSPACE(peer->info->pname.nspace, proc->nspace))
            peer->info->pname.rank = PMIX_RANK_UNDEF;
    }
}

static bool has(const pmix_server_trkr_t *collective, const pmix_proc_t *proc)
{
    for (size_t i = 0; i < collective->npcs; i++)
        if (PMIX_CHECK_PROCID(&collective->pcs[i], proc))
            return true;
    return false;
}

bool mu_libpmix_forget(const pmix_proc_t *proc)
{
    pmix_server_trkr_t *collective, *next;
    bool found = false;
    if (!mu_libpmix_is_known())
        return false;
    forget_name(proc);
    PMIX_LIST_FOREACH_SAFE(collective, next, &pmix_server_globals.collectives, pmix_server_trkr_t)
    {
        if (collective->host_called)
            continue;
        uint32_t before = collective->nlocal;
        if (is_group(collective) && has(collective, proc))
            collective->local = false; /* else it would be complete without it */
        count_again(collective);
        if (is_group(collective) && collective->nlocal == 0)
            drop_tracker(collective);
        if (!all_have_come(collective))
            continue;
        if (is_group(collective)) {
            collective->local_cnt = GROUP_FOUND;
            found = true;
        } else if (collective->nlocal < before) {
            pass_on(collective);
        }
    }
    return found;
}

#else

void mu_libpmix_send_at_once(void)
{
}

void mu_libpmix_take(int connection)
{
    (void)connection;
    abort(); /* nobody hands one over to a library that is not known */
}

void mu_libpmix_drop_peers(void)
{
}

void mu_libpmix_hold(const char *nspace)
{
    (void)nspace;
}

void mu_libpmix_connected(const pmix_proc_t *proc)
{
    (void)proc;
}

void mu_libpmix_let_go(const char *nspace)
{
    (void)nspace;
}

bool mu_libpmix_forget(const pmix_proc_t *proc)
{
    (void)proc;
    return false;
}

void mu_libpmix_pass_on_groups(void)
{
}

void mu_libpmix_group_called(void *data)
{
    (void)data;
}

void mu_libpmix_drop_groups(const char *nspace)
{
    (void)nspace;
}

bool mu_libpmix_is_known(void)
{
    return false;
}

size_t mu_libpmix_only_of(const pmix_proc_t *nspaces, size_t nspace_count,
                          const pmix_status_t *codes, size_t count, pmix_proc_t **procs)
{
    (void)nspaces, (void)nspace_count, (void)codes, (void)count;
    *procs = NULL;
    return 0;
}

#endif
