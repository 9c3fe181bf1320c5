/* What a daemon is told on its standard input, and what it makes of what it should not be told. */
#include "daemon/lifeline.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static const char good[] = "muster-orders 1\n"
                           "machine 0123456789abcdef\n"
                           "key " KEY "\n"
                           "size 3\n"
                           "slot 2\n"
                           "listen 127.77.1.4\n"
                           "name node2\n"
                           "period 100000000\n"
                           "timeout 200000000\n"
                           ".\n";

static struct mu_orders orders;
static char text[MU_ORDERS_TEXT_MAX];

/* An input with these bytes, and its end after them. */
static struct mu_orders_input input_of(const char *bytes)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, strlen(bytes)), (ssize_t)strlen(bytes));
    close(ends[1]);
    return (struct mu_orders_input){.fd = ends[0]};
}

static const char *read_orders(const char *bytes)
{
    struct mu_orders_input input = input_of(bytes);
    const char *wrong = mu_orders_read(&input, &orders, text);
    close(input.fd);
    return wrong;
}

static void good_orders_are_understood(void **state)
{
    (void)state;
    assert_null(read_orders(good));
    assert_true(orders.machine == UINT64_C(0x0123456789abcdef));
    assert_int_equal(orders.key[0], 0);
    assert_int_equal(orders.key[31], 0xff);
    assert_int_equal(orders.size, 3);
    assert_int_equal(orders.slot, 2);
    assert_int_equal(ntohl(orders.listen.s_addr), 0x7f4d0104);
    assert_string_equal(orders.name, "node2");
    assert_int_equal(orders.period_ns, 100000000);
    assert_int_equal(orders.timeout_ns, 200000000);
    assert_false(orders.shared_host);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    char written[MU_ORDERS_BYTES_MAX];
    assert_null(read_orders(good));
    size_t count = mu_orders_write(&orders, written);
    assert_int_equal(count, strlen(good));
    assert_memory_equal(written, good, count);
    struct mu_orders before = orders;
    before.shared_host = true;
    before.slot = 0;
    count = mu_orders_write(&before, written);
    written[count] = '\0';
    assert_null(read_orders(written));
    assert_true(orders.shared_host);
    assert_memory_equal(&orders, &before, sizeof orders);
    before = (struct mu_orders){.machine = UINT64_MAX, /* the longest */
                                .size = MU_SIZE_MAX,
                                .slot = MU_SIZE_MAX - 1,
                                .listen = {0xffffffff},
                                .period_ns = UINT64_MAX,
                                .timeout_ns = UINT64_MAX,
                                .shared_host = true};
    memset(before.name, 'n', MU_ORDERS_NAME_MAX);
    assert_true(mu_orders_write(&before, written) < sizeof written);
}

