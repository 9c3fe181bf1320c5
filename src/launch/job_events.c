/* What daemons say of a job, and what it means that one of them is silent for good. */
#include "launch/job_inside.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ends ---- */

static void end_rank(struct job *job, uint32_t rank, const struct mu_evidence *evidence)
{
    job->waiting -= job->ranks[rank].state == JOB_WAITING;
    job->ranks[rank].state = JOB_ENDED;
    job->left--;
    if (job->hooks.ended != NULL)
        job->hooks.ended(job->hooks.owner, rank, evidence);
}

static void end_stream(struct job *job, uint32_t rank, uint8_t stream)
{
    uint8_t bit = (uint8_t)(1u << (stream - 1));
    if ((job->ranks[rank].streams_ended & bit) != 0)
        return;
    job->ranks[rank].streams_ended |= bit;
    job->streams_left--;
    if (job->hooks.output_end != NULL)
        job->hooks.output_end(job->hooks.owner, rank, stream);
}

static void look_for_begun(struct job *job)
{
    if (job->begun || !job_has_begun(job))
        return;
    job->begun = true;
    if (job->hooks.begun != NULL)
        job->hooks.begun(job->hooks.owner);
}

/* Last in every callback: the hook may free the job. */
static void look_for_idle(struct job *job)
{
    if (job->idle || job->left > 0 || job->streams_left > 0)
        return;
    job->idle = true;
    if (job->hooks.idle != NULL)
        job->hooks.idle(job->hooks.owner);
}

static void look_for_connected(struct job *job)
{
    for (uint32_t i = 0; i < job->host_count; i++)
        if (!job->hosts[i].open && !job->hosts[i].lost)
            return;
    if (job->connected)
        return;
    job_hand_out(job);
    if (job->hooks.connected != NULL)
        job->hooks.connected(job->hooks.owner);
}

static uint32_t left_at(const struct job_host *host)
{
    uint32_t left = 0;
    for (uint32_t rank = 0; rank < host->job->size; rank++)
        left +=
            host->job->ranks[rank].node == host->slot && host->job->ranks[rank].state != JOB_ENDED;
    return left;
}

/* All that this node still had is over, for this reason. */
static void end_host(struct job_host *host, const struct mu_evidence *evidence)
{
    struct job *job = host->job;
    for (uint32_t rank = 0; rank < job->size; rank++) {
        if (job->ranks[rank].node != host->slot)
            continue;
        end_stream(job, rank, 1);
        end_stream(job, rank, 2);
        if (job->ranks[rank].state != JOB_ENDED) {
            struct mu_evidence own = *evidence;
            own.pid = job->ranks[rank].pid;
            end_rank(job, rank, &own);
        }
    }
}

static void end_lost(struct job_host *host, const char *text)
{
    struct job *job = host->job;
    host->conn = NULL;
    host->lost = true;
    job->hosts_lost++;
    if (job->words != NULL)
        words_lost(job->words, host->slot);
    if (left_at(host) > 0 && job->hooks.node_lost != NULL)
        job->hooks.node_lost(job->hooks.owner, host->slot, text);
    struct mu_evidence evidence = {.verdict = MU_VERDICT_DEAD,
                                   .cause = MU_CAUSE_NODE_LOST,
                                   .seen_by = MU_SLOT_NONE,
                                   .node = host->slot};
    end_host(host, &evidence);
}

/* What the daemons know to be dead is dead for its job, too, whether or not it would still speak to
 * us.  Nobody else can end what it was to do: it may be stopped for ever.  If it lives it is to
 * know: of two halves that have declared each other, nobody else would say so. */
static void lose_declared(struct job_host *host, const struct mu_evidence *evidence)
{
    char text[MU_EVIDENCE_TEXT_MAX];
    mu_evidence_text(evidence, text, sizeof text);
    mu_conn_refuse(host->conn, MU_REFUSE_DEAD, "the other nodes have declared this one dead");
    end_lost(host, text);
}

static void say_declared(struct job *job, mu_slot node, const struct mu_evidence *evidence)
{
    if (job->hooks.declared != NULL)
        job->hooks.declared(job->hooks.owner, node, evidence);
}

/* All of whom a word counts by now.  A node without the job has nothing to lose here. */
static void lose_all_declared(struct job *job)
{
    const struct mu_evidence *evidence;
    mu_slot node;
    if (job->words == NULL)
        return;
    while ((evidence = words_next(job->words, job->host_count, &node)) != NULL) {
        say_declared(job, node, evidence);
        if (job_hosts(job, node))
            lose_declared(job_host_of(job, node), evidence);
        else
            words_lost(job->words, node);
    }
}

