/* Values of agreements: joining, and their bytes. */
#include "sim/base/random.h"
#include "wire/peer/agree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { ROOM = 40, BYTES = 2048 };

struct value {
    struct mu_gather gather;
    struct mu_failed failed[ROOM];
    struct mu_agree_entry entries[ROOM];
};

static void clear(struct value *value, uint16_t capacity)
{
    memset(value, 0, sizeof *value);
    value->gather.failed = value->failed;
    value->gather.entries = value->entries;
    value->gather.capacity = value->gather.entry_capacity = capacity;
    mu_gather_clear(&value->gather);
}

static void join(struct value *value, const struct value *other)
{
    struct mu_agree_value theirs = mu_gather_value(&other->gather);
    mu_gather_join(&value->gather, &theirs);
}

static void expect_same(const struct value *a, const struct value *b)
{
    assert_int_equal(a->gather.bits, b->gather.bits);
    assert_int_equal(a->gather.more, b->gather.more);
    assert_int_equal(a->gather.any, b->gather.any);
    assert_int_equal(a->gather.count, b->gather.count);
    assert_memory_equal(a->failed, b->failed, a->gather.count * sizeof a->failed[0]);
    assert_int_equal(a->gather.entries_more, b->gather.entries_more);
    assert_int_equal(a->gather.entry_count, b->gather.entry_count);
    assert_memory_equal(a->entries, b->entries, a->gather.entry_count * sizeof a->entries[0]);
}

/* The same memory, at its own place. */
static void copy(struct value *to, const struct value *from)
{
    *to = *from;
    to->gather.failed = to->failed;
    to->gather.entries = to->entries;
}

/* Few keys, so that they meet, and sometimes with other bytes. */
static uint32_t draw_entries(struct sim_random *random, struct mu_agree_entry *entries)
{
    uint32_t count = 0;
    memset(entries, 0, ROOM * sizeof *entries);
    for (uint8_t kind = 1; kind <= 3; kind++)
        for (uint64_t key = 0; key < 5; key++)
            if (sim_random_chance(random, 30)) {
                struct mu_agree_entry *entry = &entries[count++];
                entry->kind = kind;
                entry->key = key << 40;
                entry->length = (uint8_t)sim_random_between(random, 1, 2);
                entry->bytes[0] = (uint8_t)sim_random_below(random, 2);
            }
    return count;
}

/* One contribution: few nodes and processes, so that lists meet. */
static void draw(struct sim_random *random, struct value *value, uint16_t capacity)
{
    struct mu_failed failed[ROOM];
    struct mu_agree_entry entries[ROOM];
    struct mu_agree_value drawn = {.bits = sim_random_next(random), .failed = failed};
    for (uint32_t node = 0; node < 6; node++)
        for (uint32_t process = 0; process < 3; process++)
            if (sim_random_chance(random, 25))
                failed[drawn.failed_count++] =
                    (struct mu_failed){.node = node & 7,
                                       .acked = sim_random_chance(random, 60),
                                       .proven = process == 2 && sim_random_chance(random, 40),
                                       .process = process == 2 ? MU_FAILED_NODE : process};
    drawn.entries = entries;
    drawn.entry_count = draw_entries(random, entries);
    drawn.silent = sim_random_chance(random, 20);
    for (uint32_t i = 0; drawn.silent && i < drawn.failed_count; i++)
        failed[i].acked = 1;
    assert_null(mu_agree_value_check(&drawn, 6));
    clear(value, capacity);
    mu_gather_join(&value->gather, &drawn);
}

static void joining_knows_no_order(void **state)
{
    (void)state;
    struct sim_random random;
    sim_random_init(&random, 3);
    for (int i = 0; i < 5000; i++) {
        uint16_t capacity = (uint16_t)sim_random_between(&random, 1, 20);
        struct value a, b, c, left, right, part;
        draw(&random, &a, capacity);
        draw(&random, &b, capacity);
        draw(&random, &c, capacity);
        copy(&left, &a);
        join(&left, &b);
        join(&left, &c);
        copy(&part, &c);
        join(&part, &b);
        copy(&right, &part);
        join(&right, &a);
        expect_same(&left, &right);
        join(&right, &b); /* again */
        join(&right, &part);
        expect_same(&left, &right);
    }
}

