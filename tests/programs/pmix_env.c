/* Usage: pmix_env [spawn | fence], as a program of PMIx
 * Says what it finds in its environment of PMIx, Open MPI and hwloc, each line after the number of
 * its job.  spawn: and then has one more process do so.  fence: says nothing but with which status
 * a fence over its job ended. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static void show(void)
{
    static const char *const beginnings[] = {"PMIX_", "OMPI_", "HWLOC_", "JSM_"};
    for (char **at = environ; *at != NULL; at++)
        for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
            if (strncmp(*at, beginnings[i], strlen(beginnings[i])) == 0)
                printf("%s %s\n", getenv("MUSTER_JOB"), *at);
}

static void spawn(const char *program)
{
    pmix_app_t app;
    pmix_nspace_t made;
    pmix_status_t status;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(program);
    app.maxprocs = 1;
    PMIX_ARGV_APPEND(status, app.argv, program);
    status = PMIx_Spawn(NULL, 0, &app, 1, made);
    if (status != PMIX_SUCCESS)
        printf("spawn: %s\n", PMIx_Error_string(status));
    PMIX_APP_DESTRUCT(&app);
}

static void fence(const pmix_proc_t *self)
{
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, self->nspace, PMIX_RANK_WILDCARD);
    printf("fence %s\n", PMIx_Error_string(PMIx_Fence(&all, 1, NULL, 0)));
}

int main(int argc, char **argv)
{
    pmix_proc_t self;
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "fence") != 0)
        show();
    if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        return 2;
    if (strcmp(what, "spawn") == 0)
        spawn(argv[0]);
    if (strcmp(what, "fence") == 0)
        fence(&self);
    PMIx_Finalize(NULL, 0);
    return 0;
}
