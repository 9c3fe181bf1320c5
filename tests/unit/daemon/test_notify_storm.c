/* More than readers read: what was lost is said, the state is told, and nothing is told twice. */
#include "test_notify_world.h"

#include "test_wire_random.h"

enum { JOB = 7, RANK = SELF, JOURNAL = 16 };

/* ---- stories ---- */

static void burst(struct world *world, uint32_t job, uint32_t first, uint32_t count)
{
    for (uint32_t rank = first; rank < first + count; rank++)
        process_dies(world, job, rank);
}

/* Reads events from 'next' on; returns the rank after the last, with what came then. */
static uint32_t read_row(struct world *world, int fd, uint32_t next, bool is_state,
                         struct mu_local_message *message)
{
    for (;; next++) {
        assert_int_equal(hear_any(world, fd, message), 1);
        if (message->type != MU_LOCAL_EVENT)
            return next;
        assert_int_equal(message->event.subject, MU_SUBJECT_PROCESS);
        assert_int_equal(message->event.rank, next);
        assert_int_equal(message->event.is_state, is_state);
        assert_true(message->event.serial == next + 1);
    }
}

static void a_slow_reader_is_told_what_it_lost(void **state)
{
    (void)state;
    struct world world;
    struct mu_local_message message;
    world_open(&world, JOURNAL, 8);
    begin_job(&world, JOB, 4000);
    int slow = join_early(&world, JOB, RANK);
    burst(&world, JOB, 0, 10);
    for (uint32_t rank = 0; rank < 10; rank++)
        hear_process(&world, slow, rank, false);
    burst(&world, JOB, 10, 1990);
    int late = join(&world, JOB, RANK); /* has lost nothing: it has just come */

    uint64_t lost = 1990 - JOURNAL;
    assert_true(hear(&world, slow, MU_LOCAL_LOST).lost.count == lost);
    assert_true(mu_notify_lost(world.notify) == lost);
    /* It is told the state, which does not fit its socket, while more happens. */
    burst(&world, JOB, 2000, 500);
    uint32_t known = read_row(&world, slow, 0, true, &message);
    assert_int_equal(message.type, MU_LOCAL_CAUGHT_UP);
    assert_true(message.caught_up.serial == 2500);
    assert_int_equal(known, 2500);
    hear_nothing(&world, slow);
    process_dies(&world, JOB, 2500);
    assert_int_equal(hear_process(&world, slow, 2500, false).serial, 2501);

    /* The late one did not read a thing all the while. */
    known = read_row(&world, late, 0, true, &message);
    assert_int_equal(message.type, MU_LOCAL_CAUGHT_UP);
    assert_int_equal(known, 2501);
    hear_nothing(&world, late);
    assert_true(mu_notify_lost(world.notify) == lost);

    /* And once more. */
    burst(&world, JOB, 2501, JOURNAL + 3);
    assert_true(hear(&world, slow, MU_LOCAL_LOST).lost.count == 3);
    assert_int_equal(read_row(&world, slow, 0, true, &message), 2501 + JOURNAL + 3);
    hang_up(slow);
    hang_up(late);
    world_close(&world);
}

static void a_reader_that_keeps_up_within_the_journal_loses_nothing(void **state)
{
    (void)state;
    struct world world;
    struct mu_local_message message;
    world_open(&world, 4096, 8);
    begin_job(&world, JOB, 8000);
    int slow = join_early(&world, JOB, RANK);
    for (uint32_t first = 0; first < 8000; first += 4000) {
        burst(&world, JOB, first, 4000);
        for (uint32_t rank = first; rank < first + 4000; rank++) {
            assert_int_equal(try_hear(slow, &message), 1); /* without a turn of the loop */
            assert_int_equal(message.event.rank, rank);
        }
        hear_nothing(&world, slow);
    }
    assert_true(mu_notify_lost(world.notify) == 0);
    hang_up(slow);
    world_close(&world);
}

/* What others' events push off the board is not lost by those whom it does not concern. */
static void events_of_others_are_no_loss(void **state)
{
    (void)state;
    struct world world;
    struct mu_local_message message;
    world_open(&world, JOURNAL, 8);
    begin_job(&world, JOB, 4000);
    begin_job(&world, JOB + 1, 4000);
    int fd = join_early(&world, JOB, RANK);
    burst(&world, JOB, 0, 600);
    burst(&world, JOB + 1, 0, 600);
    assert_true(hear(&world, fd, MU_LOCAL_LOST).lost.count == 600); /* without the other job's */
    assert_int_equal(read_row(&world, fd, 0, true, &message), 600);
    assert_int_equal(message.type, MU_LOCAL_CAUGHT_UP);
    /* It finds its next event gone, asks, and is told where to go on. */
    burst(&world, JOB + 1, 600, 600);
    hear_nothing(&world, fd);
    process_dies(&world, JOB, 600);
    hear_process(&world, fd, 600, false);
    assert_true(mu_notify_lost(world.notify) == 600);
    hang_up(fd);
    world_close(&world);
}

