/* Exchanges and questions between daemons: several nodes in one process, on one loop, with real
 * connections, that die, break, and hear of it each in its own time. */
#include "daemon/exchange/inside.h"
#include "test_bulk_hosts.h"
#include "test_rolls.h"

#include <stdio.h>
#include <stdlib.h>

enum { NODES = 21, PROCS = 2, RANKS = NODES * PROCS, JOB = 9, FENCE = 1, SHIFT = 2 };

struct host {
    mu_slot slot;
    struct mu_roll roll;
    struct mu_exchanges *exchanges;
    bool is_dead;
    /* the result that came last */
    uint32_t done, part_count, missed;
    bool has[NODES];
    uint32_t round; /* that the parts are of */
    bool begins;    /* the next one in 'done' */
    /* questions */
    uint32_t asked, answered, lost, fenced;
    size_t answer_count;
    char answer[32];
    struct mu_exchange_ticket ticket;
    bool answers_later;
    bool no_lease;
};

static struct host hosts[NODES];
static uint32_t part_bytes; /* how long parts are, more or less */
static const struct mu_rank_run all_ranks = {0, RANKS};

static struct mu_exchanges *at(mu_slot slot)
{
    return hosts[slot].exchanges;
}

/* ---- parts that say whose they are, and of which round ---- */

static size_t length_of(mu_slot node)
{
    return node % 5 == 3 ? 0 : 8 + (size_t)node * part_bytes / NODES;
}

static void fill(uint8_t *bytes, mu_slot node, uint32_t round)
{
    for (size_t i = 0; i < length_of(node); i++)
        bytes[i] = (uint8_t)(node + round * 31 + i);
}

static void check_part(const struct mu_exchange_part *part, uint32_t round)
{
    assert_int_equal(part->count, length_of(part->node));
    for (size_t i = 0; i < part->count; i++)
        if (part->bytes[i] != (uint8_t)(part->node + round * 31 + i))
            fail_msg("byte %zu of the part of node %u in round %u", i, part->node, round);
}

static void come(mu_slot slot, uint64_t tag, struct mu_rank_run ranks);

static void on_done(void *arg, const struct mu_exchange_result *result)
{
    struct host *host = arg;
    assert_false(host->is_dead);
    host->done++;
    host->part_count = result->part_count;
    host->missed = result->missed;
    memset(host->has, 0, sizeof host->has);
    for (uint32_t i = 0; i < result->part_count; i++) {
        if (i > 0)
            assert_true(result->parts[i - 1].node < result->parts[i].node);
        host->has[result->parts[i].node] = true;
        check_part(&result->parts[i], host->done);
    }
    if (host->begins)
        come(host->slot, FENCE, all_ranks);
}

/* The processes of a node come to an operation, for the n-th time. */
static void come(mu_slot slot, uint64_t tag, struct mu_rank_run ranks)
{
    struct host *host = &hosts[slot];
    uint8_t *bytes = calloc(1, length_of(slot) + 1); /* of length 0, too, it is passed on */
    fill(bytes, slot, ++host->round);
    assert_null(mu_exchange_begin(host->exchanges, JOB, tag, &ranks, 1, bytes, length_of(slot),
                                  on_done, host));
    free(bytes);
}

static void come_all(void)
{
    for (mu_slot slot = 0; slot < NODES; slot++)
        if (!hosts[slot].is_dead)
            come(slot, FENCE, all_ranks);
}

static bool all_done(uint32_t rounds)
{
    for (mu_slot slot = 0; slot < NODES; slot++)
        if (!hosts[slot].is_dead && hosts[slot].done < rounds)
            return false;
    return true;
}

/* Everybody who lives has the part of everybody who lives, and exactly so many results. */
static void expect_parts_of_the_living(uint32_t rounds)
{
    for (mu_slot slot = 0; slot < NODES; slot++) {
        if (hosts[slot].is_dead)
            continue;
        assert_int_equal(hosts[slot].done, rounds);
        for (mu_slot other = 0; other < NODES; other++)
            if (!hosts[other].is_dead && !hosts[slot].has[other])
                fail_msg("node %u lacks the part of node %u", slot, other);
    }
}

/* ---- the world ---- */

static void on_asked(void *owner, const struct mu_exchange_ticket *ticket, const uint8_t *bytes,
                     size_t count)
{
    struct host *host = owner;
    host->asked++;
    host->ticket = *ticket;
    if (count >= sizeof host->answer)
        count = 0; /* a long question has a short answer */
    if (!host->answers_later)
        assert_null(mu_exchange_answer(host->exchanges, ticket, bytes, count));
}

static void on_answered(void *arg, const uint8_t *bytes, size_t count)
{
    struct host *host = arg;
    if (bytes == NULL) {
        host->lost++;
        return;
    }
    host->answered++;
    host->answer_count = count;
    assert_true(count < sizeof host->answer);
    memcpy(host->answer, bytes, count);
}

