#include "command/account.h"
#include "command/args.h"
#include "command/commands.h"
#include "launch/operator.h"
#include "command/output.h"
#include "command/span.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct counter {
    char name[MU_LOCAL_TEXT_MAX + 1];
    uint64_t value;
};

/* What one daemon says. */
struct node {
    bool answers;
    char why[OPERATOR_TEXT_MAX]; /* not */
    struct mu_local_node said;
    struct counter *counters;
    size_t counter_count;
};

/* One job, of all that daemons say of it. */
struct job {
    uint32_t job, size;
    uint64_t running;
    uint32_t failed, left;
};

struct status {
    uint64_t machine;
    struct node *nodes; /* in the order of slots */
    size_t node_count;
    struct job *jobs; /* in the order of numbers, once all is there */
    size_t job_count;
};

/* ---- asking ---- */

static void *grow(void *array, size_t count, size_t element)
{
    void *grown = realloc(array, (count + 1) * element);
    if (grown == NULL) {
        fprintf(stderr, "muster status: no memory\n");
        exit(1);
    }
    return grown;
}

/* Processes that run are counted where they run.  What has ended is known to all, to some sooner.
 */
static void add_job(struct status *status, const struct mu_local_job *said)
{
    struct job *job = NULL;
    for (size_t i = 0; i < status->job_count; i++)
        if (status->jobs[i].job == said->job)
            job = &status->jobs[i];
    if (job == NULL) {
        status->jobs = grow(status->jobs, status->job_count, sizeof *status->jobs);
        job = &status->jobs[status->job_count++];
        *job = (struct job){.job = said->job, .size = said->size};
    }
    job->running += said->here;
    job->failed = said->failed > job->failed ? said->failed : job->failed;
    job->left = said->left > job->left ? said->left : job->left;
}

static void add_counter(struct node *node, const struct mu_local_message *message)
{
    node->counters = grow(node->counters, node->counter_count, sizeof *node->counters);
    struct counter *counter = &node->counters[node->counter_count++];
    memcpy(counter->name, message->counter.name, sizeof counter->name);
    counter->value = message->counter.value;
}

/* One answer, while it comes in. */
struct answer {
    struct node *node;
    struct mu_local_job *jobs;
    size_t job_count;
};

static void take(void *owner, const struct mu_local_message *message)
{
    struct answer *answer = owner;
    switch (message->type) {
    case MU_LOCAL_NODE:
        answer->node->said = message->node;
        break;
    case MU_LOCAL_JOB:
        answer->jobs = grow(answer->jobs, answer->job_count, sizeof *answer->jobs);
        answer->jobs[answer->job_count++] = message->job;
        break;
    case MU_LOCAL_COUNTER:
        add_counter(answer->node, message);
        break;
    }
}

/* Jobs count only when all of the answer is there: a part of it would be wrong numbers. */
static bool ask(struct operator_link *link, struct status *status, struct node *node)
{
    struct answer answer = {.node = node};
    bool good = operator_status(link, take, &answer);
    for (size_t i = 0; good && i < answer.job_count; i++)
        add_job(status, &answer.jobs[i]);
    free(answer.jobs);
    return good;
}

static int compare_jobs(const void *a, const void *b)
{
    const struct job *one = a, *other = b;
    return (one->job > other->job) - (one->job < other->job);
}

static void collect(struct status *status, const struct operator_found *found)
{
    status->machine = found->daemons[0].machine;
    status->node_count = found->count;
    status->nodes = grow(NULL, found->count, sizeof *status->nodes);
    memset(status->nodes, 0, found->count * sizeof *status->nodes);
    for (size_t i = 0; i < found->count; i++) {
        struct node *node = &status->nodes[i];
        struct operator_link link;
        node->answers = operator_open(&link, &found->daemons[i]) && ask(&link, status, node);
        node->said.slot = found->daemons[i].slot;
        memcpy(node->why, link.why, sizeof node->why);
        operator_close(&link);
    }
    if (status->job_count > 0)
        qsort(status->jobs, status->job_count, sizeof *status->jobs, compare_jobs);
}

static size_t answering(const struct status *status)
{
    size_t count = 0;
    for (size_t i = 0; i < status->node_count; i++)
        count += status->nodes[i].answers;
    return count;
}

/* ---- JSON ---- */

static void set_number(json_t *object, const char *name, uint64_t number)
{
    json_object_set_new(object, name, json_integer((json_int_t)number));
}

/* Its value; 'otherwise' when the daemon has no such counter. */
static uint64_t counter_of(const struct node *node, const char *name, uint64_t otherwise)
{
    for (size_t i = 0; i < node->counter_count; i++)
        if (strcmp(node->counters[i].name, name) == 0)
            return node->counters[i].value;
    return otherwise;
}

static bool has_witness(const struct node *node)
{
    return counter_of(node, "witness_pid", 0) != 0;
}

