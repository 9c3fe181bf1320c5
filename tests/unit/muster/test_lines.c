/* Whole lines out of many streams: by hand, and from random pieces. */
#include "run/output/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { STREAMS = 4, LINE_MAX_HERE = 16 };

static const size_t ample = SIZE_MAX;

/* What came out. */
struct out {
    char *bytes;
    size_t used, room;
};

static struct out out;

static void on_emit(void *owner, uint32_t stream, const void *bytes, size_t count)
{
    (void)stream;
    struct out *to = owner;
    if (to->used + count + 1 > to->room) {
        to->room = 2 * (to->used + count + 1);
        to->bytes = realloc(to->bytes, to->room);
        assert_non_null(to->bytes);
    }
    memcpy(to->bytes + to->used, bytes, count);
    to->used += count;
    to->bytes[to->used] = '\0';
}

static size_t on_tag(void *owner, uint32_t stream, char text[LINES_TAG_MAX])
{
    (void)owner;
    return (size_t)snprintf(text, LINES_TAG_MAX, "[%u] ", stream);
}

static struct lines *open_lines(bool tags, bool prompts)
{
    const struct lines_config config = {.streams = STREAMS,
                                        .line_max = LINE_MAX_HERE,
                                        .prompts = prompts,
                                        .owner = &out,
                                        .tag = tags ? on_tag : NULL,
                                        .emit = on_emit};
    out.used = 0;
    return lines_open(&config);
}

static size_t put(struct lines *lines, uint32_t stream, const char *text, size_t room,
                  uint64_t now_ms)
{
    return lines_put(lines, stream, (const uint8_t *)text, strlen(text), room, now_ms);
}

/* All that came out since the last call. */
static void expect(const char *text)
{
    if (out.used != strlen(text) || memcmp(out.used == 0 ? "" : out.bytes, text, out.used) != 0)
        fail_msg("came out: '%.*s', expected: '%s'", (int)out.used, out.bytes, text);
    out.used = 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(out.bytes);
    out = (struct out){0};
    return 0;
}

/* ---- by hand ---- */

static void a_line_waits_for_its_end(void **state)
{
    (void)state;
    struct lines *lines = open_lines(false, false);
    assert_int_equal(put(lines, 0, "he", ample, 0), 2);
    assert_int_equal(put(lines, 1, "one\ntwo\nthr", ample, 0), 3);
    expect("one\ntwo\n");
    assert_int_equal(lines_held(lines), 5);
    assert_int_equal(put(lines, 0, "llo\n", ample, 0), 0);
    expect("hello\n");
    assert_int_equal(put(lines, 1, "ee\nfo", ample, 0), 2);
    expect("three\n");
    assert_int_equal(lines_held(lines), 2);
    assert_int_equal(lines_due_ms(lines), LINES_NEVER);
    lines_close(lines);
}

static void more_streams_come(void **state)
{
    (void)state;
    struct lines *lines = open_lines(true, false);
    put(lines, STREAMS - 1, "he", ample, 0);
    assert_true(lines_more(lines, 3 * STREAMS));
    put(lines, 3 * STREAMS - 1, "new", ample, 0);
    expect("");
    put(lines, STREAMS - 1, "llo\n", ample, 0);
    expect("[3] hello\n");
    lines_end(lines, 3 * STREAMS - 1);
    expect("[11] new");
    lines_close(lines);
}

static void streams_begin_again_when_nothing_is_left_of_them(void **state)
{
    (void)state;
    struct lines *lines = open_lines(true, false);
    put(lines, 1, "old\nhalf", ample, 0);
    assert_false(lines_again(lines, 1, 2)); /* half a line is held back */
    lines_end(lines, 1);
    assert_false(lines_again(lines, 1, 2)); /* it shows, without its end */
    assert_true(lines_again(lines, 2, 2));
    put(lines, 0, "other\n", ample, 0);
    assert_true(lines_again(lines, 1, 2));
    put(lines, 1, "new\nh", ample, 0);
    expect("[1] old\n[1] half\n[0] other\n[1] new\n"); /* it has not ended: the rest waits */
    lines_end(lines, 1);
    expect("[1] h");
    lines_close(lines);
}

