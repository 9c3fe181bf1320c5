/* Local packets, boards, evidences and the names of sockets: what decodes encodes to the same
 * bytes, and what does not is told in a sentence. */
#include "wire/local/board.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode_packet(const uint8_t *data, size_t size)
{
    struct mu_local_message message;
    const char *rule = mu_local_decode(data, size, &message);
    if (rule != NULL) {
        assert(strlen(rule) > 0 && strlen(rule) <= MU_LOCAL_TEXT_MAX); /* a REFUSED holds it */
        return;
    }
    if (message.type == MU_LOCAL_HELLO && message.hello.version != MU_LOCAL_VERSION)
        return; /* how that goes on is not known here */
    uint8_t again[MU_LOCAL_PACKET_MAX];
    assert(mu_local_encode(&message, again) == size);
    assert(memcmp(again, data, size) == 0);
}

/* As it stands on the board: an event, if and only if the packet is one. */
static void decode_event(const uint8_t *data, size_t size)
{
    struct mu_local_message message;
    struct mu_local_event event;
    bool is_event = mu_local_decode(data, size, &message) == NULL && message.type == MU_LOCAL_EVENT;
    const char *rule = mu_local_decode_event(data, size, &event);
    assert((rule == NULL) == is_event);
    if (rule != NULL) {
        assert(strlen(rule) > 0);
        return;
    }
    uint8_t again[MU_LOCAL_EVENT_MAX];
    assert(mu_local_encode_event(&event, again) == size);
    assert(memcmp(again, data, size) == 0);
}

/* Memory that should be a board, with the event that it says to have. */
static void read_board(const uint8_t *data, size_t size)
{
    enum { PLACES = 2 };
    static union {
        struct mu_board board;
        uint8_t bytes[sizeof(struct mu_board) + PLACES * sizeof(struct mu_board_place)];
    } memory;
    struct mu_board_view view;
    memset(&memory, 0, sizeof memory);
    memcpy(memory.bytes, data, size < sizeof memory ? size : sizeof memory);
    if (mu_board_look(&view, &memory, sizeof memory) != NULL)
        return;
    assert(view.capacity >= 1 && view.capacity <= PLACES);
    uint64_t words[MU_BOARD_WORDS], head = mu_board_head(&view);
    struct mu_local_event event;
    size_t count;
    for (uint64_t serial = head - 3; serial != head + 3; serial++)
        if (mu_board_take(&view, serial, words, &count) == MU_BOARD_TAKEN)
            mu_local_decode_event((const uint8_t *)words, count, &event);
}

/* By itself, as it comes in a notice. */
static void decode_evidence(const uint8_t *data, size_t size)
{
    struct mu_evidence evidence;
    struct mu_reader reader;
    mu_reader_init(&reader, data, size);
    mu_read_evidence(&reader, &evidence);
    if (reader.bad)
        return;
    size_t count = size - mu_reader_left(&reader);
    assert(count <= MU_EVIDENCE_BYTES_MAX && mu_evidence_error(&evidence) == NULL);
    uint8_t again[MU_EVIDENCE_BYTES_MAX];
    struct mu_writer writer;
    mu_writer_init(&writer, again, sizeof again);
    mu_write_evidence(&writer, &evidence);
    assert(!writer.full && writer.used == count && memcmp(again, data, count) == 0);
    char text[MU_EVIDENCE_TEXT_MAX];
    size_t length = strlen(mu_evidence_text(&evidence, text, sizeof text));
    assert(length > 0 && length < sizeof text);
    assert(strlen(mu_verdict_word((enum mu_verdict)evidence.verdict)) > 0);
}

static void make_path(const uint8_t *data, size_t size)
{
    struct mu_evidence evidence = {.verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_EXIT};
    evidence.how = mu_exit_kind_not_started(MU_START_EXEC, 2);
    char *path = malloc(size + 1);
    memcpy(path, data, size);
    path[size] = '\0';
    mu_evidence_path(&evidence, path);
    assert(mu_evidence_error(&evidence) == NULL);
    free(path);
}

static void parse_name(const uint8_t *data, size_t size)
{
    char *name = malloc(size + 1);
    memcpy(name, data, size);
    name[size] = '\0';
    uint32_t uid;
    uint64_t machine;
    mu_slot slot;
    if (mu_local_name_parse(name, &uid, &machine, &slot)) {
        char again[MU_LOCAL_NAME_MAX];
        mu_local_name(again, uid, machine, slot);
        assert(strcmp(again, name) == 0);
    }
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0) {
        decode_packet(data, size);
        decode_event(data, size);
        read_board(data, size);
        decode_evidence(data, size);
        make_path(data, size);
    }
    parse_name(data, size);
    return 0;
}
