#include "command/commands.h"
#include "command/span.h"
#include "cli/why.h"
#include "core/ring/ring.h"
#include "host/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WAIT_MS = 5000, PAUSE_MS = 20 }; /* for all nodes to have it; between two looks */

struct times {
    uint64_t period_ns, timeout_ns; /* 0: not said */
};

static bool are_same(const struct times *one, const struct times *other)
{
    return one->period_ns == other->period_ns && one->timeout_ns == other->timeout_ns;
}

static const char *times_text(const struct times *times, char text[2 * SPAN_TEXT_MAX + 32])
{
    char period[SPAN_TEXT_MAX], timeout[SPAN_TEXT_MAX];
    snprintf(text, 2 * SPAN_TEXT_MAX + 32, "heartbeat period %s, timeout %s",
             span_text(times->period_ns, period), span_text(times->timeout_ns, timeout));
    return text;
}

/* ---- what is asked for ---- */

/* "period=50ms" or "timeout=100ms". */
static void take_operand(const struct command *command, const char *text, struct times *times)
{
    const char *equals = strchr(text, '=');
    size_t length = equals == NULL ? strlen(text) : (size_t)(equals - text);
    bool is_period = length == strlen("period") && strncmp(text, "period", length) == 0;
    bool is_timeout = length == strlen("timeout") && strncmp(text, "timeout", length) == 0;
    if (equals == NULL || (!is_period && !is_timeout))
        args_fail(command, "'%s' is neither period=DURATION nor timeout=DURATION", text);
    uint64_t *to = is_period ? &times->period_ns : &times->timeout_ns;
    if (*to != 0)
        args_fail(command, "'%s': the %.*s is given twice", text, (int)length, text);
    if (!span_parse(equals + 1, to))
        args_fail(command, "%.*s is '%s', but must be a duration like 50ms, 1.5s or 250us",
                  (int)length, text, equals + 1);
    if (*to == 0)
        args_fail(command, "%.*s is '%s', but must be at least %s", (int)length, text, equals + 1,
                  is_period ? "1ms" : "two periods");
}

/* ---- daemons ---- */

static void take_counter(void *owner, const struct mu_local_message *message)
{
    struct times *times = owner;
    if (message->type != MU_LOCAL_COUNTER)
        return;
    if (strcmp(message->counter.name, "ring_period_ns") == 0)
        times->period_ns = message->counter.value;
    if (strcmp(message->counter.name, "ring_timeout_ns") == 0)
        times->timeout_ns = message->counter.value;
}

/* Fills in what was not said with what this daemon has, and tells it, which tells all others.
 * False: 'why' of the link says why, or *broken the rule that the two break together. */
static bool tell(struct operator_link *link, struct times *wanted, const char **broken)
{
    struct times now = {0};
    if (!operator_status(link, take_counter, &now))
        return false;
    struct times both = {wanted->period_ns != 0 ? wanted->period_ns : now.period_ns,
                         wanted->timeout_ns != 0 ? wanted->timeout_ns : now.timeout_ns};
    *broken = mu_detect_times_error(both.period_ns, both.timeout_ns);
    *wanted = both;
    return *broken == NULL && operator_order(link, &(struct mu_local_message){
                                                       .type = MU_LOCAL_SET,
                                                       .set = {both.period_ns, both.timeout_ns}});
}

/* Does this daemon have them?  Else 'why' of the link is what is to be said of it. */
static bool has(struct operator_link *link, const struct operator_daemon *daemon,
                const struct times *wanted)
{
    struct times now = {0};
    char text[2 * SPAN_TEXT_MAX + 32];
    bool answers = operator_open(link, daemon) && operator_status(link, take_counter, &now);
    operator_close(link);
    if (answers && !are_same(&now, wanted))
        snprintf(link->why, sizeof link->why, "still has %s", times_text(&now, text));
    return answers && are_same(&now, wanted);
}