static void acknowledged_is_what_all_have_acknowledged(void **state)
{
    (void)state;
    struct value sum, one;
    struct mu_failed both[] = {{.node = 1, .acked = 1, .process = MU_FAILED_NODE},
                               {.node = 2, .acked = 1, .process = MU_FAILED_NODE}};
    struct mu_agree_value value = {.bits = 1, .failed = both, .failed_count = 2};
    clear(&sum, ROOM);
    mu_gather_join(&sum.gather, &value);
    struct mu_agree_value seen = mu_gather_value(&sum.gather);
    assert_false(mu_agree_value_error(&seen));
    clear(&one, ROOM);
    value.failed_count = 1; /* this one does not even know of node 2 */
    mu_gather_join(&one.gather, &value);
    join(&sum, &one);
    assert_true(sum.failed[0].acked && !sum.failed[1].acked);
    struct mu_agree_value nobody = {.bits = UINT64_MAX, .silent = true};
    mu_gather_join(&sum.gather, &nobody); /* who has no say */
    assert_true(sum.failed[0].acked && !sum.failed[1].acked);
    mu_gather_add_failed(&sum.gather, 0, false);
    assert_int_equal(sum.failed[0].node, 0);
    assert_false(sum.failed[0].acked);
    assert_int_equal(sum.gather.count, 3);
}

static void entries_are_joined_by_union_and_what_has_no_room_is_said(void **state)
{
    (void)state;
    struct value sum;
    struct mu_agree_entry entries[] = {{.key = 9, .kind = 1, .length = 1, .bytes = {5}},
                                       {.key = 2, .kind = 2, .length = 1, .bytes = {6}}};
    struct mu_agree_value value = {.bits = 1, .entries = entries, .entry_count = 2};
    assert_null(mu_agree_value_check(&value, 1));
    clear(&sum, 2);
    mu_gather_join(&sum.gather, &value);
    entries[0].bytes[0] = 4; /* less than what is there */
    mu_gather_join(&sum.gather, &value);
    struct mu_agree_value seen = mu_gather_value(&sum.gather);
    assert_int_equal(seen.entry_count, 2);
    assert_false(seen.entries_more || seen.more);
    assert_int_equal(mu_agree_value_entry(&seen, 1, 9)->bytes[0], 5);
    assert_null(mu_agree_value_entry(&seen, 2, 9));
    struct mu_agree_entry lower = {.key = 1, .kind = 1};
    struct mu_agree_value third = {.bits = 1, .entries = &lower, .entry_count = 1};
    mu_gather_join(&sum.gather, &third);
    seen = mu_gather_value(&sum.gather);
    assert_true(seen.entries_more && !seen.more && !mu_agree_value_error(&seen));
    assert_non_null(mu_agree_value_entry(&seen, 1, 1));
    assert_null(mu_agree_value_entry(&seen, 2, 2)); /* the highest had to go */
    clear(&sum, 0);
    mu_gather_join(&sum.gather, &third);
    assert_true(sum.gather.entries_more && sum.gather.entry_count == 0);
}

static void entries_out_of_order_are_refused(void **state)
{
    (void)state;
    struct mu_agree_entry entries[] = {{.key = 2, .kind = 1}, {.key = 1, .kind = 1}};
    struct mu_agree_value value = {.bits = 1, .entries = entries, .entry_count = 2};
    assert_non_null(mu_agree_value_check(&value, 1));
    entries[1].key = 2;
    assert_non_null(mu_agree_value_check(&value, 1));
    entries[1].key = 3;
    assert_null(mu_agree_value_check(&value, 1));
    entries[1].bytes[0] = 1; /* and its length is 0 */
    assert_non_null(mu_agree_value_check(&value, 1));
    entries[1].length = MU_AGREE_ENTRY_BYTES + 1;
    assert_non_null(mu_agree_value_check(&value, 1));
}

/* ---- bytes ---- */

