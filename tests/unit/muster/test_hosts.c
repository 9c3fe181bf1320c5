/* Hosts as a user names them, the agent's words, and which rank runs on which of them. */
#include "launch/agent.h"
#include "launch/hosts.h"
#include "launch/map.h"
#include "run/options.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

static void expect_host(const struct hosts *hosts, uint32_t at, const char *name, uint32_t slots,
                        const char *address)
{
    char dotted[INET_ADDRSTRLEN] = "";
    assert_true(at < hosts->count);
    const struct host *host = &hosts->items[at];
    assert_string_equal(host->name, name);
    assert_int_equal(host->slots, slots);
    if (host->has_address)
        inet_ntop(AF_INET, &host->address.sin_addr, dotted, sizeof dotted);
    assert_string_equal(dotted, address);
}

/* ---- lists ---- */

static void a_list_has_names_and_slots(void **state)
{
    (void)state;
    struct hosts hosts = {0};
    char text[HOSTS_TEXT_MAX];
    assert_null(hosts_from_list(&hosts, "h1,h-2.site:4,h1:2,10.0.0.7:1048576", text));
    assert_int_equal(hosts.count, 3);
    expect_host(&hosts, 0, "h1", 3, "");
    expect_host(&hosts, 1, "h-2.site", 4, "");
    expect_host(&hosts, 2, "10.0.0.7", 1048576, "");
    assert_int_equal(hosts_slots(&hosts), 1048583);
    hosts_free(&hosts);
    assert_int_equal(hosts.count, 0);
}

static void a_wrong_list_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *list, *says;
    } wrong[] = {
        {"", "'' is not a host"},
        {",h1", "'' is not a host"},
        {"h1,", "'' is not a host"},
        {"h1,,h2", "'' is not a host"},
        {"-oProxyCommand=x", "'-oProxyCommand=x' is not a host"},
        {"-h", "not beginning with '-'"},
        {"h 1", "'h 1' is not a host"},
        {"h1;reboot", "'h1;reboot' is not a host"},
        {"user@h1", "'user@h1' has a user name"},
        {":3", "'' is not a host"},
        {"h1:", "'h1:': slots must be a number"},
        {"h1:0", "'h1:0': slots must be a number from 1 to 1048576"},
        {"h2,h1:x", "'h1:x': slots"},
        {"h1:1048577", "'h1:1048577': slots"},
        {"h1:1:2", "'h1:1:2': slots"},
        {"h1:99999999999999999999", "'h1:99999999999999999999': slots"},
        {"h1:1048576,h1", "host 'h1' has more than 1048576 slots"},
        {"a234567890123456789012345678901234567890123456789012345678901234x", "1 to 64"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct hosts hosts = {0};
        char text[HOSTS_TEXT_MAX];
        const char *said = hosts_from_list(&hosts, wrong[i].list, text);
        if (said == NULL || strstr(said, wrong[i].says) == NULL)
            fail_msg("'%s': %s", wrong[i].list, said == NULL ? "taken" : said);
        hosts_free(&hosts);
    }
}

