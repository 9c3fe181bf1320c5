/* A launcher's connection: what it says, and the job that it brings. */
#include "daemon/jobs/inside.h"
#include "daemon/roll/roll.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void send_to(struct mu_job_launcher *launcher, const struct mu_launch_message *message)
{
    struct mu_writer writer;
    mu_writer_init(&writer, launcher->jobs->buffer, MU_JOBS_BUFFER);
    mu_launch_encode(&writer, message);
    assert(!writer.full);
    mu_conn_send(launcher->conn, writer.bytes, writer.used);
}

void mu_job_send(struct mu_job *job, const struct mu_launch_message *message)
{
    if (job->launcher != NULL)
        send_to(job->launcher, message);
}

void mu_job_say_ready(struct mu_job *job)
{
    if (job->count == 0 && !job->held)
        mu_job_send(job, &(struct mu_launch_message){.type = MU_LAUNCH_READY, .job = job->number});
}

const char *mu_jobs_spawn(struct mu_jobs *jobs, uint32_t number, uint32_t rank, uint32_t wish,
                          const struct mu_launch_job *spec)
{
    struct mu_job *job = mu_jobs_find(jobs, number);
    struct mu_launch_message message = {.type = MU_LAUNCH_SPAWN,
                                        .job = number,
                                        .spawn = {.number = wish, .rank = rank, .spec = *spec}};
    struct mu_writer writer;
    static char text[MU_WIRE_TEXT_MAX];
    if (job == NULL || job->launcher == NULL || job->stopping)
        return "the job is ending";
    const char *rule = mu_launch_error(&message, text);
    if (rule != NULL)
        return rule;
    mu_writer_init(&writer, NULL, SIZE_MAX);
    mu_launch_encode(&writer, &message);
    if (writer.used > MU_LAUNCH_MESSAGE_MAX) {
        snprintf(text, sizeof text,
                 "its arguments and environment take %zu bytes, and %d is the most", writer.used,
                 MU_LAUNCH_MESSAGE_MAX);
        return text;
    }
    uint8_t *bytes = malloc(writer.used);
    if (bytes == NULL)
        return "no memory for the message to the launcher";
    mu_writer_init(&writer, bytes, writer.used);
    mu_launch_encode(&writer, &message);
    mu_conn_send(job->launcher->conn, writer.bytes, writer.used);
    free(bytes);
    return NULL;
}

/* ---- a launcher as the ring's last helper ---- */

void mu_jobs_ask_launcher(struct mu_jobs *jobs, mu_slot subject, uint64_t nonce, uint64_t stamp_ns)
{
    struct mu_launch_message message = {
        .type = MU_LAUNCH_ASK, .reach = {.other = subject, .nonce = nonce, .stamp_ns = stamp_ns}};
    for (struct mu_job_launcher *at = jobs->launchers; at != NULL; at = at->next)
        if (at->job != NULL) {
            message.job = at->job->number;
            send_to(at, &message);
        }
}

static void on_ping(struct mu_job *job, const struct mu_launch_reach *ping)
{
    const struct mu_jobs_hooks *hooks = &job->jobs->config.hooks;
    struct mu_launch_message pong = {.type = MU_LAUNCH_PONG, .job = job->number, .reach = *ping};
    pong.reach.clock_ns = hooks->alive_ns == NULL ? 0 : hooks->alive_ns(hooks->owner);
    if (pong.reach.clock_ns != 0)
        mu_job_send(job, &pong);
}

static void on_reach(struct mu_job *job, const struct mu_launch_reach *answer)
{
    const struct mu_jobs_hooks *hooks = &job->jobs->config.hooks;
    if (hooks->reached != NULL)
        hooks->reached(hooks->owner, answer);
}

/* ---- a job begins ---- */

void mu_job_free(struct mu_job *job)
{
    for (uint32_t i = 0; i < job->count; i++) {
        struct mu_job_process *process = &job->processes[i];
        mu_job_start_free(process);
        mu_job_stream_close(&process->output[0]);
        mu_job_stream_close(&process->output[1]);
    }
    if (job->input.bytes != NULL)
        mu_job_stream_close(&job->input.stream);
    mu_pmi1_job_close(job->pmi);
    mu_job_orders_free(job);
    free(job->input.bytes);
    free(job->told);
    free(job);
}

