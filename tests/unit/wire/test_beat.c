/* Beats as bytes, and the tag of a datagram. */
#include "test_beat_random.h"

#include "daemon/heart/tag.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* after those above */
#include <cmocka.h>

enum { RANDOM_BEATS = 20000 };

static bool same(const struct mu_beat *a, const struct mu_beat *b)
{
    return a->type == b->type && a->reach == b->reach && a->from == b->from && a->to == b->to &&
           a->from_incarnation == b->from_incarnation && a->to_incarnation == b->to_incarnation &&
           a->nonce == b->nonce && a->stamp_ns == b->stamp_ns && a->acked_ns == b->acked_ns &&
           a->period_ns == b->period_ns && a->timeout_ns == b->timeout_ns &&
           a->subject == b->subject && a->subject_incarnation == b->subject_incarnation;
}

/* ---- the beat ---- */

static void test_every_type_comes_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < RANDOM_BEATS; seed++) {
        struct random r = {.state = seed, .slots = MU_SIZE_MAX, .small = seed % 2 == 0};
        struct mu_beat beat = random_beat(&r, (uint8_t)(1 + seed % MU_BEAT_LAST)), again;
        uint8_t bytes[MU_BEAT_BYTES];
        assert_null(mu_beat_error(&beat));
        mu_beat_encode(&beat, bytes);
        assert_null(mu_beat_decode(bytes, sizeof bytes, &again));
        assert_true(same(&beat, &again));
    }
}

/* Each field of docs/wire.md in its place.  Beats of types that use few fields are enough: where
 * the others are is seen with the types that use them. */
static void test_bytes_are_as_documented(void **state)
{
    (void)state;
    struct mu_beat take = {.type = MU_BEAT_TAKE,
                           .from = 0x010203,
                           .to = 0x040506,
                           .from_incarnation = 0x0708090a,
                           .to_incarnation = 0x0b0c0d0e,
                           .nonce = 0x1112131415161718,
                           .stamp_ns = 0x2122232425262728,
                           .period_ns = 100000000,  /* 0x05f5e100 */
                           .timeout_ns = 200000000, /* 0x0bebc200 */
                           .subject = 0x191a1b,
                           .subject_incarnation = 0x1c1d1e1f};
    static const uint8_t take_bytes[MU_BEAT_BYTES] = {
        1,    9,    0,                                  /* version, type, reach */
        0,    1,    2,    3,    0,    4,    5,    6,    /* from, to */
        0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, /* their incarnations */
        0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, /* nonce */
        0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, /* stamp */
        0,    0,    0,    0,    0,    0,    0,    0,    /* acked */
        0,    0,    0,    0,    0x05, 0xf5, 0xe1, 0x00, /* period */
        0,    0,    0,    0,    0x0b, 0xeb, 0xc2, 0x00, /* timeout */
        0,    0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, /* subject, its incarnation */
    };
    uint8_t bytes[MU_BEAT_BYTES];
    mu_beat_encode(&take, bytes);
    assert_memory_equal(bytes, take_bytes, sizeof bytes);

    struct mu_beat beat = {.type = MU_BEAT_BEAT,
                           .from = 1,
                           .from_incarnation = 1,
                           .to_incarnation = 1,
                           .stamp_ns = 0x2122232425262728,
                           .acked_ns = 0x3132333435363738};
    static const uint8_t stamps[] = {0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
                                     0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38};
    mu_beat_encode(&beat, bytes);
    assert_memory_equal(bytes + 27, stamps, sizeof stamps);

    struct mu_beat reply = {.type = MU_BEAT_REPLY,
                            .reach = MU_REACH_HEARD,
                            .to = 1,
                            .from_incarnation = 1,
                            .to_incarnation = 1,
                            .subject_incarnation = 1};
    mu_beat_encode(&reply, bytes);
    assert_int_equal(bytes[1], 8);
    assert_int_equal(bytes[2], 2);
}

static void test_other_lengths_are_refused(void **state)
{
    (void)state;
    struct random r = {.state = 1, .slots = 64};
    struct mu_beat beat = random_beat(&r, MU_BEAT_BEAT), decoded;
    uint8_t bytes[MU_BEAT_BYTES + 1] = {0};
    mu_beat_encode(&beat, bytes);
    for (size_t count = 0; count <= sizeof bytes; count++)
        assert_int_equal(mu_beat_decode(bytes, count, &decoded) == NULL, count == MU_BEAT_BYTES);
}