static json_t *node_json(const struct node *node)
{
    const struct mu_local_node *said = &node->said;
    json_t *object = json_object();
    set_number(object, "slot", said->slot);
    json_object_set_new(object, "answers", json_boolean(node->answers));
    if (!node->answers) {
        json_object_set_new(object, "why", json_string(node->why));
        return object;
    }
    json_object_set_new(object, "name", json_string(said->host));
    json_object_set_new(object, "address", json_string(said->address));
    set_number(object, "pid", said->pid);
    json_object_set_new(object, "witness", json_boolean(has_witness(node)));
    set_number(object, "size", said->size);
    set_number(object, "incarnation", said->incarnation);
    set_number(object, "up_ns", said->up_ns);
    set_number(object, "links_up", said->links_up);
    set_number(object, "links_wanted", said->links_wanted);
    set_number(object, "dead", said->dead);
    set_number(object, "jobs", said->jobs);
    set_number(object, "processes", said->processes);
    json_t *counters = json_object();
    for (size_t i = 0; i < node->counter_count; i++)
        set_number(counters, node->counters[i].name, node->counters[i].value);
    json_object_set_new(object, "counters", counters);
    return object;
}

static void print_json(const struct status *status)
{
    char machine[17];
    snprintf(machine, sizeof machine, "%016" PRIx64, status->machine);
    json_t *object = json_object(), *nodes = json_array(), *jobs = json_array();
    json_object_set_new(object, "machine", json_string(machine));
    for (size_t i = 0; i < status->node_count; i++)
        json_array_append_new(nodes, node_json(&status->nodes[i]));
    json_object_set_new(object, "nodes", nodes);
    for (size_t i = 0; i < status->job_count; i++) {
        const struct job *job = &status->jobs[i];
        json_t *one = json_object();
        set_number(one, "job", job->job);
        set_number(one, "size", job->size);
        set_number(one, "running", job->running);
        set_number(one, "failed", job->failed);
        set_number(one, "left", job->left);
        json_array_append_new(jobs, one);
    }
    json_object_set_new(object, "jobs", jobs);
    output_json(object);
}

/* ---- words ---- */

static const char *up_text(uint64_t up_ns, char *text, size_t room)
{
    uint64_t s = up_ns / UINT64_C(1000000000);
    if (s < 100)
        snprintf(text, room, "%.1f s", (double)up_ns / 1e9);
    else if (s < 100 * 60)
        snprintf(text, room, "%" PRIu64 " min", s / 60);
    else if (s < 100 * 3600)
        snprintf(text, room, "%" PRIu64 " h", s / 3600);
    else
        snprintf(text, room, "%" PRIu64 " d", s / 86400);
    return text;
}

/* As wide as the longest, so that the columns stand below each other. */
static int width(int at_least, size_t length)
{
    return (int)length > at_least ? (int)length : at_least;
}

/* One line; one for each node while they differ: new ones are on their way, or somebody missed
 * them. */
static void print_times(const struct status *status)
{
    char period[SPAN_TEXT_MAX], timeout[SPAN_TEXT_MAX], bound[SPAN_TEXT_MAX];
    const struct node *first = NULL;
    bool same = true;
    for (size_t i = 0; i < status->node_count; i++) {
        const struct node *node = &status->nodes[i];
        if (!node->answers)
            continue;
        first = first == NULL ? node : first;
        same = same &&
               counter_of(node, "ring_period_ns", 0) == counter_of(first, "ring_period_ns", 0) &&
               counter_of(node, "ring_timeout_ns", 0) == counter_of(first, "ring_timeout_ns", 0);
    }
    for (size_t i = 0; i < status->node_count; i++) {
        const struct node *node = &status->nodes[i];
        if (!node->answers || (same && node != first))
            continue;
        if (!same)
            printf("node %u: ", node->said.slot);
        printf("heartbeats every %s, timeout %s\n",
               span_text(counter_of(node, "ring_period_ns", 0), period),
               span_text(counter_of(node, "ring_timeout_ns", 0), timeout));
        if (counter_of(node, "loop_bound_ns", 0) != 0)
            printf("a silent node is declared failed within %s, a daemon that stands still within "
                   "%s\n",
                   timeout, span_text(counter_of(node, "loop_bound_ns", 0), bound));
    }
}

/* Who hears it, and for how long that is good: "3, 412 ms"; "lost" when nobody acknowledges it; "-"
 * when nobody else is left. */
static const char *lease_text(const struct node *node, char *text, size_t room)
{
    uint64_t observer = counter_of(node, "ring_observer", MU_SLOT_NONE);
    uint64_t lease_ns = counter_of(node, "ring_lease_ns", MU_NEVER);
    if (lease_ns == MU_NEVER)
        snprintf(text, room, "-");
    else if (lease_ns == 0 || observer == MU_SLOT_NONE)
        snprintf(text, room, "lost");
    else
        snprintf(text, room, "%" PRIu64 ", %" PRIu64 " ms", observer, lease_ns / 1000000);
    return text;
}