static struct mu_job_process process_of(struct mu_job *job, struct mu_job_process *place,
                                        uint32_t rank)
{
    return (struct mu_job_process){
        .job = job,
        .rank = rank,
        .state = MU_JOB_WAITING,
        .output = {{.process = place, .fd = -1, .number = 1},
                   {.process = place, .fd = -1, .number = 2}},
    };
}

/* The message again, from bytes that stay. */
static struct mu_job_orders *keep_orders(const uint8_t *bytes, size_t count)
{
    struct mu_job_orders *orders = malloc(sizeof *orders + count);
    struct mu_launch_message message;
    char text[MU_WIRE_TEXT_MAX];
    if (orders == NULL)
        return NULL;
    memcpy(orders->bytes, bytes, count);
    orders->lists = (struct mu_launch_lists){NULL};
    if (mu_launch_decode(orders->bytes, count, &message, &orders->lists, text) != NULL) {
        mu_launch_lists_free(&orders->lists); /* it was good a moment ago: no memory */
        free(orders);
        return NULL;
    }
    orders->spec = message.spec;
    return orders;
}

static bool add_run(struct mu_job *job, const struct mu_launch_run *run, uint32_t input_rank)
{
    bool good = true;
    for (uint32_t i = 0; i < run->count; i++) {
        struct mu_job_process *place = &job->processes[job->count++];
        *place = process_of(job, place, run->first + i);
        if (place->rank == input_rank)
            good = mu_job_input_open(job, place);
    }
    return good;
}

/* NULL: no memory. */
static struct mu_job *make_job(struct mu_jobs *jobs, uint32_t number, const uint8_t *bytes,
                               size_t count, uint32_t here)
{
    struct mu_job *job = calloc(1, sizeof *job + here * sizeof *job->processes);
    if (job == NULL)
        return NULL;
    job->jobs = jobs;
    job->number = number;
    job->left = here;
    job->kill_at_ms = UINT64_MAX;
    job->input.stream.fd = -1;
    job->orders = keep_orders(bytes, count);
    bool good = job->orders != NULL;
    const struct mu_launch_job *spec = good ? &job->orders->spec : NULL;
    for (uint32_t i = 0; good && i < spec->run_count; i++)
        if (spec->runs[i].slot == jobs->config.net->self.from)
            good = add_run(job, &spec->runs[i], spec->input_rank);
    if (!good || !mu_job_pmi_open(job)) {
        mu_job_free(job);
        return NULL;
    }
    job->credit = spec->credit;
    return job;
}

/* Why it cannot be, or NULL. */
static const char *no_job(struct mu_jobs *jobs, const struct mu_launch_message *message,
                          uint32_t here, char *text)
{
    const struct mu_launch_job *spec = &message->spec;
    uint32_t size = jobs->config.net->self.size;
    if (jobs->ending)
        return "this node is ending";
    if (mu_jobs_find(jobs, message->job) != NULL) {
        snprintf(text, MU_WIRE_TEXT_MAX, "job %" PRIu32 " is on this node already", message->job);
        return text;
    }
    for (uint32_t i = 0; i < spec->run_count; i++)
        if (spec->runs[i].slot >= size) {
            snprintf(text, MU_WIRE_TEXT_MAX,
                     "node %" PRIu32 " is not in this cluster of %" PRIu32 " nodes",
                     spec->runs[i].slot, size);
            return text;
        }
    if (here <= jobs->config.processes - jobs->left)
        return mu_jobs_bind_error(jobs, spec, text);
    snprintf(text, MU_WIRE_TEXT_MAX,
             "the job needs %" PRIu32 " processes on this node, which runs %" PRIu32
             " and takes at most %" PRIu32 " (use more nodes)",
             here, jobs->left, jobs->config.processes);
    return text;
}

static void refuse_job(struct mu_job_launcher *launcher, uint32_t number, const char *reason)
{
    char text[MU_LAUNCH_TEXT_MAX + 1];
    snprintf(text, sizeof text, "%s", reason[0] != '\0' ? reason : "no reason was given");
    for (char *at = text; *at != '\0'; at++)
        if (*at < 0x20 || *at > 0x7e)
            *at = '?';
    struct mu_launch_message message = {
        .type = MU_LAUNCH_REFUSED, .job = number, .refused = {.text = text}};
    send_to(launcher, &message);
}

