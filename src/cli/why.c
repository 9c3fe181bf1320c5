#include "cli/why.h"

#include "command/commands.h"
#include "command/output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char path[] = "muster why";

bool why_subject_read(const char *text, struct why_subject *subject)
{
    char copy[32];
    uint64_t first, second;
    if (strlen(text) >= sizeof copy)
        return false;
    strcpy(copy, text);
    char *dot = strchr(copy, '.');
    if (dot != NULL)
        *dot = '\0';
    if (!args_number(copy, &first) || (dot != NULL && !args_number(dot + 1, &second)))
        return false;
    if (dot == NULL) {
        *subject = (struct why_subject){.is_node = true, .node = (mu_slot)first};
        return first < MU_SIZE_MAX;
    }
    *subject = (struct why_subject){.job = (uint32_t)first, .rank = (uint32_t)second};
    return first <= UINT32_MAX && second <= UINT32_MAX;
}

/* ---- where from ---- */

struct source {
    const char *report; /* NULL: a machine that runs */
    FILE *file;
    struct operator_found found;
};

static bool find(struct source *source, const struct why_subject *subject, struct account *account,
                 char text[WHY_TEXT_MAX])
{
    if (source->report == NULL)
        return why_live(&source->found, subject, account, text);
    rewind(source->file);
    return why_report(source->file, source->report, subject, account, text);
}

/* False: said why. */
static bool open_source(const struct command *command, const char *machine, struct source *source)
{
    if (source->report == NULL)
        return operator_find(command, machine, &source->found);
    source->file = fopen(source->report, "re");
    if (source->file == NULL)
        fprintf(stderr, "%s: %s: %s\n", path, source->report, strerror(errno));
    return source->file != NULL;
}

static void close_source(struct source *source)
{
    if (source->file != NULL)
        fclose(source->file);
    operator_free(&source->found);
}

/* ---- what is said ---- */

static void print_words(const struct account *account)
{
    char text[ACCOUNT_SENTENCE_MAX];
    struct why_step steps[WHY_STEPS_MAX];
    size_t count = why_steps(account, steps);
    printf("%s\n", account_sentence(account, text));
    for (size_t i = 0; i < count; i++)
        if (steps[i].has_time)
            printf("  %+11.2f ms  %s\n", (double)steps[i].at_ns / 1e6, steps[i].text);
        else
            printf("  %14s  %s\n", "", steps[i].text);
}

static json_t *make_json(const struct account *account)
{
    char text[ACCOUNT_SENTENCE_MAX];
    struct why_step steps[WHY_STEPS_MAX];
    size_t count = why_steps(account, steps);
    json_t *object = account_json(account), *list = json_array();
    json_object_set_new(object, "no_answer", account_list_json(&account->no_answer));
    json_object_set_new(object, "text", json_string(account_sentence(account, text)));
    for (size_t i = 0; i < count; i++) {
        json_t *step = json_object();
        json_object_set_new(step, "step", json_string(steps[i].word));
        json_object_set_new(step, "ms", steps[i].has_time ? json_ms(steps[i].at_ns) : json_null());
        json_object_set_new(step, "text", json_string(steps[i].text));
        json_array_append_new(list, step);
    }
    json_object_set_new(object, "steps", list);
    return object;
}

/* A process that was lost with its node is explained by that.  Returns the exit code. */
static int tell(struct source *source, const struct why_subject *subject, bool json)
{
    struct account account, node;
    char text[WHY_TEXT_MAX];
    if (!find(source, subject, &account, text)) {
        fprintf(stderr, "%s: %s\n", path, text);
        return 1;
    }
    const struct why_subject of_node = {.is_node = true, .node = account.node};
    bool lost = account.cause == MU_CAUSE_NODE_LOST;
    bool explained = lost && find(source, &of_node, &node, text);
    if (json) {
        json_t *object = make_json(&account);
        if (lost)
            json_object_set_new(object, "node_lost", explained ? make_json(&node) : json_null());
        output_json(object);
    } else {
        print_words(&account);
        if (explained)
            print_words(&node);
        else if (lost)
            printf("  why its node was lost is not known: %s\n", text);
    }
    account_free(&account);
    if (explained)
        account_free(&node);
    return 0;
}

int cmd_why(int argc, char **argv)
{
    const char *machine = NULL;
    struct source source = {0};
    bool json = false;
    const struct arg args[] = {
        {"report", ARG_TEXT, &source.report, 0, 0, "FILE",
         "of a job that may be over: what 'muster run --report FILE' wrote"},
        OPERATOR_MACHINE_ARG(&machine),
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object instead of words"},
    };
    const struct command command = {
        path,
        "How a node, or a process of a job, came to be dead, step by step: when it was heard for\n"
        "the last time, who suspected it, who was asked and how far they came, who declared it,\n"
        "and how long it took until everybody knew.  Times count from the last heartbeat, or from\n"
        "when the death was seen.\n"
        "\n"
        "  muster why 2      node 2\n"
        "  muster why 1.4    process 4 of job 1\n"
        "\n"
        "All daemons of the machine on this host are asked.  Exit code 1 when nothing is known of\n"
        "it.\n\n" OPERATOR_HELP,
        "NODE|JOB.RANK", args, sizeof args / sizeof args[0]};
    const char *text = args_parse(&command, argc, argv);
    struct why_subject subject;
    if (text == NULL)
        args_fail(&command, "the number of a node, or JOB.RANK of a process, is missing");
    if (!why_subject_read(text, &subject))
        args_fail(&command,
                  "'%s' is neither a node, a whole number from 0 to %u, nor a process, JOB.RANK",
                  text, MU_SIZE_MAX - 1);
    if (source.report != NULL && machine != NULL)
        args_fail(&command, "--machine '%s' is of a machine that runs, and --report is a file",
                  machine);
    int code = open_source(&command, machine, &source) ? tell(&source, &subject, json) : 1;
    close_source(&source);
    return code;
}