static void on_fenced(void *owner, mu_slot by)
{
    struct host *host = owner;
    (void)by;
    host->fenced++;
}

static bool on_lease(void *owner)
{
    const struct host *host = owner;
    return !host->no_lease;
}

static void on_member(void *owner, struct mu_conn *conn)
{
    struct host *host = owner;
    mu_exchanges_member(host->exchanges, conn);
}

static const char *changed(mu_slot slot, struct mu_roll_change change)
{
    return mu_exchanges_changed(at(slot), &change);
}

static void begin_job(mu_slot slot)
{
    struct mu_launch_run runs[NODES];
    for (mu_slot i = 0; i < NODES; i++)
        runs[i] = (struct mu_launch_run){i, i * PROCS, PROCS};
    const struct mu_launch_job spec = {.size = RANKS, .run_count = NODES, .runs = runs};
    assert_null(changed(slot, mu_roll_begin(&hosts[slot].roll, JOB, &spec)));
}

static int open_hosts(void **state)
{
    (void)state;
    void *owners[NODES];
    memset(hosts, 0, sizeof hosts);
    part_bytes = 100;
    for (mu_slot slot = 0; slot < NODES; slot++)
        owners[slot] = &hosts[slot];
    hosts_open(NODES, on_member, owners);
    for (mu_slot slot = 0; slot < NODES; slot++) {
        hosts[slot].slot = slot;
        roll_found(&hosts[slot].roll, slot, NODES);
        const struct mu_exchanges_config config = {
            .net = &sockets[slot].net,
            .roll = &hosts[slot].roll,
            .addresses = addresses,
            .shift = SHIFT,
            .hooks = {&hosts[slot], on_asked, on_fenced, on_lease}};
        assert_int_equal(mu_exchanges_open(&config, &hosts[slot].exchanges), 0);
    }
    return 0;
}

static int begin(void **state)
{
    open_hosts(state);
    for (mu_slot slot = 0; slot < NODES; slot++)
        begin_job(slot);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    for (mu_slot slot = 0; slot < NODES; slot++)
        mu_exchanges_close(at(slot));
    hosts_close(NODES);
    for (mu_slot slot = 0; slot < NODES; slot++)
        mu_roll_close(&hosts[slot].roll);
    return 0;
}

/* Without a goodbye, in the middle of whatever it does. */
static void die(mu_slot slot)
{
    hosts[slot].is_dead = true;
    mu_door_close(&sockets[slot].door);
    mu_exchanges_leave(at(slot), false);
}

static void tell_dead(mu_slot slot, mu_slot dead)
{
    for (uint32_t i = 0; i < PROCS; i++)
        changed(slot, roll_end(&hosts[slot].roll, JOB, dead * PROCS + i, true));
    changed(slot, roll_lose(&hosts[slot].roll, dead, true));
}

static void tell_all_dead(mu_slot dead)
{
    for (mu_slot slot = 0; slot < NODES; slot++)
        if (!hosts[slot].is_dead)
            tell_dead(slot, dead);
}

/* At every daemon. */
static void end_process(uint32_t rank, bool failed)
{
    for (mu_slot slot = 0; slot < NODES; slot++)
        if (!hosts[slot].is_dead)
            changed(slot, roll_end(&hosts[slot].roll, JOB, rank, failed));
}

static void run(uint32_t turns)
{
    for (uint32_t i = 0; i < turns; i++)
        turn_loop(&loop);
}

/* ---- exchanges ---- */

static void everybody_gets_every_part(void **state)
{
    (void)state;
    come_all();
    assert_int_equal(hosts[0].done, 0); /* never within the call */
    UNTIL(all_done(1));
    expect_parts_of_the_living(1);
    assert_int_equal(hosts[7].missed, 0);
    /* Along the tree, and nowhere else: 2 (n - 1) messages, n - 1 connections. */
    uint64_t messages = 0, connections = 0;
    for (mu_slot slot = 0; slot < NODES; slot++) {
        struct mu_exchanges_counts counts = mu_exchanges_counts(at(slot));
        messages += counts.bulk.messages_out;
        connections += counts.bulk.connections;
    }
    assert_int_equal(messages, 2 * (NODES - 1));
    assert_int_equal(connections, 2 * (NODES - 1));
}

static void nobody_is_done_before_the_last_has_come(void **state)
{
    (void)state;
    for (mu_slot slot = 0; slot < NODES - 1; slot++)
        come(slot, FENCE, all_ranks);
    run(50);
    for (mu_slot slot = 0; slot < NODES; slot++)
        assert_int_equal(hosts[slot].done, 0);
    come(NODES - 1, FENCE, all_ranks);
    UNTIL(all_done(1));
    expect_parts_of_the_living(1);
}

