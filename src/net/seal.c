#include "net/seal.h"
#include "net/seal_shake.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LENGTH_BYTES = 4,
    CIPHER_MIN = MU_SEAL_CIPHER_EXTRA + 1,
    TAG_FRAME = crypto_secretstream_xchacha20poly1305_TAG_MESSAGE,
    TAG_LAST = crypto_secretstream_xchacha20poly1305_TAG_FINAL,
};

_Static_assert(CIPHER_MIN == 18, "seal_text.c says so");

/* ---- the end ---- */

static void wipe(struct mu_seal *seal)
{
    sodium_memzero(&seal->secret, sizeof seal->secret);
    seal->key = NULL;
    seal->sending = false;
}

static enum mu_seal_event fail_with(struct mu_seal *seal, struct mu_seal_result result)
{
    wipe(seal);
    seal->out_used = seal->out_sent = 0; /* whoever did this learns nothing but that we closed */
    seal->result = result;
    seal->state = MU_SEAL_FAILED;
    return MU_SEAL_BAD;
}

static enum mu_seal_event fail(struct mu_seal *seal, enum mu_seal_error error, uint64_t value,
                               uint64_t bound)
{
    return fail_with(seal, (struct mu_seal_result){.error = error, .value = value, .bound = bound});
}

void mu_seal_free(struct mu_seal *seal)
{
    sodium_memzero(seal, sizeof *seal);
    seal->state = MU_SEAL_FAILED;
}

/* ---- out ---- */

static uint8_t *out_room(struct mu_seal *seal, size_t count)
{
    assert(count <= sizeof seal->out - seal->out_used);
    uint8_t *at = seal->out + seal->out_used;
    seal->out_used += (uint16_t)count;
    return at;
}

size_t mu_seal_output(const struct mu_seal *seal, const uint8_t **bytes)
{
    *bytes = seal->out + seal->out_sent;
    return (size_t)(seal->out_used - seal->out_sent);
}

void mu_seal_consume(struct mu_seal *seal, size_t count)
{
    assert(count <= (size_t)(seal->out_used - seal->out_sent));
    seal->out_sent += (uint16_t)count;
    if (seal->out_sent == seal->out_used)
        seal->out_used = seal->out_sent = 0;
}

static size_t seal_frame(struct mu_seal *seal, const uint8_t *plain, size_t count, uint8_t tag,
                         uint8_t *out)
{
    struct mu_writer writer;
    mu_writer_init(&writer, out, LENGTH_BYTES);
    mu_write_u32(&writer, (uint32_t)(count + MU_SEAL_CIPHER_EXTRA));
    crypto_secretstream_xchacha20poly1305_push(&seal->secret.send, out + LENGTH_BYTES, NULL, plain,
                                               count, NULL, 0, tag);
    return count + MU_SEAL_OVERHEAD;
}

/* HELLO, REFUSE, BYE: what this layer says for itself. */
static void say(struct mu_seal *seal, const struct mu_message *message, uint8_t tag)
{
    uint8_t plain[8 + MU_WIRE_REASON_MAX];
    struct mu_writer writer;
    mu_writer_init(&writer, plain, sizeof plain);
    struct mu_wire_result result = mu_wire_encode(&writer, message);
    assert(result.error == MU_WIRE_OK);
    (void)result;
    seal_frame(seal, plain, writer.used, tag, out_room(seal, writer.used + MU_SEAL_OVERHEAD));
}

static void say_last(struct mu_seal *seal, const struct mu_message *message)
{
    say(seal, message, TAG_LAST);
    sodium_memzero(&seal->secret.send, sizeof seal->secret.send);
    seal->sending = false;
    seal->sent_last = true;
}

static void start_sending(struct mu_seal *seal)
{
    uint8_t *key =
        seal->role == MU_SEAL_DIALLER ? seal->secret.keys.dialler : seal->secret.keys.acceptor;
    crypto_secretstream_xchacha20poly1305_init_push(&seal->secret.send,
                                                    out_room(seal, MU_SEAL_HEADER), key);
    sodium_memzero(key, 32);
    seal->sending = true;
}

