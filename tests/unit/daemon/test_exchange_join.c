/* Exchanges among processes of several jobs: daemons in one process, on one loop, with real
 * connections.  Parents run on nodes 0 to 2, children on nodes 2 to 5; every daemon knows both. */
#include "daemon/exchange/inside.h"
#include "test_bulk_hosts.h"
#include "test_rolls.h"

enum { NODES = 6, PARENTS = 1, CHILDREN = 2, STRANGERS = 3, CONNECT = 4 };
enum { PARENT_COUNT = 3, CHILD_COUNT = 8, ALL = PARENT_COUNT + CHILD_COUNT };
#define TOGETHER (UINT32_C(1) << 31 | 77)

struct host {
    mu_slot slot;
    struct mu_roll roll;
    struct mu_exchanges *exchanges;
    bool is_dead;
    uint32_t done, part_count, missed;
};

static struct host hosts[NODES];
static const uint32_t both[] = {PARENTS, CHILDREN};

static struct mu_exchanges *at(mu_slot slot)
{
    return hosts[slot].exchanges;
}

/* ---- the world ---- */

static void on_asked(void *owner, const struct mu_exchange_ticket *ticket, const uint8_t *bytes,
                     size_t count)
{
    (void)owner, (void)ticket, (void)bytes, (void)count;
    fail_msg("nobody asks");
}

