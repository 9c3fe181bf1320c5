#define _GNU_SOURCE
#include "run/inside.h"

#include "command/commands.h"
#include "run/output/files.h"
#include "launch/sweep.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    DESCRIPTORS_EACH = 4,  /* of a node: two pipes, its process, a connection */
    DESCRIPTORS_OWN = 512, /* besides: files of --output-dir, and what is open anyway */
    SWEEP_MS = 500,
};

void run_set_code(struct run *run, int code)
{
    if (!run->has_code)
        run->code = code;
    run->has_code = true;
}

/* ---- what comes next ---- */

static void say(void *owner, const char *lines)
{
    struct run *run = owner;
    run_output_say(run->output, "%s", lines);
}

static void finish_job(struct run *run)
{
    run_say_alike(run);
    run_say_lost(run);
    const struct run_tally tally = {
        .go_on = run->options.go_on,
        .seconds = (double)(uv_hrtime() - run->job_begin_ns) / 1e9,
        .exited = run->exited,
        .failed = run->failed,
        .terminated = run->terminated,
        .code = run->code,
        .first_who = run->first_who,
    };
    if (run->signal == 0 && run->said > 0)
        run_deaths_summary(run->deaths, &tally, say, run);
    job_finish(run->job);
    machine_forget_key(run->machine);
    run_deaths_give_up(run->deaths);
    run_deaths_close(run->deaths);
    job_free(run->job);
    run->deaths = NULL;
    run->job = NULL;
    run->job_over = true;
    if (!run->machine_gone)
        machine_end(run->machine, MACHINE_PATIENCE_MS);
}

static void close_all(struct run *run)
{
    run->closing = true;
    run_close_input(run);
    run_signals_close(&run->signals);
    run_output_close(run->output);
    uv_close((uv_handle_t *)&run->look, NULL);
    uv_close((uv_handle_t *)&run->timeout, NULL);
    uv_close((uv_handle_t *)&run->late_stop, NULL);
    uv_close((uv_handle_t *)&run->deadline, NULL);
    uv_close((uv_handle_t *)&run->orphans, NULL);
    uv_close((uv_handle_t *)&run->alike.timer, NULL);
    uv_close((uv_handle_t *)&run->lost_timer, NULL);
}

static void on_look(uv_timer_t *timer)
{
    struct run *run = timer->data;
    run_spawn_look(run);
    if (run->job_idle && run->job != NULL)
        run_say_alike(run);
    if (run->job != NULL && run->job_idle && run->children == NULL &&
        (run_deaths_settled(run->deaths) || run->output_given_up))
        finish_job(run);
    bool written = run->output_given_up || run_output_drained(run->output);
    if (!run->closing && run->job == NULL && run->machine_gone && written)
        close_all(run);
}

void run_look_soon(struct run *run)
{
    if (!run->closing)
        uv_timer_start(&run->look, on_look, 0, 0);
}

/* ---- hooks of the machine and of output ---- */

static void on_ready(void *owner)
{
    struct run *run = owner;
    if (run->options.verbose)
        run_output_say(
            run->output, "muster: cluster %016" PRIx64 ": %u node%s ready after %.1f ms\n",
            machine_id(run->machine), run->options.nodes, run->options.nodes == 1 ? "" : "s",
            (double)(uv_hrtime() - run->begin_ns) / 1e6);
    run_start_job(run);
}

static void on_failed(void *owner, const char *text)
{
    struct run *run = owner;
    bool is_limit = strstr(text, strerror(EMFILE)) != NULL;
    run_output_say(run->output, "muster: %s%s\n", text,
                   is_limit ? " (raise the limit: ulimit -n)" : "");
    run_set_code(run, RUN_EXIT_OWN);
    run->stopping = true;
}

static void on_gone(void *owner)
{
    struct run *run = owner;
    run->machine_gone = true;
    run_look_soon(run);
}

static void on_credit(void *owner, uint32_t source, uint64_t bytes)
{
    run_credit(owner, source, bytes);
}

static void on_drained(void *owner)
{
    run_look_soon(owner);
}

/* ---- preparations ---- */

/* Closed ones would be taken by the first pipe that is opened, and get what is for the user. */
static void open_standard_descriptors(void)
{
    int descriptor;
    do
        descriptor = open("/dev/null", O_RDWR);
    while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    if (descriptor >= 0)
        close(descriptor);
}