static void say_refuse(struct mu_seal *seal, enum mu_refuse_code code, const char *reason)
{
    char clean[MU_WIRE_REASON_MAX];
    size_t length = 0;
    for (; length < sizeof clean && reason[length] != '\0'; length++) {
        bool printable = reason[length] >= 0x20 && reason[length] <= 0x7e;
        clean[length] = printable ? reason[length] : '?';
    }
    if (length == 0)
        clean[length++] = '?';
    struct mu_message message = {
        .type = MU_MESSAGE_REFUSE,
        .refuse = {.code = (uint8_t)code, .length = (uint8_t)length, .reason = clean}};
    say_last(seal, &message);
}

void mu_seal_refuse(struct mu_seal *seal, enum mu_refuse_code code, const char *reason)
{
    if (seal->state == MU_SEAL_FAILED || seal->sent_last)
        return;
    if (seal->state == MU_SEAL_DECIDE)
        start_sending(seal);
    assert(seal->sending);
    say_refuse(seal, code, reason);
    wipe(seal);
    if (seal->state != MU_SEAL_ENDED)
        seal->state = MU_SEAL_DEAF;
}

void mu_seal_bye(struct mu_seal *seal)
{
    if (seal->state == MU_SEAL_FAILED || seal->sent_last)
        return;
    assert(seal->sending);
    say_last(seal, &(struct mu_message){.type = MU_MESSAGE_BYE});
}

size_t mu_seal_frame_max(const struct mu_seal *seal)
{
    assert(seal->kind != MU_SEAL_ANY);
    if (seal->kind == MU_SEAL_WITNESS)
        return MU_SEAL_WITNESS_MAX;
    return seal->kind == MU_SEAL_NOTICES ? MU_SEAL_NOTICES_MAX : MU_SEAL_BULK_MAX;
}

size_t mu_seal_buffer_bytes(const struct mu_seal *seal)
{
    return mu_seal_frame_max(seal) + MU_SEAL_CIPHER_EXTRA;
}

size_t mu_seal_send(struct mu_seal *seal, const uint8_t *plain, size_t count, uint8_t *out)
{
    if (seal->state == MU_SEAL_FAILED)
        return 0;
    assert(seal->sending && count >= 1 && count <= mu_seal_frame_max(seal));
    assert(seal->out_used == 0); /* it was to go first */
    return seal_frame(seal, plain, count, TAG_FRAME, out);
}

/* ---- the handshake ---- */

static void wait_for(struct mu_seal *seal, enum mu_seal_state state, size_t wanted)
{
    seal->state = state;
    seal->filled = 0;
    seal->wanted = wanted;
}

static bool is_kind(unsigned kind)
{
    return kind >= MU_SEAL_NOTICES && kind <= MU_SEAL_WITNESS;
}

/* A launcher has no slot, and says the one after the last. */
static bool is_place(mu_slot slot, uint32_t size, bool launcher)
{
    return launcher ? slot == size : slot < size;
}

void mu_seal_init(struct mu_seal *seal, enum mu_seal_role role, const uint8_t *key,
                  enum mu_seal_kind kind, const struct mu_hello *self)
{
    if (sodium_init() < 0)
        abort(); /* a mutex of libsodium cannot be locked; nothing could be trusted from here on */
    assert(self->size >= 1 && self->size <= MU_SIZE_MAX && self->incarnation >= 1);
    assert(is_place(self->from, self->size, role == MU_SEAL_DIALLER && kind == MU_SEAL_LAUNCHER));
    memset(seal, 0, sizeof *seal);
    seal->role = role;
    seal->key = key;
    seal->kind = (uint8_t)kind;
    seal->self = *self;
    switch (role) {
    case MU_SEAL_DIALLER:
        assert(is_kind(kind));
        assert(self->to < self->size && self->to != self->from);
        mu_seal_write_said(seal->shake, MU_SEAL_STEP_CALL, key, seal->kind, self,
                           seal->secret.ephemeral);
        memcpy(out_room(seal, MU_SEAL_CALL), seal->shake, MU_SEAL_CALL);
        wait_for(seal, MU_SEAL_WAIT_ANSWER, MU_SEAL_HEAD);
        return;
    case MU_SEAL_ACCEPTOR:
        wait_for(seal, MU_SEAL_WAIT_CALL, MU_SEAL_HEAD);
        return;
    }
    abort();
}

