/* The daemon's part of agreements: several nodes in one process, messages between them in a queue
 * that the test delivers, and processes as sockets. */
#define _GNU_SOURCE
#include "daemon/agree/inside.h"
#include "test_rolls.h"
#include "wire/peer/agree_frame.h"
#include "wire/local/ballot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

enum { NODES = 3, PROCS = 2, RANKS = NODES * PROCS, JOB = 5, QUEUE = 1024, TURNS_MAX = 5000 };

struct letter {
    mu_slot from, to;
    size_t count;
    uint8_t bytes[256];
};

struct node {
    struct mu_roll roll;
    struct mu_agreements *agreements;
    bool lease;
    bool is_dead;
    uint32_t announced, dead_told, proofs_told, faults, cuts;
    mu_slot told_by;
};

static uv_loop_t loop;
static struct node nodes[NODES];
static int voters[RANKS]; /* the process's end */
static struct letter queue[QUEUE];
static uint32_t queued, lost_to; /* messages to node lost_to are lost; NODES: none */
static struct mu_news announced;

/* ---- hooks ---- */

static void on_send(void *owner, mu_slot peer, const uint8_t *bytes, size_t count)
{
    struct node *node = owner;
    assert_true(node->lease);
    if (peer == lost_to)
        return;
    assert_true(queued < QUEUE && count <= sizeof queue[0].bytes);
    struct letter *letter = &queue[queued++];
    *letter = (struct letter){(mu_slot)(node - nodes), peer, count, {0}};
    memcpy(letter->bytes, bytes, count);
}

static void on_send_away(void *owner, mu_slot peer, const uint8_t *bytes, size_t count)
{
    (void)owner, (void)peer, (void)bytes, (void)count;
}

static bool on_lease(void *owner)
{
    const struct node *node = owner;
    return node->lease;
}

static void on_announce(void *owner, const struct mu_news *news)
{
    struct node *node = owner;
    node->announced++;
    announced = *news;
}

static void on_dead(void *owner, const struct mu_roster_entry *death, mu_slot by)
{
    struct node *node = owner;
    node->dead_told++;
    node->proofs_told += death->proven;
    node->told_by = by;
    assert_true(nodes[death->slot].is_dead);
    assert_int_equal(death->incarnation, 1);
}

static void on_fenced(void *owner, mu_slot by)
{
    (void)owner, (void)by;
    fail_msg("nobody is fenced");
}

static void on_fault(void *owner, enum mu_fault fault, mu_slot peer)
{
    struct node *node = owner;
    (void)fault;
    node->faults++;
    node->cuts += peer != MU_SLOT_NONE;
}

/* ---- the world ---- */

static const struct mu_launch_run runs[NODES] = {{0, 0, 2}, {1, 2, 2}, {2, 4, 2}};
static const struct mu_launch_job spec = {.size = RANKS, .run_count = NODES, .runs = runs};

static const char *changed(struct node *node, struct mu_roll_change change)
{
    return mu_agreements_changed(node->agreements, &change);
}

static void begin_job(struct node *node, const struct mu_launch_job *job)
{
    const struct mu_roll_change change = mu_roll_begin(&node->roll, JOB, job);
    assert_int_equal(change.what, MU_ROLL_BEGAN);
    assert_null(changed(node, change));
}

static int begin(void **state)
{
    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    queued = 0;
    lost_to = NODES;
    memset(voters, 0xff, sizeof voters);
    for (mu_slot slot = 0; slot < NODES; slot++) {
        nodes[slot] = (struct node){.lease = true};
        roll_found(&nodes[slot].roll, slot, NODES);
        const struct mu_agreements_config config = {
            .loop = &loop,
            .roll = &nodes[slot].roll,
            .shift = 1,
            .hooks = {&nodes[slot], on_send, on_lease, on_announce, on_dead, on_fenced, on_fault}};
        assert_int_equal(mu_agreements_open(&config, &nodes[slot].agreements), 0);
        begin_job(&nodes[slot], &spec);
    }
    return 0;
}

static int finish(void **state)
{
    (void)state;
    for (mu_slot slot = 0; slot < NODES; slot++)
        mu_agreements_close(nodes[slot].agreements);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        if (voters[rank] >= 0)
            close(voters[rank]);
    uv_run(&loop, UV_RUN_DEFAULT);
    for (mu_slot slot = 0; slot < NODES; slot++)
        mu_roll_close(&nodes[slot].roll);
    assert_int_equal(uv_loop_close(&loop), 0);
    return 0;
}

