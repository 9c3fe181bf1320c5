/* The sealed connection between two daemons.  'test_seal bench' prints what it costs instead. */
#include "net/seal.h"

#include "test_wire_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
/* after the four that it needs */
#include <cmocka.h>

static const uint8_t machine_key[MU_SEAL_KEY_BYTES] = "thirty-two bytes, and not 1 more";

/* How often somebody drew random bytes: an ephemeral key cannot be made without. */
static unsigned draws;

static void counted_buf(void *const bytes, const size_t count)
{
    draws++;
    randombytes_sysrandom_implementation.buf(bytes, count);
}

/* ---- two ends, and what passes between them ---- */

enum { STREAM_MAX = 1 << 20 };

struct stream {
    uint8_t *bytes; /* all that ever went into it */
    size_t made, delivered;
};

struct end {
    struct mu_seal seal;
    uint8_t *buffer;
    struct stream in; /* from the other end */
    struct end *other;
    char events[64]; /* a letter each, K O F R G B; MORE is not told */
    uint8_t *plain;  /* the frames that came, one behind the other */
    size_t plain_count;
    uint64_t has;
};

static struct end dialler, acceptor;

static const struct mu_hello dialler_self = {
    .machine = 77, .size = 8, .from = 3, .to = 5, .incarnation = 2};
static const struct mu_hello acceptor_self = {
    .machine = 77, .size = 8, .from = 5, .to = MU_SLOT_NONE, .incarnation = 4};

static void end_init(struct end *end, struct end *other)
{
    free(end->buffer); /* handed in at the exact size, so that the sanitizer sees what is beyond */
    uint8_t *stream = end->in.bytes != NULL ? end->in.bytes : malloc(STREAM_MAX);
    uint8_t *plain = end->plain != NULL ? end->plain : malloc(STREAM_MAX);
    memset(end, 0, sizeof *end);
    end->in.bytes = stream;
    end->plain = plain;
    end->other = other;
}

static void put(struct stream *stream, const uint8_t *bytes, size_t count)
{
    assert_true(count <= STREAM_MAX - stream->made);
    memcpy(stream->bytes + stream->made, bytes, count);
    stream->made += count;
}

static void take_output(struct end *end)
{
    const uint8_t *bytes;
    size_t count = mu_seal_output(&end->seal, &bytes);
    put(&end->other->in, bytes, count);
    mu_seal_consume(&end->seal, count);
}

static void begin(const uint8_t *dialler_key, enum mu_seal_kind dialler_kind,
                  const struct mu_hello *dialler_is, const uint8_t *acceptor_key,
                  enum mu_seal_kind acceptor_kind, const struct mu_hello *acceptor_is)
{
    end_init(&dialler, &acceptor);
    end_init(&acceptor, &dialler);
    dialler.has = 11;
    acceptor.has = 22;
    mu_seal_init(&dialler.seal, MU_SEAL_DIALLER, dialler_key, dialler_kind, dialler_is);
    mu_seal_init(&acceptor.seal, MU_SEAL_ACCEPTOR, acceptor_key, acceptor_kind, acceptor_is);
    take_output(&dialler);
    take_output(&acceptor);
}

static void begin_kind(enum mu_seal_kind kind)
{
    begin(machine_key, kind, &dialler_self, machine_key, MU_SEAL_ANY, &acceptor_self);
}

static void end_accept(struct end *end)
{
    size_t room = mu_seal_buffer_bytes(&end->seal);
    free(end->buffer);
    end->buffer = malloc(room);
    mu_seal_accept(&end->seal, end->has, end->buffer, room);
}

static void note(struct end *end, enum mu_seal_event event)
{
    static const char letters[] = " KOFRGB";
    size_t length = strlen(end->events);
    assert_true(length + 1 < sizeof end->events);
    if (event != MU_SEAL_MORE)
        end->events[length] = letters[event];
}

/* Stops at the first BAD. */
static void feed(struct end *end, const uint8_t *bytes, size_t count)
{
    for (;;) {
        size_t used;
        enum mu_seal_event event = mu_seal_input(&end->seal, bytes, count, &used);
        assert_true(used <= count);
        bytes += used;
        count -= used;
        note(end, event);
        if (event == MU_SEAL_PEER_KNOWN)
            end_accept(end);
        if (event == MU_SEAL_FRAME) {
            size_t plain_count;
            const uint8_t *plain = mu_seal_plain(&end->seal, &plain_count);
            assert_true(plain_count <= STREAM_MAX - end->plain_count);
            memcpy(end->plain + end->plain_count, plain, plain_count);
            end->plain_count += plain_count;
        }
        take_output(end);
        if (event == MU_SEAL_MORE)
            assert_int_equal(count, 0);
        if (event == MU_SEAL_BAD || event == MU_SEAL_MORE)
            return;
    }
}

static void deliver(struct end *end, size_t count)
{
    size_t left = end->in.made - end->in.delivered;
    count = count < left ? count : left;
    const uint8_t *bytes = end->in.bytes + end->in.delivered;
    end->in.delivered += count;
    feed(end, bytes, count);
}

static bool quiet(void)
{
    return dialler.in.made == dialler.in.delivered && acceptor.in.made == acceptor.in.delivered;
}

static void deliver_all(void)
{
    while (!quiet()) {
        deliver(&acceptor, STREAM_MAX);
        deliver(&dialler, STREAM_MAX);
    }
}

static void send_frame(struct end *end, const void *plain, size_t count)
{
    uint8_t *sealed = malloc(count + MU_SEAL_OVERHEAD);
    size_t written = mu_seal_send(&end->seal, plain, count, sealed);
    assert_int_equal(written, count + MU_SEAL_OVERHEAD);
    put(&end->other->in, sealed, written);
    free(sealed);
}

static void expect_plain(const struct end *end, const char *text)
{
    assert_int_equal(end->plain_count, strlen(text));
    assert_memory_equal(end->plain, text, strlen(text));
}

static void expect_bad(const struct end *end, enum mu_seal_error error, enum mu_seal_class class)
{
    const uint8_t *bytes;
    assert_int_equal(mu_seal_result(&end->seal).error, error);
    assert_int_equal(mu_seal_class(error), class);
    assert_int_equal(mu_seal_output(&end->seal, &bytes), 0);
    assert_true(sodium_is_zero((const uint8_t *)&end->seal.secret, sizeof end->seal.secret));
}

static void expect_text(const struct end *end, const char *expected)
{
    char text[MU_SEAL_TEXT_MAX];
    assert_string_equal(mu_seal_text(mu_seal_result(&end->seal), text, sizeof text), expected);
}

/* Up to both being open, nothing on the way. */
static void open_both(enum mu_seal_kind kind)
{
    begin_kind(kind);
    deliver_all();
    assert_string_equal(dialler.events, "KO");
    assert_string_equal(acceptor.events, "KO");
}

/* ---- a member by hand: docs/spec/seal.md once more, without seal.c ---- */

struct hand {
    uint8_t version, kind;
    struct mu_hello self;
    uint8_t public_half[32], secret[32];
    uint8_t shake[222];
    uint8_t keys[4][32]; /* dialler, acceptor, confirm; transcript */
    crypto_secretstream_xchacha20poly1305_state send, receive;
};

static void hand_init(struct hand *hand, const struct mu_hello *self)
{
    memset(hand, 0, sizeof *hand);
    hand->version = MU_WIRE_VERSION;
    hand->kind = 1;
    hand->self = *self;
    randombytes_buf(hand->secret, 32);
    crypto_scalarmult_base(hand->public_half, hand->secret);
}

static void big_endian(uint8_t *at, uint64_t value, int count)
{
    for (int i = 0; i < count; i++)
        at[i] = (uint8_t)(value >> 8 * (count - 1 - i));
}

static void personal_hash(uint8_t *out, const char *personal, const uint8_t *key,
                          const uint8_t *bytes, size_t count)
{
    crypto_generichash_blake2b_salt_personal(out, 32, bytes, count, key, key == NULL ? 0 : 32, NULL,
                                             (const uint8_t *)personal);
}