/* More than fits into one message: several carry it. */
static void large_parts_arrive(void **state)
{
    (void)state;
    part_bytes = 2 * 1024 * 1024;
    come_all();
    UNTIL(all_done(1));
    expect_parts_of_the_living(1);
    assert_true(mu_exchanges_counts(at(0)).bulk.messages_out > 8);
}

/* Some are a round ahead; of the results only the last is kept. */
static void rounds_follow_each_other(void **state)
{
    (void)state;
    enum { ROUNDS = 20 };
    for (mu_slot slot = 0; slot < NODES; slot++)
        hosts[slot].begins = true;
    come_all();
    UNTIL(all_done(ROUNDS));
    for (mu_slot slot = 0; slot < NODES; slot++)
        hosts[slot].begins = false;
    uint32_t last = 0;
    for (mu_slot slot = 0; slot < NODES; slot++)
        last = hosts[slot].round > last ? hosts[slot].round : last;
    for (mu_slot slot = 0; slot < NODES; slot++)
        while (hosts[slot].round < last)
            come(slot, FENCE, all_ranks);
    UNTIL(all_done(last));
    expect_parts_of_the_living(last);
    const struct mu_series *series = at(5)->jobs->series;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < NODES * MU_ALLGATHER_ROUNDS; i++)
        kept += series->pieces[i].holder != NULL;
    assert_int_equal(kept, NODES);
}

static void one_waits_for_the_one_before_it(void **state)
{
    (void)state;
    come(3, FENCE, all_ranks);
    come(3, FENCE, all_ranks);
    for (mu_slot slot = 0; slot < NODES; slot++)
        if (slot != 3)
            come(slot, FENCE, all_ranks);
    UNTIL(all_done(1));
    run(20);
    assert_int_equal(hosts[3].done, 1);
    for (mu_slot slot = 0; slot < NODES; slot++)
        if (slot != 3)
            come(slot, FENCE, all_ranks);
    UNTIL(all_done(2));
    expect_parts_of_the_living(2);
}

/* Ranks 5 to 8 are on nodes 2, 3 and 4: nobody else has to do with it. */
static void some_ranks_are_enough(void **state)
{
    (void)state;
    const struct mu_rank_run some = {5, 4};
    for (mu_slot slot = 2; slot <= 4; slot++)
        come(slot, FENCE, some);
    UNTIL(hosts[2].done + hosts[3].done + hosts[4].done == 3);
    assert_int_equal(hosts[3].part_count, 3);
    /* Ranks 8 and 9 are both on node 4: that is alone, and done at once, but not within the call.
     * Runs may come in any order. */
    const struct mu_rank_run alone[] = {{9, 1}, {8, 1}};
    uint8_t bytes[256];
    fill(bytes, 4, 2);
    assert_null(
        mu_exchange_begin(at(4), JOB, 2, alone, 2, bytes, length_of(4), on_done, &hosts[4]));
    assert_int_equal(hosts[4].done, 1);
    UNTIL(hosts[4].done == 2);
    assert_int_equal(hosts[4].part_count, 1);
    for (mu_slot slot = 5; slot < NODES; slot++)
        assert_int_equal(mu_exchanges_counts(at(slot)).bulk.messages_in, 0);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    const struct mu_rank_run high = {RANKS, 1}, elsewhere = {4, 2}, here = {0, 2};
    struct host *host = &hosts[0];
    assert_non_null(mu_exchange_begin(at(0), JOB + 1, 1, &here, 1, NULL, 0, on_done, host));
    assert_non_null(mu_exchange_begin(at(0), JOB, 1, &high, 1, NULL, 0, on_done, host));
    assert_non_null(mu_exchange_begin(at(0), JOB, 1, &elsewhere, 1, NULL, 0, on_done, host));
    assert_non_null(mu_exchange_begin(at(0), JOB, 1, &here, 0, NULL, 0, on_done, host));
    assert_non_null(
        mu_exchange_begin(at(0), JOB, 1, &here, 1, NULL, MU_BULK_MESSAGE_MAX, on_done, host));
    end_process(0, true);
    end_process(1, true);
    assert_non_null(mu_exchange_begin(at(0), JOB, 1, &here, 1, NULL, 0, on_done, host));
    run(5);
    assert_int_equal(host->done, 0);
}

static void on_alone(void *arg, const struct mu_exchange_result *result)
{
    static const struct mu_rank_run alone = {8, 2};
    struct host *host = arg;
    host->done++;
    assert_int_equal(result->part_count, 1);
    assert_null(mu_exchange_begin(host->exchanges, JOB, 3, &alone, 1, NULL, 0, on_alone, arg));
}

