#define _GNU_SOURCE /* tdestroy() */
#include "command/account.h"
#include "command/args.h"
#include "command/commands.h"
#include "launch/operator.h"
#include "command/output.h"
#include "host/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <search.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char path[] = "muster events";

/* ---- what was printed ---- */

/* An event is known by its subject and verdict: another daemon has it under another serial. */
struct known {
    uint8_t subject, verdict;
    uint32_t job, rank, node;
};

static int compare_known(const void *a, const void *b)
{
    const struct known *one = a, *other = b;
    const uint32_t mine[] = {one->subject, one->verdict, one->job, one->rank, one->node};
    const uint32_t its[] = {other->subject, other->verdict, other->job, other->rank, other->node};
    for (size_t i = 0; i < sizeof mine / sizeof mine[0]; i++)
        if (mine[i] != its[i])
            return mine[i] < its[i] ? -1 : 1;
    return 0;
}

/* True the first time. */
static bool is_new(void **tree, const struct mu_local_event *event)
{
    const struct known key = {event->subject, event->evidence.verdict, event->job, event->rank,
                              event->node};
    struct known *kept = malloc(sizeof *kept);
    if (kept != NULL)
        *kept = key;
    struct known **at = kept == NULL ? NULL : tsearch(kept, tree, compare_known);
    if (at == NULL) {
        fprintf(stderr, "%s: no memory\n", path);
        exit(1);
    }
    if (*at == kept)
        return true;
    free(kept);
    return false;
}

/* ---- one event ---- */

static uint64_t age_now_ns(const struct mu_local_event *event)
{
    uint64_t now_ns = mu_now_ns();
    uint64_t known_ns = now_ns > event->learned_ns ? now_ns - event->learned_ns : 0;
    return event->age_ns + known_ns;
}

static void set_number(json_t *object, const char *name, uint64_t number)
{
    json_object_set_new(object, name, json_integer((json_int_t)number));
}

/* null where the number says nothing. */
static void set_if(json_t *object, const char *name, bool is_said, int number)
{
    json_object_set_new(object, name, is_said ? json_integer(number) : json_null());
}

static void set_how(json_t *object, const struct mu_evidence *evidence)
{
    const struct mu_exit_kind *how = &evidence->how;
    bool is_exit = evidence->cause == MU_CAUSE_EXIT;
    int code = mu_exit_kind_code(how);
    json_object_set_new(object, "how", is_exit ? json_string(mu_exit_kind_word(how)) : json_null());
    set_if(object, "exit_code", is_exit && code >= 0, code);
    set_if(object, "signal", is_exit && how->type == MU_EXIT_SIGNAL, how->signal);
    json_object_set_new(object, "core_dumped", json_boolean(how->core_dumped));
    set_if(object, "error", is_exit && how->type == MU_EXIT_NOT_STARTED, how->error);
    json_object_set_new(object, "path",
                        evidence->path[0] != '\0' ? json_string(evidence->path) : json_null());
}

static void print_json(mu_slot told_by, const struct mu_local_event *event)
{
    const struct mu_evidence *evidence = &event->evidence;
    bool is_process = event->subject == MU_SUBJECT_PROCESS;
    struct account account;
    char text[ACCOUNT_SENTENCE_MAX];
    account_of_event(&account, event);
    json_t *object = json_object();
    json_object_set_new(object, "event", json_string(is_process ? "process" : "node"));
    if (is_process) {
        set_number(object, "job", event->job);
        set_number(object, "rank", event->rank);
    }
    set_number(object, "node", event->node);
    json_object_set_new(object, "verdict",
                        json_string(mu_verdict_word((enum mu_verdict)evidence->verdict)));
    json_object_set_new(object, "cause", json_string(cause_word((enum mu_cause)evidence->cause)));
    if (is_process) {
        set_number(object, "pid", evidence->pid);
        set_how(object, evidence);
    }
    if (cause_has_proof(evidence->cause))
        proof_json_set(object, &evidence->ring);
    set_number(object, "seen_by", evidence->seen_by);
    set_number(object, "seen_ns", evidence->seen_ns);
    set_number(object, "hops", event->hops);
    set_number(object, "told_by", told_by);
    set_number(object, "serial", event->serial);
    json_object_set_new(object, "is_state", json_boolean(event->is_state));
    set_number(object, "learned_ns", event->learned_ns);
    set_number(object, "learned_age_ns", event->age_ns);
    set_number(object, "age_ns", age_now_ns(event));
    json_object_set_new(object, "text", json_string(account_sentence(&account, text)));
    output_json(object);
}

