/* Usage: pmix_spawn COUNT WHEN, as a program of PMIx
 * Rank 0 spawns COUNT children; it and they connect.  The last child dies, WHEN: before (it would
 * have connected), node (the same, with its whole node), after (they have connected), never.  Each
 * other one says what came of connecting, and after 'after' that it was told.
 * WHEN large: nobody dies, and the children would get an argument of 300,000 bytes. */
#include <inttypes.h>
#include <pmix.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t self;
static _Atomic int told; /* how often */
static pmix_proc_t victim;

static void on_death(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t info_count, pmix_info_t *results, size_t result_count,
                     pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)status, (void)info, (void)info_count, (void)results, (void)result_count;
    victim = *source;
    atomic_fetch_add(&told, 1);
    if (done != NULL)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void say(const char *who, const char *what)
{
    printf("%s %" PRIu32 " %s\n", who, self.rank, what);
    fflush(stdout);
}

/* The parent knows that its children run: only then may one take its node along. */
static void show_spawned(void)
{
    pmix_info_t info;
    bool yes = true;
    PMIX_INFO_LOAD(&info, "spawned", &yes, PMIX_BOOL);
    PMIx_Publish(&info, 1);
    PMIX_INFO_DESTRUCT(&info);
}

static void wait_for_spawned(void)
{
    pmix_pdata_t found;
    pmix_info_t wait;
    bool yes = true;
    PMIX_PDATA_CONSTRUCT(&found);
    PMIX_LOAD_KEY(found.key, "spawned");
    PMIX_INFO_LOAD(&wait, PMIX_WAIT, &yes, PMIX_BOOL);
    if (PMIx_Lookup(&found, 1, &wait, 1) != PMIX_SUCCESS || found.proc.rank != 0)
        exit(3);
    PMIX_INFO_DESTRUCT(&wait);
    PMIX_PDATA_DESTRUCT(&found);
}

static void connect_all(const char *who, const char *parents, const char *children, bool dies,
                        const char *when)
{
    pmix_proc_t procs[2];
    PMIX_LOAD_PROCID(&procs[0], parents, 0);
    PMIX_LOAD_PROCID(&procs[1], children, PMIX_RANK_WILDCARD);
    if (dies)
        wait_for_spawned();
    if (dies && strcmp(when, "before") == 0)
        raise(SIGKILL);
    if (dies && strcmp(when, "node") == 0)
        kill(getppid(), SIGKILL);
    if (dies && strcmp(when, "node") == 0)
        pause();
    say(who, PMIx_Error_string(PMIx_Connect(procs, 2, NULL, 0)));
    if (strcmp(when, "after") != 0)
        return;
    PMIx_Fence(procs, 2, NULL, 0); /* all have connected: who dies later is told of */
    if (dies)
        raise(SIGKILL);
    for (int i = 0; i < 3000 && atomic_load(&told) == 0; i++)
        usleep(10000); /* at most half a minute */
    usleep(200000);    /* for a second time, which must not be */
    char text[64];
    bool is_child = strcmp(victim.nspace, children) == 0;
    snprintf(text, sizeof text, "told %d of %s %" PRIu32, atomic_load(&told),
             is_child ? "child" : "somebody", victim.rank);
    say(who, text);
}

static void be_parent(const char *program, const char *count, const char *when)
{
    pmix_app_t app;
    pmix_nspace_t children;
    pmix_status_t status;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(program);
    app.maxprocs = atoi(count);
    PMIX_ARGV_APPEND(status, app.argv, program);
    PMIX_ARGV_APPEND(status, app.argv, count);
    PMIX_ARGV_APPEND(status, app.argv, when);
    if (strcmp(when, "large") == 0) {
        static char large[300001];
        memset(large, 'x', sizeof large - 1);
        PMIX_ARGV_APPEND(status, app.argv, large);
    }
    status = PMIx_Spawn(NULL, 0, &app, 1, children);
    PMIX_APP_DESTRUCT(&app);
    show_spawned();
    if (status == PMIX_SUCCESS)
        connect_all("parent", self.nspace, children, false, when);
    else
        say("parent cannot spawn", PMIx_Error_string(status));
}

int main(int argc, char **argv)
{
    pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED_BY_SIG};
    pmix_value_t *parent = NULL;
    pmix_proc_t all;
    if (argc != 3 || PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        return 2;
    PMIx_Register_event_handler(codes, 1, NULL, 0, on_death, NULL, NULL);
    PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&all, PMIX_PARENT_ID, NULL, 0, &parent) == PMIX_SUCCESS) {
        bool dies = strcmp(argv[2], "never") != 0 && (int)self.rank == atoi(argv[1]) - 1;
        connect_all("child", parent->data.proc->nspace, self.nspace, dies, argv[2]);
        PMIX_VALUE_RELEASE(parent);
    } else if (self.rank == 0) {
        be_parent(argv[0], argv[1], argv[2]);
    }
    PMIx_Finalize(NULL, 0);
    return 0;
}
