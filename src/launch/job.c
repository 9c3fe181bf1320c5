#include "launch/job.h"

#include "launch/job_inside.h"
#include "launch/map.h"
#include "host/cores.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CREDIT_MAX = 1024 * 1024, /* bytes of output on their way from one node */
    CREDIT_MIN = 64 * 1024,
    CREDIT_SUM = 64 * 1024 * 1024, /* from all */
    BUFFER_BYTES = MU_LAUNCH_DATA_FIXED + MU_LAUNCH_CHUNK_MAX,
    PING_QUEUE_MAX = 4096, /* bytes that a daemon has not taken: it has pings enough */
};

static const char *const no_strings[] = {NULL};

/* ---- words to the daemons ---- */

static void send_message(struct job_host *host, struct mu_launch_message *message)
{
    struct job *job = host->job;
    struct mu_writer writer;
    if (host->conn == NULL || !host->open || !job->connected)
        return; /* it is lost, or does not have the job yet */
    message->job = job->number;
    mu_writer_init(&writer, job->buffer, BUFFER_BYTES);
    mu_launch_encode(&writer, message);
    assert(!writer.full);
    mu_conn_send(host->conn, writer.bytes, writer.used);
}

static void send_all(struct job *job, struct mu_launch_message *message)
{
    for (uint32_t i = 0; i < job->host_count; i++)
        send_message(&job->hosts[i], message);
}

void job_signal(struct job *job, int number)
{
    send_all(job, &(struct mu_launch_message){.type = MU_LAUNCH_SIGNAL,
                                              .signal = {.number = (uint8_t)number}});
}

void job_stop(struct job *job, uint32_t grace_ms)
{
    job->stopped = true;
    job->grace_ms = grace_ms;
    send_all(job,
             &(struct mu_launch_message){.type = MU_LAUNCH_STOP, .stop = {.grace_ms = grace_ms}});
}

bool job_stopped(const struct job *job)
{
    return job->stopped;
}

void job_input(struct job *job, const uint8_t *bytes, uint32_t count)
{
    struct mu_launch_message message = {.type = MU_LAUNCH_INPUT,
                                        .data = {.rank = 0, .count = count, .bytes = bytes}};
    send_message(job_host_of(job, job->ranks[0].node), &message);
}

void job_credit(struct job *job, mu_slot node, uint64_t bytes)
{
    struct job_host *host = job_host_of(job, node);
    host->owed += bytes;
    if (host->owed < job->credit / 4)
        return;
    send_message(host, &(struct mu_launch_message){.type = MU_LAUNCH_CREDIT,
                                                   .credit = {.bytes = host->owed}});
    host->owed = 0;
}

size_t job_queued(const struct job *job)
{
    size_t queued = 0;
    for (uint32_t i = 0; i < job->host_count; i++)
        if (job->hosts[i].conn != NULL)
            queued += mu_conn_queued(job->hosts[i].conn);
    return queued;
}

void job_hand_out(struct job *job)
{
    job->connected = true;
    for (uint32_t i = 0; i < job->host_count; i++)
        if (job->hosts[i].conn != NULL)
            mu_conn_send(job->hosts[i].conn, job->orders, job->orders_count);
    if (job->stopped)
        job_stop(job, job->grace_ms);
}

void job_hand_late(struct job_host *host)
{
    struct job *job = host->job;
    mu_conn_send(host->conn, job->orders, job->orders_count);
    if (job->stopped)
        send_message(host, &(struct mu_launch_message){.type = MU_LAUNCH_STOP,
                                                       .stop = {.grace_ms = job->grace_ms}});
}

void job_answer(struct job *job, mu_slot node, uint32_t number, uint32_t made, const char *text)
{
    char printable[MU_LAUNCH_TEXT_MAX + 1];
    snprintf(printable, sizeof printable, "%s", text);
    for (char *at = printable; *at != '\0'; at++)
        if (*at < 0x20 || *at > 0x7e)
            *at = '?';
    struct mu_launch_message message = {
        .type = MU_LAUNCH_SPAWNED, .spawned = {.number = number, .job = made, .text = printable}};
    send_message(job_host_of(job, node), &message);
}

