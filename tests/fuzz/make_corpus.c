/* Writes the first inputs for the fuzz targets.  'make fuzz' adds what it finds to the same
 * folders.
 *
 *     gcc -Isrc tests/fuzz/make_corpus.c $(find src/wire src/core -name "*.c") -o build/make_corpus
 *     build/make_corpus tests/fuzz/corpus */
#include "../unit/help/test_ballot_random.h"
#include "../unit/help/test_beat_random.h"
#include "../unit/help/test_exchange_random.h"
#include "../unit/help/test_launch_random.h"
#include "../unit/help/test_local_random.h"
#include "../unit/help/test_news_random.h"
#include "../unit/help/test_wire_random.h"

#include "core/node.h"
#include "wire/peer/agree.h"
#include "wire/local/board.h"
#include "wire/peer/bulk.h"
#include "wire/peer/view.h"
#include "wire/peer/word.h"
#include "wire/record/record.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char *corpus;

static void save(const char *target, int number, const struct mu_writer *writer)
{
    char path[4096];
    assert(!writer->full);
    snprintf(path, sizeof path, "%s/%s", corpus, target);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/seed-%02d", corpus, target, number);
    FILE *file = fopen(path, "wb");
    bool good = file != NULL && fwrite(writer->bytes, 1, writer->used, file) == writer->used;
    if (!good || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

static uint8_t buffer[1 << 17];

static void make_frame(int number)
{
    struct random r = {.state = (uint64_t)number, .slots = MU_SIZE_MAX, .small = number % 2 == 0};
    struct mu_writer writer;
    mu_writer_init(&writer, buffer, sizeof buffer);
    do {
        struct mu_message message = random_message(&r);
        if (message.type == MU_MESSAGE_NOTICE && message.frame.notice.length > 64)
            message.frame.notice.length = 64; /* long inputs are slow and find nothing more */
        mu_wire_encode(&writer, &message);
    } while (number % 4 == 0 && writer.used < 200);
    save("frame", number, &writer);
}

static void make_ballot(int number)
{
    struct random r = {.state = (uint64_t)number, .small = number % 2 == 0};
    struct mu_ballot ballot = random_ballot(&r);
    struct mu_writer writer;
    mu_writer_init(&writer, buffer, sizeof buffer);
    writer.used = mu_ballot_encode(&ballot, buffer);
    save("ballot", number, &writer);
}

/* A message of an exchange, or a frame with a piece of one. */
static void make_bulk(int number)
{
    uint8_t message[4096];
    struct mu_writer writer;
    mu_writer_init(&writer, message, sizeof message);
    random_exchange((uint64_t)number, &writer);
    const struct mu_bulk_frame frame = {.type = (uint8_t)(1 + number / 2 % MU_BULK_TYPE_LAST),
                                        .sequence = (uint64_t)number + 1,
                                        .ack = (uint64_t)number,
                                        .total = (uint32_t)writer.used,
                                        .bytes = message,
                                        .count = writer.used};
    struct mu_writer whole;
    mu_writer_init(&whole, buffer, sizeof buffer);
    mu_write_u8(&whole, (uint8_t)(number % 2));
    if (number % 2 == 0)
        mu_bulk_encode(&whole, &frame);
    else
        mu_write_bytes(&whole, message, writer.used);
    save("bulk", number, &whole);
}

/* Each word of a witness, each way in which a daemon ends. */
static void make_word(int number)
{
    struct random r = {.state = (uint64_t)number};
    static const struct mu_exit_kind hows[] = {{.type = MU_EXIT_SIGNAL, .signal = 9},
                                               {.type = MU_EXIT_CODE, .code = 3},
                                               {.type = MU_EXIT_LEFT},
                                               {.type = MU_EXIT_UNKNOWN}};
    struct mu_word word = {.type = (uint8_t)(1 + number % MU_WORD_LAST)};
    if (word.type == MU_WORD_HEARD)
        word.heard = (uint8_t)(1 + number / MU_WORD_LAST % MU_WORD_GONE);
    else
        word.how = hows[number / MU_WORD_LAST % 4];
    word.age_ns = word.type == MU_WORD_HEARD ? 0 : random_u64(&r);
    struct mu_writer writer;
    mu_writer_init(&writer, buffer, sizeof buffer);
    writer.used = mu_word_encode(&word, buffer);
    save("word", number, &writer);
}

/* News of each type. */
static void make_news(int number)
{
    struct random r = {.state = (uint64_t)number, .slots = MU_SIZE_MAX, .small = number % 2 == 0};
    struct mu_news news = random_news(&r, (enum mu_news_type)(1 + number % MU_NEWS_LAST));
    struct mu_writer writer;
    mu_writer_init(&writer, buffer, sizeof buffer);
    writer.used = mu_news_encode(&news, buffer);
    save("news", number, &writer);
}

/* A node of eight opens a group and contributes; then messages of its neighbours in the tree, as
 * fuzz_agree.c takes them apart.  Or one message alone. */
static void make_agree(int number)
{
    struct random r = {.state = (uint64_t)number};
    struct mu_writer writer;
    mu_writer_init(&writer, buffer, sizeof buffer);
    bool alone = number % 4 == 0;
    const uint8_t begin[] = {MU_AGREE_OPEN - 1, 1, 0, MU_AGREE_CALL - 1, 1, 7};
    if (!alone)
        mu_write_bytes(&writer, begin, sizeof begin);
    for (int i = 0; i < (alone ? 1 : 6); i++) {
        struct mu_failed failed[] = {{.node = 2, .acked = 1, .process = MU_FAILED_NODE},
                                     {.node = 3, .process = (uint32_t)random_below(&r, 999)}};
        struct mu_roster_entry dead[] = {
            {0, 1, false}, {2, 1, true}, {(mu_slot)random_below(&r, 4) + 3, 1, number % 2 == 0}};
        const struct mu_agree_entry entry = {.key = 7, .kind = 4, .length = 2, .bytes = {1, 2}};
        struct mu_agree_message message = {.type = (uint8_t)(1 + random_below(&r, 3)),
                                           .group = 1,
                                           .round = 1 + random_below(&r, 2)};
        if (message.type == MU_AGREE_ASK) {
            message.dead = dead;
            message.dead_count = (uint32_t)random_below(&r, 4);
        } else {
            message.value.bits = random_u64(&r);
            message.value.failed = failed;
            message.value.failed_count = (uint32_t)random_below(&r, 3);
            message.value.entries = &entry;
            message.value.entry_count = (uint32_t)random_below(&r, 2);
        }
        uint8_t bytes[256];
        struct mu_writer inner;
        mu_writer_init(&inner, bytes, sizeof bytes);
        mu_agree_encode(&inner, &message);
        static const uint8_t neighbours[] = {0, 3, 4};
        if (!alone) {
            mu_write_u8(&writer, MU_AGREE_RECV - 1);
            mu_write_u8(&writer, neighbours[random_below(&r, 3)]);
            mu_write_u8(&writer, (uint8_t)inner.used);
        }
        mu_write_bytes(&writer, bytes, inner.used);
    }
    save("agree", number, &writer);
}

/* One message of a view. */
static void make_view(int number)
{
    struct random r = {.state = (uint64_t)number};
    const struct mu_span spans[] = {{0, 3}, {5, 1 + (uint32_t)random_below(&r, 9)}};
    const struct mu_view_member members[] = {{1, 4097}, {6, (uint32_t)random_u64(&r) | 1}};
    const struct mu_view_lost lost[] = {{.id = 3, .incarnation = 1, .counts = 1}};
    const mu_slot joined[] = {6};
    const struct mu_agree_entry join = {
        .key = mu_view_key(6, 4097), .kind = MU_VIEW_KIND_JOIN, .length = 3, .bytes = {1, 2, 3}};
    struct mu_view_message message = {.type = (uint8_t)(1 + number % MU_VIEW_MESSAGE_LAST),
                                      .mark = {1 + random_below(&r, 9), random_u64(&r), false},
                                      .agree = {.type = MU_AGREE_UP, .group = 1, .round = 1},
                                      .join = join,
                                      .fenced = members[0]};
    const struct mu_roster_entry dead[] = {{3, 1, .proven = true}};
    if (message.type == MU_VIEW_AGREE)
        message.whole = (struct mu_view_whole){.dead = dead, .dead_count = 1};
    else
        message.whole =
            (struct mu_view_whole){9, spans, 2, members, 2, lost, 1, joined, 1, dead, 1};
    message.agree.value = (struct mu_agree_value){.bits = 1, .entries = &join, .entry_count = 1};
    struct mu_writer writer;
    mu_writer_init(&writer, buffer, sizeof buffer);
    mu_view_encode(&writer, &message);
    save("view", number, &writer);
}

/* Choices, then what they are read from. */
static void make_bytes(int number)
{
    struct random r = {.state = (uint64_t)number};
    struct mu_writer writer;
    mu_writer_init(&writer, buffer, sizeof buffer);
    mu_write_u8(&writer, 12);
    for (int i = 0; i < 12; i++)
        mu_write_u8(&writer, number % 2 == 0 ? 5 : (uint8_t)random_u64(&r));
    for (int i = 0; i < 12; i++)
        mu_write_varint(&writer, random_u64(&r) >> random_below(&r, 64));
    save("bytes", number, &writer);
}

/* A board of one place with an event on it. */
static void make_board(struct random *r, struct mu_writer *writer)
{
    struct mu_board *board = calloc(1, mu_board_bytes(1));
    uint64_t words[MU_BOARD_WORDS] = {0};
    struct mu_local_message message = random_local(r, MU_LOCAL_EVENT);
    mu_board_init(board, 1);
    mu_board_put(board, words, mu_local_encode_event(&message.event, (uint8_t *)words));
    mu_write_bytes(writer, board, mu_board_bytes(1));
    free(board);
}

/* A packet of each type, then evidences, the name of a socket, and a board. */
static void make_local(int number)
{
    struct random r = {.state = (uint64_t)number, .slots = MU_SIZE_MAX, .small = number % 2 == 0};
    struct mu_writer writer;
    mu_writer_init(&writer, buffer, sizeof buffer);
    if (number < LOCAL_TYPES) {
        struct mu_local_message message = random_local(&r, local_types[number]);
        writer.used = mu_local_encode(&message, buffer);
    } else if (number < 22) {
        struct mu_evidence evidence = random_evidence(&r);
        mu_write_evidence(&writer, &evidence);
    } else if (number == 22) {
        make_board(&r, &writer);
    } else {
        char name[MU_LOCAL_NAME_MAX];
        mu_local_name(name, 1000, 0x0123456789abcdefu, 3);
        mu_write_bytes(&writer, name, strlen(name));
    }
    save("local", number, &writer);
}

/* A message of each type, jobs more often. */
static void make_launch(int number)
{
    struct random r = {.state = (uint64_t)number, .slots = MU_SIZE_MAX, .small = number % 2 == 0};
    struct random_launch memory;
    struct mu_writer writer;
    uint8_t type = number < LAUNCH_TYPES ? launch_types[number] : MU_LAUNCH_JOB;
    mu_writer_init(&writer, buffer, sizeof buffer);
    struct mu_launch_message message = random_launch(&r, type, &memory);
    mu_launch_encode(&writer, &message);
    save("launch", number, &writer);
}

/* A beat of each type, then several that one detector hears. */
static void make_beat(int number)
{
    struct random r = {.state = (uint64_t)number, .slots = 8, .small = true};
    struct mu_writer writer;
    mu_writer_init(&writer, buffer, sizeof buffer);
    bool one = number < MU_BEAT_LAST;
    for (int i = 0; i < (one ? 1 : 12); i++) {
        uint8_t type = (uint8_t)(one ? number + 1 : 1 + random_below(&r, MU_BEAT_LAST));
        struct mu_beat beat = random_beat(&r, type);
        uint8_t bytes[MU_BEAT_BYTES];
        mu_beat_encode(&beat, bytes);
        if (!one)
            bytes[0] = (uint8_t)random_u64(&r); /* what fuzz_beat.c takes it for */
        mu_write_bytes(&writer, bytes, sizeof bytes);
    }
    save("beat", number, &writer);
}

/* ---- recordings: a node whose neighbours mostly keep to the rules ---- */

struct life {
    struct random r;
    struct mu_node *node;
    struct mu_update update;
    struct mu_writer writer;
    struct mu_record_state state;
    struct mu_fingerprint digest;
};

static void happen(struct life *life, const struct mu_event *event)
{
    mu_node_step(life->node, event, &life->update);
    mu_record_digest_step(&life->digest, event, &life->update);
    assert(mu_record_encode_event(&life->state, &life->writer, event).error == MU_RECORD_OK);
}

/* Puts right what chance cannot: numbers that continue a link. */
static void repair(struct life *life, struct mu_event *event, struct mu_frame *frame)
{
    mu_slot peer = event->type == MU_EVENT_RECV ? event->recv.from : event->link_up.peer;
    struct mu_link *link = mu_links_find(&life->node->links, peer);
    uint64_t sent = link == NULL ? 0 : link->sent;
    uint64_t pending = link == NULL ? 0 : link->pending;
    uint64_t has = sent - pending + random_below(&life->r, pending + 1);
    if (event->type == MU_EVENT_LINK_UP)
        event->link_up.peer_has = has;
    if (event->type != MU_EVENT_RECV)
        return;
    frame->ack = has;
    if (frame->type == MU_FRAME_NOTICE)
        frame->sequence = mu_node_link_has(life->node, peer, event->recv.incarnation) + 1;
}

static void live(struct life *life, int events)
{
    struct mu_event event = {.type = MU_EVENT_START, .start = {random_below(&life->r, 2) == 0}};
    struct mu_frame frame;
    struct mu_notice notice;
    for (int i = 0; i < events; i++) {
        happen(life, &event);
        event = random_event(&life->r, event.now_ns, &frame, &notice);
        if (event.type == MU_EVENT_TIMEOUT) /* late enough for it */
            event.now_ns += random_below(&life->r, 2) * 2000 * 1000;
        if (random_below(&life->r, 16) > 0)
            repair(life, &event, &frame);
    }
}

/* Capacities are narrow, so that each is run over by some. */
static void make_recording(int number)
{
    static const uint32_t sizes[] = {8, 16, 5, 32, 16, 2, 8, 1};
    uint32_t size = sizes[number % 8];
    struct life life = {.r = {.state = (uint64_t)number, .slots = size, .small = true}};
    struct mu_config config;
    mu_config_default(&config, size, (mu_slot)number % size);
    config.ack_delay_ns = 1000 * 1000;
    config.retain_ns = 3000 * 1000; /* longer than that */
    config.limits = (struct mu_limits){.links = mu_graph_edges(size) + (uint32_t)(number % 5 == 0),
                                       .dead = 2 + (uint32_t)number % 7,
                                       .seen = 4 + (uint32_t)number,
                                       .notices = (uint16_t)(4 + number),
                                       .payload_bytes = (uint16_t)(number % 2 == 0 ? 4 : 32),
                                       .window = (uint16_t)(1 + number % 5)};
    config.limits.links += config.limits.links == 0;
    size_t bytes = mu_node_bytes(&config);
    life.node = mu_node_init(aligned_alloc(64, bytes), bytes, &config);
    life.update.capacity = mu_node_effects_max(&config);
    life.update.effects = malloc(life.update.capacity * sizeof *life.update.effects);
    mu_fingerprint_init(&life.digest);
    mu_writer_init(&life.writer, buffer, sizeof buffer);
    assert(mu_record_encode_header(&life.writer, &config).error == MU_RECORD_OK);
    live(&life, 8 + 4 * number);
    mu_record_encode_end(&life.state, &life.writer, &life.digest);
    save("record", number, &life.writer);
    free(life.node);
    free(life.update.effects);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_corpus FOLDER\n");
        return 2;
    }
    corpus = argv[1];
    mkdir(corpus, 0777);
    for (int number = 0; number < 24; number++) {
        make_frame(number);
        make_bytes(number);
        make_ballot(number);
        make_bulk(number);
        make_news(number);
        make_word(number);
        make_agree(number);
        make_view(number);
        make_local(number);
        make_launch(number);
        make_beat(number);
        make_recording(number);
    }
    return 0;
}
