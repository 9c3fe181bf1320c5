/* What an operator asks for, and is answered, packet by packet: STATUS, and orders that are done or
 * cannot be.  Who watches is told events as a member is: client.c. */
#include "daemon/programs/inside.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what it asks ---- */

/* What an operator asked for was done, or cannot be. */
static void answer(struct mu_client *client, const char *why_not)
{
    client->step = why_not == NULL ? MU_STEP_DONE : MU_STEP_CANNOT;
    if (why_not != NULL)
        snprintf(client->why_not, sizeof client->why_not, "%s", why_not);
}

bool mu_operator_asks(struct mu_client *client, const struct mu_local_message *message)
{
    const struct mu_notify_hooks *hooks = &client->notify->config.hooks;
    switch ((enum mu_local_type)message->type) {
    case MU_LOCAL_STATUS:
        client->step = MU_STEP_NODE;
        client->job_told = 0;
        client->counters_told = client->gone_told = 0;
        return true;
    case MU_LOCAL_KILL:
        answer(client, hooks->kill(hooks->owner, message->kill.job, message->kill.signal));
        return true;
    case MU_LOCAL_SET:
        answer(client, hooks->set(hooks->owner, message->set.period_ns, message->set.timeout_ns));
        return true;
    case MU_LOCAL_CHAOS:
        client->holds = true;
        answer(client, hooks->chaos(hooks->owner, &message->chaos, client->since));
        return true;
    case MU_LOCAL_WATCH:
        client->step = MU_STEP_STATE;
        client->cursor = mu_journal_oldest(&client->notify->journal);
        return true;
    default:
        return false;
    }
}

/* ---- what it is answered ---- */

static size_t encode_node(struct mu_client *client)
{
    const struct mu_notify *notify = client->notify;
    struct mu_local_message message = {.type = MU_LOCAL_NODE};
    notify->config.hooks.node(notify->config.hooks.owner, &message.node);
    message.node.jobs = notify->config.roll->job_count;
    return mu_client_encode(client, &message);
}

static const struct mu_roll_job *next_job(const struct mu_client *client)
{
    const struct mu_roll_job *job = client->notify->config.roll->jobs;
    while (job != NULL && job->order <= client->job_told)
        job = job->next;
    return job;
}

static size_t encode_job(struct mu_client *client)
{
    const struct mu_roll_job *job = next_job(client);
    if (job == NULL) {
        client->step = MU_STEP_COUNTERS;
        return 0;
    }
    struct mu_local_message message = {
        .type = MU_LOCAL_JOB,
        .job = {.job = job->number,
                .size = job->spec.size,
                .failed = job->failed,
                .left = job->left},
    };
    for (uint32_t i = 0; i < job->here_count; i++)
        message.job.here += job->here[i].pid != 0;
    return mu_client_encode(client, &message);
}

/* The job that was told last, if it is still there. */
static const struct mu_roll_job *last_job(const struct mu_client *client)
{
    const struct mu_roll_job *job = client->notify->config.roll->jobs;
    while (job != NULL && job->order != client->job_told)
        job = job->next;
    return job;
}

static size_t encode_process(struct mu_client *client)
{
    const struct mu_roll_job *job = last_job(client);
    while (job != NULL && client->here_told < job->here_count &&
           job->here[client->here_told].pid == 0)
        client->here_told++;
    if (job == NULL || client->here_told >= job->here_count) {
        client->step = MU_STEP_JOBS;
        return 0;
    }
    const struct mu_roll_here *here = &job->here[client->here_told];
    return mu_client_encode(client, &(struct mu_local_message){.type = MU_LOCAL_PROCESS,
                                                               .process = {here->rank, here->pid}});
}

/* The i-th counter: our own first.  False: there are no more. */
static bool counter(const struct mu_notify *notify, uint32_t i, const char **name, uint64_t *value)
{
    const struct {
        const char *name;
        uint64_t value;
    } own[] = {
        {"clients", notify->accepted},
        {"clients_refused", notify->refused},
        {"events", notify->journal.head},
        {"events_lost", notify->lost},
        {"events_ignored", notify->config.roll->ignored},
    };
    enum { OWN = sizeof own / sizeof own[0] };
    if (i >= OWN)
        return notify->config.hooks.counter(notify->config.hooks.owner, i - OWN, name, value);
    *name = own[i].name;
    *value = own[i].value;
    return true;
}

static size_t encode_counter(struct mu_client *client)
{
    struct mu_local_message message = {.type = MU_LOCAL_COUNTER};
    const char *name;
    if (!counter(client->notify, client->counters_told, &name, &message.counter.value)) {
        client->step = MU_STEP_GONE;
        return 0;
    }
    snprintf(message.counter.name, sizeof message.counter.name, "%s", name);
    return mu_client_encode(client, &message);
}

static size_t encode_vanished(struct mu_client *client)
{
    const struct mu_notify_hooks *hooks = &client->notify->config.hooks;
    struct mu_local_message message = {.type = MU_LOCAL_GONE};
    if (hooks->gone(hooks->owner, client->gone_told, &message.gone))
        return mu_client_encode(client, &message);
    client->step = MU_STEP_DONE;
    return 0;
}

static size_t encode_cannot(struct mu_client *client)
{
    struct mu_local_message message = {.type = MU_LOCAL_REFUSED, .refused.code = MU_LOCAL_CANNOT};
    snprintf(message.refused.text, sizeof message.refused.text, "%s", client->why_not);
    return mu_client_encode(client, &message);
}

size_t mu_operator_packet(struct mu_client *client)
{
    switch (client->step) {
    case MU_STEP_NODE:
        return encode_node(client);
    case MU_STEP_JOBS:
        return encode_job(client);
    case MU_STEP_PROCESSES:
        return encode_process(client);
    case MU_STEP_COUNTERS:
        return encode_counter(client);
    case MU_STEP_GONE:
        return encode_vanished(client);
    case MU_STEP_CANNOT:
        return encode_cannot(client);
    default:
        assert(client->step == MU_STEP_DONE);
        return mu_client_encode(client, &(struct mu_local_message){.type = MU_LOCAL_DONE});
    }
}

void mu_operator_sent(struct mu_client *client)
{
    switch (client->step) {
    case MU_STEP_NODE:
        client->step = MU_STEP_JOBS;
        return;
    case MU_STEP_JOBS:
        client->job_told = next_job(client)->order;
        client->here_told = 0;
        client->step = MU_STEP_PROCESSES;
        return;
    case MU_STEP_PROCESSES:
        client->here_told++;
        return;
    case MU_STEP_COUNTERS:
        client->counters_told++;
        return;
    case MU_STEP_GONE:
        client->gone_told++;
        return;
    default: /* DONE, CANNOT */
        client->step = MU_STEP_IDLE;
    }
}