static void add_job(struct mu_job_launcher *launcher, struct mu_job *job)
{
    struct mu_jobs *jobs = launcher->jobs;
    struct mu_job **end = &jobs->first;
    while (*end != NULL)
        end = &(*end)->next;
    *end = job;
    job->launcher = launcher;
    launcher->job = job;
    jobs->left += job->count;
    mu_jobs_watch_orphans(jobs);
    if (job->input.bytes != NULL)
        mu_job_input_grant(job, MU_JOBS_INPUT_WINDOW);
    if (job->count == 0)
        mu_job_orders_free(job);
    mu_job_say_ready(job);
    mu_jobs_start_more(jobs);
}

static void take_job(struct mu_job_launcher *launcher, const struct mu_launch_message *message,
                     const uint8_t *bytes, size_t count)
{
    struct mu_jobs *jobs = launcher->jobs;
    char text[MU_WIRE_TEXT_MAX];
    uint32_t here = mu_roll_count(&message->spec, jobs->config.net->self.from);
    launcher->had_job = true;
    const char *reason = no_job(jobs, message, here, text);
    if (reason != NULL) {
        refuse_job(launcher, message->job, reason);
        return;
    }
    struct mu_job *job = make_job(jobs, message->job, bytes, count, here);
    if (job == NULL) {
        refuse_job(launcher, message->job, "no memory for one more job");
        return;
    }
    const struct mu_jobs_hooks *hooks = &jobs->config.hooks;
    reason = hooks->begin(hooks->owner, job->number, &job->orders->spec);
    if (reason == NULL) {
        job->held =
            hooks->hold != NULL && hooks->hold(hooks->owner, job->number, &job->orders->spec);
        add_job(launcher, job);
        return;
    }
    refuse_job(launcher, message->job, reason);
    mu_job_free(job);
}

/* ---- messages ---- */

/* Nobody is interested in what is left of it. */
static void let_go(struct mu_job *job)
{
    job->launcher->job = NULL;
    job->launcher = NULL;
    mu_jobs_soon(job->jobs);
}

static void on_over(struct mu_job *job)
{
    mu_job_tell(job);
    let_go(job);
    if (job->left > 0)
        mu_job_stop(job, SIGKILL, 0);
}

static void on_credit(struct mu_job *job, uint64_t bytes)
{
    uint64_t room = UINT64_MAX - job->credit;
    job->credit += bytes < room ? bytes : room;
    mu_jobs_soon(job->jobs);
}

static void on_spawned(struct mu_job *job, const struct mu_launch_message *message)
{
    const struct mu_jobs_hooks *hooks = &job->jobs->config.hooks;
    if (hooks->spawned != NULL)
        hooks->spawned(hooks->owner, job->number, message->spawned.number, message->spawned.job,
                       message->spawned.text);
}

static const char *on_input(struct mu_job *job, const struct mu_launch_message *message)
{
    const struct mu_job_input *input = &job->input;
    if (input->bytes == NULL || input->stream.process->rank != message->data.rank)
        return "input for a rank that does not get it here";
    if (!mu_job_input_take(job, message->data.bytes, message->data.count))
        return "more input than was granted";
    return NULL;
}

/* NULL, or the rule that it breaks. */
static const char *on_job_message(struct mu_job *job, const struct mu_launch_message *message)
{
    switch ((enum mu_launch_type)message->type) {
    case MU_LAUNCH_SIGNAL:
        mu_job_signal(job, message->signal.number);
        return NULL;
    case MU_LAUNCH_STOP:
        mu_job_stop(job, SIGTERM, message->stop.grace_ms);
        return NULL;
    case MU_LAUNCH_OVER:
        on_over(job);
        return NULL;
    case MU_LAUNCH_INPUT:
        return on_input(job, message);
    case MU_LAUNCH_CREDIT:
        on_credit(job, message->credit.bytes);
        return NULL;
    case MU_LAUNCH_SPAWNED:
        on_spawned(job, message);
        return NULL;
    case MU_LAUNCH_PING:
        on_ping(job, &message->reach);
        return NULL;
    case MU_LAUNCH_REACH:
        on_reach(job, &message->reach);
        return NULL;
    case MU_LAUNCH_JOB:
    case MU_LAUNCH_STARTED:
    case MU_LAUNCH_ENDED:
    case MU_LAUNCH_OUTPUT:
    case MU_LAUNCH_OUTPUT_END:
    case MU_LAUNCH_INPUT_CREDIT:
    case MU_LAUNCH_TOLD:
    case MU_LAUNCH_REFUSED:
    case MU_LAUNCH_BOUND:
    case MU_LAUNCH_SPAWN:
    case MU_LAUNCH_READY:
    case MU_LAUNCH_ASK:
    case MU_LAUNCH_PONG:
        break;
    }
    return "a message that only a daemon sends";
}