/* Every line left out, and every line changed. */
static void bad_orders_are_refused_with_value_and_rule(void **state)
{
    (void)state;
    const struct {
        const char *from, *to, *wrong;
    } cases[] = {
        {"muster-orders 1", "muster-orders 2",
         "'muster-orders 2' is not the first line of orders, 'muster-orders 1'"},
        {"machine 0123456789abcdef\n", "", "no line 'machine' in the orders"},
        {"0123456789abcdef", "0000000000000000",
         "machine '0000000000000000' in the orders is not 16 hexadecimal digits, not all zero"},
        {"0123456789abcdef", "0123456789abcde",
         "machine '0123456789abcde' in the orders is not 16 hexadecimal digits, not all zero"},
        {KEY, "xy", "key '(not shown)' in the orders is not 64 hexadecimal digits"},
        {"size 3", "size 0", "size '0' in the orders is not between 1 and 16777216"},
        {"size 3", "size 99999999999999999999",
         "size '99999999999999999999' in the orders is not between 1 and 16777216"},
        {"size 3", "size -1", "size '-1' in the orders is not between 1 and 16777216"},
        {"slot 2", "slot 3", "slot '3' in the orders is not below the size, which comes before it"},
        {"slot 2", "slot 2x",
         "slot '2x' in the orders is not below the size, which comes before it"},
        {"slot 2", "slot 2\nsize 1", "the line 'size' is there twice in the orders"},
        {"127.77.1.4", "127.77.1", "listen '127.77.1' in the orders is not an IPv4 address"},
        {"name node2", "name ", "name '' in the orders is not 1 to 64 characters"},
        {"name node2", "shared-host yes", "unknown line 'shared-host yes' in the orders"},
        {"name node2", "colour blue", "unknown line 'colour blue' in the orders"},
        {"name node2",
         "name no\x01"
         "de",
         "byte 1 in the orders is not printable"},
        {"period 100000000\n", "",
         "timeout '200000000' in the orders is not at least twice the period, which comes before "
         "it, up to an hour"},
        {"period 100000000", "period 999999",
         "period '999999' in the orders is not nanoseconds, between 1 ms and an hour"},
        {"period 100000000", "period 3600000000001",
         "period '3600000000001' in the orders is not nanoseconds, between 1 ms and an hour"},
        {"period 100000000", "period 100ms",
         "period '100ms' in the orders is not nanoseconds, between 1 ms and an hour"},
        {"timeout 200000000\n", "", "no line 'timeout' in the orders"},
        {"timeout 200000000", "timeout 199999999",
         "timeout '199999999' in the orders is not at least twice the period, which comes before "
         "it, up to an hour"},
        {"timeout 200000000", "timeout 3600000000001",
         "timeout '3600000000001' in the orders is not at least twice the period, which comes "
         "before it, up to an hour"},
        {"timeout 200000000", "timeout 200000000\nperiod 1000000",
         "the line 'period' is there twice in the orders"},
        {".\n", "", "the orders end before they are complete"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char bytes[sizeof good + 64];
        const char *at = strstr(good, cases[i].from);
        assert_non_null(at);
        snprintf(bytes, sizeof bytes, "%.*s%s%s", (int)(at - good), good, cases[i].to,
                 at + strlen(cases[i].from));
        if (strcmp(cases[i].from, ".\n") == 0) /* the last one, not that of an address */
            snprintf(bytes, sizeof bytes, "%.*s", (int)(sizeof good - 3), good);
        assert_non_null(read_orders(bytes));
        assert_string_equal(text, cases[i].wrong);
    }
}

static void a_line_without_end_is_refused(void **state)
{
    (void)state;
    char bytes[sizeof good + 2 * MU_ORDERS_LINE_MAX];
    snprintf(bytes, sizeof bytes, "muster-orders 1\nname %0*d\n", 2 * MU_ORDERS_LINE_MAX - 32, 0);
    assert_non_null(read_orders(bytes));
    assert_string_equal(text, "a line of the orders is longer than 255");
}

static void every_node_must_have_its_place(void **state)
{
    (void)state;
    const struct {
        const char *lines, *wrong;
    } cases[] = {
        {"node 0 127.0.0.1 10\nnode 1 127.0.0.2 11\nnode 2 127.0.0.3 12\n.\n", NULL},
        {"node 0 127.0.0.1 10\nnode 2 127.0.0.3 12\n.\n", "the orders do not say where node 1 is"},
        {"node 3 127.0.0.1 10\n",
         "'node 3 127.0.0.1 10' in the orders is not 'node SLOT ADDRESS PORT' below 3"},
        {"node 0 127.0.0.1 0\n",
         "'node 0 127.0.0.1 0' in the orders is not 'node SLOT ADDRESS PORT' below 3"},
        {"node 0 127.0.0.1 10 11\n",
         "'node 0 127.0.0.1 10 11' in the orders is not 'node SLOT ADDRESS PORT' below 3"},
        {"node 0 127.0.0.1 10\n", "the orders end before they are complete"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sockaddr_in addresses[3];
        struct mu_orders_input input = input_of(cases[i].lines);
        const char *wrong = mu_orders_read_nodes(&input, 3, addresses, text);
        close(input.fd);
        if (cases[i].wrong == NULL) {
            assert_null(wrong);
            assert_int_equal(ntohs(addresses[2].sin_port), 12);
        } else {
            assert_non_null(wrong);
            assert_string_equal(wrong, cases[i].wrong);
        }
    }
}

static void wiped_orders_hold_no_key(void **state)
{
    (void)state;
    struct mu_orders_input input = input_of(good);
    assert_null(mu_orders_read(&input, &orders, text));
    close(input.fd);
    for (size_t i = 0; i < sizeof input.bytes; i++)
        assert_int_equal(input.bytes[i], 0);
    mu_orders_wipe(&orders);
    for (size_t i = 0; i < sizeof orders.key; i++)
        assert_int_equal(orders.key[i], 0);
}

/* What it hears of these pieces, each of which is read by itself. */
static bool is_end_said(const char *const *pieces)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct mu_orders_input input = {.fd = ends[0]};
    for (; *pieces != NULL; pieces++) {
        assert_int_equal(write(ends[1], *pieces, strlen(*pieces)), (ssize_t)strlen(*pieces));
        assert_true(mu_orders_lifeline(&input));
    }
    close(ends[1]);
    assert_false(mu_orders_lifeline(&input));
    close(ends[0]);
    return input.end_said;
}

static void the_last_word_is_heard_in_pieces(void **state)
{
    (void)state;
    assert_true(is_end_said((const char *[]){"end\n", NULL}));
    assert_true(is_end_said((const char *[]){"e", "n", "d", "\n", NULL}));
    assert_true(is_end_said((const char *[]){"some", "thing\nen", "d\n", NULL}));
    assert_true(is_end_said((const char *[]){"end\n", "more", NULL}));
    assert_false(is_end_said((const char *[]){"end", NULL}));
    assert_false(is_end_said((const char *[]){"ending\n", NULL}));
    assert_false(is_end_said((const char *[]){"bend\n", NULL}));
    assert_false(is_end_said((const char *[]){NULL}));
}

/* Orders, where the others are and the last word in one write: nothing of it is lost, though the
 * key is wiped in between. */
static void the_last_word_may_come_with_the_orders(void **state)
{
    (void)state;
    static const char nodes[] =
        "node 0 127.0.0.1 10\nnode 1 127.0.0.2 11\nnode 2 127.0.0.3 12\n.\n";
    struct sockaddr_in addresses[3];
    char bytes[sizeof good + sizeof nodes + 8];
    snprintf(bytes, sizeof bytes, "%s%send\n", good, nodes);
    struct mu_orders_input input = input_of(bytes);
    assert_null(mu_orders_read(&input, &orders, text));
    mu_orders_wipe(&orders);
    assert_null(mu_orders_read_nodes(&input, 3, addresses, text));
    assert_false(mu_orders_lifeline(&input));
    assert_true(input.end_said);
    close(input.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_orders_are_understood),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(bad_orders_are_refused_with_value_and_rule),
        cmocka_unit_test(a_line_without_end_is_refused),
        cmocka_unit_test(every_node_must_have_its_place),
        cmocka_unit_test(wiped_orders_hold_no_key),
        cmocka_unit_test(the_last_word_is_heard_in_pieces),
        cmocka_unit_test(the_last_word_may_come_with_the_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
