/* Everything that ends a run before its processes do: signals, time, nobody who reads. */
#include "run/inside.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

enum {
    SIGNALLED_MS = 1500, /* after the first signal; the rest of the promised 2 s is for dying */
    INTERRUPT_MS = 500,  /* between SIGINT and SIGTERM for the processes, at most */
    HUNG_MS = 2000,      /* for a daemon that does not end its processes when it should */
    BRING_UP_MS = 1000,  /* for a machine that is not ready, to end */
};

/* Who is it that keeps everybody waiting? */
static void say_who_hangs(struct run *run, const struct job *job)
{
    for (uint32_t rank = 0, size = job_size(job); rank < size; rank++) {
        mu_slot node = job_node_of(job, rank);
        if (job_state(job, rank) == JOB_ENDED || run->nodes[node].said)
            continue;
        run->nodes[node].said = true;
        run_output_say(run->output,
                       "muster: node %u (%s) did not end its processes in time; killing it\n", node,
                       machine_name(run->machine, node));
    }
}

static void on_deadline(uv_timer_t *timer)
{
    struct run *run = timer->data;
    if (run->signal != 0)
        run->output_given_up = true;
    else if (run->job != NULL)
        run_each_job(run, say_who_hangs);
    if (!run->machine_gone)
        machine_end(run->machine, 0);
    run_look_soon(run);
}

/* The sooner one counts. */
static void set_deadline(struct run *run, uint64_t in_ms)
{
    uint64_t at_ms = uv_now(&run->loop) + in_ms;
    if (run->deadline_ms != 0 && run->deadline_ms <= at_ms)
        return;
    run->deadline_ms = at_ms;
    uv_timer_start(&run->deadline, on_deadline, in_ms, 0);
}

void run_stop(struct run *run, uint32_t grace_ms)
{
    run->stopping = true;
    if (run->machine_gone)
        return;
    if (run->job == NULL) {
        machine_end(run->machine, BRING_UP_MS);
        return;
    }
    run_stop_jobs(run, grace_ms);
    set_deadline(run, (uint64_t)grace_ms + HUNG_MS);
}

static void on_late_stop(uv_timer_t *timer)
{
    struct run *run = timer->data;
    run_stop(run, run->options.grace_ms);
}

static bool is_idle(const struct run *run)
{
    return run->job_idle && run->children == NULL;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void end_by(struct run *run, int number)
{
    if (run->signal != 0) { /* the second one: at once */
        run->deadline_ms = 0;
        set_deadline(run, 0);
        return;
    }
    run->signal = number;
    run->stopping = true;
    if (!is_idle(run) && !run->machine_gone)
        run_output_say(run->output, "muster: received %s; terminating the job\n",
                       mu_signal_name(number));
    set_deadline(run, SIGNALLED_MS);
    if (number != SIGINT || run->job == NULL || run->options.grace_ms == 0) {
        run_stop(run, smaller(run->options.grace_ms, SIGNALLED_MS));
        return;
    }
    /* Programs that handle an interrupt get the time to. */
    run_signal_jobs(run, SIGINT);
    uv_timer_start(&run->late_stop, on_late_stop, smaller(run->options.grace_ms, INTERRUPT_MS), 0);
}

void run_on_signal(void *owner, int number)
{
    struct run *run = owner;
    if (run_signals_is_end(number)) {
        end_by(run, number);
        return;
    }
    /* The kernel stops nobody by SIGTSTP who is alone in a session, as each process is. */
    if (run->job != NULL)
        run_signal_jobs(run, number == SIGTSTP ? SIGSTOP : number);
    if (number != SIGTSTP)
        return;
    if (run->machine != NULL)
        mu_net_flush(machine_net(run->machine));
    raise(SIGSTOP);
}

void run_on_timeout(uv_timer_t *timer)
{
    struct run *run = timer->data;
    if (run->stopping || is_idle(run))
        return;
    run_output_say(run->output,
                   "muster: time limit of %" PRIu64 " s reached (--timeout); terminating the job\n",
                   run->options.timeout_s);
    run_set_code(run, RUN_EXIT_TIMEOUT);
    run_stop(run, run->options.grace_ms);
}

void run_on_output_failed(void *owner, const char *where, int error)
{
    struct run *run = owner;
    if (error != EPIPE)
        run_output_say(run->output, "muster: cannot write to %s: %s; terminating the job\n", where,
                       strerror(error));
    run_set_code(run, error == EPIPE ? RUN_EXIT_NO_READER : RUN_EXIT_OWN);
    if (!run->stopping && !run->job_over)
        run_stop(run, run->options.grace_ms);
}