static struct mu_failed failed_room[ROOM];
static struct mu_roster_entry dead_room[ROOM];
static struct mu_agree_entry entry_room[ROOM];
static const struct mu_agree_room room = {failed_room, ROOM, dead_room, ROOM, entry_room, ROOM};

static void expect_bytes(const struct mu_agree_message *message, const uint8_t *expected,
                         size_t count)
{
    uint8_t bytes[BYTES];
    struct mu_writer writer;
    struct mu_agree_message again;
    mu_writer_init(&writer, bytes, sizeof bytes);
    mu_agree_encode(&writer, message);
    assert_int_equal(writer.used, count);
    assert_memory_equal(bytes, expected, count);
    assert_null(mu_agree_decode(bytes, count, &room, &again));
}

/* docs/wire.md, byte by byte. */
static void the_bytes_are_those_of_the_page(void **state)
{
    (void)state;
    const struct mu_failed failed[] = {
        {.node = 3, .acked = 1, .proven = 1, .process = MU_FAILED_NODE},
        {.node = 5, .acked = 0, .process = 300}};
    struct mu_agree_message up = {.type = MU_AGREE_UP, .group = 7, .round = 258};
    up.value = (struct mu_agree_value){
        .bits = 0x0102030405060708, .failed = failed, .failed_count = 2, .more = true};
    expect_bytes(&up, (uint8_t[]){3, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0,    1,
                                  2, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 7, 2, 0, 0xac, 2},
                 34);
    const struct mu_agree_entry entry = {.key = 258, .kind = 4, .length = 2, .bytes = {8, 9}};
    up.value = (struct mu_agree_value){.entries = &entry, .entry_count = 1, .entries_more = true};
    expect_bytes(&up, (uint8_t[]){3, 1, 0, 0, 0, 0,  0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0,
                                  0, 0, 0, 0, 0, 12, 0, 1, 4, 0, 0, 0, 0, 0, 0, 1, 2, 2, 8, 9},
                 41);
    const struct mu_roster_entry dead[] = {{.slot = 2, .incarnation = 1},
                                           {.slot = 3, .incarnation = 1},
                                           {.slot = 4, .incarnation = 2},
                                           {.slot = 9, .incarnation = 1, .proven = true}};
    struct mu_agree_message ask = {.type = MU_AGREE_ASK, .group = 7, .round = 1};
    ask.dead = dead;
    ask.dead_count = 4;
    expect_bytes(&ask, (uint8_t[]){3, 3, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0,
                                   0, 0, 0, 1, 4, 2, 2, 2, 0, 1, 4, 4, 1, 3},
                 28);
}

static void draw_padded(struct sim_random *random, struct mu_agree_entry *entries, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        entries[i] = (struct mu_agree_entry){
            .kind = (uint8_t)(i / 3),
            .key = (uint64_t)(i % 3) << 60 | i,
            .length = (uint8_t)sim_random_below(random, MU_AGREE_ENTRY_BYTES + 1)};
        memset(entries[i].bytes, 0xa5, entries[i].length);
    }
}

static void draw_message(struct sim_random *random, struct mu_agree_message *message,
                         struct mu_failed *failed, struct mu_roster_entry *dead,
                         struct mu_agree_entry *entries)
{
    uint64_t slot = 0, step = sim_random_chance(random, 50) ? 2 : 100000;
    uint32_t count = (uint32_t)sim_random_below(random, ROOM);
    *message = (struct mu_agree_message){.type = (uint8_t)sim_random_between(random, 1, 3),
                                         .group = sim_random_next(random),
                                         .round = sim_random_next(random) | 1};
    for (uint32_t i = 0; i < count; i++) {
        slot += sim_random_between(random, 1, step);
        dead[i] =
            (struct mu_roster_entry){.slot = (mu_slot)slot,
                                     .incarnation = (uint32_t)sim_random_between(random, 1, 2),
                                     .proven = sim_random_chance(random, 50)};
        failed[i] = (struct mu_failed){
            .node = (uint32_t)slot & 0xffffff,
            .acked = sim_random_chance(random, 50),
            .process = sim_random_chance(random, 50) ? MU_FAILED_NODE
                                                     : (uint32_t)sim_random_below(random, 1 << 20)};
        failed[i].proven =
            failed[i].process == MU_FAILED_NODE && sim_random_chance(random, 50) ? 1 : 0;
    }
    if (message->type == MU_AGREE_ASK) {
        message->dead = dead;
        message->dead_count = count;
    } else {
        message->value = (struct mu_agree_value){.bits = sim_random_next(random),
                                                 .failed = failed,
                                                 .failed_count = count,
                                                 .entries = entries,
                                                 .entry_count = count / 4,
                                                 .entries_more = sim_random_chance(random, 20),
                                                 .more = sim_random_chance(random, 50),
                                                 .silent = sim_random_chance(random, 20)};
        for (uint32_t i = 0; message->value.silent && i < count; i++)
            failed[i].acked = 1;
        draw_padded(random, entries, count / 4);
    }
}