static void a_machine_has_at_most_1024_hosts(void **state)
{
    (void)state;
    static char list[1025 * 6 + 1];
    char text[HOSTS_TEXT_MAX];
    struct hosts hosts = {0};
    size_t used = 0;
    for (unsigned i = 0; i < 1025; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%sh%u", i == 0 ? "" : ",", i);
    assert_string_equal(hosts_from_list(&hosts, list, text), "more than 1024 hosts");
    hosts_free(&hosts);
}

/* ---- files ---- */

/* What is said of a file with these words: NULL, or a sentence in 'text'.  PATH in it is cut off.
 */
static const char *read_file(struct hosts *hosts, const char *words, char text[HOSTS_TEXT_MAX])
{
    char path[] = "/tmp/muster-test-hosts-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, words, strlen(words)), strlen(words));
    close(fd);
    *hosts = (struct hosts){0};
    const char *said = hosts_from_file(hosts, path, text);
    unlink(path);
    if (said == NULL)
        return NULL;
    assert_memory_equal(said, path, strlen(path));
    return said + strlen(path);
}

static void a_file_has_a_host_on_each_line(void **state)
{
    (void)state;
    struct hosts hosts;
    char text[HOSTS_TEXT_MAX];
    assert_null(read_file(&hosts,
                          "# our hosts\n"
                          "\n"
                          "h1\n"
                          "  h2\tslots=4  address=10.0.0.2 # the fast one\r\n"
                          "h3 address=10.0.0.3\n"
                          "h1 address=10.0.0.1 slots=2\n"
                          "h3 address=10.0.0.3\n"
                          "h4:2 # as elsewhere",
                          text));
    assert_int_equal(hosts.count, 4);
    expect_host(&hosts, 3, "h4", 2, "");
    expect_host(&hosts, 0, "h1", 3, "10.0.0.1");
    expect_host(&hosts, 1, "h2", 4, "10.0.0.2");
    expect_host(&hosts, 2, "h3", 2, "10.0.0.3");
    hosts_free(&hosts);
}

static void a_host_may_have_more_than_its_slots(void **state)
{
    (void)state;
    struct hosts hosts;
    char text[HOSTS_TEXT_MAX];
    assert_null(read_file(&hosts, "h1 slots=2 max_slots=4\nh2 max-slots=1\nh3\n", text));
    assert_int_equal(hosts.items[0].max_slots, 4);
    assert_int_equal(hosts.items[1].max_slots, 1);
    assert_int_equal(hosts.items[2].max_slots, 0);
    hosts_free(&hosts);
}

static void a_wrong_file_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *words, *says;
    } wrong[] = {
        {"", ": no host in this file"},
        {"# h1\n\n", ": no host in this file"},
        {"h1\nh2 slots=0\n", ":2: 'slots=0' is not a number from 1 to 1048576"},
        {"h1 slots=\n", ":1: 'slots='"},
        {"h1 address=h1\n", ":1: 'address=h1' is not an IPv4 address"},
        {"h1 4\n", ":1: unknown word '4'"},
        {"h1 max_slots=0\n", ":1: 'max_slots=0' is not a number from 1 to 1048576"},
        {"h1\nh1 slots=4 max_slots=4\n", ": host 'h1' has 5 slots, but max_slots is 4"},
        {"\nh1:x\n", ":2: 'h1:x': slots must be a number"},
        {"-h\n", ":1: '-h' is not a host"},
        {"h1 address=10.0.0.1\nh1 address=10.0.0.2\n", ":2: host 'h1' has two different addresses"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct hosts hosts;
        char text[HOSTS_TEXT_MAX];
        const char *said = read_file(&hosts, wrong[i].words, text);
        if (said == NULL || strncmp(said, wrong[i].says, strlen(wrong[i].says)) != 0)
            fail_msg("'%s': %s", wrong[i].words, said == NULL ? "taken" : said);
        hosts_free(&hosts);
    }
}

static void what_is_no_line_is_refused(void **state)
{
    (void)state;
    char line[700], text[HOSTS_TEXT_MAX];
    struct hosts hosts;
    memset(line, ' ', sizeof line);
    memcpy(line + sizeof line - 4, "h1\n", 4);
    assert_string_equal(read_file(&hosts, line, text), ":1: a line is longer than 510 characters");
    hosts_free(&hosts);
    assert_string_equal(hosts_from_file(&hosts, "/no/such/file", text),
                        "/no/such/file: No such file or directory");
    assert_string_equal(hosts_from_file(&hosts, "/", text), "/: Is a directory");
    hosts_free(&hosts);
}

/* ---- addresses ---- */

static const char *resolve(const char *list, char text[HOSTS_TEXT_MAX])
{
    struct hosts hosts = {0};
    assert_null(hosts_from_list(&hosts, list, text));
    const char *said = hosts_resolve(&hosts, text);
    for (uint32_t i = 0; said == NULL && i < hosts.count; i++)
        assert_true(hosts.items[i].has_address && hosts.items[i].address.sin_port == 0 &&
                    hosts.items[i].address.sin_family == AF_INET);
    hosts_free(&hosts);
    return said;
}

static void hosts_are_found_by_their_names(void **state)
{
    (void)state;
    char text[HOSTS_TEXT_MAX];
    assert_null(resolve("10.0.0.7,10.0.0.8", text));
    assert_null(resolve("localhost,127.0.0.2", text));
    assert_string_equal(resolve("10.0.0.7,127.0.1.1", text),
                        "host '127.0.1.1' resolves to 127.0.1.1, which other hosts cannot reach; "
                        "nothing was started\n"
                        "        Give its address in a hostfile: 127.0.1.1 address=10.0.0.7");
    const char *said = resolve("10.0.0.7,nobody.invalid", text);
    assert_non_null(said);
    assert_non_null(strstr(said, "cannot resolve host 'nobody.invalid': "));
}

