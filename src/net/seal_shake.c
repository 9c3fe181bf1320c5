#include "net/seal_shake.h"

#include <assert.h>
#include <string.h>

/* Every use of BLAKE2b has its own personalisation of 16 bytes, so that no tag and no key is ever
 * good for another purpose; that also keeps it apart from other users of the machine's key. */
#define PERSONAL_CALL       "muster seal call"
#define PERSONAL_ANSWER     "muster seal answ"
#define PERSONAL_TRANSCRIPT "muster seal hash"
#define PERSONAL_DIALLER    "muster seal d->a"
#define PERSONAL_ACCEPTOR   "muster seal a->d"
#define PERSONAL_CONFIRM    "muster seal ckey"
#define PERSONAL_CONFIRMED  "muster seal conf"

static void hash(uint8_t *out, const char *personal, const uint8_t *key, const uint8_t *bytes,
                 size_t count)
{
    int failed = crypto_generichash_blake2b_salt_personal(
        out, 32, bytes, count, key, key == NULL ? 0 : 32, NULL, (const uint8_t *)personal);
    assert(failed == 0); /* sizes are constants */
    (void)failed;
}

static void write_head(struct mu_writer *writer, enum mu_seal_step step)
{
    mu_write_u32(writer, MU_SEAL_MAGIC);
    mu_write_u8(writer, MU_WIRE_VERSION);
    mu_write_u8(writer, (uint8_t)step);
}

struct mu_seal_result mu_seal_check_head(const uint8_t *head, enum mu_seal_step due)
{
    struct mu_reader reader;
    mu_reader_init(&reader, head, MU_SEAL_HEAD);
    uint32_t magic = mu_read_u32(&reader);
    mu_read_u8(&reader); /* the version is judged when it is known to be a member's */
    uint8_t step = mu_read_u8(&reader);
    if (magic != MU_SEAL_MAGIC)
        return (struct mu_seal_result){
            .error = MU_SEAL_BAD_MAGIC, .value = magic, .bound = MU_SEAL_MAGIC};
    if (step < MU_SEAL_STEP_CALL || step > MU_SEAL_STEP_CONFIRM)
        return (struct mu_seal_result){.error = MU_SEAL_BAD_STEP, .value = step};
    if (step != due)
        return (struct mu_seal_result){.error = MU_SEAL_STEP_ORDER, .value = step, .bound = due};
    return (struct mu_seal_result){.error = MU_SEAL_OK};
}

static size_t place(enum mu_seal_step step)
{
    assert(step == MU_SEAL_STEP_CALL || step == MU_SEAL_STEP_ANSWER);
    return step == MU_SEAL_STEP_CALL ? 0 : MU_SEAL_CALL;
}

/* The answer's tag covers the call as well, tag included. */
static void said_tag(uint8_t *tag, const uint8_t *shake, enum mu_seal_step step, const uint8_t *key)
{
    hash(tag, step == MU_SEAL_STEP_CALL ? PERSONAL_CALL : PERSONAL_ANSWER, key, shake,
         place(step) + MU_SEAL_SAID);
}

void mu_seal_write_said(uint8_t *shake, enum mu_seal_step step, const uint8_t *key, uint8_t kind,
                        const struct mu_hello *self, uint8_t *ephemeral)
{
    uint8_t public_half[32], random[16];
    randombytes_buf(ephemeral, 32);
    int failed = crypto_scalarmult_base(public_half, ephemeral);
    assert(failed == 0);
    (void)failed;
    randombytes_buf(random, sizeof random);

    struct mu_writer writer;
    mu_writer_init(&writer, shake + place(step), MU_SEAL_CALL);
    write_head(&writer, step);
    mu_write_u8(&writer, kind);
    mu_write_u64(&writer, self->machine);
    mu_write_u32(&writer, self->size);
    mu_write_u32(&writer, self->from);
    mu_write_u32(&writer, self->to);
    mu_write_u32(&writer, self->incarnation);
    mu_write_bytes(&writer, public_half, sizeof public_half);
    mu_write_bytes(&writer, random, sizeof random);
    assert(writer.used == MU_SEAL_SAID);

    uint8_t tag[MU_SEAL_TAG];
    said_tag(tag, shake, step, key);
    mu_write_bytes(&writer, tag, sizeof tag);
    assert(!writer.full && writer.used == MU_SEAL_CALL);
}

bool mu_seal_tag_is_right(const uint8_t *shake, enum mu_seal_step step, const uint8_t *key)
{
    uint8_t tag[MU_SEAL_TAG];
    said_tag(tag, shake, step, key);
    return sodium_memcmp(tag, shake + place(step) + MU_SEAL_SAID, sizeof tag) == 0;
}

struct mu_seal_said mu_seal_read_said(const uint8_t *shake, enum mu_seal_step step)
{
    struct mu_seal_said said = {0};
    struct mu_reader reader;
    mu_reader_init(&reader, shake + place(step), MU_SEAL_SAID);
    mu_read_u32(&reader); /* the magic */
    said.version = mu_read_u8(&reader);
    mu_read_u8(&reader); /* the step */
    said.kind = mu_read_u8(&reader);
    said.hello.machine = mu_read_u64(&reader);
    said.hello.size = mu_read_u32(&reader);
    said.hello.from = mu_read_u32(&reader);
    said.hello.to = mu_read_u32(&reader);
    said.hello.incarnation = mu_read_u32(&reader);
    said.ephemeral = mu_read_bytes(&reader, 32);
    assert(!reader.bad);
    return said;
}

bool mu_seal_derive(struct mu_seal_keys *keys, const uint8_t *key, const uint8_t *ephemeral,
                    const uint8_t *other, const uint8_t *shake)
{
    uint8_t input[64]; /* the shared secret, the hash of all that was said */
    bool good = crypto_scalarmult(input, ephemeral, other) == 0 && !sodium_is_zero(input, 32);
    if (good) {
        hash(keys->transcript, PERSONAL_TRANSCRIPT, NULL, shake, 2 * MU_SEAL_CALL);
        memcpy(input + 32, keys->transcript, 32);
        hash(keys->dialler, PERSONAL_DIALLER, key, input, sizeof input);
        hash(keys->acceptor, PERSONAL_ACCEPTOR, key, input, sizeof input);
        hash(keys->confirm, PERSONAL_CONFIRM, key, input, sizeof input);
    }
    sodium_memzero(input, sizeof input);
    return good;
}

static void confirm_tag(uint8_t *tag, const uint8_t *confirm, const struct mu_seal_keys *keys)
{
    uint8_t input[MU_SEAL_HEAD + 32];
    memcpy(input, confirm, MU_SEAL_HEAD);
    memcpy(input + MU_SEAL_HEAD, keys->transcript, 32);
    hash(tag, PERSONAL_CONFIRMED, keys->confirm, input, sizeof input);
}

void mu_seal_write_confirm(uint8_t *confirm, const struct mu_seal_keys *keys)
{
    struct mu_writer writer;
    mu_writer_init(&writer, confirm, MU_SEAL_HEAD);
    write_head(&writer, MU_SEAL_STEP_CONFIRM);
    confirm_tag(confirm + MU_SEAL_HEAD, confirm, keys);
}

bool mu_seal_confirm_is_right(const uint8_t *confirm, const struct mu_seal_keys *keys)
{
    uint8_t tag[MU_SEAL_TAG];
    confirm_tag(tag, confirm, keys);
    return sodium_memcmp(tag, confirm + MU_SEAL_HEAD, sizeof tag) == 0;
}