/* What a member says of itself, and how it fits with who we are. */
static struct mu_seal_result check_said(const struct mu_seal *seal, const struct mu_seal_said *said)
{
    const struct mu_hello *self = &seal->self, *peer = &said->hello;
    bool dialler = seal->role == MU_SEAL_DIALLER;
    bool launcher = !dialler && said->kind == MU_SEAL_LAUNCHER;
    bool due_kind = seal->kind == MU_SEAL_ANY || said->kind == seal->kind;
    const struct {
        bool good;
        struct mu_seal_result otherwise;
    } rules[] = {
        {peer->machine == self->machine,
         {MU_SEAL_OTHER_MACHINE, peer->machine, self->machine, {0}}},
        {peer->size == self->size, {MU_SEAL_OTHER_SIZE, peer->size, self->size, {0}}},
        {peer->to == self->from, {MU_SEAL_NOT_MEANT, peer->to, self->from, {0}}},
        {is_place(peer->from, self->size, launcher),
         {MU_SEAL_NO_SUCH_SLOT, peer->from, self->size, {0}}},
        {peer->from != self->from, {MU_SEAL_OWN_SLOT, peer->from, 0, {0}}},
        {!dialler || peer->from == self->to, {MU_SEAL_NOT_CALLED, peer->from, self->to, {0}}},
        {peer->incarnation >= 1, {MU_SEAL_NO_INCARNATION, peer->incarnation, 1, {0}}},
        {is_kind(said->kind), {MU_SEAL_NO_KIND, said->kind, 0, {0}}},
        {due_kind, {MU_SEAL_OTHER_KIND, said->kind, seal->kind, {0}}},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (!rules[i].good)
            return rules[i].otherwise;
    return (struct mu_seal_result){.error = MU_SEAL_OK};
}

/* The other side is a member and alive.  From here on it may be told something, sealed. */
static enum mu_seal_event peer_known(struct mu_seal *seal)
{
    seal->key = NULL;
    seal->known = true;
    seal->state = MU_SEAL_DECIDE;
    if (seal->peer_version == MU_WIRE_VERSION)
        return MU_SEAL_PEER_KNOWN;

    bool newer = seal->peer_version > MU_WIRE_VERSION;
    struct mu_seal_result result = {.error = newer ? MU_SEAL_VERSION_NEWER : MU_SEAL_VERSION_OLDER,
                                    .value = seal->peer_version,
                                    .bound = MU_WIRE_VERSION};
    char reason[MU_WIRE_REASON_MAX + 1];
    snprintf(reason, sizeof reason, "version %u is not spoken here, only version %u",
             (unsigned)seal->peer_version, (unsigned)MU_WIRE_VERSION);
    start_sending(seal);
    say_refuse(seal, MU_REFUSE_VERSION, reason);
    wipe(seal);
    seal->result = result;
    seal->state = MU_SEAL_FAILED; /* what is in output stays */
    return MU_SEAL_BAD;
}

/* Reads a CALL or an ANSWER: its tag first, and nothing else before that is right. */
static struct mu_seal_result hear(struct mu_seal *seal, enum mu_seal_step step,
                                  struct mu_seal_said *said)
{
    bool call = step == MU_SEAL_STEP_CALL;
    if (!mu_seal_tag_is_right(seal->shake, step, seal->key))
        return (struct mu_seal_result){.error = call ? MU_SEAL_CALL_TAG : MU_SEAL_ANSWER_TAG};
    *said = mu_seal_read_said(seal->shake, step);
    struct mu_seal_result result = check_said(seal, said);
    if (result.error != MU_SEAL_OK)
        return result;
    seal->peer = said->hello;
    seal->peer_version = said->version;
    return result;
}

/* Both CALL and ANSWER are there: the keys of this connection.  False: a key of small order. */
static bool derive(struct mu_seal *seal, const struct mu_seal_said *said)
{
    bool good = mu_seal_derive(&seal->secret.keys, seal->key, seal->secret.ephemeral,
                               said->ephemeral, seal->shake);
    if (good)
        sodium_memzero(seal->secret.ephemeral, sizeof seal->secret.ephemeral);
    return good; /* else all secrets are wiped by who fails */
}

static enum mu_seal_event on_call(struct mu_seal *seal)
{
    struct mu_seal_said said;
    struct mu_seal_result result = hear(seal, MU_SEAL_STEP_CALL, &said);
    if (result.error != MU_SEAL_OK)
        return fail_with(seal, result);
    seal->kind = said.kind;
    seal->self.to = said.hello.from;

