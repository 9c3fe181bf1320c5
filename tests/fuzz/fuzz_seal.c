/* Two daemons on a sealed connection, and somebody in between.
 *
 * The input is a list of things to do: pass bytes on, change, drop, repeat, reflect or insert some,
 * let an end say something.  Whatever it is, an end may report anything but MORE and BAD only while
 * all bytes that it has taken are those that the other end sent, in their order.
 *
 * With an odd first byte the other end is a member that seals well, and says what it likes. */
#include "net/seal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- random bytes, the same for each input ---- */

static uint64_t random_state;

static uint32_t next_random(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z ^ z >> 31);
}

static void fill(void *const bytes, const size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)next_random();
}

static const char *random_name(void)
{
    return "fuzz";
}

/* ---- the ends ---- */

enum { STREAM_MAX = 1 << 16, FRAMES_MAX = 64 };

struct end {
    struct mu_seal seal;
    uint8_t buffer[MU_SEAL_BULK_BUFFER];
    uint8_t sent[STREAM_MAX]; /* what the other end sent */
    size_t made, passed;
    size_t taken;                /* bytes that this end has got, by whomever */
    size_t same;                 /* of these, as many as agree with 'sent' from the start */
    uint16_t frames[FRAMES_MAX]; /* lengths of what the other end sent */
    unsigned frames_sent, frames_got;
    bool open, ended;
};

static struct end dialler, acceptor;
static uint8_t recording[2]
                        [STREAM_MAX]; /* of another connection: to the acceptor, to the dialler */
static size_t recorded[2];

static const uint8_t key[MU_SEAL_KEY_BYTES] = "the machine's key";
static const struct mu_hello dialler_self = {
    .machine = 77, .size = 8, .from = 3, .to = 5, .incarnation = 2, .has = 1};
static const struct mu_hello acceptor_self = {
    .machine = 77, .size = 8, .from = 5, .to = MU_SLOT_NONE, .incarnation = 4, .has = 1};

static struct end *other(struct end *end)
{
    return end == &dialler ? &acceptor : &dialler;
}

static void put(struct end *to, const uint8_t *bytes, size_t count)
{
    assert(count <= STREAM_MAX - to->made);
    memcpy(to->sent + to->made, bytes, count);
    to->made += count;
}

static void take_output(struct end *end)
{
    const uint8_t *bytes;
    size_t count = mu_seal_output(&end->seal, &bytes);
    put(other(end), bytes, count);
    mu_seal_consume(&end->seal, count);
}

static void end_init(struct end *end)
{
    end->made = end->passed = end->taken = end->same = 0;
    end->frames_sent = end->frames_got = 0;
    end->open = end->ended = false;
}

static void begin(uint64_t seed, enum mu_seal_kind kind, enum mu_seal_kind expected)
{
    random_state = seed;
    end_init(&dialler);
    end_init(&acceptor);
    mu_seal_init(&dialler.seal, MU_SEAL_DIALLER, key, kind, &dialler_self);
    mu_seal_init(&acceptor.seal, MU_SEAL_ACCEPTOR, key, expected, &acceptor_self);
    take_output(&dialler);
}

static void check_bad(const struct end *end)
{
    char text[MU_SEAL_TEXT_MAX];
    struct mu_seal_result result = mu_seal_result(&end->seal);
    size_t length = strlen(mu_seal_text(result, text, sizeof text));
    assert(length > 10 && length < sizeof text - 1);
    assert(mu_seal_class(result.error) != MU_SEAL_CLASS_NONE);
    assert(sodium_is_zero((const uint8_t *)&end->seal.secret, sizeof end->seal.secret));
}

static uint8_t text_byte(size_t frame, size_t i)
{
    return (uint8_t)(frame * 31 + i);
}

static void check_frame(struct end *end)
{
    size_t count;
    const uint8_t *plain = mu_seal_plain(&end->seal, &count);
    assert(end->frames_got < end->frames_sent && count == end->frames[end->frames_got]);
    for (size_t i = 0; i < count; i++)
        assert(plain[i] == text_byte(end->frames_got, i));
    end->frames_got++;
}

