/* A process wants further ones: a job of their own, which the launcher starts. */
#define _GNU_SOURCE
#include "pmix/inside.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct spawn {
    struct mu_upcall upcall;
    struct mu_pending pending;
    uint32_t job, number;
    pmix_proc_t proc;
    pmix_spawn_cbfunc_t done;
    void *data;
    uint32_t size, program_count;
    struct mu_launch_program programs[]; /* their strings are ours */
};

static uint32_t numbers; /* given out, on the loop */

/* ---- copies, on libpmix's thread ---- */

static void free_list(const char *const *list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        free((void *)list[i]);
    free((void *)list);
}

static void free_spawn(struct spawn *spawn)
{
    for (uint32_t i = 0; i < spawn->program_count; i++) {
        free((void *)spawn->programs[i].directory);
        free_list(spawn->programs[i].argv);
        free_list(spawn->programs[i].envp);
    }
    free(spawn);
}

/* Another first one, unless that is NULL; without those that 'leaves_out' names.  NULL: no memory.
 */
static const char *const *copy_list(const char *first, char *const *list,
                                    bool (*leaves_out)(const char *text))
{
    size_t count = 0, used = 0;
    while (list != NULL && list[count] != NULL)
        count++;
    char **copy = calloc(count + 2, sizeof *copy);
    bool good = copy != NULL;
    if (good && first != NULL)
        good = (copy[used++] = strdup(first)) != NULL;
    for (size_t i = first != NULL ? 1 : 0; good && i < count; i++)
        if (leaves_out == NULL || !leaves_out(list[i]))
            good = (copy[used++] = strdup(list[i])) != NULL;
    if (good)
        return (const char *const *)copy;
    free_list((const char *const *)copy);
    return NULL;
}

/* Open MPI passes on its own settings: the folders of this job are not those of the new one. */
static bool is_of_this_job(const char *variable)
{
    const char *folder = mu_pmix_open_one->config.folder, *value = strchr(variable, '=');
    return value != NULL && strncmp(value + 1, folder, strlen(folder)) == 0;
}

static const char *directory_in(const pmix_info_t *info, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_WDIR) && info[i].value.type == PMIX_STRING)
            return info[i].value.data.string;
    return NULL;
}

static char *directory_of(const pmix_app_t *app, const pmix_info_t *info, size_t count)
{
    const char *said = app->cwd != NULL ? app->cwd : directory_in(app->info, app->ninfo);
    if (said == NULL)
        said = directory_in(info, count);
    return said != NULL ? strdup(said) : get_current_dir_name();
}

static bool needs_more(const pmix_info_t *info, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (PMIX_INFO_IS_REQUIRED(&info[i]) && !PMIX_CHECK_KEY(&info[i], PMIX_WDIR))
            return true;
    return false;
}

/* What a job needs and can have. */
static pmix_status_t check(const pmix_info_t *info, size_t count, const pmix_app_t *apps,
                           size_t app_count)
{
    uint64_t size = 0;
    if (app_count < 1 || app_count > MU_LAUNCH_PROGRAMS_MAX)
        return PMIX_ERR_BAD_PARAM;
    if (needs_more(info, count))
        return PMIX_ERR_NOT_SUPPORTED;
    for (size_t i = 0; i < app_count; i++) {
        if (apps[i].cmd == NULL || apps[i].maxprocs < 1)
            return PMIX_ERR_BAD_PARAM;
        if (needs_more(apps[i].info, apps[i].ninfo))
            return PMIX_ERR_NOT_SUPPORTED;
        size += (uint64_t)apps[i].maxprocs;
    }
    return size <= MU_LAUNCH_RANKS_MAX ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

/* NULL: no memory. */
static struct spawn *make_spawn(const pmix_info_t *info, size_t count, const pmix_app_t *apps,
                                size_t app_count)
{
    struct spawn *made = calloc(1, sizeof *made + app_count * sizeof made->programs[0]);
    bool good = made != NULL;
    for (size_t i = 0; good && i < app_count; i++) {
        struct mu_launch_program *program = &made->programs[made->program_count++];
        program->first = made->size;
        program->count = (uint32_t)apps[i].maxprocs;
        program->directory = directory_of(&apps[i], info, count);
        program->argv = copy_list(apps[i].cmd, apps[i].argv, NULL);
        program->envp = copy_list(NULL, apps[i].env, is_of_this_job);
        made->size += program->count;
        good = program->directory != NULL && program->argv != NULL && program->envp != NULL;
    }
    if (made != NULL && !good) {
        free_spawn(made);
        made = NULL;
    }
    return made;
}

/* ---- on the loop ---- */

static void finish(struct spawn *spawn, pmix_status_t status, char *name)
{
    mu_pending_remove(&spawn->pending);
    spawn->done(status, name, spawn->data);
    free_spawn(spawn);
}

static struct spawn *spawn_of(struct mu_pending *pending)
{
    return (struct spawn *)((char *)pending - offsetof(struct spawn, pending));
}

static void give_up(struct mu_pending *pending)
{
    finish(spawn_of(pending), PMIX_ERR_JOB_TERMINATED, NULL);
}

static void run_spawn(struct mu_pmix *pmix, struct mu_upcall *upcall)
{
    struct spawn *spawn = (struct spawn *)upcall;
    const struct mu_pmix_host *host = &pmix->config.host;
    struct mu_space *space = mu_space_named(pmix, spawn->proc.nspace);
    if (space == NULL) {
        finish(spawn, PMIX_ERR_NOT_FOUND, NULL);
        return;
    }
    const struct mu_launch_job wish = {
        .size = spawn->size, .program_count = spawn->program_count, .programs = spawn->programs};
    spawn->job = space->number;
    spawn->number = ++numbers;
    if (host->spawn(host->owner, space->number, spawn->proc.rank, spawn->number, &wish) == NULL)
        mu_pending_add(&space->pending, &spawn->pending, give_up);
    else
        finish(spawn, PMIX_ERR_JOB_FAILED_TO_LAUNCH, NULL);
}

void mu_spawn_spawned(struct mu_pmix *pmix, uint32_t job, uint32_t number, uint32_t made,
                      const char *text)
{
    struct mu_space *space = mu_space_find(pmix, job);
    pmix_nspace_t name;
    (void)text; /* the launcher has said it to the user, and a status has no words */
    mu_space_name(pmix, made, name);
    for (struct mu_pending *each = space != NULL ? space->pending : NULL; each != NULL;
         each = each->next)
        if (each->give_up == give_up && spawn_of(each)->number == number) {
            finish(spawn_of(each), made != 0 ? PMIX_SUCCESS : PMIX_ERR_JOB_FAILED_TO_LAUNCH,
                   made != 0 ? name : NULL);
            return;
        }
}

pmix_status_t mu_spawn(const pmix_proc_t *proc, const pmix_info_t info[], size_t info_count,
                       const pmix_app_t apps[], size_t app_count, pmix_spawn_cbfunc_t done,
                       void *data)
{
    pmix_status_t status = check(info, info_count, apps, app_count);
    if (mu_pmix_is_closing())
        status = PMIX_ERR_JOB_TERMINATED;
    if (status != PMIX_SUCCESS)
        return status;
    struct spawn *made = make_spawn(info, info_count, apps, app_count);
    if (made == NULL)
        return PMIX_ERR_NOMEM;
    made->upcall.run = run_spawn;
    made->proc = *proc;
    made->done = done;
    made->data = data;
    mu_upcall_put(&made->upcall);
    return PMIX_SUCCESS;
}