    mu_seal_write_said(seal->shake, MU_SEAL_STEP_ANSWER, seal->key, seal->kind, &seal->self,
                       seal->secret.ephemeral);
    if (!derive(seal, &said))
        return fail(seal, MU_SEAL_WEAK_KEY, 0, 0);
    memcpy(out_room(seal, MU_SEAL_CALL), seal->shake + MU_SEAL_CALL, MU_SEAL_CALL);
    wait_for(seal, MU_SEAL_WAIT_CONFIRM, MU_SEAL_HEAD);
    return MU_SEAL_MORE;
}

static enum mu_seal_event on_answer(struct mu_seal *seal)
{
    struct mu_seal_said said;
    struct mu_seal_result result = hear(seal, MU_SEAL_STEP_ANSWER, &said);
    if (result.error != MU_SEAL_OK)
        return fail_with(seal, result);
    if (!derive(seal, &said))
        return fail(seal, MU_SEAL_WEAK_KEY, 0, 0);
    mu_seal_write_confirm(out_room(seal, MU_SEAL_CONFIRM), &seal->secret.keys);
    sodium_memzero(seal->secret.keys.confirm, sizeof seal->secret.keys.confirm);
    return peer_known(seal);
}

static enum mu_seal_event on_confirm(struct mu_seal *seal)
{
    if (!mu_seal_confirm_is_right(seal->small, &seal->secret.keys))
        return fail(seal, MU_SEAL_CONFIRM_TAG, 0, 0);
    sodium_memzero(seal->secret.keys.confirm, sizeof seal->secret.keys.confirm);
    return peer_known(seal);
}

void mu_seal_accept(struct mu_seal *seal, uint64_t has, uint8_t *buffer, size_t room)
{
    assert(seal->state == MU_SEAL_DECIDE);
    assert(room >= mu_seal_buffer_bytes(seal));
    (void)room;
    seal->buffer = buffer;
    seal->self.has = has;
    start_sending(seal);
    say(seal, &(struct mu_message){.type = MU_MESSAGE_HELLO, .hello = seal->self}, TAG_FRAME);
    wait_for(seal, MU_SEAL_WAIT_HEADER, MU_SEAL_HEADER);
}

/* ---- sealed frames ---- */

static enum mu_seal_event on_header(struct mu_seal *seal)
{
    uint8_t *key =
        seal->role == MU_SEAL_DIALLER ? seal->secret.keys.acceptor : seal->secret.keys.dialler;
    crypto_secretstream_xchacha20poly1305_init_pull(&seal->secret.receive, seal->small, key);
    sodium_memzero(&seal->secret.keys, sizeof seal->secret.keys);
    wait_for(seal, MU_SEAL_WAIT_LENGTH, LENGTH_BYTES);
    return MU_SEAL_MORE;
}

static enum mu_seal_event on_length(struct mu_seal *seal)
{
    struct mu_reader reader;
    mu_reader_init(&reader, seal->small, LENGTH_BYTES);
    uint32_t length = mu_read_u32(&reader);
    if (length < CIPHER_MIN || length > mu_seal_buffer_bytes(seal))
        return fail(seal, MU_SEAL_LENGTH, length, mu_seal_buffer_bytes(seal));
    wait_for(seal, MU_SEAL_WAIT_CIPHER, length);
    return MU_SEAL_MORE;
}

/* A member that says one thing in the handshake and another one here. */
static enum mu_seal_event on_hello(struct mu_seal *seal, const struct mu_hello *hello)
{
    const uint64_t said[] = {seal->peer.machine, seal->peer.size, seal->peer.from, seal->peer.to,
                             seal->peer.incarnation};
    const uint64_t says[] = {hello->machine, hello->size, hello->from, hello->to,
                             hello->incarnation};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        if (says[i] != said[i])
            return fail(seal, MU_SEAL_HELLO_DIFFERS, says[i], said[i]);
    seal->peer.view = hello->view;
    seal->peer.hash = hello->hash;
    seal->peer.has = hello->has;
    seal->open = true;
    return MU_SEAL_OPEN;
}

static enum mu_seal_event on_first(struct mu_seal *seal, const uint8_t *plain)
{
    struct mu_message message;
    struct mu_wire_result wire = mu_wire_decode(plain, seal->plain_count, &message);
    if (wire.error != MU_WIRE_OK || message.type != MU_MESSAGE_HELLO)
        return fail_with(seal, (struct mu_seal_result){.error = MU_SEAL_FIRST_FRAME, .wire = wire});
    return on_hello(seal, &message.hello);
}

static enum mu_seal_event on_last(struct mu_seal *seal, const uint8_t *plain)
{
    struct mu_message message;
    struct mu_wire_result wire = mu_wire_decode(plain, seal->plain_count, &message);
    bool bye = wire.error == MU_WIRE_OK && message.type == MU_MESSAGE_BYE && seal->open;
    bool refuse = wire.error == MU_WIRE_OK && message.type == MU_MESSAGE_REFUSE;
    if (!bye && !refuse)
        return fail_with(seal, (struct mu_seal_result){.error = seal->open ? MU_SEAL_LAST_FRAME
                                                                           : MU_SEAL_FIRST_FRAME,
                                                       .wire = wire});
    sodium_memzero(&seal->secret.receive, sizeof seal->secret.receive);
    wait_for(seal, MU_SEAL_ENDED, 0);
    if (bye)
        return MU_SEAL_GOODBYE;
    seal->refusal = message.refuse;
    return MU_SEAL_REFUSED;
}

static enum mu_seal_event on_cipher(struct mu_seal *seal)
{
    uint8_t tag;
    uint8_t *plain = seal->buffer + 1;
    /* In place: each byte of the text comes to where its byte of the ciphertext was.  Nothing is
     * written before the tag is found right. */
    if (crypto_secretstream_xchacha20poly1305_pull(&seal->secret.receive, plain, NULL, &tag,
                                                   seal->buffer, seal->wanted, NULL, 0) != 0)
        return fail(seal, MU_SEAL_FRAME_TAG, seal->frames + 1, 0);
    seal->frames++;
    seal->plain_count = seal->wanted - MU_SEAL_CIPHER_EXTRA;
    wait_for(seal, MU_SEAL_WAIT_LENGTH, LENGTH_BYTES);
    if (tag == TAG_LAST)
        return on_last(seal, plain);
    if (tag != TAG_FRAME)
        return fail(seal, MU_SEAL_STREAM_TAG, tag, 0);
    return seal->open ? MU_SEAL_FRAME : on_first(seal, plain);
}

/* ---- in ---- */

/* What the state waits for is collected here. */
static uint8_t *place(struct mu_seal *seal)
{
    switch (seal->state) {
    case MU_SEAL_WAIT_CALL:
        return seal->shake;
    case MU_SEAL_WAIT_ANSWER:
        return seal->shake + MU_SEAL_CALL;
    case MU_SEAL_WAIT_CONFIRM:
    case MU_SEAL_WAIT_HEADER:
    case MU_SEAL_WAIT_LENGTH:
        return seal->small;
    case MU_SEAL_WAIT_CIPHER:
        return seal->buffer;
    case MU_SEAL_DECIDE:
    case MU_SEAL_ENDED:
    case MU_SEAL_DEAF:
    case MU_SEAL_FAILED:
        break;
    }
    abort();
}

/* A message of the handshake comes in two parts, so that a stranger is known from the first. */
static enum mu_seal_event on_head(struct mu_seal *seal, enum mu_seal_step due, size_t whole)
{
    struct mu_seal_result result = mu_seal_check_head(place(seal), due);
    if (result.error != MU_SEAL_OK)
        return fail_with(seal, result);
    seal->wanted = whole;
    return MU_SEAL_MORE;
}

/* All that the state waited for is there. */
static enum mu_seal_event step(struct mu_seal *seal)
{
    bool head = seal->wanted == MU_SEAL_HEAD;
    switch (seal->state) {
    case MU_SEAL_WAIT_CALL:
        return head ? on_head(seal, MU_SEAL_STEP_CALL, MU_SEAL_CALL) : on_call(seal);
    case MU_SEAL_WAIT_ANSWER:
        return head ? on_head(seal, MU_SEAL_STEP_ANSWER, MU_SEAL_CALL) : on_answer(seal);
    case MU_SEAL_WAIT_CONFIRM:
        return head ? on_head(seal, MU_SEAL_STEP_CONFIRM, MU_SEAL_CONFIRM) : on_confirm(seal);
    case MU_SEAL_WAIT_HEADER:
        return on_header(seal);
    case MU_SEAL_WAIT_LENGTH:
        return on_length(seal);
    case MU_SEAL_WAIT_CIPHER:
        return on_cipher(seal);
    case MU_SEAL_DECIDE:
    case MU_SEAL_ENDED:
    case MU_SEAL_DEAF:
    case MU_SEAL_FAILED:
        break;
    }
    abort();
}

static enum mu_seal_event collect(struct mu_seal *seal, const uint8_t *bytes, size_t count,
                                  size_t *used)
{
    enum mu_seal_event event = MU_SEAL_MORE;
    while (event == MU_SEAL_MORE && *used < count) {
        size_t missing = seal->wanted - seal->filled;
        size_t take = count - *used < missing ? count - *used : missing;
        memcpy(place(seal) + seal->filled, bytes + *used, take);
        seal->filled += take;
        *used += take;
        if (seal->filled == seal->wanted)
            event = step(seal);
    }
    return event;
}

enum mu_seal_event mu_seal_input(struct mu_seal *seal, const uint8_t *bytes, size_t count,
                                 size_t *used)
{
    *used = 0;
    switch (seal->state) {
    case MU_SEAL_WAIT_CALL:
    case MU_SEAL_WAIT_ANSWER:
    case MU_SEAL_WAIT_CONFIRM:
    case MU_SEAL_WAIT_HEADER:
    case MU_SEAL_WAIT_LENGTH:
    case MU_SEAL_WAIT_CIPHER:
        return collect(seal, bytes, count, used);
    case MU_SEAL_ENDED:
        return count == 0 ? MU_SEAL_MORE : fail(seal, MU_SEAL_AFTER_LAST, count, 0);
    case MU_SEAL_DEAF:
        *used = count;
        return MU_SEAL_MORE;
    case MU_SEAL_FAILED:
        return MU_SEAL_BAD;
    case MU_SEAL_DECIDE:
        break; /* the caller owes mu_seal_accept() or mu_seal_refuse() */
    }
    abort();
}

enum mu_seal_event mu_seal_end(struct mu_seal *seal)
{
    if (seal->state == MU_SEAL_FAILED)
        return MU_SEAL_BAD;
    if (seal->state == MU_SEAL_ENDED || seal->state == MU_SEAL_DEAF)
        return MU_SEAL_GOODBYE;
    return fail(seal, MU_SEAL_CUT, seal->frames, 0);
}

/* ---- what came of it ---- */

const uint8_t *mu_seal_plain(const struct mu_seal *seal, size_t *count)
{
    *count = seal->plain_count;
    return seal->buffer + 1;
}

const struct mu_refuse *mu_seal_refusal(const struct mu_seal *seal)
{
    return &seal->refusal;
}

const struct mu_hello *mu_seal_peer(const struct mu_seal *seal)
{
    return seal->known ? &seal->peer : NULL;
}

struct mu_seal_result mu_seal_result(const struct mu_seal *seal)
{
    return seal->result;
}
