#include "pmix/libpmix.h"

#include "pmix/inside.h"

#include <stdlib.h>
#include <string.h>

#ifdef MUSTER_PMIX_INSIDE

#include <pmix.h>
#include <pmix_version.h>
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
        if ((*procs)[i].rank == rank)
            return; /* it has several handlers */
    pmix_proc_t *grown = realloc(*procs, (*count + 1) * sizeof *grown);
    if (grown == NULL)
        abort(); /* somebody would stay untold */
    *procs = grown;
    PMIX_LOAD_PROCID(&grown[*count], nspace, rank);
    ++*count;
}

size_t mu_libpmix_only_of(const char *nspace, const pmix_status_t *codes, size_t count,
                          pmix_proc_t **procs)
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
        if (strcmp(each->peer->info->pname.nspace, nspace) == 0 &&
            !asked_before(codes, count - 1, each->peer))
            add(procs, &found, nspace, each->peer->info->pname.rank);
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

/* Those that list everybody are right already. */
static bool counts_on(const pmix_server_trkr_t *collective, const pmix_proc_t *proc,
                      uint32_t *registered)
{
    bool listed = false;
    *registered = 0;
    for (size_t i = 0; i < collective->npcs; i++) {
        if (collective->pcs[i].rank == PMIX_RANK_WILDCARD)
            return false;
        listed = listed || PMIX_CHECK_PROCID(&collective->pcs[i], proc);
        *registered += is_registered(&collective->pcs[i]);
    }
    return listed && !collective->host_called && collective->def_complete &&
           collective->nlocal > *registered;
}

/* Everybody else has come.  As libpmix does it when a connection closes: without data. */
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

void mu_libpmix_forget(const pmix_proc_t *proc)
{
    pmix_server_trkr_t *collective;
    pmix_status_t partial = PMIX_ERR_PARTIAL_SUCCESS;
    uint32_t registered;
    if (!mu_libpmix_is_known())
        return;
    PMIX_LIST_FOREACH(collective, &pmix_server_globals.collectives, pmix_server_trkr_t)
    {
        if (!counts_on(collective, proc, &registered))
            continue;
        collective->nlocal = registered;
        collective->local = false;
        PMIX_INFO_LOAD(&collective->info[collective->ninfo - 1], PMIX_LOCAL_COLLECTIVE_STATUS,
                       &partial, PMIX_STATUS);
        if (pmix_list_get_size(&collective->local_cbs) == registered)
            pass_on(collective);
    }
}

#else

void mu_libpmix_forget(const pmix_proc_t *proc)
{
    (void)proc;
}

bool mu_libpmix_is_known(void)
{
    return false;
}

size_t mu_libpmix_only_of(const char *nspace, const pmix_status_t *codes, size_t count,
                          pmix_proc_t **procs)
{
    (void)nspace, (void)codes, (void)count;
    *procs = NULL;
    return 0;
}

#endif