static void on_again(void *arg, const uint8_t *bytes, size_t count)
{
    struct host *host = arg;
    host->answered++;
    assert_non_null(bytes);
    assert_null(mu_exchange_ask(host->exchanges, JOB, host->slot, bytes, count, on_again, arg));
}

/* One that is done at once, and begins the next when it is told, and so on without an end. */
static void who_is_always_ready_leaves_the_loop_to_others(void **state)
{
    const struct mu_rank_run alone = {8, 2};
    (void)state;
    assert_null(mu_exchange_begin(at(4), JOB, 3, &alone, 1, NULL, 0, on_alone, &hosts[4]));
    assert_null(mu_exchange_ask(at(4), JOB, 4, NULL, 0, on_again, &hosts[4]));
    UNTIL(hosts[4].done > 10 && hosts[4].answered > 10);
}

/* ---- deaths ---- */

static void who_died_before_is_not_waited_for(void **state)
{
    (void)state;
    die(0);
    die(9);
    tell_all_dead(0);
    tell_all_dead(9);
    come_all();
    UNTIL(all_done(1));
    expect_parts_of_the_living(1);
    assert_int_equal(hosts[1].part_count, NODES - 2);
    assert_int_equal(hosts[1].missed, 2 * PROCS);
}

static void who_dies_without_having_come_is_not_waited_for(void **state)
{
    (void)state;
    for (mu_slot slot = 0; slot < NODES; slot++)
        if (slot != 1)
            come(slot, FENCE, all_ranks);
    run(30);
    die(1); /* the parent of 5 to 8 */
    tell_all_dead(1);
    UNTIL(all_done(1));
    expect_parts_of_the_living(1);
    assert_int_equal(hosts[20].missed, PROCS);
}

/* News and parts take different ways.  Who has the result before it knows of the death would take
 * it for complete. */
static void a_result_waits_for_the_news_of_who_is_missing(void **state)
{
    (void)state;
    for (mu_slot slot = 0; slot < NODES; slot++)
        for (uint32_t i = 0; i < PROCS && slot != 1; i++)
            changed(slot, roll_end(&hosts[slot].roll, JOB, 2 * PROCS + i, true));
    hosts[2].is_dead = true; /* as far as parts are concerned */
    come_all();
    UNTIL(hosts[0].done == 1 && hosts[3].done == 1);
    run(30);
    assert_int_equal(hosts[1].done, 0);
    for (uint32_t i = 0; i < PROCS; i++)
        changed(1, roll_end(&hosts[1].roll, JOB, 2 * PROCS + i, true));
    UNTIL(all_done(1));
    expect_parts_of_the_living(1);
    assert_int_equal(hosts[1].missed, PROCS);
    hosts[2].is_dead = false;
}

/* Its daemon lives on, and is told what there is; the others wait for it no longer. */
static void a_node_whose_participants_are_all_gone_is_out(void **state)
{
    (void)state;
    for (mu_slot slot = 0; slot < NODES; slot++)
        if (slot != 2)
            come(slot, FENCE, all_ranks);
    run(30);
    end_process(2 * PROCS, false); /* one has left: the other may still come */
    run(10);
    assert_int_equal(hosts[3].done, 0);
    end_process(2 * PROCS + 1, true);
    hosts[2].is_dead = true; /* as far as parts are concerned */
    UNTIL(all_done(1));
    expect_parts_of_the_living(1);
    assert_int_equal(hosts[3].missed, 1);
    hosts[2].is_dead = false;
}

/* News and parts take different ways: some know of the death before they have the result. */
static void who_fails_after_having_come_is_not_missed(void **state)
{
    (void)state;
    come(2, FENCE, all_ranks);
    run(30);
    for (mu_slot slot = 0; slot < NODES; slot += 3)
        changed(slot, roll_end(&hosts[slot].roll, JOB, 2 * PROCS, true));
    for (mu_slot slot = 0; slot < NODES; slot++)
        if (slot != 2)
            come(slot, FENCE, all_ranks);
    UNTIL(all_done(1));
    expect_parts_of_the_living(1);
    for (mu_slot slot = 0; slot < NODES; slot++)
        assert_int_equal(hosts[slot].missed, 0);
}

static void who_has_come_and_lost_its_participants_is_told_what_there_is(void **state)
{
    (void)state;
    come(2, FENCE, all_ranks);
    come(2, FENCE, all_ranks);
    run(5);
    end_process(2 * PROCS, true);
    end_process(2 * PROCS + 1, true);
    hosts[2].round = 1;
    UNTIL(hosts[2].done == 2);
    assert_int_equal(hosts[2].part_count, 0); /* of the second, which had not begun */
    for (mu_slot slot = 0; slot < NODES; slot++)
        if (slot != 2)
            come(slot, FENCE, all_ranks);
    hosts[2].is_dead = true;
    UNTIL(all_done(1));
    expect_parts_of_the_living(1);
    hosts[2].is_dead = false;
}