/* Takes it all, and accepts whom it gets to know. */
static void feed(struct end *end, const uint8_t *bytes, size_t count)
{
    for (;;) {
        size_t used;
        enum mu_seal_event event = mu_seal_input(&end->seal, bytes, count, &used);
        assert(used <= count);
        for (size_t i = 0; i < used; i++, end->taken++)
            if (end->same == end->taken && end->taken < end->made &&
                end->sent[end->taken] == bytes[i])
                end->same++;
        bytes += used;
        count -= used;
        if (event == MU_SEAL_BAD)
            check_bad(end);
        else if (event != MU_SEAL_MORE)
            assert(end->taken == end->same && !end->ended);
        if (event == MU_SEAL_PEER_KNOWN)
            mu_seal_accept(&end->seal, 1, end->buffer, sizeof end->buffer);
        if (event == MU_SEAL_OPEN)
            end->open = true;
        if (event == MU_SEAL_FRAME)
            check_frame(end);
        if (event == MU_SEAL_REFUSED || event == MU_SEAL_GOODBYE)
            end->ended = true;
        take_output(end);
        if (end->seal.state == MU_SEAL_WAIT_CIPHER)
            assert(end->seal.wanted <= mu_seal_buffer_bytes(&end->seal));
        if (event == MU_SEAL_MORE)
            assert(count == 0);
        if (event == MU_SEAL_MORE || event == MU_SEAL_BAD)
            return;
    }
}

static size_t at_most(size_t count, size_t most)
{
    return count < most ? count : most;
}

static void pass(struct end *to, size_t count)
{
    count = at_most(count, to->made - to->passed);
    to->passed += count;
    feed(to, to->sent + to->passed - count, count);
}

static void say(struct end *from, uint16_t length)
{
    static uint8_t plain[512], sealed[512 + MU_SEAL_OVERHEAD];
    struct end *to = other(from);
    length = (uint16_t)(1 + length % sizeof plain);
    if (!from->seal.sending || to->frames_sent == FRAMES_MAX || to->made > STREAM_MAX / 2)
        return;
    for (size_t i = 0; i < length; i++)
        plain[i] = text_byte(to->frames_sent, i);
    to->frames[to->frames_sent++] = length;
    put(to, sealed, mu_seal_send(&from->seal, plain, length, sealed));
}

/* ---- somebody in between ---- */

/* Somebody who even has the key changes the call, and makes it look right. */
static void change_call(struct mu_reader *choices)
{
    uint8_t call[MU_SEAL_CALL];
    memcpy(call, acceptor.sent, sizeof call);
    uint8_t at = mu_read_u8(choices), with = mu_read_u8(choices);
    call[at % MU_SEAL_SAID] ^= with;
    crypto_generichash_blake2b_salt_personal(call + MU_SEAL_SAID, 32, call, MU_SEAL_SAID, key, 32,
                                             NULL, (const uint8_t *)"muster seal call");
    feed(&acceptor, call, sizeof call);
}

static void tamper(struct mu_reader *choices, struct end *to, uint8_t what)
{
    static uint8_t piece[UINT16_MAX];
    size_t left = to->made - to->passed;
    uint16_t count = mu_read_u16(choices);
    size_t at;
    switch (what % 8) {
    case 0: /* change a byte of what is next */
        count = (uint16_t)at_most(count, left);
        at = mu_read_u16(choices);
        memcpy(piece, to->sent + to->passed, count);
        if (count > 0)
            piece[at % count] ^= mu_read_u8(choices);
        to->passed += count;
        feed(to, piece, count);
        return;
    case 1: /* leave some out */
        to->passed += at_most(count, left);
        return;
    case 2: /* again, from anywhere before */
        at = at_most(mu_read_u16(choices), to->made);
        feed(to, to->sent + at, at_most(count, to->made - at));
        return;
    case 3: /* its own, sent back */
        at = at_most(mu_read_u16(choices), other(to)->made);
        feed(to, other(to)->sent + at, at_most(count, other(to)->made - at));
        return;
    case 4: /* of another connection */
        at = at_most(mu_read_u16(choices), recorded[to == &dialler]);
        feed(to, recording[to == &dialler] + at, at_most(count, recorded[to == &dialler] - at));
        return;
    case 5: /* anything */
        count = (uint16_t)at_most(count, mu_reader_left(choices));
        if (count > 0 && !choices->bad)
            feed(to, mu_read_bytes(choices, count), count);
        return;
    case 6:
        change_call(choices);
        return;
    case 7: /* what is next, later: the two pieces change places */
        count = (uint16_t)at_most(count, left / 2);
        feed(to, to->sent + to->passed + count, count);
        feed(to, to->sent + to->passed, count);
        to->passed += 2 * (size_t)count;
        return;
    }
}

