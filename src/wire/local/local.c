#include "wire/local/local.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rules: the same for what comes in and what goes out ---- */

static bool is_text(const char *text, size_t least, size_t most)
{
    size_t length = strnlen(text, most + 1);
    if (length < least || length > most)
        return false;
    for (size_t i = 0; i < length; i++)
        if (text[i] < 0x20 || text[i] > 0x7e)
            return false;
    return true;
}

static const char *hello_error(const struct mu_local_hello *hello)
{
    switch (hello->role) {
    case MU_LOCAL_MEMBER:
    case MU_LOCAL_VOTER:
        return NULL;
    case MU_LOCAL_OPERATOR:
        return hello->job == 0 && hello->rank == 0 ? NULL : "an operator has no job and no rank";
    }
    return "a role is 1 (member), 2 (operator) or 3 (voter)";
}

static const char *welcome_error(const struct mu_local_welcome *welcome)
{
    if (welcome->machine == 0)
        return "the number of a machine is not 0";
    if (welcome->nodes < 1 || welcome->nodes > MU_SIZE_MAX)
        return "a machine has 1 to 2^24 nodes";
    if (welcome->slot >= welcome->nodes)
        return "a slot is below the size of its machine";
    if (welcome->size == 0)
        return welcome->job == 0 && welcome->rank == 0 ? NULL : "a job of no size has no number";
    return welcome->rank < welcome->size ? NULL : "a rank is below the size of its job";
}

static const char *view_error(const struct mu_local_view *view)
{
    uint64_t end = 0, members = 0;
    if (view->number == 0)
        return "views are numbered from 1";
    if (view->span_count < 1 || view->span_count > MU_LOCAL_SPANS_MAX)
        return "a part of a view has 1 to 16 spans";
    for (uint32_t i = 0; i < view->span_count; i++) {
        const struct mu_local_span *span = &view->spans[i];
        if (span->count == 0 || (i > 0 && span->first <= end))
            return "spans of members are in order, not empty, with gaps between them";
        end = (uint64_t)span->first + span->count;
        members += span->count;
    }
    if (end > MU_SIZE_MAX || members > view->total)
        return "a view has no more members than it says, each below 2^24";
    return view->is_first && view->is_last && members != view->total
               ? "a view has as many members as it says"
               : NULL;
}

static const char *event_error(const struct mu_local_event *event)
{
    if (event->serial == 0)
        return "serials count from 1";
    if (event->subject < MU_SUBJECT_PROCESS || event->subject > MU_SUBJECT_VIEW)
        return "a subject is 1 (process), 2 (node) or 3 (view)";
    if (event->subject == MU_SUBJECT_VIEW)
        return event->job == 0 && event->rank == 0 && event->node == 0 && event->hops == 0
                   ? view_error(&event->view)
                   : "a view has no job, rank, node or hops";
    if (event->subject == MU_SUBJECT_NODE && (event->job != 0 || event->rank != 0))
        return "a node has no job and no rank";
    if (event->node != event->evidence.node)
        return "an event and its evidence are of the same node";
    return mu_evidence_error(&event->evidence);
}

static const char *node_error(const struct mu_local_node *node)
{
    if (node->size < 1 || node->size > MU_SIZE_MAX)
        return "a machine has 1 to 2^24 nodes";
    if (node->slot >= node->size)
        return "a slot is below the size of its machine";
    bool good = is_text(node->host, 0, sizeof node->host - 1) &&
                is_text(node->address, 0, sizeof node->address - 1);
    return good ? NULL : "a host and an address are at most 64 bytes of printable ASCII";
}

static const char *job_error(const struct mu_local_job *job)
{
    bool good =
        job->here <= job->size && job->failed <= job->size && job->left <= job->size - job->failed;
    return good ? NULL : "more processes of a job than it has";
}

static const char *refused_error(uint8_t code, const char *text)
{
    if (code == 0) /* one that is not known here is shown by its text */
        return "the code of a refusal is not 0";
    bool good = is_text(text, 1, MU_LOCAL_TEXT_MAX);
    return good ? NULL : "a refusal is 1 to 200 bytes of printable ASCII";
}

