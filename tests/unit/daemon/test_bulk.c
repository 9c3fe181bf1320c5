/* Messages of any length between daemons: bytes, and several nodes in one process, on one loop,
 * whose connections break. */
#include "daemon/peers/bulk.h"
#include "test_bulk_hosts.h"

#include <stdlib.h>

enum { NODES = 3, LONGEST = 3 * 1024 * 1024 };

struct host {
    struct mu_bulk *bulk;
    uint32_t heard[NODES];
    uint64_t bytes; /* of that one */
    uint32_t fenced;
    const char *rule; /* what the next message is said to break */
    bool any;         /* the next one may be whatever it is */
    bool all;         /* and so may all */
};

static struct host hosts[NODES];

/* ---- messages that say what they are: number, then bytes that follow from it ---- */

static uint32_t length_of(uint32_t number)
{
    uint32_t mixed = number * 2654435761u;
    return number % 16 == 7 ? LONGEST - mixed % 1000 : 4 + mixed % 5000;
}

static struct mu_bulk_message *make(uint32_t number)
{
    struct mu_bulk_message *message = mu_bulk_message_make(length_of(number));
    assert_non_null(message);
    memcpy(message->bytes, &number, sizeof number);
    for (uint32_t i = sizeof number; i < message->count; i++)
        message->bytes[i] = (uint8_t)(number + i);
    return message;
}

static void say(mu_slot from, mu_slot to, uint32_t number)
{
    struct mu_bulk_message *message = make(number);
    mu_bulk_send(hosts[from].bulk, to, message);
    mu_bulk_message_drop(message);
}

static const char *on_message(void *owner, mu_slot from, struct mu_bulk_message *message)
{
    struct host *host = owner;
    if (host->any || host->all) {
        host->any = false;
        host->bytes = message->count;
        return NULL;
    }
    struct mu_bulk_message *expected = make(++host->heard[from]);
    assert_int_equal(message->count, expected->count);
    assert_memory_equal(message->bytes, expected->bytes, expected->count);
    mu_bulk_message_drop(expected);
    const char *rule = host->rule;
    host->rule = NULL;
    return rule;
}

static void on_fenced(void *owner, mu_slot by)
{
    struct host *host = owner;
    (void)by;
    host->fenced++;
}

static void on_member(void *owner, struct mu_conn *conn)
{
    struct host *host = owner;
    assert_int_equal(mu_conn_kind(conn), MU_SEAL_BULK);
    mu_bulk_member(host->bulk, conn);
}

static int begin(void **state)
{
    (void)state;
    void *owners[NODES] = {&hosts[0], &hosts[1], &hosts[2]};
    memset(hosts, 0, sizeof hosts);
    hosts_open(NODES, on_member, owners);
    for (mu_slot slot = 0; slot < NODES; slot++) {
        const struct mu_bulk_hooks hooks = {&hosts[slot], on_message, on_fenced};
        hosts[slot].bulk = mu_bulk_open(&sockets[slot].net, addresses, &hooks);
        assert_non_null(hosts[slot].bulk);
    }
    return 0;
}

static int finish(void **state)
{
    (void)state;
    for (mu_slot slot = 0; slot < NODES; slot++)
        mu_bulk_close(hosts[slot].bulk);
    hosts_close(NODES);
    return 0;
}

static struct mu_bulk_counts counts(mu_slot slot)
{
    return mu_bulk_counts(hosts[slot].bulk);
}

/* ---- tests ---- */

static void a_connection_is_made_when_there_is_something_to_say(void **state)
{
    (void)state;
    turn_loop(&loop);
    assert_int_equal(counts(0).connections + counts(1).connections, 0);
    say(1, 0, 1);
    UNTIL(hosts[0].heard[1] == 1 && counts(1).waiting == 0);
    say(0, 1, 1); /* the same one carries the answer */
    UNTIL(hosts[1].heard[0] == 1 && counts(0).waiting == 0);
    assert_int_equal(counts(0).connections, 1);
    assert_int_equal(counts(1).connections, 1);
    assert_int_equal(counts(2).connections, 0);
    assert_int_equal(sockets[0].door.taken + sockets[1].door.taken, 1);
}

