#include "command/account.h"
#include "command/args.h"
#include "command/commands.h"
#include "launch/operator.h"
#include "command/output.h"
#include "command/span.h"
#include "host/clock.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

/* A node that others have declared failed, whether or not its daemon still answers. */
struct failed {
    mu_slot node;
    uint8_t verdict;
    uint64_t seen_ns; /* on the clock of this host */
};

struct status {
    uint64_t cluster;
    struct failed *failed; /* in the order in which they are learned */
    size_t failed_count;
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

/* Its value; 'otherwise' when the daemon has no such counter. */
static uint64_t counter_of(const struct node *node, const char *name, uint64_t otherwise)
{
    for (size_t i = 0; i < node->counter_count; i++)
        if (strcmp(node->counters[i].name, name) == 0)
            return node->counters[i].value;
    return otherwise;
}

static const struct failed *failed_of(const struct status *status, mu_slot node)
{
    for (size_t i = 0; i < status->failed_count; i++)
        if (status->failed[i].node == node)
            return &status->failed[i];
    return NULL;
}

static void add_failed(struct status *status, const struct mu_local_event *event)
{
    if (event->subject != MU_SUBJECT_NODE || failed_of(status, event->node) != NULL)
        return;
    uint64_t age_ns = event->age_ns < event->learned_ns ? event->age_ns : event->learned_ns;
    status->failed = grow(status->failed, status->failed_count, sizeof *status->failed);
    status->failed[status->failed_count++] = (struct failed){
        .node = event->node,
        .verdict = event->evidence.verdict,
        .seen_ns = event->learned_ns - age_ns,
    };
}

/* One that nobody hears may be the one that is disconnected: what it says of others is no news. */
static bool has_lease(const struct node *node)
{
    return counter_of(node, "ring_lease_ns", MU_NEVER) != 0;
}

/* False: not all of it came. */
static bool ask_failed(struct operator_link *link, struct status *status)
{
    struct mu_local_message message = {.type = MU_LOCAL_WATCH};
    if (!operator_say(link, &message))
        return false;
    while (operator_hear(link, &message, OPERATOR_TIMEOUT_MS)) {
        if (message.type == MU_LOCAL_CAUGHT_UP)
            return true;
        if (message.type == MU_LOCAL_EVENT)
            add_failed(status, &message.event);
        else if (message.type != MU_LOCAL_LOST)
            return operator_unexpected(link, &message);
    }
    return false;
}

/* Jobs count only when all of the answer is there: a part of it would be wrong numbers. */
static bool ask(struct operator_link *link, struct status *status, struct node *node)
{
    struct answer answer = {.node = node};
    bool good = operator_status(link, take, &answer) &&
                (!has_lease(node) || node->said.dead == 0 || ask_failed(link, status));
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
    status->cluster = found->daemons[0].machine;
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

static json_t *failed_json(const struct status *status)
{
    json_t *array = json_array();
    uint64_t now_ns = mu_now_ns();
    for (size_t i = 0; i < status->failed_count; i++) {
        const struct failed *failed = &status->failed[i];
        json_t *one = json_object();
        set_number(one, "node", failed->node);
        json_object_set_new(one, "verdict",
                            json_string(mu_verdict_word((enum mu_verdict)failed->verdict)));
        set_number(one, "age_ns", now_ns > failed->seen_ns ? now_ns - failed->seen_ns : 0);
        json_array_append_new(array, one);
    }
    return array;
}

static void print_json(const struct status *status)
{
    char cluster[17];
    snprintf(cluster, sizeof cluster, "%016" PRIx64, status->cluster);
    json_t *object = json_object(), *nodes = json_array(), *jobs = json_array();
    json_object_set_new(object, "cluster", json_string(cluster));
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
    json_object_set_new(object, "failed", failed_json(status));
    output_json(object);
}

/* ---- words ---- */

/* As wide as the longest, so that the columns stand below each other. */
static int width(int at_least, size_t length)
{
    return (int)length > at_least ? (int)length : at_least;
}

static uint64_t period_of(const struct node *node)
{
    return counter_of(node, "ring_period_ns", 0);
}

static uint64_t timeout_of(const struct node *node)
{
    return counter_of(node, "ring_timeout_ns", 0);
}

static const struct node *first_answering(const struct status *status)
{
    for (size_t i = 0; i < status->node_count; i++)
        if (status->nodes[i].answers)
            return &status->nodes[i];
    return NULL;
}

/* New ones reach all nodes within two of the old timeouts. */
static bool all_have_same_times(const struct status *status, const struct node *first)
{
    for (size_t i = 0; i < status->node_count; i++) {
        const struct node *node = &status->nodes[i];
        if (node->answers &&
            (period_of(node) != period_of(first) || timeout_of(node) != timeout_of(first)))
            return false;
    }
    return true;
}

static void print_times(const struct node *node)
{
    char period[SPAN_TEXT_MAX], timeout[SPAN_TEXT_MAX];
    printf("Heartbeat period %s, timeout %s.\n", span_text(period_of(node), period),
           span_text(timeout_of(node), timeout));
}

/* One line, and one for each node while their times differ. */
static void print_head(const struct status *status)
{
    char id[OPERATOR_ID_DIGITS + 1], age[OPERATOR_AGE_MAX];
    const struct node *first = first_answering(status);
    operator_id_text(status->cluster, id);
    if (first == NULL) {
        printf("Cluster %s: no daemon on this host answers.\n", id);
        return;
    }
    uint32_t size = first->said.size, failed = (uint32_t)status->failed_count;
    printf("Cluster %s: %u of %u node%s alive, up %s.", id, size > failed ? size - failed : 0, size,
           size == 1 ? "" : "s", operator_age_text(first->said.up_ns, age));
    if (all_have_same_times(status, first)) {
        printf("  ");
        print_times(first);
        return;
    }
    putchar('\n');
    for (size_t i = 0; i < status->node_count; i++)
        if (status->nodes[i].answers) {
            printf("Node %u: ", status->nodes[i].said.slot);
            print_times(&status->nodes[i]);
        }
}

/* ---- the table of nodes ---- */

enum { CELL_MAX = 80, COLUMNS = 9 };
enum { NODE, HOST, STATE, ADDRESS, PID, RANKS, OBSERVER, LEASE, UP };

struct row {
    char cell[COLUMNS][CELL_MAX];
};

static const char *const heads[COLUMNS] = {"NODE",  "HOST",        "STATE", "ADDRESS", "PID",
                                           "RANKS", "OBSERVED BY", "LEASE", "UP"};
static const bool is_right[COLUMNS] = {[NODE] = true, [PID] = true, [RANKS] = true};

/* Who observes it, and for how long its lease is good. */
static void fill_lease(const struct node *node, struct row *row)
{
    uint64_t observer = counter_of(node, "ring_observer", MU_SLOT_NONE);
    uint64_t lease_ns = counter_of(node, "ring_lease_ns", MU_NEVER);
    if (lease_ns == MU_NEVER)
        return;
    if (observer != MU_SLOT_NONE)
        snprintf(row->cell[OBSERVER], CELL_MAX, "node %" PRIu64, observer);
    if (lease_ns == 0 || observer == MU_SLOT_NONE)
        snprintf(row->cell[LEASE], CELL_MAX, "lost");
    else
        snprintf(row->cell[LEASE], CELL_MAX, "%" PRIu64 " ms", lease_ns / 1000000);
}

static void fill_answering(const struct node *node, struct row *row)
{
    const struct mu_local_node *said = &node->said;
    snprintf(row->cell[HOST], CELL_MAX, "%s", said->host);
    snprintf(row->cell[STATE], CELL_MAX, "alive");
    snprintf(row->cell[ADDRESS], CELL_MAX, "%s", said->address);
    snprintf(row->cell[PID], CELL_MAX, "%u", said->pid);
    snprintf(row->cell[RANKS], CELL_MAX, "%u", said->processes);
    fill_lease(node, row);
    operator_age_text(said->up_ns, row->cell[UP]);
}

static void fill_failed(const struct failed *failed, struct row *row)
{
    char age[OPERATOR_AGE_MAX];
    uint64_t now_ns = mu_now_ns();
    operator_age_text(now_ns > failed->seen_ns ? now_ns - failed->seen_ns : 0, age);
    snprintf(row->cell[STATE], CELL_MAX, "failed");
    snprintf(row->cell[UP], CELL_MAX, "%s ago", age);
}

/* 'node' NULL: no daemon of it on this host; 'failed' NULL: it has not. */
static void fill(mu_slot slot, const struct node *node, const struct failed *failed,
                 struct row *row)
{
    for (int i = 0; i < COLUMNS; i++)
        snprintf(row->cell[i], CELL_MAX, "-");
    snprintf(row->cell[NODE], CELL_MAX, "%u", slot);
    if (node != NULL && node->answers)
        fill_answering(node, row);
    else if (failed == NULL)
        snprintf(row->cell[STATE], CELL_MAX, "no answer");
    if (failed != NULL)
        fill_failed(failed, row);
}

/* Nodes of this host, and failed nodes of any: by number. */
static size_t make_rows(const struct status *status, struct row *rows)
{
    size_t count = 0, next = 0;
    uint32_t last = 0;
    for (size_t i = 0; i < status->failed_count; i++)
        last = status->failed[i].node > last ? status->failed[i].node : last;
    for (size_t i = 0; i < status->node_count; i++)
        last = status->nodes[i].said.slot > last ? status->nodes[i].said.slot : last;
    for (mu_slot slot = 0; slot <= last; slot++) {
        bool is_here = next < status->node_count && status->nodes[next].said.slot == slot;
        const struct node *node = is_here ? &status->nodes[next++] : NULL;
        const struct failed *failed = failed_of(status, slot);
        if (node != NULL || failed != NULL)
            fill(slot, node, failed, &rows[count++]);
    }
    return count;
}

static void print_cell(const char *text, int column, int columns, int cell_width)
{
    const char *colour = strcmp(text, "failed") == 0      ? output_colour(stdout, OUTPUT_RED)
                         : strcmp(text, "no answer") == 0 ? output_colour(stdout, OUTPUT_YELLOW)
                                                          : "";
    int pad = cell_width - (int)strlen(text);
    if (is_right[column])
        printf("%*s%s", pad, "", text);
    else
        printf("%s%s%s%*s", colour, text, colour[0] != '\0' ? OUTPUT_PLAIN : "",
               column + 1 < columns ? pad : 0, "");
    printf("%s", column + 1 < columns ? "  " : "\n");
}

static void print_nodes(const struct status *status)
{
    int widths[COLUMNS];
    struct row *rows = grow(NULL, status->node_count + status->failed_count, sizeof *rows);
    size_t count = make_rows(status, rows);
    putchar('\n');
    for (int k = 0; k < COLUMNS; k++) {
        widths[k] = width(0, strlen(heads[k]));
        for (size_t i = 0; i < count; i++)
            widths[k] = width(widths[k], strlen(rows[i].cell[k]));
        print_cell(heads[k], k, COLUMNS, widths[k]);
    }
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < COLUMNS; k++)
            print_cell(rows[i].cell[k], k, COLUMNS, widths[k]);
    free(rows);
}

static void print_elsewhere(const struct status *status)
{
    const struct node *first = first_answering(status);
    size_t known = status->failed_count;
    for (size_t i = 0; i < status->node_count; i++)
        known += failed_of(status, status->nodes[i].said.slot) == NULL;
    if (first == NULL || first->said.size <= known)
        return;
    size_t others = first->said.size - known;
    printf("%zu more node%s run%s on other hosts ('muster status' there shows %s).\n", others,
           others == 1 ? "" : "s", others == 1 ? "s" : "", others == 1 ? "it" : "them");
}

/* ---- jobs, and what needs attention ---- */

static void print_jobs(const struct status *status)
{
    if (status->job_count == 0)
        return;
    printf("\nJOB  RANKS  RUNNING  FAILED  EXITED\n");
    for (size_t i = 0; i < status->job_count; i++) {
        const struct job *job = &status->jobs[i];
        printf("%3u  %5u  %7" PRIu64 "  %6u  %6u\n", job->job, job->size, job->running, job->failed,
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
            printf("Warning: %s.\n", undecided_text(node->said.slot, silent, text));
    }
}

static void print_witnesses(const struct status *status)
{
    for (size_t i = 0; i < status->node_count; i++) {
        const struct node *node = &status->nodes[i];
        if (node->answers && !has_witness(node))
            printf(
                "Warning: node %u has no witness, so only missing heartbeats would show that its "
                "daemon failed.\n",
                node->said.slot);
    }
}

static void print_details(const struct status *status)
{
    bool any = status->failed_count > 0;
    for (size_t i = 0; i < status->job_count; i++)
        any = any || status->jobs[i].failed > 0;
    if (status->failed_count > 0)
        printf("\nDetails: 'muster events', 'muster why %u'.\n", status->failed[0].node);
    else if (any)
        printf("\nDetails: 'muster events'.\n");
}

static void print_words(const struct status *status)
{
    print_head(status);
    print_nodes(status);
    print_elsewhere(status);
    print_undecided(status);
    print_witnesses(status);
    print_jobs(status);
    print_details(status);
}

static void release(struct status *status)
{
    for (size_t i = 0; i < status->node_count; i++)
        free(status->nodes[i].counters);
    free(status->nodes);
    free(status->jobs);
    free(status->failed);
}

/* Returns the exit code. */
static int show_one(const struct operator_found *found, bool json)
{
    struct status status = {0};
    collect(&status, found);
    if (json)
        print_json(&status);
    else
        print_words(&status);
    int code = answering(&status) > 0 ? 0 : 1;
    release(&status);
    return code;
}

/* ---- several clusters ---- */

static const char *owner_text(uid_t owner, char text[32])
{
    const struct passwd *user = getpwuid(owner);
    if (user != NULL)
        snprintf(text, 32, "%s", user->pw_name);
    else
        snprintf(text, 32, "%u", owner);
    return text;
}

static const char *since_text(uint64_t up_ns, char text[32])
{
    time_t since = time(NULL) - (time_t)(up_ns / UINT64_C(1000000000));
    struct tm local;
    if (localtime_r(&since, &local) == NULL || strftime(text, 32, "%Y-%m-%d %H:%M:%S", &local) == 0)
        snprintf(text, 32, "-");
    return text;
}

static void list_words(const struct operator_summary *of)
{
    char id[OPERATOR_ID_DIGITS + 1], owner[32], since[32], nodes[32], pid[16] = "-";
    operator_id_text(of->id, id);
    if (of->launcher != 0)
        snprintf(pid, sizeof pid, "%d", (int)of->launcher);
    snprintf(nodes, sizeof nodes, "%u", of->nodes);
    printf("%-8s  %-10s  %-19s  %5s  %7s  %s\n", id, owner_text(of->owner, owner),
           of->answers ? since_text(of->up_ns, since) : "no answer", of->answers ? nodes : "-", pid,
           of->program[0] != '\0' ? of->program : "-");
}

static json_t *list_json(const struct operator_summary *of)
{
    char id[17], owner[32];
    json_t *object = json_object();
    snprintf(id, sizeof id, "%016" PRIx64, of->id);
    json_object_set_new(object, "cluster", json_string(id));
    json_object_set_new(object, "owner", json_string(owner_text(of->owner, owner)));
    json_object_set_new(object, "answers", json_boolean(of->answers));
    set_number(object, "up_ns", of->up_ns);
    set_number(object, "nodes", of->nodes);
    set_number(object, "nodes_failed", of->nodes_failed);
    set_number(object, "jobs", of->jobs);
    json_object_set_new(object, "program", json_string(of->program));
    set_number(object, "launcher_pid", (uint64_t)of->launcher);
    return object;
}

/* Returns the exit code. */
static int show_several(const struct operator_found *found, size_t clusters, bool json)
{
    json_t *object = json_object(), *list = json_array();
    size_t count = 0;
    if (!json) {
        printf("%zu clusters are running on this host; show one with --cluster ID.\n\n", clusters);
        printf("%-8s  %-10s  %-19s  %5s  %7s  %s\n", "CLUSTER", "OWNER", "SINCE", "NODES", "PID",
               "PROGRAM");
    }
    for (size_t i = 0; i < found->count; i += count) {
        struct operator_summary of;
        const struct operator_daemon *daemons = operator_cluster(found, i, &count);
        operator_summarize(daemons, count, &of);
        if (json)
            json_array_append_new(list, list_json(&of));
        else
            list_words(&of);
    }
    json_object_set_new(object, "clusters", list);
    if (json)
        output_json(object);
    else
        json_decref(object);
    return 0;
}

/* ---- the command ---- */

int cmd_status(int argc, char **argv)
{
    struct operator_choice choice = {0};
    bool json = false;
    const struct arg args[] = {
        OPERATOR_CHOICE_ARGS(choice),
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object, with all counters"},
    };
    const struct command command = {
        .path = "muster status",
        .about = "Show nodes and jobs of a running cluster, or list the clusters on this host.",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .exits = "0 success   1 no cluster, or no daemon answers   2 usage error",
    };
    args_parse(&command, argc, argv);

    struct operator_found found;
    if (!operator_find_all(&command, &choice, &found))
        return 1;
    size_t clusters = operator_keep(&found, NULL);
    int code = clusters == 1 ? show_one(&found, json) : show_several(&found, clusters, json);
    operator_free(&found);
    return code;
}
