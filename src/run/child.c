/* What happens to a further job of a run, from when it starts. */
#include "run/child.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;

/* ---- the answer ---- */

void run_child_answer(struct run_child *child, uint32_t made, const char *text)
{
    struct job *asker = run_job_of(child->run, child->asker.job);
    if (asker != NULL && job_hosts(asker, child->asker.node))
        job_answer(asker, child->asker.node, child->asker.number, made, text);
}

/* It is no failure of the run: whoever asked is told, and decides. */
void run_child_fail(struct run_child *child, const char *text)
{
    if (child->state != CHILD_WANTED && child->state != CHILD_STARTING)
        return;
    child->state = CHILD_FAILED;
    run_output_say(child->run->output,
                   "muster: cannot start the job that rank %u of job %u requested: %s\n",
                   child->asker.rank, child->asker.job, text);
    run_child_answer(child, 0, text);
    if (child->job != NULL)
        job_stop(child->job, 0);
    run_look_soon(child->run);
}

/* ---- what happens to it ---- */

static void on_started(void *owner, uint32_t rank, uint32_t pid)
{
    const struct run_child *child = owner;
    if (child->run->options.verbose)
        run_output_say(child->run->output, "muster: rank %u of job %u on node %u: PID %u\n", rank,
                       job_number(child->job), job_node_of(child->job, rank), pid);
}

static void on_ended(void *owner, uint32_t rank, const struct mu_evidence *evidence)
{
    struct run_child *child = owner;
    struct run *run = child->run;
    char how[MU_EVIDENCE_TEXT_MAX];
    run_look_soon(run); /* it may have wanted a job itself */
    bool is_known = evidence->verdict == MU_VERDICT_LEFT || run->stopping;
    if (is_known || child->state == CHILD_FAILED || evidence->cause == MU_CAUSE_NODE_LOST)
        return;
    mu_evidence_text(evidence, how, sizeof how);
    if (evidence->how.type == MU_EXIT_NOT_STARTED && child->state == CHILD_STARTING) {
        run_child_fail(child, how);
        return;
    }
    run_deaths_process(child->deaths, rank, evidence);
    mu_slot node = job_node_of(child->job, rank);
    char who[sizeof run->alike.who];
    snprintf(who, sizeof who, "rank %u of job %u", rank, job_number(child->job));
    run_process_failed(run, who, node, evidence);
}

static void on_node_lost(void *owner, mu_slot node, const char *text)
{
    struct run_child *child = owner;
    struct run *run = child->run;
    bool starting = child->state == CHILD_STARTING;
    if (!run->nodes[node].declared && !job_node_left(child->job, node))
        machine_kill(run->machine, node); /* as for the first job */
    run_deaths_node_silent(child->deaths);
    if (starting)
        run_child_fail(child, "a node of it failed");
    if (run->stopping || child->state == CHILD_FAILED)
        return;
    char who[32], ranks[64];
    snprintf(who, sizeof who, "node %u", node);
    snprintf(ranks, sizeof ranks, "of job %u", job_number(child->job));
    run->said++;
    run_node_failed(run, node, ranks, 2, text);
    run_failed(run, who, mu_exit_kind_shell_code(&(struct mu_exit_kind){.type = MU_EXIT_UNKNOWN}));
}

/* Of nodes the first job hears, too. */
static void on_told(void *owner, const struct job_told *told)
{
    struct run_child *child = owner;
    if (!told->is_node && child->state != CHILD_FAILED)
        run_deaths_told(child->deaths, told, child->run->signal != 0);
}

static bool on_output(void *owner, uint32_t rank, uint8_t stream, const uint8_t *bytes,
                      uint32_t count)
{
    struct run_child *child = owner;
    uint32_t source = child->index * child->run->options.nodes + job_node_of(child->job, rank);
    run_output_put(child->output, child->first_stream + rank, source, stream, bytes, count);
    return false;
}

static void on_output_end(void *owner, uint32_t rank, uint8_t stream)
{
    struct run_child *child = owner;
    run_output_end(child->output, child->first_stream + rank, stream);
}

static void on_refused(void *owner, mu_slot node, const char *text)
{
    (void)node; /* 'text' is enough for who asked */
    run_child_fail(owner, text);
}

static void on_begun(void *owner)
{
    struct run_child *child = owner;
    run_look_soon(child->run);
}

static void on_idle(void *owner)
{
    struct run_child *child = owner;
    child->idle = true;
    run_look_soon(child->run);
}

static void on_wish(void *owner, mu_slot node, uint32_t number, uint32_t rank,
                    const struct mu_launch_job *wish)
{
    struct run_child *child = owner;
    run_spawn(child->run, child->job, node, number, rank, wish);
}

static void on_settled(void *owner)
{
    const struct run_child *child = owner;
    run_look_soon(child->run);
}

