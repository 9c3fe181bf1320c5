/* The views that a daemon has told its programs: number, members, what changed. */
#include "command/args.h"
#include "command/commands.h"
#include "command/output.h"
#include "host/clock.h"
#include "launch/operator.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char path[] = "muster views";

/* A bit for each node. */
struct members {
    uint8_t *bits;
    uint32_t total;
};

struct reader {
    bool json;
    uint32_t nodes;
    uint64_t number; /* of the view before; 0: none */
    uint64_t coming; /* of that of which parts have come, from the first on; 0: none */
    struct members before, now;
    uint64_t printed;
};

static bool has(const struct members *members, uint32_t node)
{
    return (members->bits[node / 8] >> node % 8 & 1) != 0;
}

static void add(struct reader *reader, const struct mu_local_view *part)
{
    if (part->is_first)
        memset(reader->now.bits, 0, reader->nodes / 8 + 1);
    reader->now.total = part->total;
    for (uint32_t i = 0; i < part->span_count; i++)
        for (uint32_t k = 0; k < part->spans[i].count; k++) {
            uint32_t node = part->spans[i].first + k;
            if (node < reader->nodes)
                reader->now.bits[node / 8] |= (uint8_t)(1u << node % 8);
        }
}

static uint64_t age_ns(const struct mu_local_event *event)
{
    uint64_t now_ns = mu_now_ns();
    return now_ns > event->learned_ns ? now_ns - event->learned_ns : 0;
}

/* Is it another view than the one that changed into it? */
static bool is_other(const struct reader *reader, uint32_t node, bool came)
{
    return has(&reader->now, node) == came && has(&reader->before, node) != came;
}

/* ---- words ---- */

/* " -3-5" for nodes that went, " +7" for nodes that came. */
static void print_changed(const struct reader *reader, char sign, bool came)
{
    for (uint32_t node = 0; node < reader->nodes; node++) {
        if (!is_other(reader, node, came))
            continue;
        uint32_t last = node;
        while (last + 1 < reader->nodes && is_other(reader, last + 1, came))
            last++;
        printf(" %c%" PRIu32, sign, node);
        if (last > node)
            printf("-%" PRIu32, last);
        node = last;
    }
}

static void print_words(const struct reader *reader, const struct mu_local_event *event)
{
    if (reader->printed == 0)
        printf("%8s %10s %6s  %s\n", "VIEW", "AGE", "NODES", "CHANGE");
    printf("%8" PRIu64 " %8.3f s %6" PRIu32 " ", event->view.number, (double)age_ns(event) / 1e9,
           reader->now.total);
    if (reader->number == 0)
        printf(" %s", event->view.number == 1 ? "founded" : "(earlier views are not kept)");
    print_changed(reader, '-', false);
    print_changed(reader, '+', true);
    printf("\n");
}

/* ---- JSON ---- */

/* null: the view before is not known. */
static json_t *changed(const struct reader *reader, bool came)
{
    if (reader->number == 0)
        return json_null();
    json_t *list = json_array();
    for (uint32_t node = 0; node < reader->nodes; node++)
        if (is_other(reader, node, came))
            json_array_append_new(list, json_integer(node));
    return list;
}

static json_t *members(const struct reader *reader)
{
    json_t *list = json_array();
    for (uint32_t node = 0; node < reader->nodes; node++)
        if (has(&reader->now, node))
            json_array_append_new(list, json_integer(node));
    return list;
}

static void print_json(const struct reader *reader, mu_slot told_by,
                       const struct mu_local_event *event)
{
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, event->view.hash);
    json_t *object = json_object();
    json_object_set_new(object, "view", json_integer((json_int_t)event->view.number));
    json_object_set_new(object, "hash", json_string(hash));
    json_object_set_new(object, "age_ns", json_integer((json_int_t)age_ns(event)));
    json_object_set_new(object, "nodes", members(reader));
    json_object_set_new(object, "left", changed(reader, false));
    json_object_set_new(object, "joined", changed(reader, true));
    json_object_set_new(object, "told_by", json_integer(told_by));
    output_json(object);
}