/* As many as are needed and no more: the processes will have the same limit. */
static void raise_descriptor_limit(const struct run_options *options)
{
    struct rlimit limit;
    rlim_t needed = (rlim_t)options->nodes * DESCRIPTORS_EACH + DESCRIPTORS_OWN;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return;
    limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static bool complain(const char *option, const char *what, int error)
{
    fprintf(stderr, "muster: cannot write to '%s' (%s): %s\n", what, option, strerror(error));
    return false;
}

static bool prepare_files(struct run *run)
{
    const struct run_options *options = &run->options;
    if (options->record_dir != NULL) {
        int error = run_files_make_folder(options->record_dir);
        if (error != 0)
            return complain("--record", options->record_dir, error);
        /* Elsewhere a daemon begins in another folder. */
        if (options->hosts.count > 0) {
            run->record_dir = realpath(options->record_dir, NULL);
            if (run->record_dir == NULL)
                return complain("--record", options->record_dir, errno);
        }
    }
    if (options->report == NULL)
        return true;
    run->report = fopen(options->report, "we");
    return run->report != NULL || complain("--report", options->report, errno);
}

struct run_output_config run_output_config(struct run *run)
{
    return (struct run_output_config){.loop = &run->loop,
                                      .ranks = run->options.ranks,
                                      .tags = run->options.tag_output,
                                      .folder = run->options.output_dir,
                                      .hooks = {.owner = run,
                                                .credit = on_credit,
                                                .failed = run_on_output_failed,
                                                .drained = on_drained}};
}

static bool prepare_output(struct run *run)
{
    char text[MACHINE_TEXT_MAX];
    const struct run_output_config config = run_output_config(run);
    run->output = run_output_open(&config, text, sizeof text);
    if (run->output == NULL)
        fprintf(stderr, "muster: %s\n", text);
    return run->output != NULL;
}

static bool prepare_machine(struct run *run)
{
    char text[MACHINE_TEXT_MAX];
    struct hosts *hosts = run->options.hosts.count > 0 ? &run->options.hosts : NULL;
    _Static_assert(HOSTS_TEXT_MAX <= sizeof text, "one text for both");
    if (hosts != NULL && hosts_resolve(hosts, text) != NULL) {
        fprintf(stderr, "muster: %s\n", text);
        return false;
    }
    const struct machine_config config = {
        .loop = &run->loop,
        .nodes = run->options.nodes,
        .hosts = hosts,
        .agent = run->options.agent,
        .record_dir = run->record_dir != NULL ? run->record_dir : run->options.record_dir,
        .pmix = !run->options.no_pmix,
        .verbose = run->options.verbose,
        .period_ns = run->options.period_ns,
        .timeout_ns = run->options.timeout_ns,
        .hooks = {.owner = run,
                  .ready = on_ready,
                  .failed = on_failed,
                  .lost = run_on_node_lost,
                  .gone = on_gone}};
    run->machine = machine_open(&config, text);
    if (run->machine == NULL)
        fprintf(stderr, "muster: %s\n", text);
    return run->machine != NULL;
}

static void prepare_timers(struct run *run)
{
    uv_timer_t *timers[] = {&run->look,    &run->timeout,     &run->late_stop, &run->deadline,
                            &run->orphans, &run->alike.timer, &run->lost_timer};
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        uv_timer_init(&run->loop, timers[i]);
        timers[i]->data = run;
    }
    if (run->options.timeout_s > 0)
        uv_timer_start(&run->timeout, run_on_timeout, run->options.timeout_s * 1000, 0);
}

/* ---- the command ---- */

static void run_all(struct run *run)
{
    int failed = uv_loop_init(&run->loop);
    if (failed != 0) {
        fprintf(stderr, "muster: cannot start: %s\n", uv_strerror(failed));
        run_set_code(run, RUN_EXIT_OWN);
        return;
    }
    if (!prepare_files(run) || !prepare_output(run)) {
        run_set_code(run, RUN_EXIT_OWN);
    } else {
        prepare_timers(run);
        run_signals_open(&run->signals, &run->loop, run_on_signal, run);
        if (!prepare_machine(run)) {
            run_set_code(run, RUN_EXIT_OWN);
            run->machine_gone = true;
            run_look_soon(run);
        }
    }
    uv_run(&run->loop, UV_RUN_DEFAULT);
    machine_free(run->machine);
    failed = uv_loop_close(&run->loop);
    assert(failed == 0);
    if (run->report != NULL && fclose(run->report) != 0 && run->report_error == 0)
        run->report_error = errno;
    if (run->report_error != 0) {
        complain("--report", run->options.report, run->report_error);
        run_set_code(run, RUN_EXIT_OWN);
    }
}

int cmd_run(int argc, char **argv)
{
    struct run *run = calloc(1, sizeof *run);
    if (run == NULL)
        abort();
    run->begin_ns = uv_hrtime();
    run_options_parse(&run->options, argc, argv);
    run->nodes = calloc(run->options.nodes, sizeof *run->nodes);
    run->alike.nodes = calloc(run->options.nodes, sizeof *run->alike.nodes);
    if (run->nodes == NULL || run->alike.nodes == NULL)
        abort();
    open_standard_descriptors();
    raise_descriptor_limit(&run->options);
    /* What an agent leaves behind is its own business: ssh may keep a connection for others. */
    bool here = run->options.hosts.count == 0;
    if (here)
        run_sweep_prepare();
    run_all(run);
    if (here)
        run_sweep(SWEEP_MS);
    int code = run->code, number = run->signal;
    run_nodes_free(run);
    free(run->alike.nodes);
    run_options_free(&run->options);
    free(run->record_dir);
    free(run);
    if (number != 0)
        run_signals_die(number);
    return code;
}
