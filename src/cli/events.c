#define _GNU_SOURCE /* tdestroy() */
#include "command/account.h"
#include "command/args.h"
#include "command/commands.h"
#include "launch/operator.h"
#include "command/output.h"
#include "host/clock.h"

#include <inttypes.h>
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

static void print_words(const struct mu_local_event *event)
{
    struct account account;
    char text[ACCOUNT_SENTENCE_MAX];
    account_of_event(&account, event);
    printf("%9.3f s ago  %s   seen by node %u, %u hop%s\n", (double)age_now_ns(event) / 1e9,
           account_sentence(&account, text), event->evidence.seen_by, event->hops,
           event->hops == 1 ? "" : "s");
    fflush(stdout);
}

static void print_lost(bool json, mu_slot told_by, uint64_t count)
{
    if (!json) {
        printf("%" PRIu64 " events were not read in time; who is gone follows\n", count);
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

struct watcher {
    bool follow, json;
    void *known; /* of tsearch() */
};

/* Prints what this daemon knows, and goes on while it lives if that is wanted.  True: all that was
 * wanted is printed.  False: the daemon cannot go on, 'why' of the link says why. */
static bool watch(struct watcher *watcher, struct operator_link *link)
{
    struct mu_local_message message = {.type = MU_LOCAL_WATCH};
    int timeout_ms = OPERATOR_TIMEOUT_MS;
    if (!operator_say(link, &message))
        return false;
    while (operator_hear(link, &message, timeout_ms)) {
        switch (message.type) {
        case MU_LOCAL_EVENT:
            if (!is_new(&watcher->known, &message.event))
                break;
            if (watcher->json)
                print_json(link->slot, &message.event);
            else
                print_words(&message.event);
            break;
        case MU_LOCAL_LOST:
            print_lost(watcher->json, link->slot, message.lost.count);
            break;
        case MU_LOCAL_CAUGHT_UP:
            if (!watcher->follow)
                return true;
            timeout_ms = -1;
            break;
        default:
            return operator_unexpected(link, &message);
        }
        if (ferror(stdout) != 0)
            return true; /* nobody reads: main() says so */
    }
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
        printf("          now  %s\n", text);
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
static int watch_machine(struct watcher *watcher, const struct operator_found *found)
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
        return 0; /* the machine is over */
    fprintf(stderr, "%s: no daemon of machine %016" PRIx64 " on this host answers: node %u %s\n",
            path, found->daemons[0].machine, link.slot, link.why);
    return 1;
}

/* Whatever was printed is flushed already. */
static void on_interrupt(int number)
{
    (void)number;
    _exit(0);
}

int cmd_events(int argc, char **argv)
{
    struct watcher watcher = {0};
    const char *machine = NULL;
    const struct arg args[] = {
        {"-f|--follow", ARG_FLAG, &watcher.follow, 0, 0, NULL,
         "go on with what happens, until the machine is over or Ctrl-C"},
        OPERATOR_MACHINE_ARG(&machine),
        {"json", ARG_FLAG, &watcher.json, 0, 0, NULL, "one JSON object per line"},
    };
    const struct command command = {
        path,
        "Who died or left, when, who saw it first, and how far the news has come: one line each,\n"
        "in the order in which one daemon of the machine learned it (the lowest slot on this host\n"
        "that answers).  When that one goes away, -f goes on with the next one.  A node that is\n"
        "silent, and of which nobody can say whether it is dead, is named as well, as of "
        "now.\n\n" OPERATOR_HELP,
        NULL, args, sizeof args / sizeof args[0]};
    args_parse(&command, argc, argv);

    struct operator_found found;
    if (!operator_find(&command, machine, &found))
        return 1;
    if (watcher.follow) {
        signal(SIGINT, on_interrupt);
        print_all_undecided(watcher.json, &found);
    }
    int code = watch_machine(&watcher, &found);
    if (!watcher.follow && code == 0)
        print_all_undecided(watcher.json, &found);
    tdestroy(watcher.known, free);
    operator_free(&found);
    return code;
}