static void what_has_no_newline_at_the_end_is_not_glued(void **state)
{
    (void)state;
    struct lines *lines = open_lines(false, false);
    put(lines, 0, "last words", ample, 0);
    expect("");
    lines_end(lines, 0);
    expect("last words");
    assert_int_equal(lines_held(lines), 0);
    put(lines, 1, "line\n", ample, 0);
    expect("\nline\n");
    put(lines, 2, "end", ample, 0);
    lines_end(lines, 2);
    lines_end(lines, 1);
    lines_end(lines, 3);
    expect("end"); /* and nothing behind it */
    lines_close(lines);
}

static void empty_lines_stay(void **state)
{
    (void)state;
    struct lines *lines = open_lines(true, false);
    put(lines, 0, "\n\na\n", ample, 0);
    expect("[0] \n[0] \n[0] a\n");
    lines_close(lines);
}

static void each_line_has_its_tag(void **state)
{
    (void)state;
    struct lines *lines = open_lines(true, false);
    put(lines, 3, "a\nb", ample, 0);
    put(lines, 2, "c\n", ample, 0);
    put(lines, 3, "c\nd\ne", ample, 0);
    lines_end(lines, 3);
    put(lines, 1, "f\n", ample, 0);
    expect("[3] a\n[2] c\n[3] bc\n[3] d\n[3] e\n[1] f\n");
    lines_close(lines);
}

static void a_long_line_comes_in_pieces_and_others_wait(void **state)
{
    (void)state;
    struct lines *lines = open_lines(true, false);
    put(lines, 0, "0123456789", ample, 0);
    expect("");
    assert_int_equal(put(lines, 0, "abcdefghij", ample, 0), 0);
    expect("[0] 0123456789abcdefghij");
    assert_int_equal(put(lines, 1, "one\nt", ample, 0), 5);
    assert_int_equal(put(lines, 2, "two\n", ample, 0), 4);
    put(lines, 0, "klm", ample, 0);
    expect("klm");
    assert_int_equal(put(lines, 0, "n\nnext\nagain", ample, 0), 5);
    expect("n\n[0] next\n[1] one\n[2] two\n");
    lines_end(lines, 1);
    lines_end(lines, 0);
    expect("[1] t\n[0] again");
    lines_close(lines);
}

static void the_end_of_a_stream_ends_its_long_line(void **state)
{
    (void)state;
    struct lines *lines = open_lines(false, false);
    put(lines, 0, "01234567890123456789", ample, 0);
    put(lines, 1, "bye", ample, 0);
    lines_end(lines, 1); /* waits, too */
    expect("01234567890123456789");
    assert_int_equal(lines_held(lines), 3);
    lines_end(lines, 0);
    expect("\nbye");
    assert_int_equal(lines_held(lines), 0);
    lines_close(lines);
}

static void a_long_line_that_stalls_is_broken(void **state)
{
    (void)state;
    struct lines *lines = open_lines(true, false);
    put(lines, 0, "01234567890123456789", ample, 5);
    assert_int_equal(lines_due_ms(lines), LINES_NEVER); /* nobody waits */
    put(lines, 1, "part", ample, 10);
    assert_int_equal(lines_due_ms(lines), LINES_NEVER); /* nor now: its line has not ended */
    put(lines, 1, "ial\n", ample, 20);
    assert_int_equal(lines_due_ms(lines), 5 + LINES_STALL_MS);
    lines_tick(lines, 4 + LINES_STALL_MS);
    expect("[0] 01234567890123456789");
    lines_tick(lines, 5 + LINES_STALL_MS);
    expect("\n[1] partial\n");
    put(lines, 0, "rest\n", ample, 9000);
    expect("[0] rest\n");
    lines_close(lines);
}

static void without_room_nothing_is_held(void **state)
{
    (void)state;
    struct lines *lines = open_lines(true, false);
    assert_int_equal(put(lines, 0, "abc", 2, 0), 0);
    expect("[0] abc");
    assert_int_equal(put(lines, 1, "de\nf", 4, 0), 4); /* waits for the line of 0 */
    expect("");
    assert_int_equal(put(lines, 2, "gh", 1, 0), 0); /* which is broken for want of room */
    expect("\n[1] de\n[2] gh");
    assert_int_equal(lines_held(lines), 1);
    assert_int_equal(put(lines, 0, "ij\n", 0, 0), 0); /* broken again */
    expect("\n[0] ij\n");
    lines_close(lines);
}