static void both_may_dial_at_once(void **state)
{
    (void)state;
    for (mu_slot a = 0; a < NODES; a++)
        for (mu_slot b = 0; b < NODES; b++)
            if (a != b)
                say(a, b, 1);
    for (mu_slot a = 0; a < NODES; a++)
        for (mu_slot b = 0; b < NODES; b++)
            UNTIL(a == b || hosts[a].heard[b] == 1);
    UNTIL(counts(0).connections == 2 && counts(1).connections == 2 && counts(2).connections == 2);
}

/* The longest there is: the queue of the connection stays short. */
static void the_longest_message_arrives(void **state)
{
    (void)state;
    struct mu_bulk_message *longest = mu_bulk_message_make(MU_BULK_MESSAGE_MAX);
    assert_non_null(longest);
    memset(longest->bytes, 1, longest->count);
    hosts[1].any = true;
    mu_bulk_send(hosts[0].bulk, 1, longest);
    assert_int_equal(longest->holders, 2);
    UNTIL(counts(0).connections == 1);
    for (int turns = 0; counts(1).messages_in == 0; turns++) {
        assert_true(turns < TURNS_MAX);
        for (struct mu_conn *conn = sockets[0].net.first; conn != NULL; conn = conn->next)
            assert_true(mu_conn_queued(conn) <= MU_CONN_QUEUE_HIGH + MU_SEAL_BULK_MAX + 64);
        turn_loop(&loop);
    }
    UNTIL(counts(0).waiting == 0);
    assert_int_equal(hosts[1].bytes, MU_BULK_MESSAGE_MAX);
    assert_int_equal(longest->holders, 1);
    mu_bulk_message_drop(longest);
}

static void what_a_reset_takes_comes_again_and_nothing_twice(void **state)
{
    (void)state;
    enum { MESSAGES = 120 };
    uint32_t breaks = 0;
    for (uint32_t number = 1; number <= MESSAGES; number++) {
        say(0, 1, number);
        say(1, 0, number);
        say(2, 1, number);
        turn_loop(&loop);
        if (number % 3 == 0) {
            hosts_break(number / 3 % NODES);
            breaks++;
        }
    }
    UNTIL(hosts[0].heard[1] == MESSAGES && hosts[1].heard[0] == MESSAGES &&
          hosts[1].heard[2] == MESSAGES);
    UNTIL(counts(0).waiting + counts(1).waiting + counts(2).waiting == 0);
    assert_int_equal(counts(1).messages_in, 2 * MESSAGES);
    assert_true(breaks > 30 && counts(1).broken > 0);
}

static void say_a_byte(mu_slot from, mu_slot to)
{
    struct mu_bulk_message *message = mu_bulk_message_make(1);
    message->bytes[0] = 1;
    mu_bulk_send(hosts[from].bulk, to, message);
    mu_bulk_message_drop(message);
}

/* Whoever sends and does not read is owed one acknowledgement, of all that came. */
static void acknowledgements_for_one_that_does_not_read_do_not_pile_up(void **state)
{
    (void)state;
    enum { AT_ONCE = 100, MOST = 1000000, MORE = 10000 };
    uint64_t said = 0, more = 0;
    hosts[0].all = true;
    say(1, 0, 1);
    UNTIL(counts(0).messages_in == 1 && counts(1).waiting == 0);
    struct mu_conn *reads = sockets[0].net.first, *deaf = sockets[1].net.first;
    mu_conn_pause(deaf, true);
    while (more < MORE) { /* after the kernel has taken what it takes */
        for (int i = 0; i < AT_ONCE; i++)
            say_a_byte(1, 0);
        said += AT_ONCE;
        UNTIL(counts(0).messages_in == 1 + said);
        more += more > 0 || mu_conn_queued(reads) > MU_CONN_QUEUE_HIGH ? AT_ONCE : 0;
        assert_true(said < MOST &&
                    mu_conn_queued(reads) < MU_CONN_QUEUE_HIGH + MU_CONN_TURN_MAX + 1024);
    }
    mu_conn_pause(deaf, false);
    UNTIL(counts(1).waiting == 0);
}