/* ---- the last helper of a ring ----
 *
 * Nothing is kept for it.  Of two nodes that declare each other, the one whose word comes first
 * goes on: the other one is lost from then on, and not listened to.  The last one is told so. */

static void say_reach(struct job_host *host, const struct mu_launch_reach *asked, uint8_t reach,
                      uint64_t clock_ns)
{
    struct mu_launch_message message = {.type = MU_LAUNCH_REACH, .reach = *asked};
    message.reach.reach = reach;
    message.reach.clock_ns = clock_ns;
    send_message(host, &message);
}

/* All other nodes are lost to this job, and lost for good. */
static bool is_last(const struct job *job, const struct job_host *host)
{
    return job->host_count == machine_nodes(job->machine) && job_live_nodes(job) == 1 &&
           !host->lost;
}

/* Of a node without a connection to here nothing can be said. */
void job_take_ask(struct job_host *host, const struct mu_launch_reach *ask)
{
    struct job *job = host->job;
    if (ask->other >= machine_nodes(job->machine) || job->host_at[ask->other] == JOB_NO_HOST)
        return;
    struct job_host *subject = job_host_of(job, ask->other);
    if (subject->conn == NULL) {
        say_reach(host, ask, is_last(job, host) ? MU_LAUNCH_CHOSE : MU_LAUNCH_UNREACHED, 0);
        return;
    }
    struct mu_launch_message ping = {.type = MU_LAUNCH_PING, .reach = *ask};
    ping.reach.other = host->slot;
    if (mu_conn_queued(subject->conn) <= PING_QUEUE_MAX)
        send_message(subject, &ping);
    say_reach(host, ask, MU_LAUNCH_TRYING, 0);
}

void job_take_pong(struct job_host *host, const struct mu_launch_reach *pong)
{
    struct job *job = host->job;
    struct mu_launch_reach answer = *pong;
    if (pong->other >= machine_nodes(job->machine) || job->host_at[pong->other] == JOB_NO_HOST)
        return;
    answer.other = host->slot;
    say_reach(job_host_of(job, pong->other), &answer, MU_LAUNCH_HEARD, pong->clock_ns);
}

/* ---- the beginning ---- */

static uint32_t sum(const struct job_config *config)
{
    uint64_t ranks = 0;
    for (uint32_t i = 0; i < config->program_count; i++)
        ranks += config->programs[i].count;
    assert(ranks > 0 && ranks <= MU_LAUNCH_RANKS_MAX);
    return (uint32_t)ranks;
}

static bool make_runs(struct job *job, const struct job_config *config)
{
    uint32_t nodes = machine_nodes(config->machine);
    uint32_t room = config->runs != NULL ? config->run_count : nodes;
    job->runs = calloc(room, sizeof *job->runs);
    job->ranks = calloc(job->size, sizeof *job->ranks);
    job->hosts = calloc(nodes, sizeof *job->hosts);
    job->host_at = calloc(nodes, sizeof *job->host_at);
    job->buffer = malloc(BUFFER_BYTES);
    if (job->runs == NULL || job->ranks == NULL || job->hosts == NULL || job->host_at == NULL ||
        job->buffer == NULL)
        return false;
    if (config->lose_declared && (job->words = words_new(nodes)) == NULL)
        return false;
    if (config->runs != NULL) {
        memcpy(job->runs, config->runs, room * sizeof *job->runs);
        job->run_count = room;
    } else {
        job->run_count = map_blocks(job->size, nodes, job->runs);
    }
    return true;
}

uint8_t job_choose_binding(uint8_t wanted, const struct mu_launch_run *runs, uint32_t run_count,
                           uint32_t nodes)
{
    struct mu_spawn_cpus allowed; /* the daemons' too: they are our children */
    if (wanted != MU_LAUNCH_PART)
        return wanted;
    bool is_even = nodes > 1 && mu_cores_allowed(&allowed) &&
                   map_is_even(runs, run_count, nodes, mu_cores_count(&allowed));
    return is_even ? MU_LAUNCH_PART : MU_LAUNCH_UNBOUND;
}

static void add_host(struct job *job, mu_slot slot, bool has_ranks)
{
    job->host_at[slot] = job->host_count;
    job->hosts[job->host_count++] =
        (struct job_host){.job = job, .slot = slot, .has_ranks = has_ranks};
}