/* Ranks of one job that failed with one node are one line, though each is an event of its own. */
struct group {
    uint32_t job, node, first, last, count;
    mu_slot seen_by;
    uint64_t seen_ns;
};

enum { WHAT_MAX = ACCOUNT_SENTENCE_MAX + 32, WHAT_WIDTH = 56 };

static void print_line(uint64_t age_ns, const char *what, mu_slot seen_by)
{
    static bool has_head;
    char age[32];
    if (!has_head)
        printf("%-9s  %-*s  %s\n", "AGE", WHAT_WIDTH, "WHAT", "DETECTED BY");
    has_head = true;
    snprintf(age, sizeof age, "%.3f s", (double)age_ns / 1e9);
    printf("%-9s  %-*s  node %u\n", age, WHAT_WIDTH, what, seen_by);
    fflush(stdout);
}

static void end_group(struct group *group)
{
    char what[WHAT_MAX];
    uint64_t now_ns = mu_now_ns();
    if (group->count == 0)
        return;
    if (group->count == 1)
        snprintf(what, sizeof what, "  with it rank %u.%u", group->job, group->first);
    else
        snprintf(what, sizeof what, "  with it ranks %u.%u-%u", group->job, group->first,
                 group->last);
    print_line(now_ns > group->seen_ns ? now_ns - group->seen_ns : 0, what, group->seen_by);
    group->count = 0;
}

/* True: it went into the group. */
static bool add_to_group(struct group *group, const struct mu_local_event *event)
{
    if (event->subject != MU_SUBJECT_PROCESS || event->evidence.cause != MU_CAUSE_NODE_LOST)
        return false;
    bool is_next = group->count > 0 && group->job == event->job && group->node == event->node &&
                   group->last + 1 == event->rank;
    if (!is_next) {
        end_group(group);
        *group = (struct group){.job = event->job,
                                .node = event->node,
                                .first = event->rank,
                                .seen_by = event->evidence.seen_by,
                                .seen_ns = mu_now_ns() - age_now_ns(event)};
    }
    group->last = event->rank;
    group->count++;
    return true;
}

static void print_words(struct group *group, const struct mu_local_event *event)
{
    struct account account;
    char text[ACCOUNT_SENTENCE_MAX], what[WHAT_MAX];
    if (add_to_group(group, event))
        return;
    end_group(group);
    account_of_event(&account, event);
    snprintf(what, sizeof what, "%s%s", account_sentence(&account, text),
             account.cause == MU_CAUSE_WITNESS ? " (witness)" : "");
    print_line(age_now_ns(event), what, event->evidence.seen_by);
}

static void print_lost(bool json, mu_slot told_by, uint64_t count)
{
    if (!json) {
        printf("%" PRIu64 " events were dropped; the current state follows\n", count);
        fflush(stdout);
        return;
    }
    json_t *object = json_object();
    json_object_set_new(object, "event", json_string("lost"));
    set_number(object, "count", count);
    set_number(object, "told_by", told_by);
    output_json(object);
}

/* ---- reading them ---- */

enum { GATHER_MS = 20 }; /* events of one failure follow each other sooner */

struct watcher {
    bool follow, json;
    void *known; /* of tsearch() */
    struct group group;
    uint64_t printed;
};

static void show(struct watcher *watcher, mu_slot told_by, const struct mu_local_event *event)
{
    if (event->subject == MU_SUBJECT_VIEW) /* 'muster views' has these */
        return;
    if (!is_new(&watcher->known, event))
        return;
    watcher->printed++;
    if (watcher->json)
        print_json(told_by, event);
    else
        print_words(&watcher->group, event);
}

/* Whether a message has come, or will be waited for. */
static bool is_more(const struct operator_link *link, const struct watcher *watcher)
{
    struct pollfd ready = {.fd = link->fd, .events = POLLIN};
    return watcher->group.count == 0 || poll(&ready, 1, GATHER_MS) != 0;
}

/* Prints what this daemon knows, and goes on while it lives if that is wanted.  True: all that was
 * wanted is printed.  False: the daemon cannot go on, 'why' of the link says why. */