static void cut(struct end *end)
{
    enum mu_seal_event event = mu_seal_end(&end->seal);
    assert(event == MU_SEAL_BAD ||
           (event == MU_SEAL_GOODBYE && (end->ended || end->seal.state == MU_SEAL_DEAF)));
    if (event == MU_SEAL_BAD)
        check_bad(end);
}

static void act(struct mu_reader *choices)
{
    uint8_t what = mu_read_u8(choices);
    struct end *end = what & 1 ? &dialler : &acceptor;
    what /= 2;
    switch (what % 8) {
    case 0:
        pass(end, mu_read_u16(choices));
        return;
    case 1:
    case 2:
        pass(end, STREAM_MAX);
        return;
    case 3:
        say(end, mu_read_u16(choices));
        return;
    case 4:
        if (end->seal.sending && what & 8)
            mu_seal_bye(&end->seal);
        else if (end->seal.sending)
            mu_seal_refuse(&end->seal, MU_REFUSE_FULL, "no room");
        take_output(end);
        return;
    case 5:
        if (what & 8)
            cut(end);
        return;
    default:
        tamper(choices, end, mu_read_u8(choices));
        return;
    }
}

/* ---- a member that says what it likes ---- */

static bool same_ids(const struct mu_hello *a, const struct mu_hello *b)
{
    return a->machine == b->machine && a->size == b->size && a->from == b->from && a->to == b->to &&
           a->incarnation == b->incarnation;
}

/* Runs the handshake, takes the keys while they are there, and starts to send with them. */
static void become_member(struct end *liar, crypto_secretstream_xchacha20poly1305_state *state)
{
    struct end *to = other(liar);
    uint8_t header[MU_SEAL_HEADER];
    size_t used;
    feed(&acceptor, acceptor.sent, acceptor.made);
    struct mu_seal_keys keys = acceptor.seal.secret.keys; /* the dialler will have the same */
    assert(mu_seal_input(&dialler.seal, dialler.sent, dialler.made, &used) == MU_SEAL_PEER_KNOWN);
    mu_seal_accept(&dialler.seal, 1, dialler.buffer, sizeof dialler.buffer);
    size_t confirm = acceptor.made;
    take_output(&dialler);
    if (to == &acceptor)
        feed(to, acceptor.sent + confirm, MU_SEAL_CONFIRM);
    crypto_secretstream_xchacha20poly1305_init_push(
        state, header, liar == &dialler ? keys.dialler : keys.acceptor);
    feed(to, header, sizeof header);
}

/* A HELLO with one byte changed, or anything. */
static size_t choose_plain(struct mu_reader *choices, const struct mu_hello *self, uint8_t *plain,
                           size_t room)
{
    uint8_t what = mu_read_u8(choices);
    struct mu_writer writer;
    mu_writer_init(&writer, plain, room);
    if (what < 64) {
        struct mu_message hello = {.type = MU_MESSAGE_HELLO, .hello = *self};
        assert(mu_wire_encode(&writer, &hello).error == MU_WIRE_OK);
        plain[6 + what % 32] ^= mu_read_u8(choices);
    } else {
        size_t count = at_most(what - 63u, mu_reader_left(choices));
        mu_write_bytes(&writer, mu_read_bytes(choices, count), count);
    }
    return writer.used;
}