/* The tag of what stands at 'message' in the shake: again after it was changed. */
static void hand_tag(struct hand *hand, const uint8_t *key, bool answer)
{
    size_t at = answer ? 111 : 0;
    personal_hash(hand->shake + at + 79, answer ? "muster seal answ" : "muster seal call", key,
                  hand->shake, at + 79);
}

static const uint8_t *hand_say(struct hand *hand, bool answer)
{
    uint8_t *at = hand->shake + (answer ? 111 : 0);
    memcpy(at, "MUSE", 4);
    at[4] = hand->version;
    at[5] = answer ? 2 : 1;
    at[6] = hand->kind;
    big_endian(at + 7, hand->self.machine, 8);
    big_endian(at + 15, hand->self.size, 4);
    big_endian(at + 19, hand->self.from, 4);
    big_endian(at + 23, hand->self.to, 4);
    big_endian(at + 27, hand->self.incarnation, 4);
    memcpy(at + 31, hand->public_half, 32);
    randombytes_buf(at + 63, 16);
    hand_tag(hand, machine_key, answer);
    return at;
}

static void hand_keys(struct hand *hand, const uint8_t *other_public)
{
    static const char *const personal[] = {"muster seal d->a", "muster seal a->d",
                                           "muster seal ckey"};
    uint8_t input[64];
    assert_int_equal(crypto_scalarmult(input, hand->secret, other_public), 0);
    personal_hash(hand->keys[3], "muster seal hash", NULL, hand->shake, 222);
    memcpy(input + 32, hand->keys[3], 32);
    for (int i = 0; i < 3; i++)
        personal_hash(hand->keys[i], personal[i], machine_key, input, 64);
}

/* Calls 'acceptor' and confirms. */
static void hand_dial(struct hand *hand)
{
    feed(&acceptor, hand_say(hand, false), 111);
    assert_int_equal(dialler.in.made, 111);
    memcpy(hand->shake + 111, dialler.in.bytes, 111);
    hand_keys(hand, hand->shake + 111 + 31);
    uint8_t confirm[38] = "MUSE\1\3", input[38];
    confirm[4] = hand->version;
    memcpy(input, confirm, 6);
    memcpy(input + 6, hand->keys[3], 32);
    personal_hash(confirm + 6, "muster seal conf", hand->keys[2], input, 38);
    feed(&acceptor, confirm, 38);
}

/* Takes the call of 'dialler' and answers. */
static void hand_answer(struct hand *hand)
{
    assert_int_equal(acceptor.in.made, 111);
    memcpy(hand->shake, acceptor.in.bytes, 111);
    const uint8_t *answer = hand_say(hand, true);
    hand_keys(hand, hand->shake + 31);
    feed(&dialler, answer, 111);
}

static void hand_start_sending(struct hand *hand, struct end *to)
{
    uint8_t header[24];
    crypto_secretstream_xchacha20poly1305_init_push(&hand->send, header,
                                                    hand->keys[to == &dialler]);
    feed(to, header, sizeof header);
}

static void hand_send(struct hand *hand, struct end *to, const uint8_t *plain, size_t count,
                      uint8_t tag)
{
    uint8_t *sealed = malloc(4 + count + 17);
    big_endian(sealed, count + 17, 4);
    crypto_secretstream_xchacha20poly1305_push(&hand->send, sealed + 4, NULL, plain, count, NULL, 0,
                                               tag);
    feed(to, sealed, 4 + count + 17);
    free(sealed);
}

static void hand_send_message(struct hand *hand, struct end *to, const struct mu_message *message,
                              uint8_t tag)
{
    uint8_t bytes[512];
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(mu_wire_encode(&writer, message).error, MU_WIRE_OK);
    hand_send(hand, to, bytes, writer.used, tag);
}

/* Opens the first sealed frame of what 'from' sent after 'skip' bytes; returns its tag. */
static uint8_t hand_open(struct hand *hand, struct end *from, size_t skip,
                         struct mu_message *message)
{
    static uint8_t plain[512];
    uint8_t tag;
    const uint8_t *at = from->other->in.bytes + skip;
    size_t length = (size_t)at[24 + 2] << 8 | at[24 + 3];
    assert_int_equal(from->other->in.made, skip + 24 + 4 + length);
    crypto_secretstream_xchacha20poly1305_init_pull(&hand->receive, at,
                                                    hand->keys[from == &acceptor]);
    assert_int_equal(crypto_secretstream_xchacha20poly1305_pull(&hand->receive, plain, NULL, &tag,
                                                                at + 28, length, NULL, 0),
                     0);
    assert_int_equal(mu_wire_decode(plain, length - 17, message).error, MU_WIRE_OK);
    return tag;
}

/* ---- what should work ---- */

static void talk(struct random *r)
{
    size_t sent = 0;
    while (!quiet() || sent < 3) {
        size_t most = r == NULL ? 1 : 200;
        deliver(&acceptor, r == NULL ? 1 : random_below(r, most));
        deliver(&dialler, r == NULL ? 1 : random_below(r, most));
        bool both_open = dialler.seal.open && acceptor.seal.open;
        if (both_open && sent < 3) {
            send_frame(&dialler, "to you.", 7);
            send_frame(&acceptor, "and back.", 9);
            sent++;
        }
    }
    mu_seal_bye(&dialler.seal);
    take_output(&dialler);
    mu_seal_bye(&acceptor.seal);
    take_output(&acceptor);
    while (!quiet()) {
        deliver(&acceptor, r == NULL ? 1 : random_below(r, 30));
        deliver(&dialler, r == NULL ? 1 : random_below(r, 30));
    }
    assert_string_equal(dialler.events, "KOFFFG");
    assert_string_equal(acceptor.events, "KOFFFG");
    expect_plain(&acceptor, "to you.to you.to you.");
    expect_plain(&dialler, "and back.and back.and back.");
    assert_int_equal(mu_seal_end(&dialler.seal), MU_SEAL_GOODBYE);
    assert_int_equal(mu_seal_end(&acceptor.seal), MU_SEAL_GOODBYE);
}

static void two_daemons_talk_one_byte_at_a_time(void **state)
{
    (void)state;
    begin_kind(MU_SEAL_NOTICES);
    talk(NULL);
    begin_kind(MU_SEAL_BULK);
    talk(NULL);
}

static void two_daemons_talk_in_chunks_of_any_size(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct random r = {.state = seed};
        begin_kind(seed % 2 == 0 ? MU_SEAL_NOTICES : MU_SEAL_BULK);
        talk(&r);
    }
}

static void each_side_learns_who_the_other_is(void **state)
{
    (void)state;
    begin_kind(MU_SEAL_BULK);
    assert_null(mu_seal_peer(&dialler.seal));
    assert_null(mu_seal_peer(&acceptor.seal));
    deliver_all();
    const struct mu_hello *peer = mu_seal_peer(&acceptor.seal);
    assert_int_equal(peer->machine, 77);
    assert_int_equal(peer->size, 8);
    assert_int_equal(peer->from, 3);
    assert_int_equal(peer->to, 5);
    assert_int_equal(peer->incarnation, 2);
    assert_int_equal(peer->has, 11);
    assert_int_equal(acceptor.seal.kind, MU_SEAL_BULK);
    peer = mu_seal_peer(&dialler.seal);
    assert_int_equal(peer->from, 5);
    assert_int_equal(peer->to, 3);
    assert_int_equal(peer->incarnation, 4);
    assert_int_equal(peer->has, 22);
}

