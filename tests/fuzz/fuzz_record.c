/* Recordings, and the core behind them.
 *
 * What decodes must encode to the same bytes.  Every decoded event also goes through a real node:
 * a recording from anywhere keeps the duties of a driver (wire/record/record.h), and within those
 * no event may do worse to the core than a fault with a name. */
#include "../unit/help/test_wire_random.h"

#include "core/node.h"
#include "wire/record/record.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max); /* of libFuzzer */

enum { NODE_BYTES_MAX = 1 << 20, EFFECTS_MAX = 1 << 14, DELIVERED_MAX = 256 };

/* ---- the core ---- */

struct run {
    struct mu_node *node; /* NULL: too large a configuration, only the decoder is tried */
    struct mu_update update;
    struct mu_fingerprint digest;
    struct mu_notice_id delivered[DELIVERED_MAX];
    uint32_t delivered_count;
};

/* A node in memory full of 'filler', so that two runs differ when something was not initialised. */
static void run_begin(struct run *run, const struct mu_config *config, int filler)
{
    memset(run, 0, sizeof *run);
    mu_fingerprint_init(&run->digest);
    size_t bytes = mu_node_bytes(config);
    uint32_t effects = mu_node_effects_max(config);
    if (bytes > NODE_BYTES_MAX || effects > EFFECTS_MAX || config->broken_rules != 0)
        return; /* a broken rule may break anything */
    void *memory = aligned_alloc(64, bytes);
    memset(memory, filler, bytes);
    run->node = mu_node_init(memory, bytes, config);
    run->update.capacity = effects;
    run->update.effects = malloc(effects * sizeof *run->update.effects);
}

static void run_end(struct run *run)
{
    free(run->node);
    free(run->update.effects);
}

static void check_sent(const struct mu_frame *frame)
{
    static uint8_t bytes[MU_WIRE_FRAME_MAX];
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, sizeof bytes);
    assert(mu_wire_encode_frame(&writer, frame).error == MU_WIRE_OK);
}

/* No notice is delivered twice. */
static void check_news(struct run *run, const struct mu_notice_id *id)
{
    for (uint32_t i = 0; i < run->delivered_count; i++)
        assert(mu_notice_compare(&run->delivered[i], id) != 0);
    if (run->delivered_count < DELIVERED_MAX)
        run->delivered[run->delivered_count++] = *id;
}

/* What is over may be said again, and is news then. */
static void forget_news(struct run *run, const struct mu_event *event)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < run->delivered_count; i++)
        if (run->delivered[i].kind != event->forget.kind ||
            run->delivered[i].stream != event->forget.stream)
            run->delivered[kept++] = run->delivered[i];
    run->delivered_count = kept;
}

/* May the i-th effect address its peer?  The dead may not be, but for what the same step did before
 * it heard of the death, and then a CLOSE follows. */
static bool is_addressable(const struct run *run, uint32_t i)
{
    const struct mu_node *node = run->node;
    mu_slot peer = run->update.effects[i].peer;
    if (peer >= node->config.slots || peer == node->config.self)
        return false;
    bool good = !mu_roster_is_vacant(&node->roster, peer);
    for (uint32_t k = i + 1; k < run->update.count && !good; k++)
        good = run->update.effects[k].type == MU_DO_CLOSE && run->update.effects[k].peer == peer;
    return good;
}

static void check_effect(struct run *run, uint32_t i)
{
    const struct mu_effect *effect = &run->update.effects[i];
    switch (effect->type) {
    case MU_DO_SEND:
        assert(is_addressable(run, i));
        check_sent(&effect->frame);
        return;
    case MU_DO_OPEN:
        assert(is_addressable(run, i));
        return;
    case MU_DO_DELIVER:
        check_news(run, &effect->notice.id);
        return;
    case MU_DO_FENCED:
        assert(mu_wire_check_notice(&effect->notice).error == MU_WIRE_OK);
        return;
    case MU_DO_CLOSE:
        return;
    case MU_DO_FAULT:
        assert(effect->fault != MU_FAULT_NONE && mu_fault_text(effect->fault) != NULL);
        return;
    }
    abort();
}

/* Every frame in a ring is of somebody who lives, and its notice is still held. */
static void check_rings(struct mu_node *node)
{
    for (uint32_t i = 0; i < node->links.count; i++) {
        const struct mu_link *link = &node->links.at[i];
        assert(link->peer != MU_SLOT_NONE || link->pending == 0);
        assert(link->peer == MU_SLOT_NONE || mu_links_find(&node->links, link->peer) == link);
        for (uint16_t k = 0; k < link->pending; k++) {
            mu_body body = mu_link_pending_at(&node->links, link, k);
            assert(node->spread.held[body].phase != MU_HELD_FREE);
        }
    }
}

/* Every edge has the link to where it leads. */
static void check_edges(const struct mu_node *node)
{
    for (uint32_t e = 0; e < node->spread.edge_count; e++) {
        const struct mu_edge *edge = &node->spread.edges[e];
        assert(edge->slot == MU_SLOT_NONE || node->links.at[edge->link].peer == edge->slot);
    }
}

static void run_step(struct run *run, const struct mu_event *event)
{
    if (run->node == NULL)
        return;
    bool was_fenced = run->node->fenced;
    if (event->type == MU_EVENT_FORGET)
        forget_news(run, event);
    mu_node_step(run->node, event, &run->update);
    assert(!was_fenced || run->update.count == 0);
    for (uint32_t i = 0; i < run->update.count; i++)
        check_effect(run, i);
    check_rings(run->node);
    check_edges(run->node);
    mu_record_digest_step(&run->digest, event, &run->update);
}