static void check_heard(struct end *to, enum mu_seal_event event, uint8_t tag, const uint8_t *plain,
                        size_t count)
{
    struct mu_message said;
    size_t got_count;
    const uint8_t *got = mu_seal_plain(&to->seal, &got_count);
    switch (event) {
    case MU_SEAL_OPEN:
        assert(!to->open && tag == 0);
        assert(mu_wire_decode(plain, count, &said).error == MU_WIRE_OK);
        assert(same_ids(mu_seal_peer(&to->seal), &other(to)->seal.self));
        assert(same_ids(mu_seal_peer(&to->seal), &said.hello));
        to->open = true;
        return;
    case MU_SEAL_FRAME:
        assert(to->open && tag == 0);
        assert(got_count == count && memcmp(got, plain, count) == 0);
        return;
    case MU_SEAL_REFUSED:
        assert(tag == 3 && mu_seal_refusal(&to->seal)->length >= 1);
        return;
    case MU_SEAL_GOODBYE:
        assert(tag == 3 && to->open && count == 6);
        return;
    case MU_SEAL_BAD:
        check_bad(to);
        return;
    case MU_SEAL_MORE:
    case MU_SEAL_PEER_KNOWN:
        abort();
    }
}

static void lie(struct mu_reader *choices, struct end *liar)
{
    static uint8_t plain[256], sealed[sizeof plain + MU_SEAL_OVERHEAD];
    struct end *to = other(liar);
    crypto_secretstream_xchacha20poly1305_state state;
    become_member(liar, &state);
    while (!choices->bad && mu_reader_left(choices) > 0 && to->seal.state != MU_SEAL_FAILED) {
        uint8_t tag = mu_read_u8(choices);
        size_t used, count = choose_plain(choices, &liar->seal.self, plain, sizeof plain);
        if (count == 0)
            return;
        struct mu_writer length;
        mu_writer_init(&length, sealed, 4);
        mu_write_u32(&length, (uint32_t)count + MU_SEAL_CIPHER_EXTRA);
        crypto_secretstream_xchacha20poly1305_push(&state, sealed + 4, NULL, plain, count, NULL, 0,
                                                   tag);
        enum mu_seal_event event =
            mu_seal_input(&to->seal, sealed, count + MU_SEAL_OVERHEAD, &used);
        check_heard(to, event, tag, plain, count);
    }
}

/* ---- */

static void record_connection(void)
{
    begin(1, MU_SEAL_NOTICES, MU_SEAL_ANY);
    for (int i = 0; i < 4; i++) {
        pass(&acceptor, STREAM_MAX);
        pass(&dialler, STREAM_MAX);
    }
    say(&dialler, 20);
    say(&acceptor, 20);
    mu_seal_bye(&dialler.seal);
    take_output(&dialler);
    pass(&acceptor, STREAM_MAX);
    pass(&dialler, STREAM_MAX);
    assert(acceptor.ended && dialler.open && dialler.frames_got == 1);
    struct end *const ends[] = {&acceptor, &dialler};
    for (int i = 0; i < 2; i++) {
        recorded[i] = ends[i]->made;
        memcpy(recording[i], ends[i]->sent, ends[i]->made);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct randombytes_implementation random = {
        .implementation_name = random_name, .random = next_random, .buf = fill};
    if (recorded[0] == 0) {
        randombytes_set_implementation(&random);
        record_connection();
    }
    struct mu_reader choices;
    mu_reader_init(&choices, data, at_most(size, 2048));
    uint8_t what = mu_read_u8(&choices);
    begin(2, what & 2 ? MU_SEAL_BULK : MU_SEAL_NOTICES, what & 4 ? MU_SEAL_NOTICES : MU_SEAL_ANY);
    if (what & 1 && (what & 6) != 6) {
        lie(&choices, what & 8 ? &acceptor : &dialler);
    } else {
        while (!choices.bad && mu_reader_left(&choices) > 0)
            act(&choices);
        cut(&dialler);
        cut(&acceptor);
    }
    mu_seal_free(&dialler.seal);
    mu_seal_free(&acceptor.seal);
    return 0;
}