static void the_longest_frames_of_each_kind_pass(void **state)
{
    (void)state;
    static uint8_t plain[MU_SEAL_BULK_MAX];
    randombytes_buf(plain, sizeof plain);
    const struct {
        enum mu_seal_kind kind;
        size_t max;
    } cases[] = {
        {MU_SEAL_NOTICES, MU_WIRE_FRAME_MAX}, {MU_SEAL_BULK, 262144}, {MU_SEAL_WITNESS, 4096}};
    for (size_t i = 0; i < 3; i++) {
        open_both(cases[i].kind);
        assert_int_equal(mu_seal_frame_max(&dialler.seal), cases[i].max);
        send_frame(&dialler, plain, cases[i].max);
        send_frame(&dialler, plain, 1);
        deliver_all();
        assert_string_equal(acceptor.events, "KOFF");
        assert_int_equal(acceptor.plain_count, cases[i].max + 1);
        assert_memory_equal(acceptor.plain, plain, cases[i].max);
    }
}

static void the_same_text_is_never_sealed_to_the_same_bytes(void **state)
{
    (void)state;
    open_both(MU_SEAL_NOTICES);
    uint8_t sealed[4][100 + MU_SEAL_OVERHEAD], plain[100] = {0};
    mu_seal_send(&dialler.seal, plain, 100, sealed[0]);
    mu_seal_send(&dialler.seal, plain, 100, sealed[1]);
    mu_seal_send(&acceptor.seal, plain, 100, sealed[2]);
    open_both(MU_SEAL_NOTICES);
    mu_seal_send(&dialler.seal, plain, 100, sealed[3]);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(sealed[i] + 4, sealed[j] + 4, 16);
}

static void the_page_in_docs_is_enough_to_write_the_other_side(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_message message;
    begin_kind(MU_SEAL_NOTICES);
    hand_init(&hand, &dialler_self);
    hand_dial(&hand);
    assert_string_equal(acceptor.events, "K");
    assert_int_equal(hand_open(&hand, &acceptor, 111, &message), 0);
    assert_int_equal(message.type, MU_MESSAGE_HELLO);
    assert_int_equal(message.hello.has, 22);
    hand_start_sending(&hand, &acceptor);
    struct mu_hello hello = dialler_self;
    hello.has = 9;
    hello.view = 7;
    hello.hash = 8;
    hand_send_message(&hand, &acceptor,
                      &(struct mu_message){.type = MU_MESSAGE_HELLO, .hello = hello}, 0);
    hand_send(&hand, &acceptor, (const uint8_t *)"text", 4, 0);
    hand_send_message(&hand, &acceptor, &(struct mu_message){.type = MU_MESSAGE_BYE}, 3);
    assert_string_equal(acceptor.events, "KOFG");
    expect_plain(&acceptor, "text");
    assert_int_equal(mu_seal_peer(&acceptor.seal)->has, 9);
    assert_int_equal(mu_seal_peer(&acceptor.seal)->view, 7);
    assert_int_equal(mu_seal_peer(&acceptor.seal)->hash, 8);

    begin_kind(MU_SEAL_NOTICES);
    hand_init(&hand, &acceptor_self);
    hand.self.to = 3;
    hand_answer(&hand);
    assert_string_equal(dialler.events, "K");
    assert_int_equal(hand_open(&hand, &dialler, 111 + 38, &message), 0);
    assert_int_equal(message.hello.has, 11);
    hand_start_sending(&hand, &dialler);
    hand_send_message(&hand, &dialler,
                      &(struct mu_message){.type = MU_MESSAGE_HELLO, .hello = hand.self}, 0);
    assert_string_equal(dialler.events, "KO");
}

/* ---- refusals that are told ---- */

/* Instead of feed(), which accepts. */
static void feed_and_refuse(struct end *end, const uint8_t *bytes, size_t count, const char *reason)
{
    size_t used;
    enum mu_seal_event event = mu_seal_input(&end->seal, bytes, count, &used);
    note(end, event);
    if (event == MU_SEAL_PEER_KNOWN)
        mu_seal_refuse(&end->seal, MU_REFUSE_DEAD, reason);
    take_output(end);
}

static void expect_refusal(const struct end *end, const char *reason)
{
    const struct mu_refuse *refuse = mu_seal_refusal(&end->seal);
    assert_int_equal(refuse->code, MU_REFUSE_DEAD);
    assert_int_equal(refuse->length, strlen(reason));
    assert_memory_equal(refuse->reason, reason, strlen(reason));
}

static void a_peer_that_is_not_wanted_reads_the_reason(void **state)
{
    (void)state;
    begin_kind(MU_SEAL_NOTICES);
    deliver(&acceptor, 111);
    deliver(&dialler, 111);
    feed_and_refuse(&acceptor, acceptor.in.bytes + 111, 38, "incarnation 2 is dead\n");
    deliver(&dialler, STREAM_MAX);
    assert_string_equal(dialler.events, "KR");
    expect_refusal(&dialler, "incarnation 2 is dead?");
    assert_int_equal(mu_seal_end(&dialler.seal), MU_SEAL_GOODBYE);

    /* What the dialler says meanwhile is not listened to. */
    feed(&acceptor, acceptor.in.bytes + 149, acceptor.in.made - 149);
    assert_string_equal(acceptor.events, "K");
    assert_int_equal(mu_seal_end(&acceptor.seal), MU_SEAL_GOODBYE);

    begin_kind(MU_SEAL_NOTICES);
    deliver(&acceptor, 111);
    feed_and_refuse(&dialler, dialler.in.bytes, 111, "");
    deliver(&acceptor, STREAM_MAX);
    assert_string_equal(acceptor.events, "KR");
    expect_refusal(&acceptor, "?");
}

static void a_refusal_may_come_later_and_may_be_long(void **state)
{
    (void)state;
    char reason[400];
    memset(reason, 'x', sizeof reason);
    reason[399] = '\0';
    open_both(MU_SEAL_BULK);
    mu_seal_refuse(&acceptor.seal, MU_REFUSE_DEAD, reason);
    mu_seal_refuse(&acceptor.seal, MU_REFUSE_DEAD, "again");
    mu_seal_bye(&acceptor.seal);
    take_output(&acceptor);
    deliver_all();
    assert_string_equal(dialler.events, "KOR");
    reason[MU_WIRE_REASON_MAX] = '\0';
    expect_refusal(&dialler, reason);
    send_frame(&dialler, "late", 4);
    deliver_all();
    assert_string_equal(acceptor.events, "KO");
}

static void hand_expect_version_refuse(struct hand *hand, struct end *from, size_t skip,
                                       const char *reason)
{
    struct mu_message message;
    assert_int_equal(hand_open(hand, from, skip, &message), 3);
    assert_int_equal(message.type, MU_MESSAGE_REFUSE);
    assert_int_equal(message.refuse.code, MU_REFUSE_VERSION);
    assert_int_equal(message.refuse.length, strlen(reason));
    assert_memory_equal(message.refuse.reason, reason, strlen(reason));
}

static void a_newer_member_is_told_the_version_and_only_after_its_confirm(void **state)
{
    (void)state;
    struct hand hand;
    begin_kind(MU_SEAL_NOTICES);
    hand_init(&hand, &dialler_self);
    hand.version = 4;
    hand_dial(&hand);
    assert_string_equal(acceptor.events, "B");
    expect_bad(&acceptor, MU_SEAL_VERSION_NEWER, MU_SEAL_CLASS_VERSION);
    expect_text(&acceptor,
                "version 4 of the other side is newer than 3, the newest this program speaks");
    hand_expect_version_refuse(&hand, &acceptor, 111,
                               "version 4 is not spoken here, only version 3");
    assert_int_equal(mu_seal_peer(&acceptor.seal)->from, 3);

    /* The same call without the confirmation: nothing but the answer to it. */
    begin_kind(MU_SEAL_NOTICES);
    feed(&acceptor, hand.shake, 111);
    assert_int_equal(dialler.in.made, 111);
    feed(&acceptor, (const uint8_t *)"MUSE\3\3 thirty-two bytes that are wrong", 38);
    assert_string_equal(acceptor.events, "B");
    expect_bad(&acceptor, MU_SEAL_CONFIRM_TAG, MU_SEAL_CLASS_ORDER);
    assert_int_equal(dialler.in.made, 111);

    /* And without the key: nothing at all. */
    begin_kind(MU_SEAL_NOTICES);
    hand.shake[100] ^= 1;
    feed(&acceptor, hand.shake, 111);
    expect_bad(&acceptor, MU_SEAL_CALL_TAG, MU_SEAL_CLASS_FORGED);
    assert_int_equal(dialler.in.made, 0);
}

