/* What the daemon says, in the words of muster.h; and errors. */
#define _GNU_SOURCE
#include "client/handle.h"
#include "host/clock.h"
#include "wire/base/words.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One number, two names: the library hands the daemon's verdicts through.  Numbers 4 to 6 (hung,
 * slow, failed-check) have no name in muster.h until a daemon reports them. */
static_assert((int)MUSTER_DEAD == (int)MU_VERDICT_DEAD, "verdicts");
static_assert((int)MUSTER_SILENT == (int)MU_VERDICT_SILENT, "verdicts");
static_assert((int)MUSTER_UNREACHABLE == (int)MU_VERDICT_UNREACHABLE, "verdicts");
static_assert((int)MUSTER_LEFT == (int)MU_VERDICT_LEFT, "verdicts");
static_assert((int)MU_VERDICT_LAST == (int)MU_VERDICT_LEFT, "a verdict that muster.h lacks");

/* Programs were compiled with these: another layout needs another soname. */
static_assert(sizeof(struct muster_event) == 384 && sizeof(struct muster_error) == 260, "layout");

/* ---- errors ---- */

int mu_client_fail(struct muster_error *error, enum muster_code code, const char *format, ...)
{
    if (error == NULL)
        return -1;
    error->code = (int)code;
    va_list values;
    va_start(values, format);
    vsnprintf(error->text, sizeof error->text, format, values);
    va_end(values);
    for (char *at = error->text; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    return -1;
}

const char *mu_client_errno_text(int number)
{
    const char *text = strerrordesc_np(number);
    return text != NULL ? text : "unknown error";
}

int mu_client_refused(const struct mu_local_message *message, struct muster_error *error)
{
    enum muster_code code = MUSTER_E_REFUSED;
    if (message->refused.code == MU_LOCAL_OTHER_VERSION)
        code = MUSTER_E_VERSION;
    if (message->refused.code == MU_LOCAL_ENDING)
        code = MUSTER_E_NO_DAEMON;
    return mu_client_fail(error, code, "the daemon refused this process: %s",
                          message->refused.text);
}

/* ---- events ---- */

/* The daemon's clock is this host's, too.  In another time namespace it may be ahead of ours. */
static uint64_t age_ns(const struct mu_local_event *told)
{
    uint64_t now_ns = mu_now_ns();
    uint64_t since_ns = now_ns > told->learned_ns ? now_ns - told->learned_ns : 0;
    return told->age_ns <= UINT64_MAX - since_ns ? told->age_ns + since_ns : UINT64_MAX;
}

static void write_text(struct muster_event *event, const struct mu_evidence *evidence)
{
    struct mu_words words = mu_words_in(event->text, sizeof event->text);
    if (event->type == MUSTER_EVENT_PROCESS) {
        mu_words_put(&words, "rank ");
        mu_words_number(&words, event->rank);
        mu_words_put(&words, " on ");
    }
    mu_words_put(&words, "node ");
    mu_words_number(&words, event->node);
    if (event->verdict == MUSTER_LEFT) {
        mu_words_put(&words, " exited");
        return;
    }
    mu_words_put(&words, " failed: ");
    mu_evidence_text(evidence, words.at, words.room);
}

static int check(const struct muster *m, const struct mu_local_event *told,
                 struct muster_error *error)
{
    if (told->node >= m->who.nodes || told->evidence.seen_by >= m->who.nodes)
        return mu_client_fail(error, MUSTER_E_PROTOCOL,
                              "invalid message from the daemon: about node %" PRIu32
                              ", detected by node %" PRIu32 ", in a cluster of %" PRIu32 " nodes",
                              told->node, told->evidence.seen_by, m->who.nodes);
    if (told->subject == MU_SUBJECT_PROCESS &&
        (told->job != m->who.job || told->rank >= m->who.size))
        return mu_client_fail(error, MUSTER_E_PROTOCOL,
                              "invalid message from the daemon: about rank %" PRIu32
                              " of job %" PRIu32 ", but this is job %" PRIu32 " with %" PRIu32
                              " ranks",
                              told->rank, told->job, m->who.job, m->who.size);
    return 1;
}

static int view_told(struct muster *m, const struct mu_local_event *told,
                     struct muster_event *event, struct muster_error *error)
{
    int whole = mu_client_view_part(m, &told->view, error);
    if (whole != 1)
        return whole;
    memset(event, 0, offsetof(struct muster_event, text));
    memset(event->reserved, 0, sizeof event->reserved);
    event->type = MUSTER_EVENT_VIEW;
    event->is_state = told->is_state;
    event->age_ns = age_ns(told);
    event->serial = told->serial;
    event->view = told->view.number;
    mu_client_view_text(m, event);
    return 1;
}

int mu_client_happened(struct muster *m, const struct mu_local_event *told,
                       struct muster_event *event, struct muster_error *error)
{
    if (told->subject == MU_SUBJECT_VIEW)
        return view_told(m, told, event, error);
    const struct mu_evidence *evidence = &told->evidence;
    bool is_process = told->subject == MU_SUBJECT_PROCESS;
    if (check(m, told, error) != 1)
        return -1;
    memset(event, 0, offsetof(struct muster_event, text));
    memset(event->reserved, 0, sizeof event->reserved);
    event->type = is_process ? MUSTER_EVENT_PROCESS : MUSTER_EVENT_NODE;
    event->verdict = evidence->verdict;
    event->node = told->node;
    event->seen_by = evidence->seen_by;
    event->is_state = told->is_state;
    event->hops = told->hops;
    event->age_ns = age_ns(told);
    event->serial = told->serial;
    event->view = 0;
    if (is_process) {
        const struct mu_exit_kind *how = &evidence->how;
        event->rank = told->rank;
        event->exit_code = evidence->cause == MU_CAUSE_EXIT ? mu_exit_kind_code(how) : -1;
        event->signal = how->signal;
        event->pid = evidence->pid;
    }
    write_text(event, evidence);
    return 1;
}

int mu_client_event(struct muster *m, const struct mu_local_message *message,
                    struct muster_event *event, struct muster_error *error)
{
    struct muster_event made = {0};
    switch (message->type) {
    case MU_LOCAL_EVENT:
        return mu_client_happened(m, &message->event, event, error);
    case MU_LOCAL_LOST:
        made.type = MUSTER_EVENT_OVERFLOW;
        made.lost = message->lost.count;
        snprintf(made.text, sizeof made.text,
                 "%" PRIu64 " events were not read in time and are lost: "
                 "the current state follows",
                 made.lost);
        break;
    case MU_LOCAL_CAUGHT_UP:
        made.type = MUSTER_EVENT_CAUGHT_UP;
        snprintf(made.text, sizeof made.text, "caught up: later events are live");
        break;
    case MU_LOCAL_REFUSED:
        return mu_client_refused(message, error);
    default:
        return mu_client_fail(error, MUSTER_E_PROTOCOL,
                              "invalid message from the daemon: type %d is not for a member of a "
                              "job",
                              message->type);
    }
    *event = made;
    return 1;
}