static void a_slow_watcher_goes_on_with_what_is_kept(void **state)
{
    (void)state;
    struct world world;
    struct mu_local_message message;
    world_open(&world, JOURNAL, 8);
    begin_job(&world, JOB, 4000);
    int fd = operate(&world);
    ask(fd, MU_LOCAL_WATCH);
    hear(&world, fd, MU_LOCAL_CAUGHT_UP);
    burst(&world, JOB, 0, 2000);
    uint32_t live = read_row(&world, fd, 0, false, &message);
    assert_int_equal(message.type, MU_LOCAL_LOST);
    assert_true(message.lost.count == 2000 - JOURNAL - live);
    assert_int_equal(read_row(&world, fd, 2000 - JOURNAL, true, &message), 2000);
    assert_int_equal(message.type, MU_LOCAL_CAUGHT_UP);
    process_dies(&world, JOB, 2000);
    hear_process(&world, fd, 2000, false);
    hang_up(fd);
    world_close(&world);
}

static void one_that_never_reads_holds_up_nobody(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, 4000);
    int deaf = join(&world, JOB, RANK), good = join_early(&world, JOB, RANK);
    for (uint32_t rank = 0; rank < 2000; rank++) {
        process_dies(&world, JOB, rank);
        hear_process(&world, good, rank, false);
    }
    assert_int_equal(mu_notify_clients(world.notify), 2);
    hang_up(deaf);
    settle(&world);
    assert_int_equal(mu_notify_clients(world.notify), 1);
    hang_up(good);
    world_close(&world);
}

/* ---- by chance ---- */

enum { JOBS = 3, SIZE = 1600, CLIENTS = 6, STEPS = 60, SEEDS = 30 };

/* What is so. */
struct truth {
    bool is_dead[NODES];
    struct {
        bool runs;
        bool is_gone[SIZE];
    } jobs[JOBS];
};

/* What one client has heard, since it came or lost something. */
struct reader {
    int fd; /* -1: none */
    bool watches;
    uint32_t job;
    bool caught_up;
    uint64_t serial;  /* of the last event */
    uint64_t skipped; /* LOST, and not seen since */
    bool is_dead[NODES];
    bool is_gone[SIZE];
};

struct chaos {
    struct world world;
    struct random r;
    struct truth truth;
    struct reader readers[CLIENTS];
};

static void truth_node_dies(struct truth *truth, uint32_t job)
{
    for (uint32_t rank = 0; rank < SIZE; rank++)
        if (truth->is_dead[rank % NODES])
            truth->jobs[job].is_gone[rank] = true;
}

static void kill_some(struct chaos *chaos)
{
    uint32_t job = (uint32_t)random_below(&chaos->r, JOBS);
    uint32_t rank = (uint32_t)random_below(&chaos->r, SIZE);
    uint32_t count = (uint32_t)random_below(&chaos->r, 300);
    /* One that does not run would be remembered by the journal only. */
    if (!chaos->truth.jobs[job].runs)
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t who = (rank + i * 7) % SIZE;
        if (i % 5 == 0)
            process_leaves(&chaos->world, job, who);
        else
            process_dies(&chaos->world, job, who);
        chaos->truth.jobs[job].is_gone[who] = true;
    }
}

static void kill_node(struct chaos *chaos)
{
    mu_slot node = (mu_slot)random_below(&chaos->r, NODES);
    if (node == SELF || random_below(&chaos->r, 4) > 0)
        return;
    chaos->truth.is_dead[node] = true;
    node_dies(&chaos->world, node);
    for (uint32_t job = 0; job < JOBS; job++)
        truth_node_dies(&chaos->truth, job);
}

static void toggle_job(struct chaos *chaos)
{
    uint32_t job = (uint32_t)random_below(&chaos->r, JOBS);
    bool runs = chaos->truth.jobs[job].runs;
    if (runs && random_below(&chaos->r, 6) > 0)
        return;
    memset(&chaos->truth.jobs[job], 0, sizeof chaos->truth.jobs[job]);
    chaos->truth.jobs[job].runs = !runs;
    if (!runs) {
        begin_job(&chaos->world, job, SIZE);
        truth_node_dies(&chaos->truth, job);
        return;
    }
    job_over(&chaos->world, job);
    for (int i = 0; i < CLIENTS; i++)
        if (!chaos->readers[i].watches && chaos->readers[i].job == job) {
            hang_up(chaos->readers[i].fd);
            chaos->readers[i] = (struct reader){.fd = -1};
        }
}

static void come_or_go(struct chaos *chaos)
{
    struct reader *reader = &chaos->readers[random_below(&chaos->r, CLIENTS)];
    if (reader->fd >= 0) {
        if (random_below(&chaos->r, 3) == 0) {
            hang_up(reader->fd);
            *reader = (struct reader){.fd = -1};
        }
        return;
    }
    uint32_t job = (uint32_t)random_below(&chaos->r, JOBS);
    bool watches = random_below(&chaos->r, 4) == 0;
    if (!watches && !chaos->truth.jobs[job].runs)
        return;
    *reader = (struct reader){.watches = watches, .job = job};
    reader->fd = watches ? operate(&chaos->world) : join(&chaos->world, job, RANK);
    if (watches)
        ask(reader->fd, MU_LOCAL_WATCH);
}