static void nothing_goes_to_the_dead_and_nothing_comes(void **state)
{
    (void)state;
    say(0, 1, 1);
    say(2, 1, 1);
    UNTIL(hosts[1].heard[0] == 1 && hosts[1].heard[2] == 1);
    mu_bulk_dead(hosts[0].bulk, 1);
    say(0, 1, 2);
    assert_int_equal(counts(0).waiting, 0);
    say(1, 0, 1); /* it does not know yet, and is told so */
    UNTIL(hosts[1].fenced > 0);
    assert_int_equal(hosts[0].heard[1], 0);
    say(1, 2, 1);
    UNTIL(hosts[2].heard[1] == 1);
}

/* Whoever cannot be reached is not accused: what is for it waits. */
static void what_is_for_one_that_cannot_be_reached_waits(void **state)
{
    (void)state;
    mu_door_close(&sockets[1].door);
    for (int i = 0; i < 20; i++)
        turn_loop(&loop);
    say(0, 1, 1);
    for (int i = 0; i < 20; i++)
        turn_loop(&loop);
    assert_int_equal(mu_bulk_waiting(hosts[0].bulk, 1), length_of(1));
    assert_int_equal(mu_door_open(&sockets[1].door, &sockets[1].net, &addresses[1]), 0);
    UNTIL(hosts[1].heard[0] == 1 && mu_bulk_waiting(hosts[0].bulk, 1) == 0);
}

static void a_message_against_a_rule_costs_the_connection_and_does_not_come_again(void **state)
{
    (void)state;
    say(0, 1, 1);
    UNTIL(hosts[1].heard[0] == 1);
    hosts[1].rule = "not like this";
    say(0, 1, 2);
    say(0, 1, 3);
    UNTIL(hosts[1].heard[0] == 3 && counts(0).waiting == 0);
    assert_int_equal(sockets[1].net.bad[MU_SEAL_CLASS_MALFORMED], 1);
}

static void frames_that_break_a_rule_are_refused(void **state)
{
    (void)state;
    static const uint8_t piece[] = {7};
    const struct mu_bulk_frame first = {MU_BULK_FIRST, 1, 0, 1, piece, 1};
    struct mu_bulk_frame frame, read;
    uint8_t bytes[64];
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, sizeof bytes);
    mu_bulk_encode(&writer, &first);
    assert_int_equal(writer.used, MU_BULK_HEAD_MAX + 1);
    assert_null(mu_bulk_decode(bytes, writer.used, &read));
    assert_int_equal(read.sequence, 1);
    assert_int_equal(read.count, 1);
    assert_int_equal(read.bytes[0], 7);
    for (size_t i = 0; i < writer.used; i++)
        assert_non_null(mu_bulk_decode(bytes, i, &read)); /* cut short */
    frame = first, frame.type = 4;
    assert_non_null(mu_bulk_error(&frame));
    frame = first, frame.sequence = 0;
    assert_non_null(mu_bulk_error(&frame));
    frame = first, frame.total = MU_BULK_MESSAGE_MAX + 1u;
    assert_non_null(mu_bulk_error(&frame));
    frame = first, frame.count = 2;
    assert_non_null(mu_bulk_error(&frame));
    const uint8_t long_ack[] = {MU_BULK_ACK, 0, 0, 0, 0, 0, 0, 0, 1, 0};
    assert_null(mu_bulk_decode(long_ack, sizeof long_ack - 1, &read));
    assert_non_null(mu_bulk_decode(long_ack, sizeof long_ack, &read));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_that_break_a_rule_are_refused),
#define ON_HOSTS(test) cmocka_unit_test_setup_teardown(test, begin, finish)
        ON_HOSTS(a_connection_is_made_when_there_is_something_to_say),
        ON_HOSTS(both_may_dial_at_once),
        ON_HOSTS(the_longest_message_arrives),
        ON_HOSTS(what_a_reset_takes_comes_again_and_nothing_twice),
        ON_HOSTS(acknowledgements_for_one_that_does_not_read_do_not_pile_up),
        ON_HOSTS(nothing_goes_to_the_dead_and_nothing_comes),
        ON_HOSTS(what_is_for_one_that_cannot_be_reached_waits),
        ON_HOSTS(a_message_against_a_rule_costs_the_connection_and_does_not_come_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