static uint32_t drawn(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* Nodes die at any moment, connections break, and each survivor hears of each death when it does.
 */
static void a_story_with_deaths(uint32_t seed)
{
    enum { DEATHS = 6, ROUNDS = 3, TURNS = 60 };
    uint32_t dies_at[DEATHS], told_at[DEATHS][NODES];
    mu_slot who[DEATHS];
    for (uint32_t i = 0; i < DEATHS; i++) {
        who[i] = i < 2 ? i : drawn(&seed, NODES); /* the root, and who follows it, among them */
        dies_at[i] = drawn(&seed, TURNS);
        for (mu_slot slot = 0; slot < NODES; slot++)
            told_at[i][slot] = dies_at[i] + drawn(&seed, TURNS / 2);
    }
    for (uint32_t now = 0; now < 2 * TURNS; now++) {
        for (uint32_t i = 0; i < DEATHS; i++) {
            if (now == dies_at[i] && !hosts[who[i]].is_dead)
                die(who[i]);
            for (mu_slot slot = 0; slot < NODES; slot++)
                if (now == told_at[i][slot] && !hosts[slot].is_dead && hosts[who[i]].is_dead)
                    tell_dead(slot, who[i]);
        }
        for (mu_slot slot = 0; slot < NODES; slot++)
            if (!hosts[slot].is_dead && hosts[slot].round < ROUNDS && drawn(&seed, 20) == 0 &&
                hosts[slot].round == hosts[slot].done)
                come(slot, FENCE, all_ranks);
        if (drawn(&seed, 10) == 0)
            hosts_break(drawn(&seed, NODES));
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        for (mu_slot slot = 0; slot < NODES; slot++)
            if (!hosts[slot].is_dead && hosts[slot].round < round)
                come(slot, FENCE, all_ranks);
        UNTIL(all_done(round));
    }
    expect_parts_of_the_living(ROUNDS);
}

static void deaths_at_any_moment_leave_nobody_waiting(void **state)
{
    enum { STORIES = 12 };
    for (uint32_t seed = 1; seed <= STORIES; seed++) {
        a_story_with_deaths(seed);
        finish(state);
        begin(state);
    }
}

/* ---- series that nobody needs any more ---- */

static void settle_always(void)
{
    for (mu_slot slot = 0; slot < NODES; slot++)
        at(slot)->resting_max = 0;
}

static void nor_do_they_where_every_series_is_settled_at_once(void **state)
{
    enum { STORIES = 24 };
    uint64_t asked = 0;
    for (uint32_t seed = 1; seed <= STORIES; seed++) {
        settle_always();
        a_story_with_deaths(seed);
        asked += mu_exchanges_counts(at(20)).asked;
        finish(state);
        begin(state);
    }
    assert_true(asked > 0);
}

static uint32_t series_at(mu_slot slot)
{
    uint32_t count = 0;
    for (const struct mu_series *series = at(slot)->jobs->series; series != NULL;
         series = series->next)
        count++;
    return count;
}

/* Ranks 5 to 8 are on nodes 2, 3 and 4. */
static void come_three(uint64_t tag)
{
    const struct mu_rank_run some = {5, 4};
    uint32_t done = hosts[2].done + 1;
    for (mu_slot slot = 2; slot <= 4; slot++)
        come(slot, tag, some);
    UNTIL(hosts[2].done == done && hosts[3].done == done && hosts[4].done == done);
    assert_int_equal(hosts[3].part_count, 3);
}

static void many_series_do_not_add_up(void **state)
{
    (void)state;
    enum { SERIES = 4000, MOST = 1000 };
    for (uint64_t tag = 1; tag <= SERIES; tag++) {
        come_three(tag);
        for (mu_slot slot = 2; slot <= 4; slot++)
            assert_true(series_at(slot) <= MOST);
    }
    for (mu_slot slot = 2; slot <= 4; slot++)
        assert_true(at(slot)->jobs->settled_count > SERIES - MOST);
    for (uint64_t tag = 1; tag <= SERIES; tag += 100)
        come_three(tag); /* it goes on with the next round, settled or not */
}

/* Node 4 does not hear that it is done: the others keep the result for it. */
static void what_somebody_waits_for_is_not_settled(void **state)
{
    (void)state;
    const struct mu_rank_run some = {5, 4};
    come_three(1); /* makes connections */
    settle_always();
    come(4, 2, some);
    run(20);
    for (struct mu_conn *conn = sockets[4].net.first; conn != NULL; conn = conn->next)
        mu_conn_pause(conn, true);
    come(2, 2, some);
    come(3, 2, some);
    UNTIL(hosts[2].done == 2 && hosts[3].done == 2);
    run(100);
    assert_int_equal(hosts[4].done, 1);
    assert_true(series_at(2) > 0 && series_at(3) > 0);
    die(2); /* which was to tell node 4 */
    for (mu_slot slot = 3; slot <= 4; slot++)
        tell_dead(slot, 2);
    for (struct mu_conn *conn = sockets[4].net.first; conn != NULL; conn = conn->next)
        mu_conn_pause(conn, false);
    UNTIL(hosts[4].done == 2);
}

/* Node 3 asks node 4 whether it has the result of a series. */
static bool is_settled_at_4(const uint8_t id[MU_SERIES_ID_BYTES], uint64_t round)
{
    uint8_t bytes[64];
    uint32_t answered = hosts[3].answered + 1;
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, sizeof bytes);
    mu_write_u32(&writer, JOB);
    mu_write_bytes(&writer, id, MU_SERIES_ID_BYTES);
    mu_write_u64(&writer, round);
    assert_null(
        mu_exchange_ask(at(3), MU_SETTLE_JOB, 4, bytes, writer.used, on_answered, &hosts[3]));
    UNTIL(hosts[3].answered == answered);
    assert_int_equal(hosts[3].answer_count, 1);
    return hosts[3].answer[0] == 1;
}