static void what_goes_out_comes_in_again(void **state)
{
    (void)state;
    struct sim_random random;
    sim_random_init(&random, 4);
    for (int i = 0; i < 3000; i++) {
        struct mu_failed failed[ROOM];
        struct mu_roster_entry dead[ROOM];
        struct mu_agree_entry entries[ROOM];
        struct mu_agree_message message, in;
        uint8_t bytes[BYTES], again[BYTES];
        struct mu_writer writer;
        draw_message(&random, &message, failed, dead, entries);
        mu_writer_init(&writer, bytes, sizeof bytes);
        mu_agree_encode(&writer, &message);
        assert_false(writer.full);
        size_t count = writer.used;
        assert_null(mu_agree_decode(bytes, count, &room, &in));
        assert_int_equal(in.group, message.group);
        assert_int_equal(in.dead_count, message.dead_count);
        mu_writer_init(&writer, again, sizeof again);
        mu_agree_encode(&writer, &in);
        assert_int_equal(writer.used, count);
        assert_memory_equal(again, bytes, count);
        for (size_t less = 0; less < count; less++)
            assert_non_null(mu_agree_decode(bytes, less, &room, &in));
        assert_non_null(mu_agree_decode(bytes, count + 1, &room, &in));
        /* Whatever one byte is changed to: refused, or another message with these very bytes. */
        bytes[sim_random_below(&random, count)] ^= (uint8_t)sim_random_between(&random, 1, 255);
        if (mu_agree_decode(bytes, count, &room, &in) == NULL) {
            mu_writer_init(&writer, again, sizeof again);
            mu_agree_encode(&writer, &in);
            assert_int_equal(writer.used, count);
            assert_memory_equal(again, bytes, count);
        }
    }
}

static void lists_longer_than_the_room_are_refused(void **state)
{
    (void)state;
    const struct mu_agree_room small = {failed_room, 1, dead_room, 1, entry_room, 1};
    struct mu_agree_message in;
    const uint8_t ask[] = {3, 3, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2};
    assert_null(mu_agree_decode(ask, sizeof ask, &room, &in));
    assert_non_null(mu_agree_decode(ask, sizeof ask, &small, &in));
    const uint8_t down[] = {3, 2, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0,
                            0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2};
    assert_null(mu_agree_decode(down, sizeof down, &room, &in));
    assert_non_null(mu_agree_decode(down, sizeof down, &small, &in));
    struct mu_agree_entry two[2] = {{.key = 1}, {.key = 2}};
    const struct mu_agree_message many = {
        .type = MU_AGREE_DOWN, .round = 1, .value = {.entries = two, .entry_count = 2}};
    uint8_t bytes[BYTES];
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, sizeof bytes);
    mu_agree_encode(&writer, &many);
    assert_null(mu_agree_decode(bytes, writer.used, &room, &in));
    assert_non_null(mu_agree_decode(bytes, writer.used, &small, &in));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joining_knows_no_order),
        cmocka_unit_test(acknowledged_is_what_all_have_acknowledged),
        cmocka_unit_test(entries_are_joined_by_union_and_what_has_no_room_is_said),
        cmocka_unit_test(entries_out_of_order_are_refused),
        cmocka_unit_test(the_bytes_are_those_of_the_page),
        cmocka_unit_test(what_goes_out_comes_in_again),
        cmocka_unit_test(lists_longer_than_the_room_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