static void print_nodes(const struct status *status)
{
    int name = 4, address = 7;
    for (size_t i = 0; i < status->node_count; i++) {
        name = width(name, strlen(status->nodes[i].said.host));
        address = width(address, strlen(status->nodes[i].said.address));
    }
    printf("\n%6s  %-*s  %-*s  %8s  %8s  %7s  %5s  %9s  %5s  %12s\n", "node", name, "name", address,
           "address", "pid", "up", "links", "jobs", "processes", "dead", "heard by");
    for (size_t i = 0; i < status->node_count; i++) {
        const struct node *node = &status->nodes[i];
        const struct mu_local_node *said = &node->said;
        char up[32], links[32], lease[64];
        if (!node->answers) {
            printf("%6u  %s\n", said->slot, node->why);
            continue;
        }
        snprintf(links, sizeof links, "%u/%u", said->links_up, said->links_wanted);
        printf("%6u  %-*s  %-*s  %8u  %8s  %7s  %5u  %9u  %5u  %12s\n", said->slot, name,
               said->host, address, said->address, said->pid, up_text(said->up_ns, up, sizeof up),
               links, said->jobs, said->processes, said->dead,
               lease_text(node, lease, sizeof lease));
    }
}

static void print_jobs(const struct status *status)
{
    if (status->job_count == 0)
        return;
    printf("\n%6s  %8s  %8s  %8s  %8s\n", "job", "size", "running", "failed", "left");
    for (size_t i = 0; i < status->job_count; i++) {
        const struct job *job = &status->jobs[i];
        printf("%6u  %8u  %8" PRIu64 "  %8u  %8u\n", job->job, job->size, job->running, job->failed,
               job->left);
    }
}

static void print_undecided(const struct status *status)
{
    for (size_t i = 0; i < status->node_count; i++) {
        const struct node *node = &status->nodes[i];
        uint64_t silent = counter_of(node, "ring_undecided", MU_SLOT_NONE);
        char text[UNDECIDED_TEXT_MAX];
        if (node->answers && silent != MU_SLOT_NONE)
            printf("%s\n", undecided_text(node->said.slot, silent, text));
    }
}

/* Somebody or something is wrong where one of these is not 0.  That a connection was cut is not: a
 * node that dies does so, and links_broken says it. */
static bool matters(const struct counter *counter)
{
    if (strcmp(counter->name, "bad_cut") == 0)
        return false;
    static const char *const beginnings[] = {
        "bad_",         "fault_",    "strangers_", "handshakes_late", "connections_failed",
        "links_broken", "loop_stood"};
    for (size_t i = 0; counter->value > 0 && i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncmp(counter->name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

static void print_counters(const struct status *status)
{
    bool any = false;
    for (size_t i = 0; i < status->node_count; i++) {
        const struct node *node = &status->nodes[i];
        const char *before = ":";
        for (size_t k = 0; k < node->counter_count; k++) {
            if (!matters(&node->counters[k]))
                continue;
            if (before[0] == ':')
                printf("%snode %u", any ? "" : "\n", node->said.slot);
            printf("%s %s %" PRIu64, before, node->counters[k].name, node->counters[k].value);
            before = ",";
            any = true;
        }
        if (before[0] == ',')
            putchar('\n');
    }
}

static void print_witnesses(const struct status *status)
{
    bool any = false;
    for (size_t i = 0; i < status->node_count; i++) {
        const struct node *node = &status->nodes[i];
        if (!node->answers || has_witness(node))
            continue;
        printf("%snode %u: no witness: a failure of its daemon is detected by silence only\n",
               any ? "" : "\n", node->said.slot);
        any = true;
    }
}

static void print_words(const struct status *status)
{
    uint32_t size = 0;
    for (size_t i = 0; i < status->node_count; i++)
        if (status->nodes[i].answers)
            size = status->nodes[i].said.size;
    printf("machine %016" PRIx64, status->machine);
    if (size > 0)
        printf(": %u nodes, %zu on this host", size, status->node_count);
    putchar('\n');
    print_times(status);
    print_undecided(status);
    print_nodes(status);
    print_jobs(status);
    print_witnesses(status);
    print_counters(status);
}

/* ---- the command ---- */

static void release(struct status *status)
{
    for (size_t i = 0; i < status->node_count; i++)
        free(status->nodes[i].counters);
    free(status->nodes);
    free(status->jobs);
}

int cmd_status(int argc, char **argv)
{
    const char *machine = NULL;
    bool json = false;
    const struct arg args[] = {
        OPERATOR_MACHINE_ARG(&machine),
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object instead of words"},
    };
    const struct command command = {
        "muster status",
        "Nodes and jobs of a machine that runs on this host, as its daemons here see them.\n"
        "'heard by' is the node that acknowledges its heartbeats, and for how long that is good:\n"
        "its lease.  A daemon that does not answer within a second is shown as such.  Exit code 1\n"
        "when none does, or when there is no machine.\n\n" OPERATOR_HELP,
        NULL, args, sizeof args / sizeof args[0]};
    args_parse(&command, argc, argv);

    struct operator_found found;
    if (!operator_find(&command, machine, &found))
        return 1;
    struct status status = {0};
    collect(&status, &found);
    if (json)
        print_json(&status);
    else
        print_words(&status);
    int code = answering(&status) > 0 ? 0 : 1;
    release(&status);
    operator_free(&found);
    return code;
}