static void who_waits_for_a_result_says_so(void **state)
{
    (void)state;
    const struct mu_rank_run some = {5, 4};
    uint8_t id[MU_SERIES_ID_BYTES], other[MU_SERIES_ID_BYTES] = {1};
    come(4, 7, some);
    memcpy(id, at(4)->jobs->series->id, sizeof id);
    assert_false(is_settled_at_4(id, 1));
    assert_true(is_settled_at_4(other, 1)); /* it does not take part in that */
    come(2, 7, some);
    come(3, 7, some);
    UNTIL(hosts[4].done == 1);
    assert_memory_equal(at(2)->jobs->series->id, id, sizeof id); /* the same everywhere */
    assert_true(is_settled_at_4(id, 1));
    assert_false(is_settled_at_4(id, 2));
    assert_null(mu_exchange_ask(at(3), MU_SETTLE_JOB, 4, NULL, 0, on_answered, &hosts[3]));
    UNTIL(hosts[3].answered == 5); /* what cannot be is answered, too */
    assert_int_equal(hosts[3].answer_count, 0);
}

static void one_of_this_node_alone_is_freed_at_once(void **state)
{
    (void)state;
    const struct mu_rank_run alone = {8, 2};
    for (uint32_t tag = 1; tag <= 100; tag++) {
        come(4, tag, alone);
        UNTIL(hosts[4].done == tag && series_at(4) == 0);
    }
}

/* ---- jobs ---- */

static void what_comes_before_its_job_waits_for_it(void **state)
{
    (void)state;
    for (mu_slot slot = 1; slot < NODES; slot++)
        begin_job(slot);
    for (mu_slot slot = 1; slot < NODES; slot++)
        come(slot, FENCE, all_ranks);
    assert_null(
        mu_exchange_ask(at(1), JOB, 0, (const uint8_t *)"early", 5, on_answered, &hosts[1]));
    UNTIL(mu_exchanges_counts(at(0)).bulk.messages_in == 5);
    run(5);
    assert_int_equal(hosts[0].asked, 0);
    begin_job(0);
    come(0, FENCE, all_ranks);
    UNTIL(all_done(1) && hosts[1].answered == 1);
    expect_parts_of_the_living(1);
}

/* More than could be kept once: first a fence, then questions that are long. */
static void however_much_comes_before_its_job_waits_for_it(void **state)
{
    (void)state;
    enum { LONG = 55 * 1024 * 1024, QUESTIONS = 5 };
    uint8_t *bytes = calloc(LONG, 1);
    assert_non_null(bytes);
    for (mu_slot slot = 1; slot < NODES; slot++)
        begin_job(slot);
    for (mu_slot slot = 1; slot < NODES; slot++)
        come(slot, FENCE, all_ranks);
    UNTIL(mu_exchanges_counts(at(0)).bulk.messages_in == 4);
    for (int i = 0; i < QUESTIONS; i++) {
        assert_null(mu_exchange_ask(at(1), JOB, 0, bytes, LONG, on_answered, &hosts[1]));
        UNTIL(mu_exchanges_counts(at(0)).bulk.messages_in == 5 + (uint64_t)i);
    }
    free(bytes);
    assert_true(mu_exchanges_counts(at(0)).early > (uint64_t)QUESTIONS * LONG);
    begin_job(0);
    come(0, FENCE, all_ranks);
    UNTIL(all_done(1) && hosts[1].answered == QUESTIONS);
    expect_parts_of_the_living(1);
    assert_int_equal(mu_exchanges_counts(at(0)).early, 0);
    assert_int_equal(mu_exchanges_counts(at(0)).dropped, 0);
}