/* ---- reading them ---- */

static void take(struct reader *reader, mu_slot told_by, const struct mu_local_event *event)
{
    /* The beginning of the oldest may not be kept; another daemon tells all of them again. */
    if (event->subject != MU_SUBJECT_VIEW || event->view.number <= reader->number)
        return;
    if (event->view.is_first)
        reader->coming = event->view.number;
    if (event->view.number != reader->coming)
        return;
    add(reader, &event->view);
    if (!event->view.is_last)
        return;
    if (reader->number == 0) /* nothing is known to have changed */
        memcpy(reader->before.bits, reader->now.bits, reader->nodes / 8 + 1);
    if (reader->json)
        print_json(reader, told_by, event);
    else
        print_words(reader, event);
    memcpy(reader->before.bits, reader->now.bits, reader->nodes / 8 + 1);
    reader->number = event->view.number;
    reader->printed++;
    fflush(stdout);
}

static bool make_room(struct reader *reader, uint32_t nodes)
{
    reader->nodes = nodes;
    reader->before.bits = calloc(nodes / 8 + 1, 1);
    reader->now.bits = calloc(nodes / 8 + 1, 1);
    return reader->before.bits != NULL && reader->now.bits != NULL;
}

/* True: all that is wanted is printed.  False: 'why' of the link says why not. */
static bool watch(struct reader *reader, struct operator_link *link, bool follow)
{
    struct mu_local_message message = {.type = MU_LOCAL_WATCH};
    int timeout_ms = OPERATOR_TIMEOUT_MS;
    if (!operator_say(link, &message))
        return false;
    while (operator_hear(link, &message, timeout_ms)) {
        if (message.type == MU_LOCAL_EVENT)
            take(reader, link->slot, &message.event);
        else if (message.type == MU_LOCAL_CAUGHT_UP && !follow)
            return true;
        else if (message.type == MU_LOCAL_CAUGHT_UP)
            timeout_ms = -1;
        else if (message.type == MU_LOCAL_LOST)
            reader->coming = 0;
        else
            return operator_unexpected(link, &message);
        if (ferror(stdout) != 0)
            return true; /* nobody reads: main() says so */
    }
    return reader->printed > 0 && follow; /* the cluster is over */
}

static int print_views(struct reader *reader, const struct operator_found *found, bool follow)
{
    struct operator_link link;
    for (size_t i = 0; i < found->count; i++) {
        bool done = operator_open(&link, &found->daemons[i]) &&
                    (reader->nodes != 0 || make_room(reader, link.welcome.nodes)) &&
                    watch(reader, &link, follow);
        operator_close(&link);
        if (done)
            return 0;
    }
    char id[OPERATOR_ID_DIGITS + 1];
    fprintf(stderr, "%s: no daemon of cluster %s on this host answers: node %u %s\n", path,
            operator_id_text(found->daemons[0].machine, id), link.slot, link.why);
    return 1;
}

int cmd_views(int argc, char **argv)
{
    struct reader reader = {0};
    bool follow = false;
    struct operator_choice choice = {0};
    const struct arg args[] = {
        {"-f|--follow", ARG_FLAG, &follow, 0, 0, NULL,
         "wait for further views, until the cluster ends"},
        OPERATOR_CHOICE_ARGS(choice),
        {"json", ARG_FLAG, &reader.json, 0, 0, NULL, "one JSON object per view"},
    };
    const struct command command = {
        .path = path,
        .about = "Show the numbered membership of a cluster, and what changed in each view.",
        .args = args,
        .count = sizeof args / sizeof args[0],
    };
    args_parse(&command, argc, argv);
    struct operator_found found;
    if (!operator_find(&command, &choice, &found))
        return 1;
    int code = print_views(&reader, &found, follow);
    free(reader.before.bits);
    free(reader.now.bits);
    operator_free(&found);
    return code;
}