static const char *message_error(const struct mu_local_message *message)
{
    switch ((enum mu_local_type)message->type) {
    case MU_LOCAL_HELLO:
        return hello_error(&message->hello);
    case MU_LOCAL_KILL:
        return message->kill.signal >= 1 && message->kill.signal <= 64 ? NULL
                                                                       : "a signal is 1 to 64";
    case MU_LOCAL_WELCOME:
        return welcome_error(&message->welcome);
    case MU_LOCAL_REFUSED:
        return refused_error(message->refused.code, message->refused.text);
    case MU_LOCAL_EVENT:
        return event_error(&message->event);
    case MU_LOCAL_LOST:
        return message->lost.count > 0 ? NULL : "nobody loses 0 events";
    case MU_LOCAL_SET:
        return mu_detect_times_error(message->set.period_ns, message->set.timeout_ns);
    case MU_LOCAL_AGAIN:
        return message->again.serial > 0 ? NULL : "serials count from 1";
    case MU_LOCAL_NODE:
        return node_error(&message->node);
    case MU_LOCAL_JOB:
        return job_error(&message->job);
    case MU_LOCAL_COUNTER:
        return is_text(message->counter.name, 1, MU_LOCAL_TEXT_MAX)
                   ? NULL
                   : "the name of a counter is 1 to 200 bytes of printable ASCII";
    case MU_LOCAL_CHAOS:
        return mu_chaos_error(&message->chaos);
    case MU_LOCAL_PROCESS:
        return message->process.pid >= 1 && message->process.pid <= INT32_MAX
                   ? NULL
                   : "the id of a process is 1 to 2^31 - 1";
    case MU_LOCAL_GONE:
        return message->gone.node < MU_SIZE_MAX ? NULL : "a slot is below 2^24";
    case MU_LOCAL_STATUS:
    case MU_LOCAL_WATCH:
    case MU_LOCAL_LEAVE:
    case MU_LOCAL_CAUGHT_UP:
    case MU_LOCAL_DONE:
        return NULL;
    }
    return "no such type of message";
}

_Static_assert(1 + 36 + 23 + 8 * (int)MU_LOCAL_SPANS_MAX <= (int)MU_LOCAL_EVENT_MAX,
               "room for a view");

/* ---- out ---- */

static void write_text(struct mu_writer *writer, const char *text)
{
    size_t length = strlen(text);
    mu_write_u8(writer, (uint8_t)length);
    mu_write_bytes(writer, text, length);
}

static void write_hello(struct mu_writer *writer, const struct mu_local_hello *hello)
{
    mu_write_u8(writer, hello->version);
    mu_write_u8(writer, hello->role);
    mu_write_u32(writer, hello->job);
    mu_write_u32(writer, hello->rank);
}

static void write_welcome(struct mu_writer *writer, const struct mu_local_welcome *welcome)
{
    mu_write_u64(writer, welcome->machine);
    mu_write_u32(writer, welcome->nodes);
    mu_write_u32(writer, welcome->slot);
    mu_write_u32(writer, welcome->job);
    mu_write_u32(writer, welcome->rank);
    mu_write_u32(writer, welcome->size);
}

static void write_view(struct mu_writer *writer, const struct mu_local_view *view)
{
    mu_write_u64(writer, view->number);
    mu_write_u64(writer, view->hash);
    mu_write_u32(writer, view->total);
    mu_write_u8(writer, view->is_first);
    mu_write_u8(writer, view->is_last);
    mu_write_u8(writer, view->span_count);
    for (uint32_t i = 0; i < view->span_count; i++) {
        mu_write_u32(writer, view->spans[i].first);
        mu_write_u32(writer, view->spans[i].count);
    }
}

static void write_event(struct mu_writer *writer, const struct mu_local_event *event)
{
    mu_write_u8(writer, event->is_state);
    mu_write_u64(writer, event->serial);
    mu_write_u8(writer, event->subject);
    mu_write_u16(writer, event->hops);
    mu_write_u32(writer, event->job);
    mu_write_u32(writer, event->rank);
    mu_write_u64(writer, event->learned_ns);
    mu_write_u64(writer, event->age_ns);
    if (event->subject == MU_SUBJECT_VIEW)
        write_view(writer, &event->view);
    else
        mu_write_evidence(writer, &event->evidence); /* it has the node */
}