/* ---- the lease ---- */

static void no_result_is_told_without_the_lease(void **state)
{
    (void)state;
    hosts[6].no_lease = true;
    come_all();
    for (mu_slot slot = 0; slot < NODES; slot++)
        UNTIL(slot == 6 || hosts[slot].done == 1); /* the others do not wait for its lease */
    UNTIL(mu_exchanges_counts(at(6)).done == 1);
    run(20);
    assert_int_equal(hosts[6].done, 0);
    hosts[6].no_lease = false; /* and nobody tells the exchanges so */
    UNTIL(all_done(1));
    expect_parts_of_the_living(1);
}

static void no_answer_is_told_without_the_lease(void **state)
{
    (void)state;
    hosts[6].no_lease = true;
    assert_null(
        mu_exchange_ask(at(6), JOB, 7, (const uint8_t *)"there", 5, on_answered, &hosts[6]));
    UNTIL(mu_exchanges_counts(at(6)).bulk.messages_in == 1);
    run(20);
    assert_int_equal(hosts[6].answered, 0);
    tell_dead(6, 7); /* its answer is here */
    run(20);
    assert_int_equal(hosts[6].answered + hosts[6].lost, 0);
    hosts[6].no_lease = false;
    UNTIL(hosts[6].answered == 1);
    assert_int_equal(hosts[6].lost, 0);
    /* Nor that there will be none; but what concerns this node alone is told. */
    hosts[6].no_lease = true;
    tell_dead(6, 8);
    assert_null(mu_exchange_ask(at(6), JOB, 8, (const uint8_t *)"gone", 4, on_answered, &hosts[6]));
    assert_null(mu_exchange_ask(at(6), JOB, 6, (const uint8_t *)"here", 4, on_answered, &hosts[6]));
    UNTIL(hosts[6].answered == 2);
    run(20);
    assert_int_equal(hosts[6].lost, 0);
    come(6, FENCE, (struct mu_rank_run){6 * PROCS, PROCS});
    UNTIL(hosts[6].done == 1);
    hosts[6].no_lease = false;
    UNTIL(hosts[6].lost == 1);
}

static void nobody_is_called_after_the_job(void **state)
{
    (void)state;
    for (mu_slot slot = 1; slot < NODES; slot++)
        come(slot, FENCE, all_ranks);
    hosts[2].answers_later = true;
    assert_null(mu_exchange_ask(at(3), JOB, 2, NULL, 0, on_answered, &hosts[3]));
    UNTIL(hosts[2].asked == 1);
    for (mu_slot slot = 0; slot < NODES; slot++)
        changed(slot, mu_roll_over(&hosts[slot].roll, JOB, 1));
    assert_null(mu_exchange_answer(at(2), &hosts[2].ticket, NULL, 0));
    run(20);
    for (mu_slot slot = 0; slot < NODES; slot++)
        assert_int_equal(hosts[slot].done + hosts[slot].answered, 0);
    assert_null(at(4)->early); /* what still came was of a job that is over */
}

static void an_abandoned_result_is_told_nobody(void **state)
{
    (void)state;
    come_all();
    mu_exchange_abandon(at(6), &hosts[6]);
    hosts[6].is_dead = true; /* as far as being told is concerned */
    UNTIL(all_done(1));
    run(10);
    assert_int_equal(hosts[6].done, 0);
    assert_true(hosts[5].has[6]);
    hosts[6].is_dead = false;
}

/* ---- members that lie ---- */

/* A message with one part of some node, of some rank. */
static void lie(mu_slot from, mu_slot to, uint32_t rank, mu_slot node, uint64_t round)
{
    const struct mu_rank_run run = {0, rank};
    const struct mu_exchange_part part = {node, (const uint8_t *)"?", 1};
    const struct mu_exchange_message head = {.type = MU_EXCHANGE_UP,
                                             .job = JOB,
                                             .tag = FENCE,
                                             .round = round,
                                             .run_count = 1,
                                             .part_count = 1};
    struct mu_bulk_message *message = mu_bulk_message_make(64);
    struct mu_writer writer;
    mu_writer_init(&writer, message->bytes, message->count);
    mu_exchange_encode(&writer, &head, &run);
    mu_exchange_encode_part(&writer, &part, NULL);
    message->count = (uint32_t)writer.used;
    mu_bulk_send(at(from)->bulk, to, message);
    mu_bulk_message_drop(message);
}

static uint64_t refused(mu_slot slot)
{
    return sockets[slot].net.bad[MU_SEAL_CLASS_MALFORMED];
}