static void make_hosts(struct job *job, const bool *also)
{
    uint32_t nodes = machine_nodes(job->machine);
    for (uint32_t i = 0; i < nodes; i++)
        job->host_at[i] = JOB_NO_HOST;
    for (uint32_t i = 0; i < job->run_count; i++) {
        const struct mu_launch_run *run = &job->runs[i];
        assert(run->slot < nodes && run->first + run->count <= job->size);
        if (job->host_at[run->slot] == JOB_NO_HOST)
            add_host(job, run->slot, true);
        for (uint32_t k = 0; k < run->count; k++)
            job->ranks[run->first + k].node = run->slot;
    }
    for (uint32_t i = 0; also != NULL && i < nodes; i++)
        if (also[i] && job->host_at[i] == JOB_NO_HOST)
            add_host(job, i, false);
    uint64_t credit = CREDIT_SUM / job->host_count;
    job->credit = credit > CREDIT_MAX ? CREDIT_MAX : credit < CREDIT_MIN ? CREDIT_MIN : credit;
    job->left = job->waiting = job->size;
    job->streams_left = 2 * job->size;
}

/* The JOB message, the same for every node. */
static bool write_orders(struct job *job, const struct job_config *config,
                         char text[MACHINE_TEXT_MAX])
{
    char rule[MU_WIRE_TEXT_MAX];
    struct mu_writer writer;
    struct mu_launch_program *programs = calloc(config->program_count, sizeof *programs);
    if (programs == NULL) {
        snprintf(text, MACHINE_TEXT_MAX, "no memory for %u programs", config->program_count);
        return false;
    }
    for (uint32_t i = 0, first = 0; i < config->program_count; i++) {
        const struct job_program *program = &config->programs[i];
        programs[i] = (struct mu_launch_program){
            .first = first,
            .count = program->count,
            .directory = program->directory,
            .argv = program->argv,
            .envp = program->envp != NULL ? program->envp : no_strings,
        };
        first += program->count;
    }
    struct mu_launch_message message = {
        .type = MU_LAUNCH_JOB,
        .job = job->number,
        .spec = {.size = job->size,
                 .ignore_sigpipe = config->ignore_sigpipe,
                 .binding = job->binding,
                 .report_bindings = config->report_bindings,
                 .pmi = config->pmi,
                 .input_rank = config->input ? 0 : MU_RANK_NONE,
                 .run_count = job->run_count,
                 .runs = job->runs,
                 .program_count = config->program_count,
                 .programs = programs,
                 .envp = config->envp != NULL ? config->envp : no_strings,
                 .credit = job->credit,
                 .parent = config->parent},
    };
    const char *error = mu_launch_error(&message, rule);
    mu_writer_init(&writer, NULL, SIZE_MAX);
    if (error == NULL)
        mu_launch_encode(&writer, &message);
    if (error != NULL) {
        snprintf(text, MACHINE_TEXT_MAX, "the job cannot be started: %s", error);
    } else if (writer.used > MU_LAUNCH_MESSAGE_MAX) {
        snprintf(text, MACHINE_TEXT_MAX,
                 "arguments, environment and map of the job take %zu bytes, and %d is the most",
                 writer.used, MU_LAUNCH_MESSAGE_MAX);
    } else if ((job->orders = malloc(writer.used)) == NULL) {
        snprintf(text, MACHINE_TEXT_MAX, "no memory for a message of %zu bytes", writer.used);
    } else {
        job->orders_count = writer.used;
        mu_writer_init(&writer, job->orders, job->orders_count);
        mu_launch_encode(&writer, &message);
        assert(!writer.full);
    }
    free(programs);
    return job->orders != NULL;
}

static bool dial(struct job_host *host, char text[MACHINE_TEXT_MAX])
{
    struct machine *machine = host->job->machine;
    host->conn = mu_conn_dial(machine_net(machine), machine_address(machine, host->slot),
                              host->slot, MU_SEAL_LAUNCHER, &job_conn_hooks, host);
    if (host->conn == NULL)
        snprintf(text, MACHINE_TEXT_MAX, "node %u (%s) cannot be called: %s", host->slot,
                 machine_name(machine, host->slot), strerror(errno));
    return host->conn != NULL;
}