/* What decodes has exactly one encoding, whatever was done to the bytes. */
static void test_flipped_bits_are_refused_or_mean_something_else(void **state)
{
    (void)state;
    for (uint8_t type = 1; type <= MU_BEAT_LAST; type++) {
        struct random r = {.state = type, .slots = 64, .small = true};
        struct mu_beat beat = random_beat(&r, type), decoded;
        uint8_t bytes[MU_BEAT_BYTES], again[MU_BEAT_BYTES];
        mu_beat_encode(&beat, bytes);
        for (uint32_t bit = 0; bit < MU_BEAT_BYTES * 8; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            if (mu_beat_decode(bytes, sizeof bytes, &decoded) == NULL) {
                assert_false(same(&beat, &decoded));
                mu_beat_encode(&decoded, again);
                assert_memory_equal(bytes, again, sizeof bytes);
            }
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

static struct mu_beat good(uint8_t type)
{
    struct random r = {.state = 7, .slots = 64, .small = true};
    return random_beat(&r, type);
}

#define ASSERT_BROKEN(type, change)                                                                \
    do {                                                                                           \
        struct mu_beat b = good(type);                                                             \
        assert_null(mu_beat_error(&b));                                                            \
        change;                                                                                    \
        const char *rule = mu_beat_error(&b);                                                      \
        assert_non_null(rule);                                                                     \
        assert_true(strlen(rule) > 0);                                                             \
    } while (0)

static void test_each_rule(void **state)
{
    (void)state;
    ASSERT_BROKEN(MU_BEAT_BEAT, b.type = 0);
    ASSERT_BROKEN(MU_BEAT_BEAT, b.type = MU_BEAT_LAST + 1);
    ASSERT_BROKEN(MU_BEAT_BEAT, b.type = 255);
    for (uint8_t type = 1; type <= MU_BEAT_LAST; type++) {
        ASSERT_BROKEN(type, b.from = MU_SIZE_MAX);
        ASSERT_BROKEN(type, b.to = MU_SIZE_MAX);
        ASSERT_BROKEN(type, b.to = b.from);
        ASSERT_BROKEN(type, b.from_incarnation = 0);
        if (!beat_has_acked(type))
            ASSERT_BROKEN(type, b.acked_ns = 1);
        if (type != MU_BEAT_REPLY)
            ASSERT_BROKEN(type, b.reach = MU_REACH_TRYING);
        ASSERT_BROKEN(type, b.subject = beat_has_subject(type) ? MU_SIZE_MAX : 1);
        ASSERT_BROKEN(type, b.nonce = UINT64_MAX);
        if (!beat_has_subject_incarnation(type))
            ASSERT_BROKEN(type, b.subject_incarnation = 1);
        if (!beat_has_stamp(type))
            ASSERT_BROKEN(type, b.stamp_ns = 1);
        if (type != MU_BEAT_WATCH && type != MU_BEAT_TAKE)
            ASSERT_BROKEN(type, b.period_ns = MU_PERIOD_NS_MIN);
        if (type != MU_BEAT_WATCH && type != MU_BEAT_TAKE)
            ASSERT_BROKEN(type, b.timeout_ns = MU_TIMEOUT_NS_MAX);
    }
    ASSERT_BROKEN(MU_BEAT_DEAD, b.nonce = 1);
    ASSERT_BROKEN(MU_BEAT_DEAD, b.subject = b.from);
    ASSERT_BROKEN(MU_BEAT_DEAD, b.subject_incarnation = 0);
    ASSERT_BROKEN(MU_BEAT_REPLY, b.reach = MU_REACH_NONE);
    ASSERT_BROKEN(MU_BEAT_REPLY, b.reach = MU_REACH_LAST + 1);
    ASSERT_BROKEN(MU_BEAT_WATCH, b.period_ns = 0);
    ASSERT_BROKEN(MU_BEAT_WATCH, b.period_ns = MU_PERIOD_NS_MIN - 1);
    ASSERT_BROKEN(MU_BEAT_WATCH, b.timeout_ns = b.period_ns * MU_TIMEOUT_RATIO_MIN - 1);
    ASSERT_BROKEN(MU_BEAT_TAKE, b.timeout_ns = MU_TIMEOUT_NS_MAX + 1);
    ASSERT_BROKEN(MU_BEAT_TAKE, b.period_ns = UINT64_MAX / 2 + 1; b.timeout_ns = 0);
}

static void test_other_versions_are_refused(void **state)
{
    (void)state;
    struct mu_beat beat = good(MU_BEAT_ACK), decoded;
    uint8_t bytes[MU_BEAT_BYTES];
    mu_beat_encode(&beat, bytes);
    for (unsigned version = 0; version < 256; version++) {
        bytes[0] = (uint8_t)version;
        assert_int_equal(mu_beat_decode(bytes, sizeof bytes, &decoded) == NULL,
                         version == MU_BEAT_VERSION);
    }
}

/* ---- the tag ---- */

static void machine_key(uint8_t *key, uint8_t first)
{
    for (uint8_t i = 0; i < crypto_kdf_KEYBYTES; i++)
        key[i] = (uint8_t)(first + i);
}

/* Made by another program (Python's hashlib.blake2b, and SipHash-2-4 with 128 bits as its paper
 * says), so that a daemon of tomorrow can talk to one of today. */
static void test_known_tag(void **state)
{
    (void)state;
    static const uint8_t known_key[] = {0x35, 0x69, 0x93, 0xef, 0x34, 0x3b, 0xe0, 0x46,
                                        0x89, 0xe7, 0x32, 0xf3, 0x2d, 0x58, 0xe9, 0xb3};
    static const uint8_t known_tag[] = {0x0f, 0xea, 0xc3, 0x53, 0x51, 0x1a, 0x3c, 0xa2,
                                        0xa8, 0x18, 0x39, 0xc8, 0x57, 0x9c, 0xe6, 0x6a};
    uint8_t machine[crypto_kdf_KEYBYTES], datagram[MU_DATAGRAM_BYTES];
    struct mu_beat_key key;
    machine_key(machine, 0);
    mu_beat_key_derive(&key, machine);
    assert_memory_equal(key.bytes, known_key, sizeof known_key);
    for (uint8_t i = 0; i < MU_BEAT_BYTES; i++)
        datagram[i] = i;
    mu_beat_tag_write(datagram, &key);
    assert_memory_equal(datagram + MU_BEAT_BYTES, known_tag, sizeof known_tag);
}

static void test_a_flipped_bit_breaks_the_tag(void **state)
{
    (void)state;
    uint8_t machine[crypto_kdf_KEYBYTES], datagram[MU_DATAGRAM_BYTES];
    struct mu_beat_key key;
    struct mu_beat beat = good(MU_BEAT_BEAT);
    machine_key(machine, 1);
    mu_beat_key_derive(&key, machine);
    mu_beat_encode(&beat, datagram);
    mu_beat_tag_write(datagram, &key);
    assert_true(mu_beat_tag_is_right(datagram, &key));
    for (uint32_t bit = 0; bit < sizeof datagram * 8; bit++) {
        datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(mu_beat_tag_is_right(datagram, &key));
        datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(mu_beat_tag_is_right(datagram, &key));
}

static void test_other_machines_have_other_keys(void **state)
{
    (void)state;
    uint8_t machine[crypto_kdf_KEYBYTES], datagram[MU_DATAGRAM_BYTES] = {0};
    struct mu_beat_key key, other, wiped = {{0}};
    machine_key(machine, 0);
    mu_beat_key_derive(&key, machine);
    machine[crypto_kdf_KEYBYTES - 1] ^= 1;
    mu_beat_key_derive(&other, machine);
    mu_beat_tag_write(datagram, &key);
    assert_true(mu_beat_tag_is_right(datagram, &key));
    assert_false(mu_beat_tag_is_right(datagram, &other));
    mu_beat_key_wipe(&key);
    assert_memory_equal(&key, &wiped, sizeof key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_comes_back),
        cmocka_unit_test(test_bytes_are_as_documented),
        cmocka_unit_test(test_other_lengths_are_refused),
        cmocka_unit_test(test_flipped_bits_are_refused_or_mean_something_else),
        cmocka_unit_test(test_each_rule),
        cmocka_unit_test(test_other_versions_are_refused),
        cmocka_unit_test(test_known_tag),
        cmocka_unit_test(test_a_flipped_bit_breaks_the_tag),
        cmocka_unit_test(test_other_machines_have_other_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