static void prompts_show_after_a_while(void **state)
{
    (void)state;
    struct lines *lines = open_lines(false, true);
    put(lines, 0, "name: ", ample, 1000);
    assert_int_equal(lines_due_ms(lines), 1000 + LINES_PROMPT_MS);
    lines_tick(lines, 999 + LINES_PROMPT_MS);
    expect("");
    lines_tick(lines, 1000 + LINES_PROMPT_MS);
    expect("name: ");
    assert_int_equal(lines_held(lines), 0);
    assert_int_equal(lines_due_ms(lines), LINES_NEVER);
    put(lines, 0, "...", ample, 1200); /* goes on where it stands, at once */
    expect("...");
    put(lines, 1, "hello\n", ample, 1201);
    expect("\nhello\n");
    put(lines, 0, "age", ample, 1300);
    put(lines, 2, "x", ample, 1350);
    put(lines, 0, ": ", ample, 1399);
    assert_int_equal(lines_due_ms(lines), 1300 + LINES_PROMPT_MS);
    lines_tick(lines, 1400);
    expect("age: ");
    put(lines, 2, "y\n", ample, 1401);
    expect("\nxy\n");
    lines_close(lines);
}

static void own_words_stand_on_their_own(void **state)
{
    (void)state;
    struct lines *lines = open_lines(true, false);
    const char words[] = "muster: words\n";
    lines_say(lines, 1, words, strlen(words));
    put(lines, 0, "01234567890123456789", ample, 0);
    lines_say(lines, 1, words, strlen(words));
    put(lines, 0, "rest\n", ample, 0);
    expect("muster: words\n[0] 01234567890123456789\nmuster: words\n[0] rest\n");
    put(lines, 0, "held", ample, 0);
    lines_say(lines, 1, words, strlen(words));
    expect("muster: words\n");
    lines_end(lines, 0);
    expect("[0] held");
    lines_close(lines);
}

static void zero_bytes_are_bytes(void **state)
{
    (void)state;
    struct lines *lines = open_lines(false, false);
    const uint8_t bytes[] = {0, 'a', 0, '\n', 0};
    assert_int_equal(lines_put(lines, 0, bytes, sizeof bytes, ample, 0), 1);
    lines_end(lines, 0);
    assert_int_equal(out.used, sizeof bytes);
    assert_memory_equal(out.bytes, bytes, sizeof bytes);
    lines_close(lines);
}

/* ---- from random pieces ---- */

enum { TEXT_MAX = 4000 };

struct world {
    char text[STREAMS][TEXT_MAX]; /* what each stream says */
    size_t length[STREAMS], sent[STREAMS];
    uint64_t now_ms;
    bool still;  /* no time passes, so nothing stalls */
    size_t room; /* most that may be held */
};

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % below;
}

static void make_texts(struct world *world, uint64_t *seed)
{
    for (uint32_t s = 0; s < STREAMS; s++) {
        world->length[s] = draw(seed, TEXT_MAX);
        uint32_t newlines = 2 + draw(seed, 40); /* one in so many */
        for (size_t i = 0; i < world->length[s]; i++)
            world->text[s][i] = draw(seed, newlines) == 0 ? '\n' : (char)('a' + draw(seed, 26));
    }
}

/* Gives pieces of all streams in a random order, with ends and ticks; checks the accounts. */
static void play(struct lines *lines, struct world *world, uint64_t *seed)
{
    uint32_t going = STREAMS;
    bool ended[STREAMS] = {false};
    while (going > 0) {
        uint32_t s = draw(seed, STREAMS), count = 1 + draw(seed, 60);
        world->now_ms += world->still ? 0 : draw(seed, 500);
        if (draw(seed, 10) == 0)
            lines_tick(lines, world->now_ms);
        if (ended[s])
            continue;
        if (world->sent[s] == world->length[s]) {
            lines_end(lines, s);
            ended[s] = true;
            going--;
            continue;
        }
        if (count > world->length[s] - world->sent[s])
            count = (uint32_t)(world->length[s] - world->sent[s]);
        size_t held = lines_held(lines);
        size_t room = world->room > held ? world->room - held : 0;
        size_t kept = lines_put(lines, s, (const uint8_t *)world->text[s] + world->sent[s], count,
                                room, world->now_ms);
        assert_true(kept <= count && kept <= room);
        assert_true(lines_held(lines) <= held + kept);
        assert_true(lines_held(lines) <= world->room);
        world->sent[s] += count;
    }
    assert_int_equal(lines_held(lines), 0);
}