static bool is_lost(struct job *job, mu_slot node)
{
    return job->host_at[node] != JOB_NO_HOST && job_host_of(job, node)->lost;
}

static void take_word(struct job *job, const struct job_told *told)
{
    if (job->words == NULL || told->node == told->by || is_lost(job, told->node)) {
        say_declared(job, told->node, told->evidence);
    } else if (words_take(job->words, told->by, told->node, told->evidence)) {
        lose_all_declared(job);
    } else { /* no memory to compare it with others */
        say_declared(job, told->node, told->evidence);
        if (job_hosts(job, told->node))
            lose_declared(job_host_of(job, told->node), told->evidence);
    }
}

static void lose(struct job_host *host, const char *text)
{
    struct job *job = host->job;
    end_lost(host, text);
    lose_all_declared(job);
    look_for_connected(job);
    look_for_begun(job);
    look_for_idle(job);
}

static void refuse(struct job_host *host, const char *text)
{
    struct job *job = host->job;
    host->refused = true;
    if (job->hooks.refused != NULL && host->has_ranks) /* else the job does without it */
        job->hooks.refused(job->hooks.owner, host->slot, text);
    struct mu_evidence evidence = {.verdict = MU_VERDICT_DEAD,
                                   .cause = MU_CAUSE_EXIT,
                                   .seen_by = host->slot,
                                   .node = host->slot,
                                   .how = mu_exit_kind_not_started(MU_START_CLONE, EAGAIN)};
    end_host(host, &evidence);
}

/* ---- messages ---- */

static void take_output(struct job_host *host, uint32_t rank, uint8_t stream, const uint8_t *bytes,
                        uint32_t count)
{
    struct job *job = host->job;
    bool done = job->hooks.output == NULL ||
                job->hooks.output(job->hooks.owner, rank, stream, bytes, count);
    if (done)
        job_credit(job, host->slot, count);
}

/* The rank that a message is about, when it is of this node and has not got that far; else the
 * rule that is broken. */
static const char *rank_error(const struct job_host *host, const struct mu_launch_message *message)
{
    const struct job *job = host->job;
    uint32_t rank = message->type == MU_LAUNCH_STARTED ? message->started.rank
                    : message->type == MU_LAUNCH_ENDED ? message->ended.rank
                    : message->type == MU_LAUNCH_BOUND ? message->bound.rank
                                                       : message->data.rank;
    if (rank >= job->size || job->ranks[rank].node != host->slot)
        return "a message about a process that is not on that node";
    const struct job_rank *at = &job->ranks[rank];
    if (message->type == MU_LAUNCH_STARTED && at->state != JOB_WAITING)
        return "a process that started twice";
    if (message->type == MU_LAUNCH_ENDED && at->state == JOB_ENDED)
        return "a process that ended twice";
    bool of_stream = message->type == MU_LAUNCH_OUTPUT || message->type == MU_LAUNCH_OUTPUT_END;
    if (of_stream && (at->streams_ended & 1u << (message->data.stream - 1)) != 0)
        return "output after its end";
    return NULL;
}

static void take_told(struct job_host *host, const struct mu_launch_message *message)
{
    struct job *job = host->job;
    const struct job_told told = {.by = host->slot,
                                  .is_node = message->told.is_node,
                                  .rank = message->told.rank,
                                  .node = message->told.node,
                                  .hops = message->told.hops,
                                  .age_ns = message->told.age_ns,
                                  .evidence = &message->told.evidence};
    bool known = told.is_node ? told.node < machine_nodes(job->machine) : told.rank < job->size;
    if (known && job->hooks.told != NULL)
        job->hooks.told(job->hooks.owner, &told);
    if (known && told.is_node)
        take_word(job, &told);
}