/* ---- the recording ---- */

static void check_text(struct mu_record_result result)
{
    char text[MU_WIRE_TEXT_MAX];
    size_t length = strlen(mu_record_text(result, text, sizeof text));
    assert(length > 0 && length < sizeof text - 1);
}

static void check_header(const uint8_t *data, const struct mu_config *config)
{
    uint8_t again[MU_RECORD_HEADER_BYTES];
    struct mu_writer writer;
    mu_writer_init(&writer, again, sizeof again);
    assert(mu_record_encode_header(&writer, config).error == MU_RECORD_OK);
    assert(writer.used == sizeof again && memcmp(again, data, sizeof again) == 0);
}

/* 'before' is the state that the record was decoded in. */
static void check_canonical(struct mu_record_state before, const uint8_t *bytes, size_t count,
                            const struct mu_record *record)
{
    uint8_t *again = malloc(count);
    struct mu_writer writer;
    mu_writer_init(&writer, again, count);
    struct mu_record_result result =
        record->is_end ? mu_record_encode_end(&before, &writer, &record->end.digest)
                       : mu_record_encode_event(&before, &writer, &record->event);
    assert(result.error == MU_RECORD_OK);
    assert(writer.used == count && memcmp(again, bytes, count) == 0);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mu_config config;
    struct mu_record_result result = mu_record_decode_header(data, size, &config);
    check_text(result);
    if (result.error != MU_RECORD_OK)
        return 0;
    check_header(data, &config);

    struct run zeros, ones;
    struct mu_record_state state = {0};
    run_begin(&zeros, &config, 0);
    run_begin(&ones, &config, 0xff);
    for (size_t at = MU_RECORD_HEADER_BYTES;;) {
        struct mu_record_state before = state;
        struct mu_record record;
        size_t used = 0;
        result = mu_record_decode(&state, data + at, size - at, &record, &used);
        check_text(result);
        if (result.error != MU_RECORD_OK)
            break;
        assert(used > 0 && used <= size - at && used <= MU_RECORD_MAX);
        check_canonical(before, data + at, used, &record);
        at += used;
        if (record.is_end)
            continue; /* whatever follows is refused */
        run_step(&zeros, &record.event);
        run_step(&ones, &record.event);
    }
    assert(zeros.digest.a == ones.digest.a && zeros.digest.b == ones.digest.b);
    run_end(&zeros);
    run_end(&ones);
    return 0;
}

/* ---- mutations that keep lengths right ---- */

enum { RECORDS_MAX = 512 };

/* Finds where each record begins, and the end of the last.  Returns how many there are. */
static size_t find_records(const uint8_t *data, size_t size, size_t *starts)
{
    size_t count = 0;
    size_t at = MU_RECORD_HEADER_BYTES;
    for (; count < RECORDS_MAX; count++) {
        struct mu_reader reader;
        mu_reader_init(&reader, data + at, size - at);
        uint64_t length = mu_read_varint(&reader);
        starts[count] = at;
        if (mu_read_bytes(&reader, length) == NULL)
            break;
        at = size - mu_reader_left(&reader);
    }
    starts[count] = at;
    return count;
}

static size_t make_record(struct random *r, uint8_t *into)
{
    struct mu_record_state any = {.events = 1, .started = true};
    struct mu_frame frame;
    struct mu_notice notice;
    struct mu_event event = random_event(r, 0, &frame, &notice);
    struct mu_writer writer;
    mu_writer_init(&writer, into, MU_RECORD_MAX);
    assert(mu_record_encode_event(&any, &writer, &event).error == MU_RECORD_OK);
    return writer.used;
}

/* Replaces data[from, to) by 'count' bytes.  Returns the new size, 0 when it does not fit. */
static size_t splice(uint8_t *data, size_t size, size_t size_max, size_t from, size_t to,
                     const uint8_t *bytes, size_t count)
{
    if (size - (to - from) + count > size_max)
        return 0;
    memmove(data + from + count, data + to, size - to);
    memcpy(data + from, bytes, count);
    return size - (to - from) + count;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed)
{
    static uint8_t record[MU_RECORD_MAX];
    struct random r = {.state = seed, .small = true};
    struct mu_config config;
    if (random_below(&r, 3) == 0 ||
        mu_record_decode_header(data, size, &config).error != MU_RECORD_OK)
        return LLVMFuzzerMutate(data, size, size_max);
    r.slots = config.slots;
    size_t starts[RECORDS_MAX + 1];
    size_t count = find_records(data, size, starts);
    size_t here = random_below(&r, count + 1), next = here < count ? here + 1 : here;
    size_t there = random_below(&r, count + 1), after = there < count ? there + 1 : there;
    size_t length = starts[after] - starts[there];
    if (length > sizeof record)
        return LLVMFuzzerMutate(data, size, size_max);
    memcpy(record, data + starts[there], length);
    size_t changed = 0;
    switch (random_below(&r, 4)) {
    case 0: /* drop one */
        changed = splice(data, size, size_max, starts[here], starts[next], record, 0);
        break;
    case 1: /* repeat one somewhere else */
        changed = splice(data, size, size_max, starts[here], starts[here], record, length);
        break;
    default: /* a new one */
        length = make_record(&r, record);
        changed = splice(data, size, size_max, starts[here], starts[here], record, length);
        break;
    }
    return changed > 0 ? changed : LLVMFuzzerMutate(data, size, size_max);
}