static bool dial_hosts(struct job *job, char text[MACHINE_TEXT_MAX])
{
    for (uint32_t i = 0; i < job->host_count; i++)
        if (!dial(&job->hosts[i], text))
            return false;
    return true;
}

struct job *job_start(const struct job_config *config, char text[MACHINE_TEXT_MAX])
{
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        snprintf(text, MACHINE_TEXT_MAX, "no memory for a job");
        return NULL;
    }
    job->machine = config->machine;
    job->hooks = config->hooks;
    job->size = sum(config);
    if (!make_runs(job, config)) {
        snprintf(text, MACHINE_TEXT_MAX, "no memory for a job of %u processes", job->size);
        job_free(job);
        return NULL;
    }
    make_hosts(job, config->also);
    assert(machine_shares_host(config->machine) || config->binding != MU_LAUNCH_PART);
    job->binding = job_choose_binding(config->binding, job->runs, job->run_count,
                                      machine_nodes(config->machine));
    job->number = machine_next_job(job->machine);
    if (write_orders(job, config, text) && dial_hosts(job, text))
        return job;
    job_free(job);
    return NULL;
}

bool job_extend(struct job *job, mu_slot node, char text[MACHINE_TEXT_MAX])
{
    if (job->host_at[node] != JOB_NO_HOST)
        return true;
    add_host(job, node, false);
    if (!dial(job_host_of(job, node), text)) {
        job->host_at[node] = JOB_NO_HOST;
        job->host_count--;
        return false;
    }
    job->begun = false;
    return true;
}

/* ---- the end ---- */

void job_finish(struct job *job)
{
    assert(job->idle);
    send_all(job, &(struct mu_launch_message){.type = MU_LAUNCH_OVER});
    for (uint32_t i = 0; i < job->host_count; i++) {
        if (job->hosts[i].conn != NULL)
            mu_conn_bye(job->hosts[i].conn);
        job->hosts[i].conn = NULL;
    }
}

void job_free(struct job *job)
{
    if (job == NULL)
        return;
    for (uint32_t i = 0; i < job->host_count; i++)
        if (job->hosts[i].conn != NULL)
            mu_conn_drop(job->hosts[i].conn);
    free(job->orders);
    free(job->runs);
    free(job->ranks);
    free(job->hosts);
    free(job->host_at);
    free(job->buffer);
    words_free(job->words);
    free(job);
}

/* ---- what it knows ---- */

uint8_t job_binding(const struct job *job)
{
    return job->binding;
}

uint32_t job_number(const struct job *job)
{
    return job->number;
}

uint32_t job_size(const struct job *job)
{
    return job->size;
}

uint32_t job_left(const struct job *job)
{
    return job->left;
}

uint32_t job_node_count(const struct job *job)
{
    return job->host_count;
}

uint32_t job_live_nodes(const struct job *job)
{
    return job->host_count - job->hosts_lost;
}

mu_slot job_node_of(const struct job *job, uint32_t rank)
{
    return job->ranks[rank].node;
}

bool job_has_begun(const struct job *job)
{
    if (job->waiting > 0)
        return false;
    for (uint32_t i = 0; i < job->host_count; i++) {
        const struct job_host *host = &job->hosts[i];
        if (!host->has_ranks && !host->ready && !host->lost && !host->refused)
            return false;
    }
    return true;
}

bool job_turned_away(const struct job *job, mu_slot node)
{
    if (job->host_at[node] == JOB_NO_HOST)
        return false;
    const struct job_host *host = &job->hosts[job->host_at[node]];
    return host->lost || host->refused;
}

bool job_hosts(const struct job *job, mu_slot node)
{
    return node < machine_nodes(job->machine) && job->host_at[node] != JOB_NO_HOST &&
           !job->hosts[job->host_at[node]].lost;
}

bool job_node_left(const struct job *job, mu_slot node)
{
    return job->host_at[node] != JOB_NO_HOST && job->hosts[job->host_at[node]].left;
}

uint32_t job_pid(const struct job *job, uint32_t rank)
{
    return job->ranks[rank].pid;
}

enum job_state job_state(const struct job *job, uint32_t rank)
{
    return (enum job_state)job->ranks[rank].state;
}