static void a_dialler_tells_another_version_too(void **state)
{
    (void)state;
    for (unsigned version = 2; version <= 4; version += 2) {
        struct hand hand;
        begin_kind(MU_SEAL_NOTICES);
        hand_init(&hand, &acceptor_self);
        hand.self.to = 3;
        hand.version = (uint8_t)version;
        hand_answer(&hand);
        assert_string_equal(dialler.events, "B");
        expect_bad(&dialler, version == 4 ? MU_SEAL_VERSION_NEWER : MU_SEAL_VERSION_OLDER,
                   MU_SEAL_CLASS_VERSION);
        hand_expect_version_refuse(&hand, &dialler, 111 + 38,
                                   version == 4 ? "version 4 is not spoken here, only version 3"
                                                : "version 2 is not spoken here, only version 3");
    }
}

/* ---- strangers ---- */

static void a_stranger_is_known_from_six_bytes_or_from_one_hash(void **state)
{
    (void)state;
    begin_kind(MU_SEAL_NOTICES);
    draws = 0;
    feed(&acceptor, (const uint8_t *)"GET / HTTP/1.1\r\n", 16);
    expect_bad(&acceptor, MU_SEAL_BAD_MAGIC, MU_SEAL_CLASS_MALFORMED);
    expect_text(&acceptor, "the first four bytes, 0x47455420, are not muster's, 0x4d555345");

    begin_kind(MU_SEAL_NOTICES);
    draws = 0;
    uint8_t call[MU_SEAL_CALL] = "MUSE\1\1";
    feed(&acceptor, call, MU_SEAL_CALL - 1);
    assert_string_equal(acceptor.events, "");
    feed(&acceptor, call, 1);
    expect_bad(&acceptor, MU_SEAL_CALL_TAG, MU_SEAL_CLASS_FORGED);
    assert_int_equal(draws, 0); /* no key was made for it */
    assert_int_equal(dialler.in.made, 0);
    feed(&acceptor, call, 1);
    assert_string_equal(acceptor.events, "BB");

    begin_kind(MU_SEAL_NOTICES);
    feed(&acceptor, (const uint8_t *)"MUSE\1\4", 6);
    expect_bad(&acceptor, MU_SEAL_BAD_STEP, MU_SEAL_CLASS_MALFORMED);
}

static void another_key_opens_nothing(void **state)
{
    (void)state;
    uint8_t other_key[MU_SEAL_KEY_BYTES];
    memcpy(other_key, machine_key, sizeof other_key);
    other_key[31] ^= 0x80;
    begin(other_key, MU_SEAL_NOTICES, &dialler_self, machine_key, MU_SEAL_ANY, &acceptor_self);
    deliver_all();
    assert_string_equal(acceptor.events, "B");
    expect_bad(&acceptor, MU_SEAL_CALL_TAG, MU_SEAL_CLASS_FORGED);
    assert_int_equal(dialler.in.made, 0);

    begin_kind(MU_SEAL_NOTICES);
    deliver(&acceptor, 111);
    struct hand hand = {0};
    memcpy(hand.shake, acceptor.in.bytes, 111);
    memcpy(hand.shake + 111, dialler.in.bytes, 111);
    hand_tag(&hand, other_key, true);
    feed(&dialler, hand.shake + 111, 111);
    assert_string_equal(dialler.events, "B");
    expect_bad(&dialler, MU_SEAL_ANSWER_TAG, MU_SEAL_CLASS_FORGED);
}

static void every_flipped_bit_of_the_handshake_is_refused(void **state)
{
    (void)state;
    struct end *const receivers[] = {&acceptor, &dialler, &acceptor};
    const size_t starts[] = {0, 0, 111}, lengths[] = {111, 111, 38};
    for (int message = 0; message < 3; message++) {
        for (size_t bit = 0; bit < 8 * lengths[message]; bit++) {
            begin_kind(MU_SEAL_NOTICES);
            if (message > 0)
                deliver(&acceptor, 111);
            if (message > 1)
                deliver(&dialler, 111);
            struct end *receiver = receivers[message];
            size_t answered = receiver->other->in.made;
            uint8_t *bytes = receiver->in.bytes + starts[message];
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            feed(receiver, bytes, lengths[message]);
            assert_string_equal(receiver->events, "B");
            assert_null(mu_seal_peer(&receiver->seal));
            assert_int_equal(receiver->other->in.made, answered);
            expect_bad(receiver, mu_seal_result(&receiver->seal).error,
                       mu_seal_class(mu_seal_result(&receiver->seal).error));
        }
    }
}

/* ---- sealed frames that were tampered with ---- */

/* An acceptor that has accepted, and all that a dialler then sends: its header, HELLO, three
 * frames, BYE.  Pieces can be fed to copies of the acceptor. */
static struct {
    struct mu_seal seal;
    uint8_t *bytes;
    size_t at[8]; /* where header, HELLO, A, B, C and BYE begin, and where all ends */
    size_t pieces;
} recorded;

enum { HEADER, HELLO, A, B, C, BYE, PIECES };

static void record_dialler(void)
{
    begin_kind(MU_SEAL_NOTICES);
    deliver(&acceptor, 111);
    deliver(&dialler, STREAM_MAX);
    deliver(&acceptor, 38);
    assert_string_equal(acceptor.events, "K");
    recorded.seal = acceptor.seal;
    recorded.bytes = acceptor.in.bytes;
    recorded.at[HEADER] = 111 + 38;
    recorded.at[HELLO] = recorded.at[HEADER] + MU_SEAL_HEADER;
    recorded.at[A] = acceptor.in.made;
    send_frame(&dialler, "first frame", 11);
    recorded.at[B] = acceptor.in.made;
    send_frame(&dialler, "other frame", 11); /* as long as the first */
    recorded.at[C] = acceptor.in.made;
    send_frame(&dialler, "last", 4);
    recorded.at[BYE] = acceptor.in.made;
    mu_seal_bye(&dialler.seal);
    take_output(&dialler);
    recorded.at[PIECES] = acceptor.in.made;
}

static void rewind_acceptor(void)
{
    acceptor.seal = recorded.seal;
    acceptor.plain_count = 0;
    memset(acceptor.events, 0, sizeof acceptor.events);
}

static void feed_piece(int piece)
{
    feed(&acceptor, recorded.bytes + recorded.at[piece],
         recorded.at[piece + 1] - recorded.at[piece]);
}

/* The pieces in this order; then the stream ends. */
static void expect_pieces(const int *pieces, const char *events)
{
    rewind_acceptor();
    for (; *pieces >= 0 && acceptor.seal.state != MU_SEAL_FAILED; pieces++)
        feed_piece(*pieces);
    note(&acceptor, mu_seal_end(&acceptor.seal));
    assert_string_equal(acceptor.events, events);
}

