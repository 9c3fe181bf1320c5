#include "command/account.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

static void *grow(void *array, size_t count, size_t element)
{
    void *grown = realloc(array, (count + 1) * element);
    if (grown == NULL) {
        fprintf(stderr, "muster: no memory\n");
        exit(1);
    }
    return grown;
}

void account_list_add(struct account_list *list, uint32_t item)
{
    list->items = grow(list->items, list->count, sizeof *list->items);
    list->items[list->count++] = item;
}

void account_add_told(struct account *account, mu_slot node, uint16_t hops, uint64_t after_ns)
{
    account->told = grow(account->told, account->told_count, sizeof *account->told);
    account->told[account->told_count++] = (struct account_told){node, hops, after_ns};
}

static int compare_told(const void *a, const void *b)
{
    const struct account_told *one = a, *other = b;
    if (one->after_ns != other->after_ns)
        return one->after_ns < other->after_ns ? -1 : 1;
    return (one->node > other->node) - (one->node < other->node);
}

void account_sort_told(struct account *account)
{
    if (account->told_count > 0)
        qsort(account->told, account->told_count, sizeof *account->told, compare_told);
}

void account_free(struct account *account)
{
    free(account->ranks.items);
    free(account->told);
    free(account->untold.items);
    free(account->no_answer.items);
    memset(account, 0, sizeof *account);
}

/* ---- from evidence ---- */

void account_of_evidence(struct account *account, const struct mu_evidence *evidence)
{
    char how[MU_EVIDENCE_TEXT_MAX];
    bool ended = evidence->cause == MU_CAUSE_EXIT;
    account->pid = evidence->pid;
    account->node = evidence->node;
    account->verdict = evidence->verdict;
    account->cause = evidence->cause;
    snprintf(account->how, sizeof account->how, "%s", mu_evidence_text(evidence, how, sizeof how));
    snprintf(account->ended, sizeof account->ended, "%s",
             ended ? mu_exit_kind_word(&evidence->how) : "");
    account->code = mu_exit_kind_shell_code(
        ended ? &evidence->how : &(struct mu_exit_kind){.type = MU_EXIT_UNKNOWN});
    account->seen_by = evidence->seen_by;
    account->ring = evidence->ring;
}

void account_of_event(struct account *account, const struct mu_local_event *event)
{
    memset(account, 0, sizeof *account);
    account->is_node = event->subject == MU_SUBJECT_NODE;
    account->job = event->job;
    account->rank = event->rank;
    account_of_evidence(account, &event->evidence);
}

const char *account_sentence(const struct account *account, char text[ACCOUNT_SENTENCE_MAX])
{
    char subject[96];
    if (account->is_node)
        snprintf(subject, sizeof subject, "node %u", account->node);
    else
        snprintf(subject, sizeof subject, "rank %u.%u", account->job, account->rank);
    if (account->verdict == MU_VERDICT_LEFT)
        snprintf(text, ACCOUNT_SENTENCE_MAX, "%s exited on node %u", subject, account->node);
    else if (account->is_node)
        snprintf(text, ACCOUNT_SENTENCE_MAX, "%s failed (%s): %s", subject,
                 mu_verdict_word((enum mu_verdict)account->verdict), account->how);
    else
        snprintf(text, ACCOUNT_SENTENCE_MAX, "%s failed on node %u: %s", subject, account->node,
                 account->how);
    return text;
}

/* ---- out ---- */

json_t *account_list_json(const struct account_list *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(array, json_integer(list->items[i]));
    return array;
}

static json_t *told_json(const struct account *account)
{
    json_t *array = json_array();
    for (size_t i = 0; i < account->told_count; i++) {
        json_t *one = json_object();
        json_object_set_new(one, "node", json_integer(account->told[i].node));
        json_object_set_new(one, "ms", json_ms(account->told[i].after_ns));
        json_object_set_new(one, "hops", json_integer(account->told[i].hops));
        json_array_append_new(array, one);
    }
    return array;
}

/* Until everybody knew it; null when somebody has not said so. */
static json_t *all_told_json(const struct account *account)
{
    if (account->told_count == 0 || account->untold.count > 0)
        return json_null();
    return json_ms(account->told[account->told_count - 1].after_ns);
}

/* Which processes were lost with a node, only the launcher of their job knows. */
static bool has_ranks(const struct account *account)
{
    return account->is_node && account->job != 0;
}

json_t *account_json(const struct account *account)
{
    json_t *object = json_object();
    if (!account->is_node || has_ranks(account))
        json_object_set_new(object, "job", json_integer(account->job));
    json_object_set_new(object, "kind", json_string(account->is_node ? "node" : "process"));
    if (!account->is_node)
        json_object_set_new(object, "rank", json_integer(account->rank));
    else if (has_ranks(account))
        json_object_set_new(object, "processes", json_integer((json_int_t)account->ranks.count));
    json_object_set_new(object, "node", json_integer(account->node));
    json_object_set_new(object, "how", json_string(account->how));
    json_object_set_new(object, "code", json_integer(account->code));
    json_object_set_new(object, "seen_by", json_slot(account->seen_by));
    json_object_set_new(object, "told", told_json(account));
    json_object_set_new(object, "all_told_ms", all_told_json(account));
    json_object_set_new(object, "untold", account_list_json(&account->untold));
    if (has_ranks(account))
        json_object_set_new(object, "ranks", account_list_json(&account->ranks));
    if (!account->is_node)
        json_object_set_new(object, "pid",
                            account->pid == 0 ? json_null() : json_integer(account->pid));
    json_object_set_new(object, "verdict",
                        json_string(mu_verdict_word((enum mu_verdict)account->verdict)));
    json_object_set_new(
        object, "cause",
        account->cause == 0 ? json_null() : json_string(cause_word((enum mu_cause)account->cause)));
    if (!account->is_node)
        json_object_set_new(object, "ended",
                            account->ended[0] == '\0' ? json_null() : json_string(account->ended));
    if (account->is_gone)
        json_object_set_new(object, "gone_ms", json_ms(account->gone_after_ns));
    if (cause_has_proof(account->cause))
        proof_json_set(object, &account->ring);
    return object;
}

