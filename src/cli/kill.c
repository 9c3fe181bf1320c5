#include "command/args.h"
#include "command/commands.h"
#include "launch/operator.h"

#include <signal.h>
#include <string.h>
#include <strings.h>

enum { SIGNAL_LAST = 64 };

/* "TERM", "SIGTERM", "sigterm" or "15"; 0 when it is none. */
static int signal_of(const char *text)
{
    uint64_t number;
    if (args_number(text, &number) && number <= SIGNAL_LAST)
        return (int)number;
    const char *bare = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
    for (int i = 1; i <= SIGNAL_LAST; i++) {
        const char *name = mu_signal_name(i);
        if (name != NULL && strcasecmp(name + 3, bare) == 0)
            return i;
    }
    return 0;
}

/* What the daemons say, until one of them has the job. */
struct search {
    uint32_t job;
    bool found;
    uint32_t running;  /* ranks of it, on all nodes of this host */
    uint32_t jobs[16]; /* that there are; the first of them */
    size_t job_count;
    bool answered;                    /* somebody, completely */
    char why[OPERATOR_TEXT_MAX + 32]; /* of the last one that did not answer */
};

static void note_job(struct search *search, uint32_t job)
{
    for (size_t i = 0; i < search->job_count; i++)
        if (search->jobs[i] == job)
            return;
    if (search->job_count < sizeof search->jobs / sizeof search->jobs[0])
        search->jobs[search->job_count++] = job;
}

static void look(void *owner, const struct mu_local_message *message)
{
    struct search *search = owner;
    if (message->type != MU_LOCAL_JOB)
        return;
    note_job(search, message->job.job);
    if (message->job.job != search->job)
        return;
    search->found = true;
    search->running += message->job.here;
}

/* All are asked: each knows the jobs that have processes there. */
static void ask_all(const struct operator_found *found, struct search *search)
{
    for (size_t i = 0; i < found->count; i++) {
        struct operator_link link;
        bool good =
            operator_open(&link, &found->daemons[i]) && operator_status(&link, look, search);
        operator_close(&link);
        search->answered = search->answered || good;
        if (!good)
            snprintf(search->why, sizeof search->why, "node %u %s", link.slot, link.why);
    }
}

/* The first daemon that takes it tells all others. */
static bool order(const struct operator_found *found, struct search *search, int signal)
{
    const struct mu_local_message kill = {.type = MU_LOCAL_KILL,
                                          .kill = {.job = search->job, .signal = (uint8_t)signal}};
    bool taken = false;
    for (size_t i = 0; i < found->count && !taken; i++) {
        struct operator_link link;
        taken = operator_open(&link, &found->daemons[i]) && operator_order(&link, &kill);
        operator_close(&link);
        if (!taken)
            snprintf(search->why, sizeof search->why, "node %u %s", link.slot, link.why);
    }
    return taken;
}

static void say_unknown(const struct search *search, const char *id)
{
    fprintf(stderr, "muster kill: cluster %s has no job %u on this host (jobs:", id, search->job);
    for (size_t i = 0; i < search->job_count; i++)
        fprintf(stderr, "%s %u", i > 0 ? "," : "", search->jobs[i]);
    fprintf(stderr, "%s)\n", search->job_count > 0 ? "" : " none");
}

/* Returns the exit code. */
static int kill_job(const struct operator_found *found, uint32_t job, int signal)
{
    struct search search = {.job = job};
    char id[OPERATOR_ID_DIGITS + 1], number[32];
    const char *name = mu_signal_name(signal);
    operator_id_text(found->daemons[0].machine, id);
    snprintf(number, sizeof number, "signal %d", signal);
    ask_all(found, &search);
    if (search.answered && !search.found) {
        say_unknown(&search, id);
        return 1;
    }
    if (!search.found || !order(found, &search, signal)) {
        fprintf(stderr, "muster kill: cannot end job %u of cluster %s: %s\n", job, id, search.why);
        return 1;
    }
    printf("Sent %s to %u rank%s of job %u in cluster %s%s.\n", name != NULL ? name : number,
           search.running, search.running == 1 ? "" : "s", job, id,
           signal == SIGKILL ? "" : "; SIGKILL follows in 500 ms");
    return 0;
}

int cmd_kill(int argc, char **argv)
{
    struct operator_choice choice = {0};
    const char *signal_name = "TERM";
    const struct arg args[] = {
        {"-s|--signal", ARG_TEXT, &signal_name, 0, 0, "NAME|NUMBER", "signal [default: TERM]"},
        OPERATOR_CHOICE_ARGS(choice),
    };
    const struct command command = {
        .path = "muster kill",
        .about = "End a job on all its nodes: send a signal, then SIGKILL.",
        .operand = "JOB",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster kill 1\nmuster kill 1 --signal INT",
    };
    const char *job_text = args_parse(&command, argc, argv);
    uint64_t job;
    if (job_text == NULL)
        args_fail(&command, "missing JOB ('muster status' lists jobs)");
    if (!args_number(job_text, &job) || job > UINT32_MAX)
        args_fail(&command, "JOB is '%s', but must be a whole number from 0 to %u", job_text,
                  UINT32_MAX);
    int signal = signal_of(signal_name);
    if (signal == 0)
        args_fail(&command,
                  "--signal is '%s', but must be a name like TERM, or a number from 1 to %d",
                  signal_name, SIGNAL_LAST);

    struct operator_found found;
    if (!operator_find(&command, &choice, &found))
        return 1;
    int code = kill_job(&found, (uint32_t)job, signal);
    operator_free(&found);
    return code;
}