static bool watch(struct watcher *watcher, struct operator_link *link)
{
    struct mu_local_message message = {.type = MU_LOCAL_WATCH};
    int timeout_ms = OPERATOR_TIMEOUT_MS;
    if (!operator_say(link, &message))
        return false;
    for (;;) {
        if (!is_more(link, watcher))
            end_group(&watcher->group);
        if (!operator_hear(link, &message, timeout_ms))
            break;
        switch (message.type) {
        case MU_LOCAL_EVENT:
            show(watcher, link->slot, &message.event);
            break;
        case MU_LOCAL_LOST:
            print_lost(watcher->json, link->slot, message.lost.count);
            break;
        case MU_LOCAL_CAUGHT_UP:
            end_group(&watcher->group);
            if (!watcher->follow)
                return true;
            timeout_ms = -1;
            break;
        default:
            return operator_unexpected(link, &message);
        }
        if (ferror(stdout) != 0)
            return true; /* main() says so */
    }
    end_group(&watcher->group);
    return false;
}

/* ---- what nobody can decide ---- */

static void note_undecided(void *owner, const struct mu_local_message *message)
{
    if (message->type == MU_LOCAL_COUNTER && strcmp(message->counter.name, "ring_undecided") == 0)
        *(uint64_t *)owner = message->counter.value;
}

static void print_undecided(bool json, mu_slot by, uint64_t node)
{
    char text[UNDECIDED_TEXT_MAX];
    undecided_text(by, node, text);
    if (!json) {
        printf("now        %s\n", text);
        return;
    }
    json_t *object = json_object();
    json_object_set_new(object, "event", json_string("undecided"));
    set_number(object, "node", node);
    set_number(object, "seen_by", by);
    json_object_set_new(object, "text", json_string(text));
    output_json(object);
}

/* It is no event of the journal: nothing has happened yet, as far as anybody knows. */
static void print_all_undecided(bool json, const struct operator_found *found)
{
    for (size_t i = 0; i < found->count; i++) {
        struct operator_link link;
        uint64_t node = MU_SLOT_NONE;
        if (operator_open(&link, &found->daemons[i]) &&
            operator_status(&link, note_undecided, &node) && node != MU_SLOT_NONE)
            print_undecided(json, found->daemons[i].slot, node);
        operator_close(&link);
    }
    fflush(stdout);
}

/* Each daemon at most once, from the lowest slot on: until one has told everything, or, of those
 * that are followed, until none is left.  Returns the exit code. */
static int watch_cluster(struct watcher *watcher, const struct operator_found *found)
{
    struct operator_link link;
    bool any = false;
    for (size_t i = 0; i < found->count; i++) {
        bool opened = operator_open(&link, &found->daemons[i]);
        bool done = opened && watch(watcher, &link);
        operator_close(&link);
        if (done)
            return 0;
        any = any || opened;
    }
    if (any && watcher->follow)
        return 0; /* the cluster has ended */
    char id[OPERATOR_ID_DIGITS + 1];
    fprintf(stderr, "%s: no daemon of cluster %s on this host answers: node %u %s\n", path,
            operator_id_text(found->daemons[0].machine, id), link.slot, link.why);
    return 1;
}

/* Whatever was printed is flushed already. */
static void on_interrupt(int number)
{
    (void)number;
    _exit(0);
}

static void say_none(const struct operator_found *found)
{
    char id[OPERATOR_ID_DIGITS + 1];
    printf("No failures in cluster %s.\n", operator_id_text(found->daemons[0].machine, id));
}

int cmd_events(int argc, char **argv)
{
    struct watcher watcher = {0};
    struct operator_choice choice = {0};
    const struct arg args[] = {
        {"-f|--follow", ARG_FLAG, &watcher.follow, 0, 0, NULL,
         "wait for further events, until the cluster ends"},
        OPERATOR_CHOICE_ARGS(choice),
        {"json", ARG_FLAG, &watcher.json, 0, 0, NULL, "one JSON object per event"},
    };
    const struct command command = {
        .path = path,
        .about = "List failures and exits: what, when, and which node detected it.",
        .args = args,
        .count = sizeof args / sizeof args[0],
    };
    args_parse(&command, argc, argv);

    struct operator_found found;
    if (!operator_find(&command, &choice, &found))
        return 1;
    if (watcher.follow) {
        signal(SIGINT, on_interrupt);
        print_all_undecided(watcher.json, &found);
    }
    int code = watch_cluster(&watcher, &found);
    if (!watcher.follow && !watcher.json && code == 0 && watcher.printed == 0)
        say_none(&found);
    if (!watcher.follow && code == 0)
        print_all_undecided(watcher.json, &found);
    tdestroy(watcher.known, free);
    operator_free(&found);
    return code;
}
