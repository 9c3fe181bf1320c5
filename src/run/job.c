/* The job of a run: what is said of it, and what comes of failures. */
#include "run/inside.h"

#include "launch/map.h"
#include "command/proof_json.h"
#include "launch/sweep.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS_TEXT_MAX = 256, SWEEP_MS = 10, SWEEPS_MAX = 200 };

extern char **environ;

/* ---- failures ---- */

static void count_all(struct run *run, const struct job *job)
{
    run->all += job_size(job);
}

const char *run_consequence(const struct run *run, char text[RUN_CONSEQUENCE_MAX])
{
    uint32_t left = run_left(run);
    text[0] = '\0';
    if (left == 0 || run->job == NULL)
        return text;
    if (!run->options.go_on)
        return strcpy(text, "; terminating the job");
    ((struct run *)run)->all = 0;
    run_each_job(run, count_all);
    snprintf(text, RUN_CONSEQUENCE_MAX, "; %u of %u ranks continue", left, run->all);
    return text;
}

void run_failed(struct run *run, const char *who, int code)
{
    if (run->first_who[0] == '\0')
        snprintf(run->first_who, sizeof run->first_who, "%s", who);
    run_set_code(run, code);
    if (!run->options.go_on)
        run_stop(run, run->options.grace_ms);
}

/* How the ranks of the first job ended. */
static void tally(struct run *run, const struct mu_evidence *evidence)
{
    bool failed_alone = evidence->verdict != MU_VERDICT_LEFT && !run->stopping;
    if (failed_alone || evidence->how.type == MU_EXIT_NOT_STARTED)
        run->failed++;
    else if (run->stopping)
        run->terminated++;
    else
        run->exited++;
}

static void on_ended(void *owner, uint32_t rank, const struct mu_evidence *evidence)
{
    struct run *run = owner;
    tally(run, evidence);
    if (rank == 0)
        run_close_input(run);
    if (run->children != NULL)
        run_look_soon(run); /* it may have wanted one of them */
    if (evidence->verdict == MU_VERDICT_LEFT || evidence->cause == MU_CAUSE_NODE_LOST)
        return;
    char who[sizeof run->alike.who];
    snprintf(who, sizeof who, "rank %u", rank);
    if (!run->stopping) /* mostly; another node may have told before */
        run_deaths_process(run->deaths, rank, evidence);
    run_process_failed(run, who, job_node_of(run->job, rank), evidence);
}

/* The ranks of a node that have not ended: "12-15", "12, 14-15, ...".  Returns how many. */
static uint32_t ranks_left(const struct run *run, mu_slot node, char text[RANKS_TEXT_MAX])
{
    uint32_t left = 0, first = 0, size = job_size(run->job);
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t rank = 0, row = 0; rank <= size; rank++) {
        bool is_one = rank < size && job_node_of(run->job, rank) == node &&
                      job_state(run->job, rank) != JOB_ENDED;
        if (is_one && row++ == 0)
            first = rank;
        left += is_one;
        if (is_one || row == 0)
            continue;
        char ranks[MAP_RANKS_TEXT_MAX];
        map_ranks_text(first, row, ranks);
        row = 0;
        if (used + MAP_RANKS_TEXT_MAX + 8 < RANKS_TEXT_MAX)
            used += (size_t)snprintf(text + used, RANKS_TEXT_MAX - used, "%s%s",
                                     used == 0 ? "" : ", ", ranks);
        else if (used < RANKS_TEXT_MAX - 6)
            used += (size_t)snprintf(text + used, RANKS_TEXT_MAX - used, ", ...");
    }
    return left;
}

static void on_job_node_lost(void *owner, mu_slot node, const char *text)
{
    struct run *run = owner;
    char ranks[RANKS_TEXT_MAX];
    uint32_t left = ranks_left(run, node, ranks);
    bool declared = run->nodes[node].declared;
    /* Its daemon may be alive, and only our connection lost.  To us it is dead, so it has to be for
     * everybody.  One that the others have declared dead finds out by itself, or has: then it left
     * us. */
    if (!declared && !job_node_left(run->job, node))
        machine_kill(run->machine, node);
    if (!run->stopping)
        run_deaths_node(run->deaths, node,
                        run->nodes[node].how != NULL ? run->nodes[node].how : text, true);
    run_deaths_node_silent(run->deaths);
    if (run->stopping)
        return;
    char who[32];
    snprintf(who, sizeof who, "node %u", node);
    run->said++;
    run_node_failed(run, node, ranks, left, text);
    run_failed(run, who, mu_exit_kind_shell_code(&(struct mu_exit_kind){.type = MU_EXIT_UNKNOWN}));
}