static void frames_that_are_swapped_repeated_or_left_out_are_refused(void **state)
{
    (void)state;
    record_dialler();
    expect_pieces((int[]){HEADER, HELLO, A, B, C, BYE, -1}, "OFFFGG");
    expect_pieces((int[]){HEADER, HELLO, B, A, C, BYE, -1}, "OBB");
    expect_bad(&acceptor, MU_SEAL_FRAME_TAG, MU_SEAL_CLASS_FORGED);
    expect_text(&acceptor, "sealed frame 2 is not the one that was sent: altered, repeated, or out "
                           "of order");
    expect_pieces((int[]){HEADER, HELLO, A, A, B, C, BYE, -1}, "OFBB");
    expect_pieces((int[]){HEADER, HELLO, HELLO, A, -1}, "OBB");
    expect_pieces((int[]){HEADER, HELLO, A, C, BYE, -1}, "OFBB");
    expect_pieces((int[]){HEADER, HELLO, A, BYE, -1}, "OFBB");
    expect_pieces((int[]){HEADER, A, B, C, BYE, -1}, "BB");
    expect_pieces((int[]){HELLO, A, B, C, BYE, -1}, "BB");
    expect_pieces((int[]){HEADER, HEADER, HELLO, -1}, "BB");
    expect_pieces((int[]){HEADER, HELLO, A, B, C, BYE, BYE, -1}, "OFFFGBB");
    expect_bad(&acceptor, MU_SEAL_AFTER_LAST, MU_SEAL_CLASS_ORDER);
}

static void a_goodbye_is_told_from_a_cut(void **state)
{
    (void)state;
    record_dialler();
    expect_pieces((int[]){HEADER, HELLO, A, B, C, BYE, -1}, "OFFFGG");
    expect_pieces((int[]){HEADER, HELLO, A, B, C, -1}, "OFFFB");
    expect_bad(&acceptor, MU_SEAL_CUT, MU_SEAL_CLASS_CUT);
    expect_text(&acceptor, "the connection ended without a BYE, after 4 frames");
    for (size_t end = recorded.at[HEADER]; end < recorded.at[PIECES]; end++) {
        rewind_acceptor();
        feed(&acceptor, recorded.bytes + recorded.at[HEADER], end - recorded.at[HEADER]);
        assert_null(strpbrk(acceptor.events, "GRB"));
        assert_int_equal(mu_seal_end(&acceptor.seal), MU_SEAL_BAD);
        expect_bad(&acceptor, MU_SEAL_CUT, MU_SEAL_CLASS_CUT);
    }
}

static void every_flipped_bit_of_a_sealed_frame_is_refused(void **state)
{
    (void)state;
    record_dialler();
    uint8_t *bytes = recorded.bytes + recorded.at[HEADER];
    size_t count = recorded.at[PIECES] - recorded.at[HEADER];
    for (size_t bit = 0; bit < 8 * count; bit++) {
        size_t byte = recorded.at[HEADER] + bit / 8;
        char before[8] = "";
        for (int piece = HELLO; byte >= recorded.at[piece + 1]; piece++)
            strcat(before, piece == HELLO ? "O" : "F");
        rewind_acceptor();
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        feed(&acceptor, bytes, count);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        bool waits = acceptor.seal.state != MU_SEAL_FAILED; /* the length has grown */
        if (!waits)
            strcat(before, "B");
        assert_string_equal(acceptor.events, before);
        assert_int_equal(mu_seal_end(&acceptor.seal), MU_SEAL_BAD);
    }
}

static void a_length_that_cannot_be_is_refused_from_its_four_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        uint32_t longest = i == 0 ? MU_SEAL_NOTICES_BUFFER : MU_SEAL_BULK_BUFFER;
        const uint32_t lengths[] = {0, 17, longest + 1, UINT32_MAX, 18, longest};
        open_both(i == 0 ? MU_SEAL_NOTICES : MU_SEAL_BULK);
        struct mu_seal before = acceptor.seal;
        for (int l = 0; l < 6; l++) {
            uint8_t bytes[4];
            acceptor.seal = before;
            big_endian(bytes, lengths[l], 4);
            acceptor.events[2] = '\0';
            feed(&acceptor, bytes, 4);
            assert_string_equal(acceptor.events, l < 4 ? "KOB" : "KO");
            if (l < 4)
                expect_bad(&acceptor, MU_SEAL_LENGTH, MU_SEAL_CLASS_MALFORMED);
        }
        assert_int_equal(acceptor.seal.wanted, longest);
    }
}

/* ---- reflections, recordings, connections mixed up ---- */

static void what_a_daemon_said_itself_is_not_taken_from_another(void **state)
{
    (void)state;
    begin_kind(MU_SEAL_NOTICES);
    feed(&dialler, acceptor.in.bytes, 111);
    assert_string_equal(dialler.events, "B");
    expect_bad(&dialler, MU_SEAL_STEP_ORDER, MU_SEAL_CLASS_ORDER);
    expect_text(&dialler, "handshake step 1 came where step 2 is due: sent back, or sent again");

    begin_kind(MU_SEAL_NOTICES); /* with the step put right */
    acceptor.in.bytes[5] = 2;
    feed(&dialler, acceptor.in.bytes, 111);
    expect_bad(&dialler, MU_SEAL_ANSWER_TAG, MU_SEAL_CLASS_FORGED);

    begin_kind(MU_SEAL_NOTICES);
    deliver(&acceptor, 111);
    feed(&acceptor, dialler.in.bytes, 111);
    expect_bad(&acceptor, MU_SEAL_STEP_ORDER, MU_SEAL_CLASS_ORDER);

    begin_kind(MU_SEAL_NOTICES); /* a call again, in the place of the confirmation */
    deliver(&acceptor, 111);
    feed(&acceptor, acceptor.in.bytes, 111);
    expect_bad(&acceptor, MU_SEAL_STEP_ORDER, MU_SEAL_CLASS_ORDER);

    begin_kind(MU_SEAL_NOTICES); /* its own call, to its own listening socket */
    struct mu_seal same_node;
    struct mu_hello self = dialler_self;
    size_t used;
    mu_seal_init(&same_node, MU_SEAL_ACCEPTOR, machine_key, MU_SEAL_ANY, &self);
    assert_int_equal(mu_seal_input(&same_node, acceptor.in.bytes, 111, &used), MU_SEAL_BAD);
    assert_int_equal(mu_seal_result(&same_node).error, MU_SEAL_NOT_MEANT);

    open_both(MU_SEAL_NOTICES); /* sealed: header and HELLO, or a frame later */
    begin_kind(MU_SEAL_NOTICES);
    deliver(&acceptor, 111);
    deliver(&dialler, 111);
    assert_string_equal(dialler.events, "K");
    feed(&dialler, acceptor.in.bytes + 149, acceptor.in.made - 149);
    assert_string_equal(dialler.events, "KB");
    open_both(MU_SEAL_NOTICES);
    uint8_t sealed[4 + MU_SEAL_OVERHEAD];
    mu_seal_send(&dialler.seal, (const uint8_t *)"echo", 4, sealed);
    feed(&dialler, sealed, sizeof sealed);
    assert_string_equal(dialler.events, "KOB");
    expect_bad(&dialler, MU_SEAL_FRAME_TAG, MU_SEAL_CLASS_FORGED);
}

static void a_recorded_connection_fails_at_its_confirm(void **state)
{
    (void)state;
    static uint8_t to_acceptor[4096], to_dialler[4096];
    open_both(MU_SEAL_NOTICES);
    send_frame(&dialler, "node 7 is dead", 14);
    deliver_all();
    size_t count = acceptor.in.made, back = dialler.in.made;
    memcpy(to_acceptor, acceptor.in.bytes, count);
    memcpy(to_dialler, dialler.in.bytes, back);

    begin_kind(MU_SEAL_NOTICES);
    feed(&acceptor, to_acceptor, 111);
    assert_string_equal(acceptor.events, "");
    feed(&acceptor, to_acceptor + 111, count - 111);
    assert_string_equal(acceptor.events, "B");
    expect_bad(&acceptor, MU_SEAL_CONFIRM_TAG, MU_SEAL_CLASS_ORDER);
    assert_null(mu_seal_peer(&acceptor.seal));
    assert_int_equal(dialler.in.made, 111); /* the answer, which is of no use to the replayer */

    begin_kind(MU_SEAL_NOTICES); /* all at once: not even that */
    feed(&acceptor, to_acceptor, count);
    expect_bad(&acceptor, MU_SEAL_CONFIRM_TAG, MU_SEAL_CLASS_ORDER);
    assert_int_equal(dialler.in.made, 0);

    begin_kind(MU_SEAL_NOTICES);
    feed(&dialler, to_dialler, back);
    assert_string_equal(dialler.events, "B");
    expect_bad(&dialler, MU_SEAL_ANSWER_TAG, MU_SEAL_CLASS_FORGED);
}