static void deliver(void)
{
    while (queued > 0) {
        struct letter letter = queue[0];
        memmove(queue, queue + 1, --queued * sizeof queue[0]);
        if (!nodes[letter.to].is_dead && !nodes[letter.from].is_dead)
            assert_null(mu_agreements_frame(nodes[letter.to].agreements, letter.from, letter.bytes,
                                            letter.count));
    }
}

/* Sockets deliver within send(), so a few turns without waiting do all that there is to do. */
static void settle(void)
{
    for (int i = 0; i < 4; i++) {
        uv_run(&loop, UV_RUN_NOWAIT);
        deliver();
    }
}

/* ---- processes ---- */

static void say(uint32_t rank, struct mu_ballot ballot)
{
    uint8_t bytes[MU_BALLOT_BYTES_MAX];
    size_t count = mu_ballot_encode(&ballot, bytes);
    assert_int_equal(send(voters[rank], bytes, count, MSG_NOSIGNAL), count);
}

/* False: nothing is there. */
static bool hear(uint32_t rank, struct mu_ballot *ballot)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    ssize_t count = recv(voters[rank], bytes, sizeof bytes, MSG_DONTWAIT);
    if (count <= 0)
        return false;
    if (bytes[0] == MU_LOCAL_REFUSED) {
        *ballot = (struct mu_ballot){.type = MU_LOCAL_REFUSED};
        return true;
    }
    assert_null(mu_ballot_decode(bytes, (size_t)count, ballot));
    return true;
}

static void knock(uint32_t rank)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    voters[rank] = ends[0];
    mu_agreements_voter(nodes[rank / PROCS].agreements, JOB, rank, ends[1]);
}

static uint64_t join(uint32_t rank)
{
    struct mu_ballot ballot;
    knock(rank);
    say(rank, (struct mu_ballot){.type = MU_BALLOT_JOIN});
    settle();
    assert_true(hear(rank, &ballot));
    assert_int_equal(ballot.type, MU_BALLOT_JOINED);
    assert_int_equal(ballot.joined.size, RANKS);
    return ballot.joined.group;
}

static void join_all(void)
{
    uint64_t group = join(0);
    for (uint32_t rank = 1; rank < RANKS; rank++)
        assert_int_equal(join(rank), group);
}

static void call(uint32_t rank, uint32_t acked)
{
    say(rank, (struct mu_ballot){.type = MU_BALLOT_CALL, .call = {~(UINT64_C(1) << rank), acked}});
}

/* All but those in the mask of ranks. */
static void call_but(uint32_t mask, uint32_t acked)
{
    for (uint32_t rank = 0; rank < RANKS; rank++)
        if ((mask >> rank & 1) == 0)
            call(rank, acked);
    settle();
}

/* Everybody but those in the mask is told the same: who is gone as kinds by rank, and the decision.
 */
static struct mu_ballot expect_decision(uint32_t mask, const uint8_t gone[RANKS])
{
    struct mu_ballot decision = {0}, ballot;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        uint8_t kinds[RANKS] = {0};
        if ((mask >> rank & 1) != 0)
            continue;
        do {
            if (!hear(rank, &ballot))
                fail_msg("rank %u was told nothing", rank);
            for (uint16_t i = 0; ballot.type == MU_BALLOT_GONE && i < ballot.gone.rows; i++)
                for (uint32_t k = 0; k < ballot.gone.row[i].count; k++)
                    kinds[ballot.gone.row[i].first + k] = ballot.gone.kind[i];
        } while (ballot.type == MU_BALLOT_GONE);
        assert_int_equal(ballot.type, MU_BALLOT_DECIDED);
        assert_memory_equal(kinds, gone, RANKS);
        if (decision.type != 0) {
            assert_int_equal(ballot.decided.bits, decision.decided.bits);
            assert_int_equal(ballot.decided.error, decision.decided.error);
            assert_int_equal(ballot.decided.round, decision.decided.round);
        }
        decision = ballot;
    }
    return decision;
}