static void on_orphans(uv_timer_t *timer)
{
    struct run *run = timer->data;
    if (run->machine_gone || run->options.hosts.count > 0 || run_sweep_lost(run->machine) == 0 ||
        ++run->sweeps == SWEEPS_MAX)
        uv_timer_stop(timer);
}

/* The daemon of a node has ended.  When it hosts processes, their connection says the rest. */
void run_on_node_lost(void *owner, mu_slot node, const char *text)
{
    struct run *run = owner;
    char ranks[RANKS_TEXT_MAX];
    run->sweeps = 0;
    uv_timer_start(&run->orphans, on_orphans, 0, SWEEP_MS);
    if (!run->nodes[node].declared) {
        run_node_how(run, node, text);
        if (run->deaths != NULL)
            run_deaths_node_how(run->deaths, node, text);
    }
    bool to_come = run->job != NULL && ranks_left(run, node, ranks) > 0;
    if (!run->stopping && !run->job_over && !to_come && !run->nodes[node].said) {
        run->nodes[node].said = true;
        run_output_say(run->output, "muster: node %u (%s) failed: %s\n", node,
                       machine_name(run->machine, node), text);
    }
}

/* When it hosts processes, 'node_lost' follows, and says the rest. */
static void on_declared(void *owner, mu_slot node, const struct mu_evidence *evidence)
{
    struct run *run = owner;
    char how[MU_EVIDENCE_TEXT_MAX];
    mu_evidence_text(evidence, how, sizeof how);
    if (evidence->cause == MU_CAUSE_WITNESS)
        run_node_how(run, node, how);
    if (run->nodes[node].declared || !cause_has_proof(evidence->cause))
        return; /* of one that has ended our own connection says more */
    run->nodes[node].declared = true;
    run_deaths_node_how(run->deaths, node, how); /* it may have left us first, without a reason */
    bool is_known = run->nodes[node].said;
    run_node_how(run, node, how);
    if (run->stopping || is_known || job_hosts(run->job, node))
        return;
    run->nodes[node].said = true;
    run_output_say(run->output, "muster: node %u (%s) failed: %s\n", node,
                   machine_name(run->machine, node), how);
}

static void on_told(void *owner, const struct job_told *told)
{
    struct run *run = owner;
    run_deaths_told(run->deaths, told, run->signal != 0);
}

static void on_refused(void *owner, mu_slot node, const char *text)
{
    struct run *run = owner;
    if (strcmp(run->refused, text) != 0)
        run_output_say(run->output, "muster: cannot start the job on node %u (%s): %s\n", node,
                       machine_name(run->machine, node), text);
    snprintf(run->refused, sizeof run->refused, "%s", text);
    run_set_code(run, RUN_EXIT_OWN);
    run_stop(run, run->options.grace_ms);
}

/* ---- its streams ---- */

static bool on_output(void *owner, uint32_t rank, uint8_t stream, const uint8_t *bytes,
                      uint32_t count)
{
    struct run *run = owner;
    run_output_put(run->output, rank, job_node_of(run->job, rank), stream, bytes, count);
    return false;
}

static void on_output_end(void *owner, uint32_t rank, uint8_t stream)
{
    struct run *run = owner;
    run_output_end(run->output, rank, stream);
}

static void ask_input(struct run *run)
{
    if (run->input == NULL || run->input_asked || run->input_room == 0)
        return;
    run->input_asked = true;
    input_ask(run->input,
              run->input_room < INPUT_PIECE_MAX ? (uint32_t)run->input_room : INPUT_PIECE_MAX);
}

static void on_input(void *owner, const uint8_t *bytes, uint32_t count)
{
    struct run *run = owner;
    run->input_asked = false;
    run->input_room -= count;
    if (run->job != NULL)
        job_input(run->job, bytes, count);
    if (count == 0)
        run_close_input(run);
    ask_input(run);
}

void run_close_input(struct run *run)
{
    input_close(run->input);
    run->input = NULL;
    run->input_ended = true;
}