static void write_node(struct mu_writer *writer, const struct mu_local_node *node)
{
    mu_write_u32(writer, node->slot);
    mu_write_u32(writer, node->size);
    mu_write_u32(writer, node->incarnation);
    mu_write_u32(writer, node->pid);
    mu_write_u32(writer, node->links_up);
    mu_write_u32(writer, node->links_wanted);
    mu_write_u32(writer, node->dead);
    mu_write_u32(writer, node->jobs);
    mu_write_u32(writer, node->processes);
    mu_write_u64(writer, node->up_ns);
    write_text(writer, node->host);
    write_text(writer, node->address);
}

static void write_job(struct mu_writer *writer, const struct mu_local_job *job)
{
    mu_write_u32(writer, job->job);
    mu_write_u32(writer, job->size);
    mu_write_u32(writer, job->here);
    mu_write_u32(writer, job->failed);
    mu_write_u32(writer, job->left);
}

static void write_body(struct mu_writer *writer, const struct mu_local_message *message)
{
    switch ((enum mu_local_type)message->type) {
    case MU_LOCAL_HELLO:
        write_hello(writer, &message->hello);
        return;
    case MU_LOCAL_KILL:
        mu_write_u32(writer, message->kill.job);
        mu_write_u8(writer, message->kill.signal);
        return;
    case MU_LOCAL_WELCOME:
        write_welcome(writer, &message->welcome);
        return;
    case MU_LOCAL_REFUSED:
        mu_write_u8(writer, message->refused.code);
        write_text(writer, message->refused.text);
        return;
    case MU_LOCAL_EVENT:
        write_event(writer, &message->event);
        return;
    case MU_LOCAL_LOST:
        mu_write_u64(writer, message->lost.count);
        return;
    case MU_LOCAL_SET:
        mu_write_u64(writer, message->set.period_ns);
        mu_write_u64(writer, message->set.timeout_ns);
        return;
    case MU_LOCAL_CHAOS:
        mu_write_chaos(writer, &message->chaos);
        return;
    case MU_LOCAL_PROCESS:
        mu_write_u32(writer, message->process.rank);
        mu_write_u32(writer, message->process.pid);
        return;
    case MU_LOCAL_GONE:
        mu_write_u32(writer, message->gone.node);
        mu_write_u64(writer, message->gone.gone_ns);
        return;
    case MU_LOCAL_AGAIN:
        mu_write_u64(writer, message->again.serial);
        return;
    case MU_LOCAL_CAUGHT_UP:
        mu_write_u64(writer, message->caught_up.serial);
        return;
    case MU_LOCAL_NODE:
        write_node(writer, &message->node);
        return;
    case MU_LOCAL_JOB:
        write_job(writer, &message->job);
        return;
    case MU_LOCAL_COUNTER:
        mu_write_u64(writer, message->counter.value);
        write_text(writer, message->counter.name);
        return;
    case MU_LOCAL_STATUS:
    case MU_LOCAL_WATCH:
    case MU_LOCAL_LEAVE:
    case MU_LOCAL_DONE:
        return;
    }
    abort();
}

size_t mu_local_encode(const struct mu_local_message *message, uint8_t bytes[MU_LOCAL_PACKET_MAX])
{
    assert(message_error(message) == NULL);
    assert(message->type != MU_LOCAL_HELLO || message->hello.version == MU_LOCAL_VERSION);
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, MU_LOCAL_PACKET_MAX);
    mu_write_u8(&writer, message->type);
    write_body(&writer, message);
    assert(!writer.full);
    return writer.used;
}

size_t mu_local_encode_event(const struct mu_local_event *event, uint8_t bytes[MU_LOCAL_EVENT_MAX])
{
    assert(event_error(event) == NULL);
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, MU_LOCAL_EVENT_MAX);
    mu_write_u8(&writer, MU_LOCAL_EVENT);
    write_event(&writer, event);
    assert(!writer.full);
    return writer.used;
}

/* ---- in ---- */