static void another_machine_is_refused(void **state)
{
    (void)state;
    struct mu_hello other = dialler_self;
    other.machine = 78;
    begin(machine_key, MU_SEAL_NOTICES, &other, machine_key, MU_SEAL_ANY, &acceptor_self);
    deliver_all();
    assert_string_equal(acceptor.events, "B");
    expect_bad(&acceptor, MU_SEAL_OTHER_MACHINE, MU_SEAL_CLASS_MACHINE);
    expect_text(&acceptor, "the other side is of machine 78, this is machine 77");
    assert_int_equal(dialler.in.made, 0);

    other = dialler_self;
    other.size = 9;
    begin(machine_key, MU_SEAL_NOTICES, &other, machine_key, MU_SEAL_ANY, &acceptor_self);
    deliver_all();
    expect_bad(&acceptor, MU_SEAL_OTHER_SIZE, MU_SEAL_CLASS_MACHINE);
    expect_text(&acceptor, "the other side is of a machine of size 9, this one has 8");
}

static void slots_that_are_mixed_up_are_refused(void **state)
{
    (void)state;
    struct mu_hello other = acceptor_self;
    other.from = 6;
    begin(machine_key, MU_SEAL_NOTICES, &dialler_self, machine_key, MU_SEAL_ANY, &other);
    deliver_all();
    assert_string_equal(acceptor.events, "B");
    expect_bad(&acceptor, MU_SEAL_NOT_MEANT, MU_SEAL_CLASS_SLOT);
    expect_text(&acceptor, "slot 5 was meant, this is slot 6");
    assert_int_equal(dialler.in.made, 0);

    struct hand hand;
    const struct {
        bool answer;
        mu_slot from, to;
        uint32_t incarnation;
        enum mu_seal_error error;
        enum mu_seal_class class;
    } cases[] = {
        {false, 5, 5, 1, MU_SEAL_OWN_SLOT, MU_SEAL_CLASS_SLOT},
        {false, 8, 5, 1, MU_SEAL_NO_SUCH_SLOT, MU_SEAL_CLASS_SLOT},
        {false, MU_SLOT_NONE, 5, 1, MU_SEAL_NO_SUCH_SLOT, MU_SEAL_CLASS_SLOT},
        {false, 3, 4, 1, MU_SEAL_NOT_MEANT, MU_SEAL_CLASS_SLOT},
        {false, 3, 5, 0, MU_SEAL_NO_INCARNATION, MU_SEAL_CLASS_MALFORMED},
        {true, 6, 3, 1, MU_SEAL_NOT_CALLED, MU_SEAL_CLASS_SLOT},
        {true, 5, 4, 1, MU_SEAL_NOT_MEANT, MU_SEAL_CLASS_SLOT},
        {true, 3, 3, 1, MU_SEAL_OWN_SLOT, MU_SEAL_CLASS_SLOT},
        {true, 5, 3, 0, MU_SEAL_NO_INCARNATION, MU_SEAL_CLASS_MALFORMED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin_kind(MU_SEAL_NOTICES);
        hand_init(&hand, &dialler_self);
        hand.self.from = cases[i].from;
        hand.self.to = cases[i].to;
        hand.self.incarnation = cases[i].incarnation;
        struct end *end = cases[i].answer ? &dialler : &acceptor;
        if (cases[i].answer)
            hand_answer(&hand);
        else
            feed(&acceptor, hand_say(&hand, false), 111);
        assert_string_equal(end->events, "B");
        expect_bad(end, cases[i].error, cases[i].class);
    }
}

static void bulk_does_not_pass_for_notices(void **state)
{
    (void)state;
    begin(machine_key, MU_SEAL_BULK, &dialler_self, machine_key, MU_SEAL_NOTICES, &acceptor_self);
    deliver_all();
    assert_string_equal(acceptor.events, "B");
    expect_bad(&acceptor, MU_SEAL_OTHER_KIND, MU_SEAL_CLASS_KIND);
    expect_text(&acceptor, "kind 2 of a connection came where kind 1 is due (1 notices, 2 bulk, 3 "
                           "launcher, 4 witness)");

    struct hand hand;
    begin_kind(MU_SEAL_NOTICES);
    hand_init(&hand, &acceptor_self);
    hand.self.to = 3;
    hand.kind = 2;
    hand_answer(&hand);
    expect_bad(&dialler, MU_SEAL_OTHER_KIND, MU_SEAL_CLASS_KIND);

    begin_kind(MU_SEAL_NOTICES);
    hand_init(&hand, &dialler_self);
    hand.kind = 5;
    feed(&acceptor, hand_say(&hand, false), 111);
    expect_bad(&acceptor, MU_SEAL_NO_KIND, MU_SEAL_CLASS_MALFORMED);
}

static void a_launcher_has_no_slot(void **state)
{
    (void)state;
    struct mu_hello no_slot = dialler_self;
    no_slot.from = no_slot.size;
    begin(machine_key, MU_SEAL_LAUNCHER, &no_slot, machine_key, MU_SEAL_ANY, &acceptor_self);
    deliver_all();
    assert_string_equal(acceptor.events, "KO");
    assert_int_equal(mu_seal_peer(&acceptor.seal)->from, no_slot.size);

    /* A node does not pass for one, nor does one pass for a node. */
    struct hand hand;
    begin(machine_key, MU_SEAL_NOTICES, &dialler_self, machine_key, MU_SEAL_ANY, &acceptor_self);
    hand_init(&hand, &dialler_self);
    hand.kind = MU_SEAL_LAUNCHER;
    feed(&acceptor, hand_say(&hand, false), 111);
    expect_bad(&acceptor, MU_SEAL_NO_SUCH_SLOT, MU_SEAL_CLASS_SLOT);

    begin(machine_key, MU_SEAL_NOTICES, &dialler_self, machine_key, MU_SEAL_ANY, &acceptor_self);
    hand_init(&hand, &no_slot);
    hand.kind = MU_SEAL_NOTICES;
    feed(&acceptor, hand_say(&hand, false), 111);
    expect_bad(&acceptor, MU_SEAL_NO_SUCH_SLOT, MU_SEAL_CLASS_SLOT);
}

static void keys_of_small_order_are_refused(void **state)
{
    (void)state;
    /* All points of the curve and its twist whose multiples are few, and two of their aliases. */
    static const char *const points[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    };
    for (size_t i = 0; i < 2 * (sizeof points / sizeof points[0]); i++) {
        struct hand hand;
        begin_kind(MU_SEAL_NOTICES);
        hand_init(&hand, i % 2 == 0 ? &dialler_self : &acceptor_self);
        sodium_hex2bin(hand.public_half, 32, points[i / 2], 64, NULL, NULL, NULL);
        struct end *end = i % 2 == 0 ? &acceptor : &dialler;
        if (i % 2 == 0) {
            feed(&acceptor, hand_say(&hand, false), 111);
            assert_int_equal(dialler.in.made, 0);
        } else {
            hand.self.to = 3;
            memcpy(hand.shake, acceptor.in.bytes, 111);
            feed(&dialler, hand_say(&hand, true), 111);
            assert_int_equal(acceptor.in.made, 111);
        }
        assert_string_equal(end->events, "B");
        expect_bad(end, MU_SEAL_WEAK_KEY, MU_SEAL_CLASS_FORGED);
    }
}

/* ---- a member that breaks the rules ---- */

static void hand_reach(struct hand *hand)
{
    begin_kind(MU_SEAL_NOTICES);
    hand_init(hand, &dialler_self);
    hand_dial(hand);
    hand_start_sending(hand, &acceptor);
    assert_string_equal(acceptor.events, "K");
}

static void a_hello_must_say_what_the_handshake_said(void **state)
{
    (void)state;
    for (int field = 0; field < 5; field++) {
        struct hand hand;
        struct mu_message message = {.type = MU_MESSAGE_HELLO, .hello = dialler_self};
        message.hello.machine += field == 0;
        message.hello.size += field == 1;
        message.hello.from += field == 2;
        message.hello.to += field == 3;
        message.hello.incarnation += field == 4;
        hand_reach(&hand);
        hand_send_message(&hand, &acceptor, &message, 0);
        assert_string_equal(acceptor.events, "KB");
        expect_bad(&acceptor, MU_SEAL_HELLO_DIFFERS, MU_SEAL_CLASS_MALFORMED);
        if (field == 2)
            expect_text(&acceptor, "the HELLO says 4, where the handshake said 3");
    }
}

static void nothing_comes_before_hello_and_nothing_else_is_last(void **state)
{
    (void)state;
    struct hand hand;
    const struct mu_message hello = {.type = MU_MESSAGE_HELLO, .hello = dialler_self};
    const struct mu_message ack = {.type = MU_MESSAGE_ACK, .frame = {.type = MU_FRAME_ACK}};
    const struct mu_message bye = {.type = MU_MESSAGE_BYE};
    const struct mu_message refuse = {.type = MU_MESSAGE_REFUSE,
                                      .refuse = {.code = 9, .length = 2, .reason = "no"}};
    const struct {
        const struct mu_message *message;
        uint8_t tag;
        bool after_hello;
        const char *events;
        enum mu_seal_error error;
    } cases[] = {
        {&ack, 0, false, "KB", MU_SEAL_FIRST_FRAME},
        {&bye, 3, false, "KB", MU_SEAL_FIRST_FRAME},
        {&refuse, 0, false, "KB", MU_SEAL_FIRST_FRAME},
        {&hello, 3, false, "KB", MU_SEAL_FIRST_FRAME},
        {&hello, 1, false, "KB", MU_SEAL_STREAM_TAG},
        {&hello, 2, false, "KB", MU_SEAL_STREAM_TAG},
        {&hello, 4, false, "KB", MU_SEAL_STREAM_TAG},
        {&refuse, 3, false, "KR", MU_SEAL_OK},
        {&ack, 3, true, "KOB", MU_SEAL_LAST_FRAME},
        {&ack, 2, true, "KOB", MU_SEAL_STREAM_TAG},
        {&refuse, 3, true, "KOR", MU_SEAL_OK},
        {&bye, 3, true, "KOG", MU_SEAL_OK},
        {&ack, 0, true, "KOF", MU_SEAL_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hand_reach(&hand);
        if (cases[i].after_hello)
            hand_send_message(&hand, &acceptor, &hello, 0);
        hand_send_message(&hand, &acceptor, cases[i].message, cases[i].tag);
        assert_string_equal(acceptor.events, cases[i].events);
        assert_int_equal(mu_seal_result(&acceptor.seal).error, cases[i].error);
    }
    hand_reach(&hand);
    hand_send(&hand, &acceptor, (const uint8_t *)"\0\0\0\2\4\3", 6, 0);
    expect_bad(&acceptor, MU_SEAL_FIRST_FRAME, MU_SEAL_CLASS_MALFORMED);
    expect_text(&acceptor, "the first sealed frame is not a HELLO or the last, a REFUSE: frame "
                           "version 4 is newer than 3, the newest this program speaks");
}

/* ---- keys and memory ---- */

static void two_connections_never_share_a_key(void **state)
{
    (void)state;
    enum { CONNECTIONS = 200 };
    static uint8_t keys[2 * CONNECTIONS][32], drawn[2][16];
    for (int i = 0; i < CONNECTIONS; i++) {
        begin_kind(MU_SEAL_NOTICES);
        deliver(&acceptor, 111); /* the acceptor has made its keys, and waits for the CONFIRM */
        memcpy(drawn[i % 2], acceptor.in.bytes + 63, 16);
        assert_memory_not_equal(drawn[0], drawn[1], 16);
        assert_memory_not_equal(drawn[i % 2], dialler.in.bytes + 63, 16);
        const struct mu_seal_keys *made = &acceptor.seal.secret.keys;
        memcpy(keys[2 * i], made->dialler, 32);
        memcpy(keys[2 * i + 1], made->acceptor, 32);
        assert_memory_not_equal(made->confirm, made->dialler, 32);
        assert_memory_not_equal(made->confirm, made->acceptor, 32);
        for (int j = 0; j < 2 * i + 1; j++)
            for (int k = 2 * i; k < 2 * i + 2; k++)
                assert_true(j == k || memcmp(keys[j], keys[k], 32) != 0);
    }
}

static bool is_in(const void *bytes, size_t count, const uint8_t *key)
{
    for (size_t i = 0; i + 32 <= count; i++)
        if (memcmp((const uint8_t *)bytes + i, key, 32) == 0)
            return true;
    return false;
}

static void keys_are_gone_when_they_are_not_needed(void **state)
{
    (void)state;
    begin_kind(MU_SEAL_NOTICES);
    uint8_t ephemeral[32];
    memcpy(ephemeral, dialler.seal.secret.ephemeral, 32);
    deliver(&acceptor, 111);
    struct mu_seal_keys keys = acceptor.seal.secret.keys;
    deliver(&dialler, 111); /* it has begun to send, and waits for the acceptor's header */
    assert_false(is_in(&dialler.seal, sizeof dialler.seal, keys.dialler));
    assert_false(is_in(&dialler.seal, sizeof dialler.seal, keys.confirm));
    assert_true(is_in(&dialler.seal, sizeof dialler.seal, keys.acceptor));
    deliver_all();
    struct mu_seal *const seals[] = {&dialler.seal, &acceptor.seal};
    for (int i = 0; i < 2; i++) {
        assert_false(is_in(seals[i], sizeof *seals[i], ephemeral));
        assert_false(is_in(seals[i], sizeof *seals[i], keys.dialler));
        assert_false(is_in(seals[i], sizeof *seals[i], keys.acceptor));
        assert_false(is_in(seals[i], sizeof *seals[i], keys.confirm));
        assert_false(is_in(seals[i], sizeof *seals[i], machine_key));
        assert_null(seals[i]->key);
        assert_false(sodium_is_zero((uint8_t *)&seals[i]->secret, sizeof seals[i]->secret));
    }
    mu_seal_bye(&dialler.seal);
    take_output(&dialler);
    deliver_all();
    assert_true(sodium_is_zero((uint8_t *)&dialler.seal.secret.send, 32));
    assert_true(sodium_is_zero((uint8_t *)&acceptor.seal.secret.receive, 32));
    mu_seal_free(&acceptor.seal);
    assert_true(sodium_is_zero((uint8_t *)&acceptor.seal.secret, sizeof acceptor.seal.secret));
    assert_false(is_in(&acceptor.seal, sizeof acceptor.seal, keys.transcript));
    feed(&acceptor, (const uint8_t *)"x", 1);
    assert_string_equal(acceptor.events, "KOGB");
}

static void a_connection_takes_no_more_memory_than_stated(void **state)
{
    (void)state;
    assert_in_range(sizeof(struct mu_seal), 1, 1136);
    assert_int_equal(MU_SEAL_NOTICES_BUFFER, 65607);
    assert_int_equal(MU_SEAL_BULK_BUFFER, 262161);
    open_both(MU_SEAL_NOTICES);
    assert_int_equal(mu_seal_buffer_bytes(&dialler.seal), 65607);
    open_both(MU_SEAL_BULK);
    assert_int_equal(mu_seal_buffer_bytes(&dialler.seal), 262161);

    /* All that output can ever hold at once. */
    char reason[MU_WIRE_REASON_MAX + 1];
    memset(reason, 'x', sizeof reason - 1);
    reason[sizeof reason - 1] = '\0';
    begin_kind(MU_SEAL_BULK);
    deliver(&acceptor, 111);
    size_t used;
    const uint8_t *bytes;
    assert_int_equal(mu_seal_input(&dialler.seal, dialler.in.bytes, 111, &used),
                     MU_SEAL_PEER_KNOWN);
    end_accept(&dialler);
    mu_seal_refuse(&dialler.seal, MU_REFUSE_DEAD, reason);
    assert_int_equal(mu_seal_output(&dialler.seal, &bytes), MU_SEAL_OUT);
    take_output(&dialler);
    deliver(&acceptor, STREAM_MAX);
    assert_string_equal(acceptor.events, "KOR");
}

static void a_bad_seal_sends_nothing(void **state)
{
    (void)state;
    open_both(MU_SEAL_NOTICES);
    feed(&acceptor, (const uint8_t *)"\xff\xff\xff\xff", 4);
    assert_string_equal(acceptor.events, "KOB");
    uint8_t sealed[4 + MU_SEAL_OVERHEAD];
    const uint8_t *bytes;
    assert_int_equal(mu_seal_send(&acceptor.seal, (const uint8_t *)"text", 4, sealed), 0);
    mu_seal_bye(&acceptor.seal);
    mu_seal_refuse(&acceptor.seal, MU_REFUSE_FORMAT, "no");
    assert_int_equal(mu_seal_output(&acceptor.seal, &bytes), 0);
    assert_int_equal(mu_seal_end(&acceptor.seal), MU_SEAL_BAD);
    assert_int_equal(mu_seal_result(&acceptor.seal).error, MU_SEAL_LENGTH);
}

static void every_error_has_a_sentence_and_a_class(void **state)
{
    (void)state;
    for (int error = MU_SEAL_OK; error <= MU_SEAL_CUT; error++) {
        char text[MU_SEAL_TEXT_MAX];
        struct mu_seal_result result = {
            .error = (enum mu_seal_error)error,
            .value = UINT64_MAX,
            .bound = UINT64_MAX,
            .wire = {.error = MU_WIRE_VERSION_NEWER, .value = UINT64_MAX, .bound = UINT64_MAX}};
        assert_in_range(strlen(mu_seal_text(result, text, sizeof text)), 10, sizeof text - 2);
        enum mu_seal_class class = mu_seal_class(result.error);
        assert_int_equal(class == MU_SEAL_CLASS_NONE, error == MU_SEAL_OK);
        assert_in_range(class, 0, MU_SEAL_CLASSES - 1);
        assert_in_range(strlen(mu_seal_class_name(class)), 3, 10);
        assert_string_equal(mu_seal_text(result, text, 5)[4] == '\0' ? "cut" : text, "cut");
    }
}

/* ---- what it costs: medians, since others may be running ---- */

enum { ROUNDS = 2001 };

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *samples)
{
    qsort(samples, ROUNDS, sizeof samples[0], compare);
    return samples[ROUNDS / 2];
}

static void bench_frames(size_t count)
{
    static uint8_t plain[MU_SEAL_NOTICES_MAX], sealed[MU_SEAL_NOTICES_MAX + MU_SEAL_OVERHEAD];
    static double send_ns[ROUNDS], receive_ns[ROUNDS];
    open_both(MU_SEAL_NOTICES);
    for (int i = 0; i < ROUNDS; i++) {
        size_t used;
        double start = now_ns();
        size_t written = mu_seal_send(&dialler.seal, plain, count, sealed);
        double middle = now_ns();
        if (mu_seal_input(&acceptor.seal, sealed, written, &used) != MU_SEAL_FRAME)
            abort();
        send_ns[i] = middle - start;
        receive_ns[i] = now_ns() - middle;
    }
    printf("frame of %5zu bytes: seal %6.0f ns, open %6.0f ns\n", count, median(send_ns),
           median(receive_ns));
}

/* From the CALL's arrival to the ANSWER, or to the refusal when the tag is wrong. */
static double bench_call(bool wrong)
{
    static double samples[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        begin_kind(MU_SEAL_NOTICES);
        acceptor.in.bytes[110] ^= wrong;
        double start = now_ns();
        deliver(&acceptor, 111);
        samples[i] = now_ns() - start;
    }
    return median(samples);
}

static int bench(void)
{
    static double samples[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double start = now_ns();
        open_both(MU_SEAL_NOTICES);
        samples[i] = now_ns() - start;
    }
    printf("handshake and HELLO, both sides together: %.0f us\n", median(samples) / 1e3);
    printf("a stranger's CALL, to its refusal: %.1f us\n", bench_call(true) / 1e3);
    printf("a recorded CALL, to its ANSWER: %.0f us\n", bench_call(false) / 1e3);
    bench_frames(14);
    bench_frames(100);
    bench_frames(1000);
    bench_frames(MU_SEAL_NOTICES_MAX);
    return 0;
}

int main(int argc, char **argv)
{
    static struct randombytes_implementation counted;
    counted = randombytes_sysrandom_implementation;
    counted.buf = counted_buf;
    randombytes_set_implementation(&counted);
    if (sodium_init() < 0)
        return 1;
    if (argc == 2 && strcmp(argv[1], "bench") == 0)
        return bench();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_daemons_talk_one_byte_at_a_time),
        cmocka_unit_test(two_daemons_talk_in_chunks_of_any_size),
        cmocka_unit_test(each_side_learns_who_the_other_is),
        cmocka_unit_test(the_longest_frames_of_each_kind_pass),
        cmocka_unit_test(the_same_text_is_never_sealed_to_the_same_bytes),
        cmocka_unit_test(the_page_in_docs_is_enough_to_write_the_other_side),
        cmocka_unit_test(a_peer_that_is_not_wanted_reads_the_reason),
        cmocka_unit_test(a_refusal_may_come_later_and_may_be_long),
        cmocka_unit_test(a_newer_member_is_told_the_version_and_only_after_its_confirm),
        cmocka_unit_test(a_dialler_tells_another_version_too),
        cmocka_unit_test(a_stranger_is_known_from_six_bytes_or_from_one_hash),
        cmocka_unit_test(another_key_opens_nothing),
        cmocka_unit_test(every_flipped_bit_of_the_handshake_is_refused),
        cmocka_unit_test(frames_that_are_swapped_repeated_or_left_out_are_refused),
        cmocka_unit_test(a_goodbye_is_told_from_a_cut),
        cmocka_unit_test(every_flipped_bit_of_a_sealed_frame_is_refused),
        cmocka_unit_test(a_length_that_cannot_be_is_refused_from_its_four_bytes),
        cmocka_unit_test(what_a_daemon_said_itself_is_not_taken_from_another),
        cmocka_unit_test(a_recorded_connection_fails_at_its_confirm),
        cmocka_unit_test(another_machine_is_refused),
        cmocka_unit_test(slots_that_are_mixed_up_are_refused),
        cmocka_unit_test(bulk_does_not_pass_for_notices),
        cmocka_unit_test(a_launcher_has_no_slot),
        cmocka_unit_test(keys_of_small_order_are_refused),
        cmocka_unit_test(a_hello_must_say_what_the_handshake_said),
        cmocka_unit_test(nothing_comes_before_hello_and_nothing_else_is_last),
        cmocka_unit_test(two_connections_never_share_a_key),
        cmocka_unit_test(keys_are_gone_when_they_are_not_needed),
        cmocka_unit_test(a_connection_takes_no_more_memory_than_stated),
        cmocka_unit_test(a_bad_seal_sends_nothing),
        cmocka_unit_test(every_error_has_a_sentence_and_a_class),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    struct end *const ends[] = {&dialler, &acceptor};
    for (int i = 0; i < 2; i++) {
        free(ends[i]->buffer);
        free(ends[i]->in.bytes);
        free(ends[i]->plain);
    }
    return failed;
}