static void on_fenced(void *owner, mu_slot by)
{
    (void)owner, (void)by;
    fail_msg("nobody was declared dead who lives");
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

static void begin_jobs(mu_slot slot)
{
    static const struct mu_launch_run of_parents[] = {{0, 0, 1}, {1, 1, 1}, {2, 2, 1}};
    static const struct mu_launch_run of_children[] = {{2, 0, 2}, {3, 2, 2}, {4, 4, 2}, {5, 6, 2}};
    const struct mu_launch_job parents = {.size = PARENT_COUNT, .run_count = 3, .runs = of_parents};
    const struct mu_launch_job children = {
        .size = CHILD_COUNT, .run_count = 4, .runs = of_children};
    assert_null(changed(slot, mu_roll_begin(&hosts[slot].roll, PARENTS, &parents)));
    assert_null(changed(slot, mu_roll_begin(&hosts[slot].roll, CHILDREN, &children)));
}

static int begin(void **state)
{
    (void)state;
    void *owners[NODES];
    memset(hosts, 0, sizeof hosts);
    for (mu_slot slot = 0; slot < NODES; slot++)
        owners[slot] = &hosts[slot];
    hosts_open(NODES, on_member, owners);
    for (mu_slot slot = 0; slot < NODES; slot++) {
        hosts[slot].slot = slot;
        roll_found(&hosts[slot].roll, slot, NODES);
        const struct mu_exchanges_config config = {.net = &sockets[slot].net,
                                                   .roll = &hosts[slot].roll,
                                                   .addresses = addresses,
                                                   .shift = 1,
                                                   .hooks = {&hosts[slot], on_asked, on_fenced}};
        assert_int_equal(mu_exchanges_open(&config, &hosts[slot].exchanges), 0);
        begin_jobs(slot);
    }
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

static void run(uint32_t turns)
{
    for (uint32_t i = 0; i < turns; i++)
        turn_loop(&loop);
}

/* ---- coming together ---- */

/* Each part is the number of its node. */
static void on_done(void *arg, const struct mu_exchange_result *result)
{
    struct host *host = arg;
    host->done++;
    host->part_count = result->part_count;
    host->missed = result->missed;
    for (uint32_t i = 0; i < result->part_count; i++) {
        assert_int_equal(result->parts[i].count, 1);
        assert_int_equal(result->parts[i].bytes[0], result->parts[i].node);
    }
}

static void come(mu_slot slot)
{
    static const struct mu_rank_run everybody = {0, ALL};
    uint8_t part = (uint8_t)slot;
    assert_null(mu_exchanges_join(at(slot), TOGETHER, both, 2));
    assert_null(mu_exchange_begin(at(slot), TOGETHER, CONNECT, &everybody, 1, &part, 1, on_done,
                                  &hosts[slot]));
}

static bool all_done(uint32_t rounds)
{
    for (mu_slot slot = 0; slot < NODES; slot++)
        if (!hosts[slot].is_dead && hosts[slot].done < rounds)
            return false;
    return true;
}

/* At every daemon that lives. */
static void end_process(uint32_t job, uint32_t rank, bool failed)
{
    for (mu_slot slot = 0; slot < NODES; slot++)
        if (!hosts[slot].is_dead)
            changed(slot, roll_end(&hosts[slot].roll, job, rank, failed));
}

/* ---- tests ---- */

static void two_jobs_meet(void **state)
{
    (void)state;
    for (mu_slot slot = 0; slot < NODES - 1; slot++)
        come(slot);
    run(30);
    assert_true(hosts[0].done == 0 && hosts[3].done == 0);
    come(NODES - 1);
    UNTIL(all_done(1));
    for (mu_slot slot = 0; slot < NODES; slot++) {
        assert_int_equal(hosts[slot].part_count, NODES);
        assert_int_equal(hosts[slot].missed, 0);
    }
    for (mu_slot slot = 0; slot < NODES; slot++)
        come(slot); /* joined already: no harm, and the next round */
    UNTIL(all_done(2));
    assert_int_equal(hosts[4].done, 2);
}

/* What others send before somebody of this node has come waits, though no launcher ever names this
 * number. */
static void messages_come_before_the_first_process_does(void **state)
{
    (void)state;
    for (mu_slot slot = 1; slot < NODES; slot++)
        come(slot);
    UNTIL(mu_exchanges_counts(at(0)).bulk.messages_in == 2);
    assert_null(mu_exchanges_find(at(0), TOGETHER));
    come(0);
    UNTIL(all_done(1));
    assert_int_equal(hosts[5].part_count, NODES);
}

/* Ranks of the second job stand behind those of the first. */
static void who_ends_in_one_job_ends_in_both(void **state)
{
    (void)state;
    end_process(CHILDREN, 2, true); /* before they are joined */
    for (mu_slot slot = 0; slot < NODES; slot++)
        if (slot != 3 && slot != 5)
            come(slot);
    run(20);
    end_process(CHILDREN, 3, false); /* node 3 has nobody left */
    run(20);
    assert_int_equal(hosts[0].done, 0);
    end_process(CHILDREN, 6, true);
    end_process(CHILDREN, 7, true);
    hosts[3].is_dead = hosts[5].is_dead = true; /* as far as results are concerned */
    UNTIL(all_done(1));
    assert_int_equal(hosts[1].part_count, NODES - 2);
    assert_int_equal(hosts[1].missed, 3); /* one has left, and is not missed */
    hosts[3].is_dead = hosts[5].is_dead = false;
}

/* Node 2 has processes of both. */
static void a_node_dies_with_processes_of_both(void **state)
{
    (void)state;
    for (mu_slot slot = 0; slot < NODES; slot++)
        if (slot != 2)
            come(slot);
    run(20);
    hosts[2].is_dead = true;
    mu_door_close(&sockets[2].door);
    mu_exchanges_leave(at(2), false);
    end_process(PARENTS, 2, true);
    end_process(CHILDREN, 0, true);
    end_process(CHILDREN, 1, true);
    for (mu_slot slot = 0; slot < NODES; slot++)
        if (slot != 2)
            changed(slot, roll_lose(&hosts[slot].roll, 2, true));
    UNTIL(all_done(1));
    assert_int_equal(hosts[5].part_count, NODES - 1);
    assert_int_equal(hosts[5].missed, 3);
}

static void it_is_over_when_one_of_them_is(void **state)
{
    (void)state;
    for (mu_slot slot = 0; slot < NODES - 1; slot++)
        come(slot);
    run(20);
    for (mu_slot slot = 0; slot < NODES; slot++)
        changed(slot, mu_roll_over(&hosts[slot].roll, CHILDREN, 1));
    run(20);
    for (mu_slot slot = 0; slot < NODES; slot++) {
        assert_int_equal(hosts[slot].done, 0);
        assert_null(mu_exchanges_find(at(slot), TOGETHER));
        assert_non_null(mu_exchanges_find(at(slot), PARENTS));
        assert_string_equal(mu_exchanges_join(at(slot), TOGETHER, both, 2),
                            "one of the jobs is not known here");
    }
}

static void a_number_is_of_the_same_jobs_only(void **state)
{
    const uint32_t others[] = {CHILDREN, PARENTS}, more[] = {PARENTS, CHILDREN, STRANGERS};
    (void)state;
    assert_null(mu_exchanges_join(at(0), TOGETHER, both, 2));
    assert_null(mu_exchanges_join(at(0), TOGETHER, both, 2));
    assert_string_equal(mu_exchanges_join(at(0), TOGETHER, others, 2),
                        "these jobs have the number of others");
    assert_string_equal(mu_exchanges_join(at(0), TOGETHER, more, 3),
                        "these jobs have the number of others");
    assert_string_equal(mu_exchanges_join(at(0), PARENTS, both, 2),
                        "these jobs have the number of others");
    assert_string_equal(mu_exchanges_join(at(0), TOGETHER + 1, more, 3),
                        "one of the jobs is not known here");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ON_HOSTS(test) cmocka_unit_test_setup_teardown(test, begin, finish)
        ON_HOSTS(two_jobs_meet),
        ON_HOSTS(messages_come_before_the_first_process_does),
        ON_HOSTS(who_ends_in_one_job_ends_in_both),
        ON_HOSTS(a_node_dies_with_processes_of_both),
        ON_HOSTS(it_is_over_when_one_of_them_is),
        ON_HOSTS(a_number_is_of_the_same_jobs_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