static void expect_silence(uint32_t mask)
{
    struct mu_ballot ballot;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        if ((mask >> rank & 1) == 0)
            assert_false(hear(rank, &ballot));
}

static void end(uint32_t rank, bool failed)
{
    close(voters[rank]);
    voters[rank] = -1;
    struct node *node = &nodes[rank / PROCS];
    changed(node, roll_end(&node->roll, JOB, rank, failed));
}

static void tell_dead(mu_slot slot, mu_slot dead, bool proven)
{
    nodes[dead].is_dead = true;
    changed(&nodes[slot], roll_lose(&nodes[slot].roll, dead, proven));
}

static void kill_node(mu_slot slot)
{
    nodes[slot].is_dead = true;
    for (mu_slot other = 0; other < NODES; other++)
        if (!nodes[other].is_dead)
            tell_dead(other, slot, false);
    settle();
}

static const uint8_t nobody[RANKS];
#define ALL_BITS(mask) (~(uint64_t)(((1u << RANKS) - 1) & ~(mask)))

/* ---- tests ---- */

static void what_all_contribute_is_decided(void **state)
{
    (void)state;
    join_all();
    for (uint64_t round = 1; round <= 5; round++) {
        call_but(1u << 3, 0);
        expect_silence(0);
        call(3, 0);
        settle();
        struct mu_ballot decision = expect_decision(0, nobody);
        assert_int_equal(decision.decided.bits, ALL_BITS(0));
        assert_int_equal(decision.decided.round, round);
        assert_false(decision.decided.error);
    }
}

static void a_failure_is_told_until_all_have_acknowledged_it(void **state)
{
    (void)state;
    const uint8_t gone[RANKS] = {[3] = MU_BALLOT_FAILED};
    join_all();
    call_but(1u << 3, 0);
    end(3, true);
    settle();
    struct mu_ballot decision = expect_decision(1u << 3, gone);
    assert_true(decision.decided.error);
    assert_int_equal(decision.decided.bits, ALL_BITS(1u << 3));
    call_but(1u << 3 | 1, 1);
    call(0, 0); /* all but one have */
    settle();
    assert_true(expect_decision(1u << 3, nobody).decided.error);
    call_but(1u << 3, 1);
    assert_false(expect_decision(1u << 3, nobody).decided.error);
    call_but(1u << 3, 1);
    assert_false(expect_decision(1u << 3, nobody).decided.error);
}

static void who_leaves_is_no_failure(void **state)
{
    (void)state;
    const uint8_t gone[RANKS] = {[0] = MU_BALLOT_LEFT, [5] = MU_BALLOT_LEFT};
    join_all();
    send(voters[0], "\x08", 1, 0); /* LEAVE */
    end(5, false);
    call_but(1u << 5 | 1, 0);
    struct mu_ballot decision = expect_decision(1u << 5 | 1, gone);
    assert_false(decision.decided.error);
    assert_int_equal(decision.decided.bits, ALL_BITS(1u << 5 | 1));
    end(0, true); /* too late to be a failure of the group */
    call_but(1u << 5 | 1, 0);
    assert_false(expect_decision(1u << 5 | 1, nobody).decided.error);
}

static void a_dead_node_takes_its_processes_along(void **state)
{
    (void)state;
    for (mu_slot slot = 0; slot < NODES; slot++) {
        uint8_t gone[RANKS] = {0};
        gone[slot * PROCS] = gone[slot * PROCS + 1] = MU_BALLOT_FAILED;
        uint32_t mask = 3u << slot * PROCS;
        join_all();
        call_but(mask, 0);
        expect_silence(mask);
        kill_node(slot);
        assert_true(expect_decision(mask, gone).decided.error);
        for (int i = 0; i < 3; i++) {
            call_but(mask, 2);
            assert_false(expect_decision(mask, nobody).decided.error);
        }
        if (slot + 1 < NODES) {
            finish(NULL);
            begin(NULL);
        }
    }
}

/* Its processes died one by one, and it goes on in the tree, until it dies: that is no news then.
 */
/* Node 1 only knows that node 0 is silent, so node 2 does not hear more than that from it.  When
 * node 1 sees proof, node 2 hears that, once. */