static void what_cannot_be_costs_the_connection_and_nothing_else(void **state)
{
    (void)state;
    lie(1, 0, RANKS + 1, 1, 1); /* a rank that the job has not */
    lie(2, 0, 8, 2, 3);         /* two rounds ahead */
    lie(3, 0, 6, 7, 1);         /* the part of a node that does not take part */
    lie(5, 0, 6, 1, 1);         /* by one that does not */
    UNTIL(refused(0) == 4);
    come_all();
    UNTIL(all_done(1));
    expect_parts_of_the_living(1);
}

/* ---- questions ---- */

static void a_question_is_answered(void **state)
{
    (void)state;
    assert_null(
        mu_exchange_ask(at(4), JOB, 17, (const uint8_t *)"who?", 4, on_answered, &hosts[4]));
    UNTIL(hosts[4].answered == 1);
    assert_int_equal(hosts[17].asked, 1);
    assert_int_equal(hosts[17].ticket.node, 4);
    assert_int_equal(hosts[17].ticket.job, JOB);
    assert_memory_equal(hosts[4].answer, "who?", 4);
    /* By itself, and an empty one. */
    assert_null(mu_exchange_ask(at(4), JOB, 4, NULL, 0, on_answered, &hosts[4]));
    assert_int_equal(hosts[4].asked, 0);
    UNTIL(hosts[4].answered == 2);
    assert_int_equal(hosts[4].asked, 1);
    assert_int_equal(hosts[4].answer_count, 0);
    /* About a job that nobody knows: the hook will see. */
    assert_null(mu_exchange_ask(at(4), JOB + 1, 5, NULL, 0, on_answered, &hosts[4]));
    UNTIL(hosts[4].answered == 3);
    assert_non_null(mu_exchange_ask(at(4), JOB, NODES, NULL, 0, on_answered, &hosts[4]));
}

static void the_dead_answer_nothing(void **state)
{
    (void)state;
    hosts[8].answers_later = true;
    assert_null(mu_exchange_ask(at(4), JOB, 8, NULL, 0, on_answered, &hosts[4]));
    UNTIL(hosts[8].asked == 1);
    die(8);
    run(10);
    assert_int_equal(hosts[4].lost, 0);
    tell_all_dead(8);
    UNTIL(hosts[4].lost == 1);
    assert_null(mu_exchange_ask(at(4), JOB, 8, NULL, 0, on_answered, &hosts[4]));
    assert_int_equal(hosts[4].lost, 1);
    UNTIL(hosts[4].lost == 2);
    assert_int_equal(hosts[4].answered, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ON_HOSTS(test) cmocka_unit_test_setup_teardown(test, begin, finish)
        ON_HOSTS(everybody_gets_every_part),
        ON_HOSTS(nobody_is_done_before_the_last_has_come),
        ON_HOSTS(large_parts_arrive),
        ON_HOSTS(rounds_follow_each_other),
        ON_HOSTS(one_waits_for_the_one_before_it),
        ON_HOSTS(some_ranks_are_enough),
        ON_HOSTS(what_cannot_be_is_refused),
        ON_HOSTS(who_is_always_ready_leaves_the_loop_to_others),
        ON_HOSTS(who_died_before_is_not_waited_for),
        ON_HOSTS(who_dies_without_having_come_is_not_waited_for),
        ON_HOSTS(a_result_waits_for_the_news_of_who_is_missing),
        ON_HOSTS(a_node_whose_participants_are_all_gone_is_out),
        ON_HOSTS(who_fails_after_having_come_is_not_missed),
        ON_HOSTS(who_has_come_and_lost_its_participants_is_told_what_there_is),
        ON_HOSTS(deaths_at_any_moment_leave_nobody_waiting),
        ON_HOSTS(nor_do_they_where_every_series_is_settled_at_once),
        ON_HOSTS(many_series_do_not_add_up),
        ON_HOSTS(what_somebody_waits_for_is_not_settled),
        ON_HOSTS(who_waits_for_a_result_says_so),
        ON_HOSTS(one_of_this_node_alone_is_freed_at_once),
        cmocka_unit_test_setup_teardown(what_comes_before_its_job_waits_for_it, open_hosts, finish),
        cmocka_unit_test_setup_teardown(however_much_comes_before_its_job_waits_for_it, open_hosts,
                                        finish),
        ON_HOSTS(no_result_is_told_without_the_lease),
        ON_HOSTS(no_answer_is_told_without_the_lease),
        ON_HOSTS(nobody_is_called_after_the_job),
        ON_HOSTS(an_abandoned_result_is_told_nobody),
        ON_HOSTS(what_cannot_be_costs_the_connection_and_nothing_else),
        ON_HOSTS(a_question_is_answered),
        ON_HOSTS(the_dead_answer_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