/* The thread is only started when somebody reads. */
static void on_input_room(void *owner, uint64_t bytes)
{
    struct run *run = owner;
    const struct input_hooks hooks = {.owner = run, .piece = on_input};
    run->input_room += bytes;
    if (run->input == NULL && !run->input_ended && !run->closing &&
        input_open(&run->loop, STDIN_FILENO, &hooks, &run->input) != 0) {
        run->input_ended = true;
        job_input(run->job, NULL, 0);
    }
    ask_input(run);
}

/* ---- beginning and end ---- */

static void on_connected(void *owner)
{
    struct run *run = owner;
    if (run->options.no_pmix)
        machine_forget_key(run->machine); /* nobody can ask for a further job */
}

static void say_bound(struct run *run, uint32_t rank, const char *words)
{
    mu_slot node = job_node_of(run->job, rank);
    run_output_say(run->output, "muster: rank %u on node %u (%s) is %s\n", rank, node,
                   machine_name(run->machine, node), words);
}

static void on_started(void *owner, uint32_t rank, uint32_t pid)
{
    struct run *run = owner;
    if (run->options.verbose)
        run_output_say(run->output, "muster: rank %u on node %u: PID %u\n", rank,
                       job_node_of(run->job, rank), pid);
    if (run->options.report_bindings && job_binding(run->job) == MU_LAUNCH_UNBOUND)
        say_bound(run, rank, "not bound");
}

static void on_bound(void *owner, uint32_t rank, const char *text)
{
    char words[MU_LAUNCH_BOUND_MAX + 16];
    snprintf(words, sizeof words, "bound to %s", text);
    say_bound(owner, rank, words);
}

static void on_begun(void *owner)
{
    run_look_soon(owner);
}

static void on_wish(void *owner, mu_slot node, uint32_t number, uint32_t rank,
                    const struct mu_launch_job *wish)
{
    struct run *run = owner;
    run_spawn(run, run->job, node, number, rank, wish);
}

static void on_idle(void *owner)
{
    struct run *run = owner;
    run->job_idle = true;
    run_close_input(run);
    run_look_soon(run);
}

static void on_settled(void *owner)
{
    run_look_soon(owner);
}

static struct job *start(struct run *run, char text[MACHINE_TEXT_MAX])
{
    const struct run_options *options = &run->options;
    struct mu_launch_run *runs;
    uint32_t run_count =
        run_place_runs(&options->place, options->ranks, options->nodes, &options->hosts, &runs);
    struct job_program *programs = calloc(run->options.program_count, sizeof *programs);
    if (programs == NULL)
        abort();
    for (uint32_t i = 0; i < run->options.program_count; i++) {
        const struct run_program *program = &run->options.programs[i];
        programs[i] = (struct job_program){.count = program->count,
                                           .directory = program->directory,
                                           .argv = (const char *const *)program->argv,
                                           .envp = program->envp};
    }
    const struct job_config config = {
        .machine = run->machine,
        .program_count = run->options.program_count,
        .programs = programs,
        .envp = (const char *const *)environ,
        .runs = runs,
        .run_count = run_count,
        .lose_declared = true,
        .input = true,
        .ignore_sigpipe = options->ignore_sigpipe,
        .binding = options->place.binding,
        .report_bindings = options->report_bindings,
        .pmi = !options->no_pmi,
        .hooks = {.owner = run,
                  .connected = on_connected,
                  .started = on_started,
                  .bound = on_bound,
                  .ended = on_ended,
                  .node_lost = on_job_node_lost,
                  .told = on_told,
                  .declared = on_declared,
                  .output = on_output,
                  .output_end = on_output_end,
                  .input_room = on_input_room,
                  .refused = on_refused,
                  .begun = on_begun,
                  .spawn = on_wish,
                  .idle = on_idle},
    };
    struct job *job = job_start(&config, text);
    free(programs);
    free(runs);
    return job;
}

void run_start_job(struct run *run)
{
    char text[MACHINE_TEXT_MAX] = "no memory";
    run->job_begin_ns = uv_hrtime();
    run->job = start(run, text);
    if (run->job != NULL) {
        const struct run_deaths_config config = {.loop = &run->loop,
                                                 .machine = run->machine,
                                                 .job = run->job,
                                                 .report = run->report,
                                                 .report_error = &run->report_error,
                                                 .owner = run,
                                                 .settled = on_settled};
        run->deaths = run_deaths_open(&config);
    }
    if (run->job != NULL && run->deaths != NULL)
        return;
    run_output_say(run->output, "muster: %s\n", text);
    job_free(run->job);
    run->job = NULL;
    run_set_code(run, RUN_EXIT_OWN);
    run_stop(run, 0);
}