/* One that is stopped or cut off may be there, and be none of the machine's nodes any more. */
static bool is_dead(const struct operator_found *found, mu_slot node)
{
    const struct why_subject subject = {.is_node = true, .node = node};
    struct account account;
    char text[WHY_TEXT_MAX];
    if (!why_live(found, &subject, &account, text))
        return false;
    account_free(&account);
    return true;
}

/* Until all daemons of this host have them, but for dead ones.  Returns the exit code. */
static int wait_for_all(const struct operator_found *found, const struct times *wanted)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    char text[2 * SPAN_TEXT_MAX + 32];
    int64_t until_ms = mu_now_ms() + WAIT_MS;
    char id[OPERATOR_ID_DIGITS + 1];
    struct operator_link link;
    size_t looked = 0, count = 0; /* daemons that are done with; and of these, that have them */
    while (looked < found->count) {
        bool good = has(&link, &found->daemons[looked], wanted);
        if (good || is_dead(found, found->daemons[looked].slot)) {
            looked++;
            count += good;
        } else if (mu_now_ms() < until_ms) {
            nanosleep(&pause, NULL);
        } else {
            break;
        }
    }
    if (looked == found->count) {
        times_text(wanted, text);
        printf("Set %s on %s%zu node%s of cluster %s on this host.\n", text,
               count > 1 ? "all " : "", count, count == 1 ? "" : "s",
               operator_id_text(found->daemons[0].machine, id));
        return 0;
    }
    fprintf(stderr, "muster set: %s: sent to all nodes of cluster %s, but node %u %s\n",
            times_text(wanted, text), operator_id_text(found->daemons[0].machine, id), link.slot,
            link.why);
    return 1;
}

/* Returns the exit code. */
static int set_times(const struct operator_found *found, struct times *wanted)
{
    char text[2 * SPAN_TEXT_MAX + 32];
    char id[OPERATOR_ID_DIGITS + 1];
    struct operator_link link;
    bool told = false, refused = false;
    const char *broken = NULL;
    /* One that does not answer is nobody's reason to refuse: the next one tells all as well. */
    for (size_t i = 0; i < found->count && !told && !refused; i++) {
        bool opened = operator_open(&link, &found->daemons[i]);
        told = opened && tell(&link, wanted, &broken);
        refused = opened && !told && (broken != NULL || link.refused);
        operator_close(&link);
    }
    if (told)
        return wait_for_all(found, wanted);
    if (broken != NULL)
        fprintf(stderr, "muster set: %s: %s\n", times_text(wanted, text), broken);
    else
        fprintf(stderr, "muster set: cluster %s was not changed: node %u %s\n",
                operator_id_text(found->daemons[0].machine, id), link.slot, link.why);
    return 1;
}

int cmd_set(int argc, char **argv)
{
    struct operator_choice choice = {0};
    const struct arg args[] = {OPERATOR_CHOICE_ARGS(choice)};
    const struct command command = {
        .path = "muster set",
        .about = "Change heartbeat period and timeout of a running cluster.",
        .operand = "[period=DURATION] [timeout=DURATION]",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster set period=50ms timeout=250ms\nmuster set timeout=2s",
        .exits = "0 success   1 refused, or not on all nodes within 5 s   2 usage error",
    };
    struct arg_list operands = {0};
    struct times wanted = {0};
    args_parse_all(&command, argc, argv, &operands);
    for (size_t i = 0; i < operands.count; i++)
        take_operand(&command, operands.items[i], &wanted);
    free(operands.items);
    if (operands.count == 0)
        args_fail(&command, "missing period=DURATION or timeout=DURATION");
    const char *broken = wanted.period_ns == 0 || wanted.timeout_ns == 0
                             ? NULL
                             : mu_detect_times_error(wanted.period_ns, wanted.timeout_ns);
    char text[2 * SPAN_TEXT_MAX + 32];
    if (broken != NULL)
        args_fail(&command, "%s: %s", times_text(&wanted, text), broken);

    struct operator_found found;
    if (!operator_find(&command, &choice, &found))
        return 1;
    int code = set_times(&found, &wanted);
    operator_free(&found);
    return code;
}