/* What still comes for a job that was refused or is over crossed our word of it. */
static const char *on_message(struct mu_job_launcher *launcher,
                              const struct mu_launch_message *message, const uint8_t *bytes,
                              size_t count)
{
    struct mu_job *job = launcher->job;
    if (message->type == MU_LAUNCH_JOB) {
        if (launcher->had_job)
            return "a second job on one connection";
        take_job(launcher, message, bytes, count);
        return NULL;
    }
    if (!launcher->had_job)
        return "a message before the job that it is about";
    if (job == NULL)
        return NULL;
    if (message->job != job->number)
        return "a message about another job than the connection's";
    return on_job_message(job, message);
}

/* ---- the connection ---- */

static void remove_launcher(struct mu_job_launcher *launcher)
{
    struct mu_job_launcher **place = &launcher->jobs->launchers;
    while (*place != launcher)
        place = &(*place)->next;
    *place = launcher->next;
    free(launcher);
}

/* Its connection is gone, and with it who could end its job. */
static void lose(struct mu_job_launcher *launcher)
{
    struct mu_job *job = launcher->job;
    if (job != NULL) {
        let_go(job);
        mu_job_stop(job, SIGTERM, MU_JOBS_GRACE_MS);
    }
    remove_launcher(launcher);
}

static void on_frame(struct mu_conn *conn, const uint8_t *bytes, size_t count)
{
    struct mu_job_launcher *launcher = mu_conn_owner(conn);
    struct mu_launch_message message;
    struct mu_launch_lists lists = {NULL};
    char text[MU_WIRE_TEXT_MAX];
    const char *error = mu_launch_decode(bytes, count, &message, &lists, text);
    if (error == NULL)
        error = on_message(launcher, &message, bytes, count);
    mu_launch_lists_free(&lists);
    if (error == NULL)
        return;
    lose(launcher);
    mu_conn_refuse(conn, MU_REFUSE_FORMAT, error);
}

static void on_room(struct mu_conn *conn)
{
    const struct mu_job_launcher *launcher = mu_conn_owner(conn);
    mu_jobs_soon(launcher->jobs);
}

static void on_closed(struct mu_conn *conn, const struct mu_conn_end *end)
{
    struct mu_job_launcher *launcher = mu_conn_owner(conn);
    const struct mu_jobs_hooks *hooks = &launcher->jobs->config.hooks;
    lose(launcher); /* the job is over already, or it ends now: whatever was said last */
    if (end->ending == MU_CONN_REFUSED && end->code == MU_REFUSE_DEAD && hooks->declared != NULL)
        hooks->declared(hooks->owner);
}

static void on_open(struct mu_conn *conn)
{
    (void)conn; /* the launcher speaks first */
}

static const struct mu_conn_hooks hooks_of_conn = {
    .open = on_open, .frame = on_frame, .room = on_room, .closed = on_closed};

void mu_jobs_launcher(struct mu_jobs *jobs, struct mu_conn *conn)
{
    struct mu_job_launcher *launcher = calloc(1, sizeof *launcher);
    if (launcher == NULL) {
        mu_conn_refuse(conn, MU_REFUSE_FULL, "no memory for one more launcher");
        return;
    }
    launcher->jobs = jobs;
    launcher->conn = conn;
    launcher->next = jobs->launchers;
    jobs->launchers = launcher;
    mu_conn_hand_over(conn, &hooks_of_conn, launcher);
}

void mu_jobs_leave(struct mu_jobs *jobs)
{
    while (jobs->launchers != NULL) {
        struct mu_job_launcher *launcher = jobs->launchers;
        if (launcher->job != NULL) {
            mu_job_tell(launcher->job);
            let_go(launcher->job);
        }
        mu_conn_bye(launcher->conn);
        remove_launcher(launcher);
    }
}