/* Into 'room' bytes, which are zeroed. */
static void read_text(struct mu_reader *reader, char *text, size_t room)
{
    uint8_t length = mu_read_u8(reader);
    if (length >= room) {
        reader->bad = true;
        return;
    }
    const uint8_t *bytes = mu_read_bytes(reader, length);
    if (bytes == NULL)
        return;
    memcpy(text, bytes, length);
    if (strlen(text) != length) /* a NUL would end it early, and it would encode differently */
        reader->bad = true;
}

static void read_hello(struct mu_reader *reader, struct mu_local_hello *hello)
{
    hello->version = mu_read_u8(reader);
    hello->role = mu_read_u8(reader);
    hello->job = mu_read_u32(reader);
    hello->rank = mu_read_u32(reader);
}

static void read_welcome(struct mu_reader *reader, struct mu_local_welcome *welcome)
{
    welcome->machine = mu_read_u64(reader);
    welcome->nodes = mu_read_u32(reader);
    welcome->slot = mu_read_u32(reader);
    welcome->job = mu_read_u32(reader);
    welcome->rank = mu_read_u32(reader);
    welcome->size = mu_read_u32(reader);
}

static bool read_flag(struct mu_reader *reader)
{
    uint8_t flag = mu_read_u8(reader);
    if (flag > 1)
        reader->bad = true;
    return flag == 1;
}

static void read_view(struct mu_reader *reader, struct mu_local_view *view)
{
    memset(view, 0, sizeof *view);
    view->number = mu_read_u64(reader);
    view->hash = mu_read_u64(reader);
    view->total = mu_read_u32(reader);
    view->is_first = read_flag(reader);
    view->is_last = read_flag(reader);
    view->span_count = mu_read_u8(reader);
    if (view->span_count > MU_LOCAL_SPANS_MAX)
        reader->bad = true;
    for (uint32_t i = 0; !reader->bad && i < view->span_count; i++) {
        view->spans[i].first = mu_read_u32(reader);
        view->spans[i].count = mu_read_u32(reader);
    }
}

static void read_event(struct mu_reader *reader, struct mu_local_event *event)
{
    event->is_state = read_flag(reader);
    event->serial = mu_read_u64(reader);
    event->subject = mu_read_u8(reader);
    event->hops = mu_read_u16(reader);
    event->job = mu_read_u32(reader);
    event->rank = mu_read_u32(reader);
    event->learned_ns = mu_read_u64(reader);
    event->age_ns = mu_read_u64(reader);
    event->node = 0;
    if (event->subject == MU_SUBJECT_VIEW) {
        read_view(reader, &event->view);
        return;
    }
    mu_read_evidence(reader, &event->evidence);
    event->node = event->evidence.node;
}

static void read_node(struct mu_reader *reader, struct mu_local_node *node)
{
    node->slot = mu_read_u32(reader);
    node->size = mu_read_u32(reader);
    node->incarnation = mu_read_u32(reader);
    node->pid = mu_read_u32(reader);
    node->links_up = mu_read_u32(reader);
    node->links_wanted = mu_read_u32(reader);
    node->dead = mu_read_u32(reader);
    node->jobs = mu_read_u32(reader);
    node->processes = mu_read_u32(reader);
    node->up_ns = mu_read_u64(reader);
    read_text(reader, node->host, sizeof node->host);
    read_text(reader, node->address, sizeof node->address);
}

static void read_job(struct mu_reader *reader, struct mu_local_job *job)
{
    job->job = mu_read_u32(reader);
    job->size = mu_read_u32(reader);
    job->here = mu_read_u32(reader);
    job->failed = mu_read_u32(reader);
    job->left = mu_read_u32(reader);
}