static void a_death_is_passed_on_with_the_evidence_that_there_is(void **state)
{
    (void)state;
    const uint8_t gone[RANKS] = {MU_BALLOT_FAILED, MU_BALLOT_FAILED};
    join_all();
    call_but(3, 0);
    queued = 0; /* what was for node 0, and from it */
    tell_dead(1, 0, false);
    settle();
    expect_decision(3, gone);
    assert_int_equal(nodes[1].dead_told, 0);
    assert_int_equal(nodes[2].dead_told, 1);
    assert_int_equal(nodes[2].proofs_told, 0);
    assert_int_equal(nodes[2].told_by, 1);
    tell_dead(1, 0, true);
    for (int round = 0; round < 2; round++) {
        call_but(3, 0); /* nobody acknowledges it, so it is in every decision */
        settle();
        expect_decision(3, nobody);
        assert_int_equal(nodes[2].dead_told, 2);
        assert_int_equal(nodes[2].proofs_told, 1);
    }
    assert_int_equal(nodes[1].dead_told, 0);
}

static void a_node_without_processes_calls_by_itself(void **state)
{
    (void)state;
    uint8_t gone[RANKS] = {[0] = MU_BALLOT_FAILED, [1] = MU_BALLOT_FAILED};
    join_all();
    end(0, true);
    end(1, true);
    call_but(3, 0);
    assert_true(expect_decision(3, gone).decided.error);
    for (int i = 0; i < 3; i++) {
        call_but(3, 2);
        assert_false(expect_decision(3, nobody).decided.error);
    }
    call_but(3, 2);
    assert_false(expect_decision(3, nobody).decided.error);
    kill_node(0);
    call_but(3, 2);
    assert_false(expect_decision(3, nobody).decided.error);
}

/* When the last one is gone everybody stops: or they would agree for ever. */
static void agreements_end_with_the_last_process(void **state)
{
    (void)state;
    join_all();
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        end(rank, rank % 2 == 0);
        settle();
    }
    uint64_t decided = mu_agreements_counts(nodes[0].agreements).decided;
    settle();
    assert_true(decided > 0);
    for (mu_slot slot = 0; slot < NODES; slot++)
        assert_int_equal(mu_agreements_counts(nodes[slot].agreements).groups, 0);
    assert_int_equal(mu_agreements_counts(nodes[0].agreements).decided, decided);
    assert_int_equal(queued, 0);
}

/* So a program can make as many as it likes, one after the other. */
static void groups_that_are_over_take_no_room(void **state)
{
    (void)state;
    uint64_t last = 0;
    for (int i = 0; i < 200; i++) {
        uint64_t group = join(0);
        assert_true(group != last);
        last = group;
        for (uint32_t rank = 1; rank < RANKS; rank++)
            assert_int_equal(join(rank), group);
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            assert_int_equal(send(voters[rank], "\x08", 1, 0), 1); /* LEAVE */
            close(voters[rank]);
            voters[rank] = -1;
        }
        settle();
        assert_int_equal(mu_agreements_counts(nodes[0].agreements).groups, 0);
    }
}

/* Only when there is room is the connection cut, so that what was not taken comes again. */
static void words_of_one_group_too_many_come_again_later(void **state)
{
    (void)state;
    enum { GROUPS = 64 };
    int kept[GROUPS];
    for (int i = 0; i < GROUPS; i++) {
        join(0);
        kept[i] = voters[0];
    }
    knock(0);
    say(0, (struct mu_ballot){.type = MU_BALLOT_JOIN});
    settle();
    struct mu_ballot ballot;
    assert_true(hear(0, &ballot) && ballot.type == MU_LOCAL_REFUSED);
    close(voters[0]);
    voters[0] = -1;
    uint32_t faults = nodes[0].faults; /* the core has said that it is full */
    const struct mu_agree_message up = {
        .type = MU_AGREE_UP, .group = (uint64_t)(JOB + 1) << 32, .round = 1};
    uint8_t bytes[MU_WIRE_FRAME_MAX];
    size_t count = mu_agree_frame_encode(&up, bytes);
    assert_null(mu_agreements_frame(nodes[0].agreements, 1, bytes, count));
    settle();
    assert_int_equal(nodes[0].faults, faults + 1);
    assert_int_equal(nodes[0].cuts, 0);
    changed(&nodes[0], mu_roll_over(&nodes[0].roll, JOB, 1));
    settle();
    assert_int_equal(nodes[0].cuts, 1);
    for (int i = 0; i < GROUPS; i++)
        close(kept[i]);
}