static void check_member_event(struct reader *reader, const struct mu_local_event *event)
{
    bool *known = &reader->is_dead[event->node];
    if (event->subject == MU_SUBJECT_PROCESS) {
        assert_int_equal(event->job, reader->job);
        assert_true(event->rank < SIZE);
        assert_int_equal(event->node, event->rank % NODES);
        known = &reader->is_gone[event->rank];
    }
    assert_false(*known);
    *known = true;
}

static void check_event(struct reader *reader, const struct mu_local_event *event)
{
    assert_true(event->serial > reader->serial);
    assert_int_equal(event->is_state, !reader->caught_up);
    if (!reader->watches)
        check_member_event(reader, event);
    else if (reader->serial > 0)
        assert_true(event->serial == reader->serial + reader->skipped + 1);
    reader->serial = event->serial;
    reader->skipped = 0;
}

static void check_message(struct reader *reader, const struct mu_local_message *message)
{
    switch ((enum mu_local_type)message->type) {
    case MU_LOCAL_EVENT:
        check_event(reader, &message->event);
        return;
    case MU_LOCAL_CAUGHT_UP:
        assert_false(reader->caught_up);
        reader->caught_up = true;
        return;
    case MU_LOCAL_LOST:
        assert_true(reader->watches || reader->caught_up); /* who has just come loses nothing */
        reader->caught_up = false;
        reader->skipped += message->lost.count;
        if (reader->watches)
            return;
        reader->serial = 0; /* all is told again */
        memset(reader->is_dead, 0, sizeof reader->is_dead);
        memset(reader->is_gone, 0, sizeof reader->is_gone);
        return;
    default:
        fail_msg("a message of type %d came", message->type);
    }
}

static void read_some(struct chaos *chaos, struct reader *reader, uint64_t most)
{
    struct mu_local_message message;
    while (reader->fd >= 0 && most-- > 0 && try_hear(reader->fd, &message) == 1)
        check_message(reader, &message);
    uv_run(&chaos->world.loop, UV_RUN_NOWAIT);
}

static void read_all(struct chaos *chaos, struct reader *reader)
{
    struct mu_local_message message;
    for (int quiet = 0; reader->fd >= 0 && quiet < 4;) {
        if (try_hear(reader->fd, &message) == 1) {
            check_message(reader, &message);
            quiet = 0;
        } else {
            uv_run(&chaos->world.loop, UV_RUN_NOWAIT);
            quiet++;
        }
    }
}

static void check_end(struct chaos *chaos, const struct reader *reader)
{
    assert_true(reader->caught_up);
    if (reader->watches) {
        if (chaos->world.told > 0)
            assert_true(reader->serial == chaos->world.told);
        return;
    }
    assert_memory_equal(reader->is_dead, chaos->truth.is_dead, sizeof reader->is_dead);
    assert_memory_equal(reader->is_gone, chaos->truth.jobs[reader->job].is_gone,
                        sizeof reader->is_gone);
}

static uint64_t run_chaos(uint64_t seed)
{
    struct chaos *chaos = calloc(1, sizeof *chaos);
    chaos->r = (struct random){.state = seed, .slots = NODES};
    world_open(&chaos->world, seed % 2 == 0 ? JOURNAL : 512, CLIENTS);
    for (int i = 0; i < CLIENTS; i++)
        chaos->readers[i].fd = -1;
    for (int step = 0; step < STEPS; step++) {
        toggle_job(chaos);
        come_or_go(chaos);
        kill_some(chaos);
        kill_node(chaos);
        for (int i = 0; i < CLIENTS; i++)
            if (random_below(&chaos->r, 3) == 0)
                read_some(chaos, &chaos->readers[i], random_below(&chaos->r, 400));
    }
    for (int i = 0; i < CLIENTS; i++) {
        if (chaos->readers[i].fd < 0)
            continue;
        read_all(chaos, &chaos->readers[i]);
        check_end(chaos, &chaos->readers[i]);
        hang_up(chaos->readers[i].fd);
    }
    uint64_t lost = mu_notify_lost(chaos->world.notify);
    world_close(&chaos->world);
    free(chaos);
    return lost;
}

static void whoever_has_read_everything_knows_everything(void **state)
{
    (void)state;
    uint64_t lost = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        lost += run_chaos(seed);
    assert_true(lost > 0); /* else the storms were none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_reader_is_told_what_it_lost),
        cmocka_unit_test(a_reader_that_keeps_up_within_the_journal_loses_nothing),
        cmocka_unit_test(events_of_others_are_no_loss),
        cmocka_unit_test(a_slow_watcher_goes_on_with_what_is_kept),
        cmocka_unit_test(one_that_never_reads_holds_up_nobody),
        cmocka_unit_test(whoever_has_read_everything_knows_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
