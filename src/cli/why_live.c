/* What the daemons of a machine know of a death. */
#include "cli/why.h"

#include <inttypes.h>
#include <string.h>

struct search {
    const struct why_subject *subject;
    bool found;
    struct mu_local_event first; /* of all that is said of it, the earliest */
    struct account lists;        /* told, with the time of day for now; untold, no_answer */
    size_t answered;
    uint32_t size;    /* of the machine; 0: nobody has said it */
    bool has_job;     /* somebody has */
    uint64_t dropped; /* events that somebody has forgotten */
    bool is_gone;     /* its witness says that no process is left, */
    uint64_t gone_ns; /* and the first to know knew it then */
    struct operator_link link;
    bool link_has_job;
    uint32_t job_size; /* 0: nobody has said it */
};

/* ---- one daemon ---- */

static void look(void *owner, const struct mu_local_message *message)
{
    struct search *search = owner;
    if (message->type == MU_LOCAL_NODE)
        search->size = message->node.size;
    if (message->type == MU_LOCAL_GONE && search->subject->is_node &&
        message->gone.node == search->subject->node &&
        (!search->is_gone || message->gone.gone_ns < search->gone_ns)) {
        search->is_gone = true;
        search->gone_ns = message->gone.gone_ns;
    }
    if (message->type == MU_LOCAL_JOB && message->job.job == search->subject->job) {
        search->link_has_job = true;
        search->job_size = message->job.size;
    }
}

static bool is_about(const struct mu_local_event *event, const struct why_subject *subject)
{
    if (subject->is_node)
        return event->subject == MU_SUBJECT_NODE && event->node == subject->node;
    return event->subject == MU_SUBJECT_PROCESS && event->job == subject->job &&
           event->rank == subject->rank;
}

/* When it was first seen, on the clock of this host: the daemon is here, and knows how old the news
 * was. */
static uint64_t seen_ns(const struct mu_local_event *event)
{
    return event->learned_ns > event->age_ns ? event->learned_ns - event->age_ns : 0;
}

static void take(struct search *search, const struct mu_local_event *event)
{
    account_add_told(&search->lists, search->link.slot, event->hops, event->learned_ns);
    if (search->found && seen_ns(event) >= seen_ns(&search->first))
        return;
    search->first = *event;
    search->found = true;
}

/* False: 'why' of the link says why it cannot be told what this daemon knows. */
static bool ask(struct search *search, bool *knows)
{
    struct operator_link *link = &search->link;
    struct mu_local_message message = {.type = MU_LOCAL_WATCH};
    search->link_has_job = false;
    if (!operator_status(link, look, search) || !operator_say(link, &message))
        return false;
    bool is_first = true;
    while (operator_hear(link, &message, OPERATOR_TIMEOUT_MS)) {
        switch (message.type) {
        case MU_LOCAL_EVENT:
            if (is_first && message.event.serial - 1 > search->dropped)
                search->dropped = message.event.serial - 1;
            is_first = false;
            if (!*knows && is_about(&message.event, search->subject)) {
                take(search, &message.event);
                *knows = true;
            }
            break;
        case MU_LOCAL_LOST:
            break; /* goes on with the oldest that is kept */
        case MU_LOCAL_CAUGHT_UP:
            return true;
        default:
            return operator_unexpected(link, &message);
        }
    }
    return false;
}

static void ask_one(struct search *search, const struct operator_daemon *daemon)
{
    bool knows = false;
    bool answers = operator_open(&search->link, daemon) && ask(search, &knows);
    operator_close(&search->link);
    search->answered += answers;
    search->has_job = search->has_job || (answers && search->link_has_job);
    /* Who does not host the job is not told of its processes. */
    bool should_know = search->subject->is_node || search->link_has_job;
    if (!answers && !knows)
        account_list_add(&search->lists.no_answer, daemon->slot);
    else if (!knows && should_know)
        account_list_add(&search->lists.untold, daemon->slot);
}

/* ---- all of them ---- */

static void explain_rank(const struct search *search, const char *id, char text[WHY_TEXT_MAX])
{
    const struct why_subject *subject = search->subject;
    if (!search->has_job)
        snprintf(text, WHY_TEXT_MAX,
                 "cluster %s has no job %u on this host ('muster status' lists jobs; of a job that "
                 "has ended, use --report FILE)",
                 id, subject->job);
    else if (subject->rank >= search->job_size)
        snprintf(text, WHY_TEXT_MAX, "job %u has no rank %u: its ranks are 0-%u", subject->job,
                 subject->rank, search->job_size - 1);
    else
        snprintf(text, WHY_TEXT_MAX,
                 "rank %u of job %u has not failed ('muster events' lists failures)", subject->rank,
                 subject->job);
}

static void explain(const struct search *search, const struct operator_found *found,
                    char text[WHY_TEXT_MAX])
{
    const struct why_subject *subject = search->subject;
    char id[OPERATOR_ID_DIGITS + 1];
    operator_id_text(found->daemons[0].machine, id);
    if (search->answered == 0)
        snprintf(text, WHY_TEXT_MAX,
                 "no other daemon of cluster %s on this host answers (of a job that has ended, use "
                 "--report FILE)",
                 id);
    else if (!subject->is_node)
        explain_rank(search, id, text);
    else if (subject->node >= search->size)
        snprintf(text, WHY_TEXT_MAX, "cluster %s has no node %u: its nodes are 0-%u", id,
                 subject->node, search->size - 1);
    else
        snprintf(text, WHY_TEXT_MAX, "node %u has not failed ('muster events' lists failures)",
                 subject->node);
    size_t used = strlen(text);
    if (search->dropped > 0)
        snprintf(text + used, WHY_TEXT_MAX - used,
                 "; the first %" PRIu64 " events have been dropped", search->dropped);
}

/* A failed node cannot be notified. */
static void leave_out(struct account_list *list, mu_slot node)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] != node)
            list->items[kept++] = list->items[i];
    list->count = kept;
}

bool why_live(const struct operator_found *found, const struct why_subject *subject,
              struct account *account, char text[WHY_TEXT_MAX])
{
    struct search search = {.subject = subject};
    for (size_t i = 0; i < found->count; i++) {
        bool itself = subject->is_node && found->daemons[i].slot == subject->node;
        if (!itself) /* it may be stopped or cut off, and what it says does not count */
            ask_one(&search, &found->daemons[i]);
    }
    if (!search.found) {
        explain(&search, found, text);
        account_free(&search.lists);
        return false;
    }
    account_of_event(account, &search.first);
    account->told = search.lists.told;
    account->told_count = search.lists.told_count;
    account->untold = search.lists.untold;
    account->no_answer = search.lists.no_answer;
    for (size_t i = 0; i < account->told_count; i++)
        account->told[i].after_ns -= seen_ns(&search.first);
    account_sort_told(account);
    account->is_gone = search.is_gone;
    if (search.is_gone && search.gone_ns > seen_ns(&search.first))
        account->gone_after_ns = search.gone_ns - seen_ns(&search.first);
    if (account->cause == MU_CAUSE_NODE_LOST) {
        leave_out(&account->untold, account->node);
        leave_out(&account->no_answer, account->node);
    }
    return true;
}