/* Takes the output apart by its tags, and puts the streams together again.  'exact': line by line;
 * else a newline may have been put in anywhere. */
static void check(const struct world *world, bool exact)
{
    static char again[STREAMS][2 * TEXT_MAX];
    size_t used[STREAMS] = {0}, at[STREAMS] = {0};
    for (size_t i = 0; i < out.used;) {
        assert_true(out.bytes[i] == '[' && out.bytes[i + 2] == ']' && out.bytes[i + 3] == ' ');
        uint32_t s = (uint32_t)(out.bytes[i + 1] - '0');
        assert_in_range(s, 0, STREAMS - 1);
        for (i += 4; i < out.used && out.bytes[i] != '\n'; i++)
            again[s][used[s]++] = out.bytes[i];
        if (i++ < out.used)
            again[s][used[s]++] = '\n';
    }
    for (uint32_t s = 0; s < STREAMS; s++) {
        for (size_t i = 0; i < world->length[s]; i++, at[s]++) {
            while (!exact && at[s] < used[s] && again[s][at[s]] == '\n' &&
                   world->text[s][i] != '\n')
                at[s]++;
            assert_true(at[s] < used[s]);
            assert_int_equal(again[s][at[s]], world->text[s][i]);
        }
        while (at[s] < used[s]) /* behind a last line without an end, one may follow */
            assert_int_equal(again[s][at[s]++], '\n');
    }
}

static void random_pieces_come_out_as_whole_lines(void **state)
{
    (void)state;
    static struct world world;
    for (uint64_t i = 1; i <= 300; i++) {
        uint64_t seed = i;
        world = (struct world){.room = SIZE_MAX / 2, .still = true};
        make_texts(&world, &seed);
        struct lines *lines = open_lines(true, false);
        play(lines, &world, &seed);
        check(&world, true);
        lines_close(lines);
    }
}

static void with_little_room_no_byte_is_lost(void **state)
{
    (void)state;
    static struct world world;
    for (uint64_t i = 1; i <= 300; i++) {
        uint64_t seed = i;
        world = (struct world){.room = draw(&seed, 100)};
        make_texts(&world, &seed);
        struct lines *lines = open_lines(true, i % 2 == 0);
        play(lines, &world, &seed);
        check(&world, false);
        lines_close(lines);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_line_waits_for_its_end, tear_down),
        cmocka_unit_test_teardown(more_streams_come, tear_down),
        cmocka_unit_test_teardown(streams_begin_again_when_nothing_is_left_of_them, tear_down),
        cmocka_unit_test_teardown(what_has_no_newline_at_the_end_is_not_glued, tear_down),
        cmocka_unit_test_teardown(empty_lines_stay, tear_down),
        cmocka_unit_test_teardown(each_line_has_its_tag, tear_down),
        cmocka_unit_test_teardown(a_long_line_comes_in_pieces_and_others_wait, tear_down),
        cmocka_unit_test_teardown(the_end_of_a_stream_ends_its_long_line, tear_down),
        cmocka_unit_test_teardown(a_long_line_that_stalls_is_broken, tear_down),
        cmocka_unit_test_teardown(without_room_nothing_is_held, tear_down),
        cmocka_unit_test_teardown(prompts_show_after_a_while, tear_down),
        cmocka_unit_test_teardown(own_words_stand_on_their_own, tear_down),
        cmocka_unit_test_teardown(zero_bytes_are_bytes, tear_down),
        cmocka_unit_test_teardown(random_pieces_come_out_as_whole_lines, tear_down),
        cmocka_unit_test_teardown(with_little_room_no_byte_is_lost, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