/* ---- the agent ---- */

static void an_agent_is_words(void **state)
{
    (void)state;
    struct agent agent;
    assert_null(agent_split(&agent, AGENT_USUAL));
    assert_int_equal(agent.count, 4);
    assert_string_equal(agent.words[0], "ssh");
    assert_string_equal(agent.words[3], "BatchMode=yes");
    assert_null(agent_split(&agent, "  ip  netns\texec "));
    assert_int_equal(agent.count, 3);
    assert_string_equal(agent.words[2], "exec");
    assert_non_null(agent_split(&agent, " \t"));
    char many[2 * (AGENT_WORDS_MAX + 1) + 1], longest[AGENT_BYTES_MAX + 1];
    for (size_t i = 0; i + 1 < sizeof many; i++)
        many[i] = i % 2 == 0 ? 'w' : ' ';
    many[sizeof many - 1] = '\0';
    assert_string_equal(agent_split(&agent, many), "it must have at most 32 words");
    memset(longest, 'w', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_string_equal(agent_split(&agent, longest), "it must be shorter than 1024 characters");
}

static void no_shell_takes_a_path_apart(void **state)
{
    (void)state;
    assert_null(agent_path_error("/usr/local/bin/musterd"));
    assert_null(agent_path_error("/opt/a.b/muster-0.1_x+y/musterd"));
    const char *wrong[] = {"",     "musterd", "./musterd", "/a b/musterd",
                           "/a;b", "/a$b",    "/a'b",      "/~*"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (agent_path_error(wrong[i]) == NULL)
            fail_msg("'%s' was taken", wrong[i]);
}

/* ---- slots ---- */

static void ranks_fill_one_host_after_the_other(void **state)
{
    (void)state;
    const uint32_t slots[] = {2, 1, 4};
    struct mu_launch_run runs[3];
    for (uint32_t ranks = 1; ranks <= 7; ranks++) {
        uint32_t count = map_slots(ranks, slots, 3, runs), next = 0;
        assert_int_equal(count, ranks <= 2 ? 1 : ranks == 3 ? 2 : 3);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(runs[i].slot, i);
            assert_int_equal(runs[i].first, next);
            assert_true(runs[i].count == slots[i] || i + 1 == count);
            next += runs[i].count;
        }
        assert_int_equal(next, ranks);
    }
}

static void a_process_for_each_slot_unless_told(void **state)
{
    (void)state;
    char flag[] = "--hosts", list[] = "h1,h2:3", agent_flag[] = "--agent",
         agent[] = "ip netns exec", program[] = "prog", count_flag[] = "-n", count[] = "2",
         run[] = "run";
    char *argv[] = {run, flag, list, agent_flag, agent, program, NULL};
    struct run_options options;
    run_options_parse(&options, 6, argv);
    assert_int_equal(options.nodes, 2);
    assert_int_equal(options.ranks, 4);
    assert_string_equal(options.agent, "ip netns exec");
    run_options_free(&options);
    setenv(AGENT_VARIABLE, "rsh", 1);
    char *fewer[] = {run, flag, list, count_flag, count, program, NULL};
    run_options_parse(&options, 6, fewer);
    assert_int_equal(options.nodes, 2);
    assert_int_equal(options.ranks, 2);
    assert_string_equal(options.agent, "rsh");
    run_options_free(&options);
    unsetenv(AGENT_VARIABLE);
    run_options_parse(&options, 6, fewer);
    assert_string_equal(options.agent, AGENT_USUAL);
    run_options_free(&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_has_names_and_slots),
        cmocka_unit_test(a_wrong_list_is_refused),
        cmocka_unit_test(a_machine_has_at_most_1024_hosts),
        cmocka_unit_test(a_file_has_a_host_on_each_line),
        cmocka_unit_test(a_host_may_have_more_than_its_slots),
        cmocka_unit_test(a_wrong_file_is_refused_with_its_line),
        cmocka_unit_test(what_is_no_line_is_refused),
        cmocka_unit_test(hosts_are_found_by_their_names),
        cmocka_unit_test(an_agent_is_words),
        cmocka_unit_test(no_shell_takes_a_path_apart),
        cmocka_unit_test(ranks_fill_one_host_after_the_other),
        cmocka_unit_test(a_process_for_each_slot_unless_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
