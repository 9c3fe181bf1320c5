/* What a report of 'muster run' says of a death. */
#include "cli/why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool has_rank(const struct account_list *ranks, uint32_t rank)
{
    for (size_t i = 0; i < ranks->count; i++)
        if (ranks->items[i] == rank)
            return true;
    return false;
}

static bool is_about(const struct account *account, const struct why_subject *subject)
{
    if (subject->is_node)
        return account->is_node && account->node == subject->node;
    if (account->job != subject->job)
        return false;
    return account->is_node ? has_rank(&account->ranks, subject->rank)
                            : account->rank == subject->rank;
}

/* From the line of a node, what it means for one process of it. */
static void make_process(struct account *account, uint32_t rank)
{
    account->is_node = false;
    account->rank = rank;
    account->verdict = MU_VERDICT_DEAD;
    account->cause = MU_CAUSE_NODE_LOST;
    snprintf(account->how, sizeof account->how, "its node failed");
}

/* Of several lines the last one counts.  Returns NULL, or what is wrong with this one. */
static const char *take_line(const char *line, const struct why_subject *subject,
                             struct account *account, bool *found)
{
    struct account read;
    json_error_t error;
    json_t *object = json_loads(line, 0, &error);
    const char *wrong = object == NULL ? "not JSON" : account_read(object, &read);
    json_decref(object);
    if (wrong != NULL)
        return wrong;
    if (!is_about(&read, subject)) {
        account_free(&read);
        return NULL;
    }
    if (*found)
        account_free(account);
    *found = true;
    *account = read;
    if (!subject->is_node && account->is_node)
        make_process(account, subject->rank);
    return NULL;
}

bool why_report(FILE *file, const char *path, const struct why_subject *subject,
                struct account *account, char text[WHY_TEXT_MAX])
{
    char *line = NULL;
    const char *wrong = NULL;
    size_t room = 0, number = 0;
    bool found = false;
    while (wrong == NULL && getline(&line, &room, file) >= 0) {
        number++;
        wrong = take_line(line, subject, account, &found);
    }
    free(line);
    int error = errno;
    bool failed = ferror(file) != 0;
    if (found && (wrong != NULL || failed))
        account_free(account);
    if (wrong != NULL)
        snprintf(text, WHY_TEXT_MAX, "%.200s: line %zu is not a line of a report: %s", path, number,
                 wrong);
    else if (failed)
        snprintf(text, WHY_TEXT_MAX, "%.200s: %s", path, strerror(error));
    else if (!found && subject->is_node)
        snprintf(text, WHY_TEXT_MAX, "%.200s has no failure of node %u", path, subject->node);
    else if (!found)
        snprintf(text, WHY_TEXT_MAX, "%.200s has no failure of rank %u of job %u", path,
                 subject->rank, subject->job);
    return found && wrong == NULL && !failed;
}