/* Any byte may be the type: those that are none are refused by message_error(). */
static void read_body(struct mu_reader *reader, struct mu_local_message *message)
{
    switch ((enum mu_local_type)message->type) {
    case MU_LOCAL_HELLO:
        read_hello(reader, &message->hello);
        return;
    case MU_LOCAL_KILL:
        message->kill.job = mu_read_u32(reader);
        message->kill.signal = mu_read_u8(reader);
        return;
    case MU_LOCAL_WELCOME:
        read_welcome(reader, &message->welcome);
        return;
    case MU_LOCAL_REFUSED:
        message->refused.code = mu_read_u8(reader);
        read_text(reader, message->refused.text, sizeof message->refused.text);
        return;
    case MU_LOCAL_EVENT:
        read_event(reader, &message->event);
        return;
    case MU_LOCAL_LOST:
        message->lost.count = mu_read_u64(reader);
        return;
    case MU_LOCAL_SET:
        message->set.period_ns = mu_read_u64(reader);
        message->set.timeout_ns = mu_read_u64(reader);
        return;
    case MU_LOCAL_CHAOS:
        mu_read_chaos(reader, &message->chaos);
        return;
    case MU_LOCAL_PROCESS:
        message->process.rank = mu_read_u32(reader);
        message->process.pid = mu_read_u32(reader);
        return;
    case MU_LOCAL_GONE:
        message->gone.node = mu_read_u32(reader);
        message->gone.gone_ns = mu_read_u64(reader);
        return;
    case MU_LOCAL_AGAIN:
        message->again.serial = mu_read_u64(reader);
        return;
    case MU_LOCAL_CAUGHT_UP:
        message->caught_up.serial = mu_read_u64(reader);
        return;
    case MU_LOCAL_NODE:
        read_node(reader, &message->node);
        return;
    case MU_LOCAL_JOB:
        read_job(reader, &message->job);
        return;
    case MU_LOCAL_COUNTER:
        message->counter.value = mu_read_u64(reader);
        read_text(reader, message->counter.name, sizeof message->counter.name);
        return;
    case MU_LOCAL_STATUS:
    case MU_LOCAL_WATCH:
    case MU_LOCAL_LEAVE:
    case MU_LOCAL_DONE:
        return;
    }
}

const char *mu_local_decode(const uint8_t *bytes, size_t count, struct mu_local_message *message)
{
    memset(message, 0, sizeof *message);
    if (count < 1 || count > MU_LOCAL_PACKET_MAX)
        return "a packet has 1 to 512 bytes";
    message->type = bytes[0];
    if (message->type == MU_LOCAL_HELLO && count >= 2 && bytes[1] != MU_LOCAL_VERSION) {
        message->hello.version = bytes[1]; /* how it goes on is that version's business */
        return NULL;
    }
    struct mu_reader reader;
    mu_reader_init(&reader, bytes + 1, count - 1);
    read_body(&reader, message);
    if (reader.ended)
        return "the packet ends before its last field";
    if (reader.bad)
        return "a flag, a text or an evidence that cannot be";
    const char *error = message_error(message);
    if (error == NULL && mu_reader_left(&reader) > 0)
        error = "bytes follow the last field of the packet";
    return error;
}

const char *mu_local_decode_event(const uint8_t *bytes, size_t count, struct mu_local_event *event)
{
    if (count < 1 || count > MU_LOCAL_EVENT_MAX || bytes[0] != MU_LOCAL_EVENT)
        return "not an event";
    struct mu_reader reader;
    mu_reader_init(&reader, bytes + 1, count - 1);
    read_event(&reader, event);
    if (reader.bad || mu_reader_left(&reader) > 0)
        return "a field that cannot be, or not as many bytes as an event has";
    return event_error(event);
}

/* ---- names ---- */

void mu_local_name(char name[MU_LOCAL_NAME_MAX], uint32_t uid, uint64_t machine, mu_slot slot)
{
    snprintf(name, MU_LOCAL_NAME_MAX, "muster/%" PRIu32 "/%016" PRIx64 "/%" PRIu32, uid, machine,
             slot);
}

bool mu_local_name_parse(const char *name, uint32_t *uid, uint64_t *machine, mu_slot *slot)
{
    uint32_t uid_read, slot_read;
    uint64_t machine_read;
    if (strnlen(name, MU_LOCAL_NAME_MAX) == MU_LOCAL_NAME_MAX ||
        sscanf(name, "muster/%10" SCNu32 "/%16" SCNx64 "/%10" SCNu32, &uid_read, &machine_read,
               &slot_read) != 3)
        return false;
    /* What it was read from is only good in the spelling that it would be written in. */
    char again[MU_LOCAL_NAME_MAX];
    mu_local_name(again, uid_read, machine_read, slot_read);
    if (strcmp(again, name) != 0 || machine_read == 0 || slot_read >= MU_SIZE_MAX)
        return false;
    *uid = uid_read;
    *machine = machine_read;
    *slot = slot_read;
    return true;
}
