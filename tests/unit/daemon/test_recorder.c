/* The recorder: what was recorded is in its files after a turn of the loop, without an end; and
 * where there is no room a gap says so. */
#include "daemon/record/recorder.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

enum { FILE_MAX = 1 << 20 };

static uv_loop_t loop;
static uv_timer_t alive; /* a loop with nothing to wait for has no turns */
static struct mu_recorder *recorder;
static char base[] = "/tmp/test_recorder.XXXXXX";
static char folder[64];

static void on_alive(uv_timer_t *timer)
{
    (void)timer;
}

static int begin(void **state)
{
    (void)state;
    strcpy(base + sizeof base - 7, "XXXXXX");
    assert_non_null(mkdtemp(base));
    snprintf(folder, sizeof folder, "%s/node-3", base);
    assert_int_equal(uv_loop_init(&loop), 0);
    uv_timer_init(&loop, &alive);
    uv_timer_start(&alive, on_alive, 1000 * 1000, 0);
    assert_int_equal(mu_recorder_open(&loop, folder, &recorder), 0);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", base);
    assert_int_equal(system(command), 0);
    return 0;
}

/* What the recorder says of it. */
static int close_recorder(void)
{
    mu_recorder_stop(recorder);
    uv_close((uv_handle_t *)&alive, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    return mu_recorder_close(recorder);
}

static struct mu_agree_config agree_config(void)
{
    struct mu_agree_config config;
    mu_agree_config_default(&config, 4, 1);
    return config;
}

static void record_lease(struct mu_record_stream *stream)
{
    const struct mu_agree_event event = {.type = MU_AGREE_LEASE, .lease_held = true};
    const struct mu_agree_update nothing = {.count = 0};
    mu_recorder_step(stream, &event, &nothing);
}

/* How its stream of this name ends, and after how many events. */
static enum mu_stream_what read_back(const char *name, uint64_t *events)
{
    static uint8_t bytes[FILE_MAX];
    static struct mu_stream_reader reader;
    char path[128];
    snprintf(path, sizeof path, "%s/%s.record", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(mu_stream_open(&reader, bytes, count));
    enum mu_stream_what what;
    for (*events = 0; (what = mu_stream_next(&reader)) == MU_STREAM_EVENT;)
        ++*events;
    mu_stream_close(&reader);
    return what;
}

static void each_turn_is_in_the_file(void **state)
{
    (void)state;
    const struct mu_agree_config config = agree_config();
    struct mu_record_stream *stream = mu_recorder_stream(recorder, MU_RECORD_AGREE, &config);
    uint64_t events;
    for (uint64_t i = 1; i < 5; i++) {
        record_lease(stream);
        uv_run(&loop, UV_RUN_NOWAIT);
        assert_int_equal(read_back("agree", &events), MU_STREAM_CUT); /* as if it were killed now */
        assert_true(events == i);
    }
    assert_int_equal(close_recorder(), 0);
    assert_int_equal(read_back("agree", &events), MU_STREAM_END);
    assert_true(events == 4);
}

static void only_the_owner_can_read_it_and_a_folder_that_is_there_is_not_taken(void **state)
{
    (void)state;
    struct mu_recorder *second = NULL;
    struct stat about;
    assert_int_equal(mu_recorder_open(&loop, folder, &second), EEXIST);
    assert_int_equal(stat(folder, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    assert_int_equal(close_recorder(), 0);
}

static void instances_have_files_of_their_own(void **state)
{
    (void)state;
    const struct mu_span all = {.first = 0, .count = 4};
    const struct mu_allgather_config config = {
        .size = 4, .self = 1, .shift = 1, .spans = &all, .span_count = 1};
    const struct mu_allgather_event call = {.type = MU_ALLGATHER_CALL};
    const struct mu_allgather_update nothing = {.count = 0};
    uint64_t events;
    for (int i = 0; i < 2; i++) {
        struct mu_record_stream *stream = mu_recorder_stream(recorder, MU_RECORD_GATHER, &config);
        mu_recorder_step(stream, &call, &nothing);
        mu_recorder_end(stream);
    }
    assert_int_equal(read_back("gather-1", &events), MU_STREAM_END);
    assert_int_equal(read_back("gather-2", &events), MU_STREAM_END);
    assert_int_equal(close_recorder(), 0);
}

/* A storm of series must not take all descriptors. */
static void streams_are_bounded_and_that_is_known(void **state)
{
    (void)state;
    const struct mu_span all = {.first = 0, .count = 4};
    const struct mu_allgather_config config = {
        .size = 4, .self = 1, .shift = 1, .spans = &all, .span_count = 1};
    for (int i = 0; i < MU_RECORDER_STREAMS_MAX; i++)
        mu_recorder_end(mu_recorder_stream(recorder, MU_RECORD_GATHER, &config));
    struct mu_record_stream *more = mu_recorder_stream(recorder, MU_RECORD_GATHER, &config);
    assert_null(more);
    mu_recorder_step(more, NULL, NULL);
    mu_recorder_end(more);
    assert_int_equal(close_recorder(), ENFILE);
}

static void a_full_queue_of_the_ring_is_a_gap(void **state)
{
    (void)state;
    struct mu_detect_config config;
    mu_detect_config_default(&config, 4, 1);
    config.incarnation = 1;
    void *context = mu_recorder_ring(recorder, &config);
    struct mu_detect_event event = {.type = MU_DETECT_START, .now_ns = 5};
    const struct mu_detect_update nothing = {.count = 0, .deadline_ns = MU_NEVER};
    mu_recorder_on_ring(context, &event, &nothing);
    uv_run(&loop, UV_RUN_NOWAIT);
    event.type = MU_DETECT_TIMEOUT;
    for (int i = 0; i < 100000; i++) /* in one turn of the loop */
        mu_recorder_on_ring(context, &event, &nothing);
    uv_run(&loop, UV_RUN_NOWAIT);
    mu_recorder_on_ring(context, &event, &nothing); /* there is room again, behind the gap */
    uint64_t events;
    assert_int_equal(close_recorder(), ENOBUFS);
    assert_int_equal(read_back("ring", &events), MU_STREAM_GAP);
    assert_true(events > 1 && events < 100000);
}

static void nothing_is_recorded_where_nothing_is_wanted(void **state)
{
    (void)state;
    const struct mu_agree_config config = agree_config();
    struct mu_record_stream *stream = mu_recorder_stream(NULL, MU_RECORD_AGREE, &config);
    assert_null(stream);
    record_lease(stream);
    mu_recorder_end(stream);
    assert_null(mu_recorder_ring(NULL, NULL));
    mu_recorder_stop(NULL);
    assert_int_equal(mu_recorder_close(NULL), 0);
    assert_int_equal(close_recorder(), 0);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, begin, finish)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(each_turn_is_in_the_file),
        IN_FOLDER(only_the_owner_can_read_it_and_a_folder_that_is_there_is_not_taken),
        IN_FOLDER(instances_have_files_of_their_own),
        IN_FOLDER(streams_are_bounded_and_that_is_known),
        IN_FOLDER(a_full_queue_of_the_ring_is_a_gap),
        IN_FOLDER(nothing_is_recorded_where_nothing_is_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