/* ---- its output ---- */

/* In a folder of its own, or behind the ranks of those before it.  False with 'text'. */
static bool open_output(struct run_child *child, uint32_t number, char text[MACHINE_TEXT_MAX])
{
    struct run *run = child->run;
    const char *folder = run->options.output_dir;
    child->output = run->output;
    if (folder == NULL) {
        child->first_stream = run_output_more(run->output, number, child->size);
        return true;
    }
    char path[MACHINE_TEXT_MAX];
    if (snprintf(path, sizeof path, "%s/job-%u", folder, number) >= (int)sizeof path) {
        snprintf(text, MACHINE_TEXT_MAX, "the path of its output directory is too long");
        return false;
    }
    struct run_output_config config = run_output_config(run);
    config.ranks = child->size;
    config.folder = path;
    child->output = run_output_open(&config, text, MACHINE_TEXT_MAX);
    return child->output != NULL;
}

/* ---- beginning and end ---- */

void run_child_start(struct run_child *child)
{
    struct run *run = child->run;
    char text[MACHINE_TEXT_MAX] = "no memory";
    bool *also = calloc(run->options.nodes, sizeof *also);
    if (also == NULL)
        abort();
    for (mu_slot node = 0; node < run->options.nodes; node++)
        also[node] = job_hosts(run->job, node);
    const struct job_config config = {
        .machine = run->machine,
        .program_count = child->program_count,
        .programs = child->programs,
        .envp = (const char *const *)environ,
        .runs = child->runs,
        .run_count = child->run_count,
        .lose_declared = true,
        .ignore_sigpipe = run->options.ignore_sigpipe,
        .binding =
            run->options.place.binding == MU_LAUNCH_PART ? MU_LAUNCH_PART : MU_LAUNCH_UNBOUND,
        .parent = {job_number(run->job), child->asker.job, child->asker.rank},
        .also = also,
        .hooks = {.owner = child,
                  .started = on_started,
                  .ended = on_ended,
                  .node_lost = on_node_lost,
                  .told = on_told,
                  .output = on_output,
                  .output_end = on_output_end,
                  .refused = on_refused,
                  .begun = on_begun,
                  .spawn = on_wish,
                  .idle = on_idle},
    };
    child->state = CHILD_STARTING;
    child->job = job_start(&config, text);
    free(also);
    if (child->job != NULL && open_output(child, job_number(child->job), text)) {
        const struct run_deaths_config deaths = {.loop = &run->loop,
                                                 .machine = run->machine,
                                                 .job = child->job,
                                                 .report = run->report,
                                                 .report_error = &run->report_error,
                                                 .owner = child,
                                                 .settled = on_settled};
        child->deaths = run_deaths_open(&deaths);
    }
    if (child->deaths != NULL)
        return;
    job_free(child->job);
    child->job = NULL;
    run_child_fail(child, text);
}

static const char *const *copy_list(const char *const *list)
{
    size_t count = 0;
    while (list[count] != NULL)
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    if (copy == NULL)
        abort();
    for (size_t i = 0; i < count; i++)
        if ((copy[i] = strdup(list[i])) == NULL)
            abort();
    return (const char *const *)copy;
}

static void free_list(const char *const *list)
{
    for (size_t i = 0; list[i] != NULL; i++)
        free((void *)list[i]);
    free((void *)list);
}

struct run_child *run_child_make(struct run *run, uint32_t size, uint32_t program_count,
                                 const struct mu_launch_program *programs)
{
    struct run_child *child = calloc(1, sizeof *child);
    if (child == NULL)
        abort();
    child->run = run;
    child->index = ++run->spawned;
    child->size = size;
    child->program_count = program_count;
    child->programs = calloc(program_count, sizeof *child->programs);
    if (child->programs == NULL)
        abort();
    for (uint32_t i = 0; i < program_count; i++) {
        child->programs[i] = (struct job_program){.count = programs[i].count,
                                                  .directory = strdup(programs[i].directory),
                                                  .argv = copy_list(programs[i].argv),
                                                  .envp = copy_list(programs[i].envp)};
        if (child->programs[i].directory == NULL)
            abort();
    }
    return child;
}

void run_child_free(struct run_child *child)
{
    struct run *run = child->run;
    if (child->job != NULL) {
        job_finish(child->job);
        run_deaths_give_up(child->deaths);
    }
    run_deaths_close(child->deaths);
    job_free(child->job);
    if (child->output != run->output)
        run_output_close(child->output);
    else if (child->first_stream > 0)
        run_output_less(run->output, child->first_stream);
    for (uint32_t i = 0; i < child->program_count; i++) {
        free((void *)child->programs[i].directory);
        free_list(child->programs[i].argv);
        free_list(child->programs[i].envp);
    }
    free(child->programs);
    free(child->runs);
    free(child);
}
