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
    const char *report; /* NULL: a running cluster */
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
static bool open_source(const struct command *command, const struct operator_choice *choice,
                        struct source *source)
{
    if (source->report == NULL)
        return operator_find(command, choice, &source->found);
    source->file = fopen(source->report, "re");
    if (source->file == NULL)
        fprintf(stderr, "%s: cannot read '%s': %s\n", path, source->report, strerror(errno));
    return source->file != NULL;
}

static void close_source(struct source *source)
{
    if (source->file != NULL)
        fclose(source->file);
    operator_free(&source->found);
}

/* ---- what is said ---- */

/* "  Its ranks 1.4-5 failed with it." */
static void print_ranks(const struct account *account)
{
    const struct account_list *ranks = &account->ranks;
    if (!account->is_node || ranks->count == 0)
        return;
    printf("  Its rank%s %u.%u", ranks->count == 1 ? "" : "s", account->job, ranks->items[0]);
    for (size_t i = 1; i < ranks->count; i++) {
        bool in_row = ranks->items[i] == ranks->items[i - 1] + 1;
        bool ends = i + 1 == ranks->count || ranks->items[i + 1] != ranks->items[i] + 1;
        if (!in_row)
            printf(", %u", ranks->items[i]);
        else if (ends)
            printf("-%u", ranks->items[i]);
    }
    printf(" failed with it.");
}

/* Proof is missing where there is only silence. */
static void print_causes(const struct account *account)
{
    if (account->cause == MU_CAUSE_SILENCE && !account->is_gone)
        printf(
            "Possible causes: host hung, powered off or disconnected, or the daemon was stopped.  "
            "If the host was\nonly busy, try a longer timeout: 'muster tune' measures what this "
            "host needs.\n");
}

static void print_words(const struct account *account)
{
    char text[ACCOUNT_SENTENCE_MAX];
    struct why_step steps[WHY_STEPS_MAX];
    size_t count = why_steps(account, steps);
    account_sentence(account, text);
    text[0] = text[0] == 'n' ? 'N' : text[0] == 'r' ? 'R' : text[0];
    printf("%s.", text);
    print_ranks(account);
    putchar('\n');
    for (size_t i = 0; i < count; i++)
        if (steps[i].has_time)
            printf("  +%6.2f ms  %s\n", (double)steps[i].at_ns / 1e6, steps[i].text);
        else
            printf("  %10s  %s\n", "", steps[i].text);
    print_causes(account);
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
            printf("  It is not known why its node failed: %s.\n", text);
    }
    account_free(&account);
    if (explained)
        account_free(&node);
    return 0;
}

int cmd_why(int argc, char **argv)
{
    struct operator_choice choice = {0};
    struct source source = {0};
    bool json = false;
    const struct arg args[] = {
        {"report", ARG_TEXT, &source.report, 0, 0, "FILE",
         "report by 'muster run --report FILE', also of a job that has ended"},
        OPERATOR_CHOICE_ARGS(choice),
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = path,
        .about = "Explain step by step how the failure of a node or rank was detected.",
        .operand = "NODE|JOB.RANK",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster why 2      # node 2\nmuster why 1.4    # rank 4 of job 1",
        .exits = "0 success   1 it has not failed, or nothing is known of it   2 usage error",
    };
    const char *text = args_parse(&command, argc, argv);
    struct why_subject subject;
    if (text == NULL)
        args_fail(&command, "missing NODE or JOB.RANK");
    if (!why_subject_read(text, &subject))
        args_fail(&command, "'%s' is neither a node, from 0 to %u, nor a rank, JOB.RANK", text,
                  MU_SIZE_MAX - 1);
    if (source.report != NULL && choice.prefix != NULL)
        args_fail(&command, "--cluster '%s' and --report exclude each other", choice.prefix);
    int code = open_source(&command, &choice, &source) ? tell(&source, &subject, json) : 1;
    close_source(&source);
    return code;
}