/* ---- in ---- */

static bool get_number(const json_t *object, const char *name, json_int_t last, uint32_t *number)
{
    const json_t *value = json_object_get(object, name);
    json_int_t read = json_is_integer(value) ? json_integer_value(value) : -1;
    *number = (uint32_t)read;
    return read >= 0 && read <= last;
}

static bool get_list(const json_t *object, const char *name, struct account_list *list)
{
    const json_t *array = json_object_get(object, name);
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        json_int_t number = json_is_integer(item) ? json_integer_value(item) : -1;
        if (number < 0 || number > UINT32_MAX)
            return false;
        account_list_add(list, (uint32_t)number);
    }
    return json_is_array(array);
}

static bool get_told(const json_t *object, struct account *account)
{
    const json_t *array = json_object_get(object, "told");
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *one = json_array_get(array, i);
        uint32_t node, hops;
        uint64_t after_ns;
        if (!get_number(one, "node", MU_SIZE_MAX - 1, &node) ||
            !get_number(one, "hops", UINT16_MAX, &hops) ||
            !json_ms_get(json_object_get(one, "ms"), &after_ns))
            return false;
        account_add_told(account, node, (uint16_t)hops, after_ns);
    }
    account_sort_told(account);
    return json_is_array(array);
}

/* Of a process or of a node: what only that has. */
static const char *read_subject(const json_t *object, struct account *account)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    const json_t *pid = json_object_get(object, "pid");
    account->is_node = kind != NULL && strcmp(kind, "node") == 0;
    if (!account->is_node && (kind == NULL || strcmp(kind, "process") != 0))
        return "kind is neither 'node' nor 'process'";
    if (!get_number(object, "job", UINT32_MAX, &account->job))
        return "job is not a number";
    if (!get_number(object, "node", MU_SIZE_MAX - 1, &account->node))
        return "node is not a number";
    if (account->is_node)
        return get_list(object, "ranks", &account->ranks) ? NULL : "ranks is not a list of numbers";
    if (!get_number(object, "rank", UINT32_MAX, &account->rank))
        return "rank is not a number";
    if (!json_is_null(pid) && !get_number(object, "pid", INT32_MAX, &account->pid))
        return "pid is not a process ID";
    return NULL;
}

static const char *read_how(const json_t *object, struct account *account)
{
    const char *how = json_string_value(json_object_get(object, "how"));
    const json_t *ended = json_object_get(object, "ended");
    const char *verdict = json_string_value(json_object_get(object, "verdict"));
    const json_t *cause = json_object_get(object, "cause");
    uint32_t code;
    account->verdict = verdict == NULL ? 0 : verdict_of_word(verdict);
    account->cause = json_is_string(cause) ? cause_of_word(json_string_value(cause)) : 0;
    if (how == NULL || strlen(how) >= sizeof account->how)
        return "how is not a text";
    strcpy(account->how, how);
    if (!account->is_node && !json_is_null(ended) && !json_is_string(ended))
        return "ended is not a text";
    snprintf(account->ended, sizeof account->ended, "%s",
             json_is_string(ended) ? json_string_value(ended) : "");
    if (!get_number(object, "code", 255, &code))
        return "code is not from 0 to 255";
    account->code = (int)code;
    if (account->verdict == 0)
        return "verdict is unknown";
    if (account->cause == 0 && !json_is_null(cause))
        return "cause is unknown";
    if (!json_slot_get(json_object_get(object, "seen_by"), &account->seen_by))
        return "seen_by is not a node";
    if (cause_has_proof(account->cause) && !proof_json_get(object, &account->ring))
        return "the evidence of its silence is incomplete";
    return NULL;
}

const char *account_read(const json_t *object, struct account *account)
{
    memset(account, 0, sizeof *account);
    const char *wrong =
        json_is_object(object) ? read_subject(object, account) : "not a JSON object";
    if (wrong == NULL)
        wrong = read_how(object, account);
    if (wrong == NULL && !get_told(object, account))
        wrong = "told is not a list of nodes and times";
    if (wrong == NULL && !get_list(object, "untold", &account->untold))
        wrong = "untold is not a list of nodes";
    if (wrong != NULL)
        account_free(account);
    return wrong;
}

const char *undecided_text(mu_slot by, uint64_t node, char text[UNDECIDED_TEXT_MAX])
{
    snprintf(text, UNDECIDED_TEXT_MAX,
             "node %" PRIu32 " receives no heartbeat from node %" PRIu64
             " and has no other node to ask",
             by, node);
    return text;
}
