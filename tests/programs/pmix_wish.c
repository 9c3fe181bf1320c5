/* Usage: pmix_wish COUNT WHOM MICROSECONDS, as a program of PMIx
 * Rank 0 wants COUNT children, and kills somebody so long after it has said so: WHOM is itself,
 * node (its daemon), launcher, or term (the launcher, by SIGTERM).  Children that start connect
 * with it, and go, whatever comes of that. WHOM theirs: rank 0 kills nobody, but the last child its
 * daemon, as the first thing that it does, while others may still be starting. */
#include <inttypes.h>
#include <pmix.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t self;

static void on_spawned(pmix_status_t status, pmix_nspace_t children, void *data)
{
    (void)status, (void)children, (void)data;
}

static pid_t parent_of(pid_t pid)
{
    char path[64];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%*d (%*[^)]) %*c %d", &parent) != 1)
        exit(3);
    fclose(file);
    return parent;
}

static void kill_whom(const char *whom)
{
    if (strcmp(whom, "itself") == 0)
        raise(SIGKILL);
    else if (strcmp(whom, "node") == 0)
        kill(getppid(), SIGKILL);
    else
        kill(parent_of(parent_of(getppid())), /* not the daemon's witness */
             strcmp(whom, "term") == 0 ? SIGTERM : SIGKILL);
}

static void connect_with(const char *parents, const char *children)
{
    pmix_proc_t procs[2];
    PMIX_LOAD_PROCID(&procs[0], parents, 0);
    PMIX_LOAD_PROCID(&procs[1], children, PMIX_RANK_WILDCARD);
    PMIx_Connect(procs, 2, NULL, 0);
}

static void be_parent(char **argv)
{
    pmix_app_t app;
    pmix_status_t status;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(argv[0]);
    app.maxprocs = atoi(argv[1]);
    for (int i = 0; i < 3; i++)
        PMIX_ARGV_APPEND(status, app.argv, argv[i]);
    PMIX_ARGV_APPEND(status, app.argv, "child");
    if (strcmp(argv[2], "theirs") == 0) {
        pmix_nspace_t children;
        if (PMIx_Spawn(NULL, 0, &app, 1, children) == PMIX_SUCCESS)
            connect_with(self.nspace, children);
        return;
    }
    status = PMIx_Spawn_nb(NULL, 0, &app, 1, on_spawned, NULL);
    if (status != PMIX_SUCCESS)
        exit(4);
    usleep((useconds_t)atoi(argv[3]));
    kill_whom(argv[2]);
    pause();
}

/* It is known before PMIx is. */
static bool is_last_child(char **argv)
{
    const char *rank = getenv("PMIX_RANK");
    return strcmp(argv[3], "child") == 0 && rank != NULL && atoi(rank) == atoi(argv[1]) - 1;
}

int main(int argc, char **argv)
{
    pmix_value_t *parent = NULL;
    pmix_proc_t all;
    if (argc == 4 && strcmp(argv[2], "theirs") == 0 && is_last_child(argv))
        kill_whom("node");
    if (argc != 4 || PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        return 2;
    PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&all, PMIX_PARENT_ID, NULL, 0, &parent) == PMIX_SUCCESS) {
        connect_with(parent->data.proc->nspace, self.nspace);
        PMIX_VALUE_RELEASE(parent);
    } else if (self.rank == 0) {
        be_parent(argv);
    }
    PMIx_Finalize(NULL, 0);
    return 0;
}
