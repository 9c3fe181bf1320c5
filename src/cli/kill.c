#include "command/args.h"
#include "command/commands.h"
#include "launch/operator.h"

#include <inttypes.h>
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
    bool answered;                    /* somebody, completely */
    char why[OPERATOR_TEXT_MAX + 32]; /* of the last one that did not answer */
};

static void look(void *owner, const struct mu_local_message *message)
{
    struct search *search = owner;
    if (message->type == MU_LOCAL_JOB && message->job.job == search->job)
        search->found = true;
}

/* Does this daemon have the job?  A daemon knows the jobs that have processes there. */
static bool ask(struct operator_link *link, struct search *search)
{
    bool answered = operator_status(link, look, search);
    search->answered = search->answered || answered;
    return answered;
}

/* It tells all others. */
static bool tell(struct operator_link *link, uint32_t job, int signal)
{
    return operator_order(
        link, &(struct mu_local_message){.type = MU_LOCAL_KILL,
                                         .kill = {.job = job, .signal = (uint8_t)signal}});
}

/* Returns the exit code. */
static int kill_job(const struct operator_found *found, uint32_t job, int signal)
{
    struct search search = {.job = job};
    for (size_t i = 0; i < found->count; i++) {
        struct operator_link link;
        bool good = operator_open(&link, &found->daemons[i]) && ask(&link, &search);
        bool told = good && search.found && tell(&link, job, signal);
        operator_close(&link);
        if (told)
            return 0;
        if (!good || search.found)
            snprintf(search.why, sizeof search.why, "node %u %s", link.slot, link.why);
    }
    bool unknown = search.answered && !search.found;
    fprintf(stderr, "muster kill: job %u of machine %016" PRIx64 ": %s\n", job,
            found->daemons[0].machine,
            unknown ? "no node on this host has it ('muster status' shows the jobs)" : search.why);
    return 1;
}

int cmd_kill(int argc, char **argv)
{
    const char *machine = NULL, *signal_name = "TERM";
    const struct arg args[] = {
        {"signal", ARG_TEXT, &signal_name, 0, 0, "NAME|NUMBER", "what to send (TERM)"},
        OPERATOR_MACHINE_ARG(&machine),
    };
    const struct command command = {
        "muster kill",
        "Ends a job: the signal goes to all of its processes on all nodes, and whoever is still\n"
        "there a while later is killed.  'muster status' shows the jobs.\n\n" OPERATOR_HELP,
        "JOB", args, sizeof args / sizeof args[0]};
    const char *job_text = args_parse(&command, argc, argv);
    uint64_t job;
    if (job_text == NULL)
        args_fail(&command, "the number of a job is missing");
    if (!args_number(job_text, &job) || job > UINT32_MAX)
        args_fail(&command, "JOB is '%s', but must be a whole number from 0 to %u", job_text,
                  UINT32_MAX);
    int signal = signal_of(signal_name);
    if (signal == 0)
        args_fail(&command,
                  "--signal is '%s', but must be a name like TERM, or a number from 1 to %d",
                  signal_name, SIGNAL_LAST);

    struct operator_found found;
    if (!operator_find(&command, machine, &found))
        return 1;
    int code = kill_job(&found, (uint32_t)job, signal);
    operator_free(&found);
    return code;
}