static void who_never_joined_is_told_of_the_group(void **state)
{
    (void)state;
    uint8_t gone[RANKS] = {[4] = MU_BALLOT_FAILED, [5] = MU_BALLOT_LEFT};
    changed(&nodes[2], roll_end(&nodes[2].roll, JOB, 4, true));
    changed(&nodes[2], roll_end(&nodes[2].roll, JOB, 5, false));
    for (uint32_t rank = 0; rank < 4; rank++)
        join(rank);
    call_but(3u << 4, 0);
    expect_silence(3u << 4);
    for (int turns = 0; nodes[0].announced == 0; turns++) {
        assert_true(turns < TURNS_MAX);
        usleep(1000);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(announced.job, JOB);
    mu_agreements_group(nodes[2].agreements, &announced);
    mu_agreements_group(nodes[1].agreements, &announced);
    settle();
    assert_true(expect_decision(3u << 4, gone).decided.error);
}

/* Two nodes of a large machine, and all of one: whatever the slot, the last one announces within
 * 550 ms. */
static void a_high_slot_does_not_wait_longer(void **state)
{
    (void)state;
    enum { SIZE = 9001, SELF = SIZE - 1 };
    static struct mu_launch_run high[SIZE];
    for (uint32_t count = 2; count <= SIZE; count += SIZE - 2) {
        for (uint32_t i = 0; i < count; i++)
            high[i] = (struct mu_launch_run){.slot = SIZE - count + i, .first = i, .count = 1};
        const struct mu_launch_job job = {.size = count, .run_count = count, .runs = high};
        struct node node = {.lease = true};
        roll_found(&node.roll, SELF, SIZE);
        const struct mu_agreements_config config = {
            .loop = &loop,
            .roll = &node.roll,
            .shift = 1,
            .hooks = {&node, on_send_away, on_lease, on_announce, on_dead, on_fenced, on_fault}};
        assert_int_equal(mu_agreements_open(&config, &node.agreements), 0);
        begin_job(&node, &job);
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        voters[0] = ends[0];
        mu_agreements_voter(node.agreements, JOB, count - 1, ends[1]);
        say(0, (struct mu_ballot){.type = MU_BALLOT_JOIN});
        settle();
        say(0, (struct mu_ballot){.type = MU_BALLOT_CALL, .call = {1, 0}});
        settle();
        uint64_t due_ms = node.agreements->jobs->groups->announce_at_ms;
        assert_true(due_ms > 0 && due_ms <= uv_now(&loop) + (count == 2 ? 55 : 550));
        while (node.announced == 0)
            uv_run(&loop, UV_RUN_ONCE);
        mu_agreements_close(node.agreements);
        uv_run(&loop, UV_RUN_NOWAIT);
        mu_roll_close(&node.roll);
        close(voters[0]);
        voters[0] = -1;
    }
}

static void nothing_is_said_or_told_without_the_lease(void **state)
{
    (void)state;
    join_all();
    nodes[1].lease = false;
    call_but(0, 0);
    expect_silence(0);
    nodes[1].lease = true; /* and nobody says so */
    struct mu_ballot ballot;
    for (int turns = 0; !hear(0, &ballot); turns++) {
        assert_true(turns < TURNS_MAX);
        usleep(1000);
        settle();
    }
    assert_int_equal(ballot.type, MU_BALLOT_DECIDED);
    expect_decision(1, nobody);
}

static void what_was_lost_is_said_again(void **state)
{
    (void)state;
    join_all();
    for (mu_slot slot = 0; slot < NODES; slot++) {
        lost_to = slot;
        call_but(0, 0);
        expect_silence(~(3u << slot * PROCS)); /* at least there */
        lost_to = NODES;
        for (mu_slot other = 0; other < NODES; other++)
            if (other != slot) {
                mu_agreements_up(nodes[slot].agreements, other);
                mu_agreements_up(nodes[other].agreements, slot);
            }
        settle();
        expect_decision(0, nobody);
    }
}

static void groups_of_the_same_ranks_are_told_apart(void **state)
{
    (void)state;
    uint64_t first = join(0);
    int kept = voters[0];
    uint64_t second = join(0);
    assert_true(first != second);
    assert_int_equal(join(2), first);
    assert_int_equal(first >> 32, JOB);
    assert_int_equal(second >> 32, JOB);
    close(kept);
}

static void expect_refusal(uint32_t rank)
{
    struct mu_ballot ballot;
    settle();
    assert_true(hear(rank, &ballot));
    assert_int_equal(ballot.type, MU_LOCAL_REFUSED);
    close(voters[rank]);
    voters[rank] = -1;
}

static void what_breaks_a_rule_is_refused(void **state)
{
    (void)state;
    knock(0);
    call(0, 0); /* before JOIN */
    expect_refusal(0);
    knock(0);
    say(0, (struct mu_ballot){.type = MU_BALLOT_JOIN, .join = {.rows = 1, .row = {{1, 2}}}});
    expect_refusal(0); /* without itself */
    knock(0);
    say(0, (struct mu_ballot){.type = MU_BALLOT_JOIN, .join = {.rows = 1, .row = {{0, 7}}}});
    expect_refusal(0); /* a rank too many */
    join(0);
    say(0, (struct mu_ballot){.type = MU_BALLOT_JOIN});
    expect_refusal(0); /* again */
    join(1);
    call(1, 1); /* a failure that nobody told it of */
    expect_refusal(1);
    join(2);
    call(2, 0);
    call(2, 0);
    expect_refusal(2);
    knock(3);
    send(voters[3], "nonsense", 8, 0);
    expect_refusal(3);
}

static void who_hangs_up_is_waited_for_until_it_has_ended(void **state)
{
    (void)state;
    join_all();
    close(voters[4]);
    voters[4] = -1;
    settle();
    call_but(1u << 4, 0);
    expect_silence(1u << 4); /* it is waited for, until its end is known */
    changed(&nodes[2], roll_end(&nodes[2].roll, JOB, 4, true));
    settle();
    const uint8_t gone[RANKS] = {[4] = MU_BALLOT_FAILED};
    expect_decision(1u << 4, gone);
}

static void what_comes_after_the_job_is_for_nobody(void **state)
{
    (void)state;
    join_all();
    call_but(3, 0);
    changed(&nodes[0], mu_roll_over(&nodes[0].roll, JOB, 1));
    const struct mu_agree_message late = {
        .type = MU_AGREE_UP, .group = (uint64_t)JOB << 32, .round = 1};
    uint8_t bytes[MU_WIRE_FRAME_MAX];
    size_t count = mu_agree_frame_encode(&late, bytes);
    for (int i = 0; i < 100; i++)
        assert_null(mu_agreements_frame(nodes[0].agreements, 1, bytes, count));
    assert_int_equal(nodes[0].faults, 0);
    assert_int_equal(mu_agreements_counts(nodes[0].agreements).groups, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_all_contribute_is_decided, begin, finish),
        cmocka_unit_test_setup_teardown(a_failure_is_told_until_all_have_acknowledged_it, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(who_leaves_is_no_failure, begin, finish),
        cmocka_unit_test_setup_teardown(a_dead_node_takes_its_processes_along, begin, finish),
        cmocka_unit_test_setup_teardown(a_death_is_passed_on_with_the_evidence_that_there_is, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(a_node_without_processes_calls_by_itself, begin, finish),
        cmocka_unit_test_setup_teardown(agreements_end_with_the_last_process, begin, finish),
        cmocka_unit_test_setup_teardown(groups_that_are_over_take_no_room, begin, finish),
        cmocka_unit_test_setup_teardown(words_of_one_group_too_many_come_again_later, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(who_never_joined_is_told_of_the_group, begin, finish),
        cmocka_unit_test_setup_teardown(a_high_slot_does_not_wait_longer, begin, finish),
        cmocka_unit_test_setup_teardown(nothing_is_said_or_told_without_the_lease, begin, finish),
        cmocka_unit_test_setup_teardown(what_was_lost_is_said_again, begin, finish),
        cmocka_unit_test_setup_teardown(groups_of_the_same_ranks_are_told_apart, begin, finish),
        cmocka_unit_test_setup_teardown(what_breaks_a_rule_is_refused, begin, finish),
        cmocka_unit_test_setup_teardown(who_hangs_up_is_waited_for_until_it_has_ended, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(what_comes_after_the_job_is_for_nobody, begin, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