/* NULL, or the rule that it breaks. */
static const char *take(struct job_host *host, const struct mu_launch_message *message)
{
    struct job *job = host->job;
    const char *error;
    switch ((enum mu_launch_type)message->type) {
    case MU_LAUNCH_STARTED:
    case MU_LAUNCH_ENDED:
    case MU_LAUNCH_OUTPUT:
    case MU_LAUNCH_OUTPUT_END:
    case MU_LAUNCH_BOUND:
        error = host->refused ? "news of a job that it refused" : rank_error(host, message);
        if (error != NULL)
            return error;
        break;
    default:
        break;
    }
    switch ((enum mu_launch_type)message->type) {
    case MU_LAUNCH_STARTED:
        job->waiting--;
        job->ranks[message->started.rank].state = JOB_RUNNING;
        job->ranks[message->started.rank].pid = message->started.pid;
        if (job->hooks.started != NULL)
            job->hooks.started(job->hooks.owner, message->started.rank, message->started.pid);
        return NULL;
    case MU_LAUNCH_ENDED:
        end_rank(job, message->ended.rank, &message->ended.evidence);
        return NULL;
    case MU_LAUNCH_OUTPUT:
        take_output(host, message->data.rank, message->data.stream, message->data.bytes,
                    message->data.count);
        return NULL;
    case MU_LAUNCH_OUTPUT_END:
        end_stream(job, message->data.rank, message->data.stream);
        return NULL;
    case MU_LAUNCH_INPUT_CREDIT:
        if (job->hooks.input_room != NULL)
            job->hooks.input_room(job->hooks.owner, message->credit.bytes);
        return NULL;
    case MU_LAUNCH_BOUND:
        if (job->hooks.bound != NULL)
            job->hooks.bound(job->hooks.owner, message->bound.rank, message->bound.text);
        return NULL;
    case MU_LAUNCH_TOLD:
        take_told(host, message);
        return NULL;
    case MU_LAUNCH_REFUSED:
        if (!host->refused)
            refuse(host, message->refused.text);
        return NULL;
    case MU_LAUNCH_READY:
        host->ready = true;
        return NULL;
    case MU_LAUNCH_SPAWN:
        if (message->spawn.rank >= job->size || job->ranks[message->spawn.rank].node != host->slot)
            return "a request by a process that is not on that node";
        if (job->hooks.spawn != NULL)
            job->hooks.spawn(job->hooks.owner, host->slot, message->spawn.number,
                             message->spawn.rank, &message->spawn.spec);
        else
            job_answer(job, host->slot, message->spawn.number, 0, "this launcher starts one job");
        return NULL;
    case MU_LAUNCH_ASK:
        job_take_ask(host, &message->reach);
        return NULL;
    case MU_LAUNCH_PONG:
        job_take_pong(host, &message->reach);
        return NULL;
    case MU_LAUNCH_PING:
    case MU_LAUNCH_REACH:
    case MU_LAUNCH_SPAWNED:
    case MU_LAUNCH_JOB:
    case MU_LAUNCH_SIGNAL:
    case MU_LAUNCH_STOP:
    case MU_LAUNCH_OVER:
    case MU_LAUNCH_INPUT:
    case MU_LAUNCH_CREDIT:
        return "a message that only a launcher sends";
    }
    return "a message of an unknown type";
}

/* ---- the connection ---- */

static void on_known(struct mu_conn *conn)
{
    mu_conn_accept(conn, 0);
}

/* The job is not handed out before all connections are there: a node that heard of a death in a job
 * before it has that job could not say whom it told. */
static void on_open(struct mu_conn *conn)
{
    struct job_host *host = mu_conn_owner(conn);
    host->open = true;
    if (host->job->connected)
        job_hand_late(host);
    else
        look_for_connected(host->job);
}

static void on_frame(struct mu_conn *conn, const uint8_t *bytes, size_t count)
{
    struct job_host *host = mu_conn_owner(conn);
    struct mu_launch_message message;
    struct mu_launch_lists lists = {NULL};
    char rule[MU_WIRE_TEXT_MAX], text[MACHINE_TEXT_MAX];
    const char *error = mu_launch_decode(bytes, count, &message, &lists, rule);
    if (error == NULL && message.job != host->job->number)
        error = "a message about another job";
    if (error == NULL)
        error = take(host, &message);
    mu_launch_lists_free(&lists);
    if (error == NULL) {
        look_for_begun(host->job);
        look_for_idle(host->job);
        return;
    }
    mu_conn_drop(conn);
    snprintf(text, sizeof text, "invalid message from its daemon: %s", error);
    lose(host, text);
}

static void on_closed(struct mu_conn *conn, const struct mu_conn_end *end)
{
    struct job_host *host = mu_conn_owner(conn);
    char text[MACHINE_TEXT_MAX];
    switch (end->ending) {
    case MU_CONN_GOODBYE:
        host->left = true;
        snprintf(text, sizeof text, "its daemon ended");
        break;
    case MU_CONN_CUT:
        snprintf(text, sizeof text, "its connection was lost");
        break;
    case MU_CONN_REFUSED:
        snprintf(text, sizeof text, "its daemon refused the connection: %s", end->text);
        break;
    case MU_CONN_BAD:
    case MU_CONN_NOBODY:
    case MU_CONN_UNREACHED:
        snprintf(text, sizeof text, "its connection failed: %s", end->text);
        break;
    }
    lose(host, text);
}

const struct mu_conn_hooks job_conn_hooks = {
    .known = on_known, .open = on_open, .frame = on_frame, .closed = on_closed};
