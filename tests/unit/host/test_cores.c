/* Which core a process is bound to: on hosts that do not exist, and on this one. */
#define _GNU_SOURCE
#include "host/cores.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

/* Two packages of two cores of two threads, numbered as kernels like to: the second threads last.
 */
static struct mu_cores_thread eight[] = {
    {0, 0, 0, true}, {4, 0, 0, true}, {1, 1, 0, true}, {5, 1, 0, true},
    {2, 2, 1, true}, {6, 2, 1, true}, {3, 3, 1, true}, {7, 3, 1, true},
};

/* The same where a cpuset has left CPUs 5, 2 and 3. */
static struct mu_cores_thread three[] = {
    {0, 0, 0, false}, {4, 0, 0, false}, {1, 1, 0, false}, {5, 1, 0, true},
    {2, 2, 1, true},  {6, 2, 1, false}, {3, 3, 1, true},  {7, 3, 1, false},
};

static void expect_core(const struct mu_cores *cores, uint32_t index, unsigned long mask,
                        const char *text)
{
    struct mu_spawn_cpus cpus;
    char said[100];
    mu_cores_mask(cores, index, &cpus);
    assert_int_equal(cpus.words[0], mask);
    for (size_t i = 1; i < sizeof cpus.words / sizeof cpus.words[0]; i++)
        assert_int_equal(cpus.words[i], 0);
    mu_cores_text(cores, index, said, sizeof said);
    assert_string_equal(said, text);
}

static void a_core_is_all_its_threads(void **state)
{
    (void)state;
    const struct mu_cores cores = {8, eight};
    assert_int_equal(mu_cores_usable(&cores), 4);
    expect_core(&cores, 0, 1 << 0 | 1 << 4, "core 0: [BB/..][../..]");
    expect_core(&cores, 1, 1 << 1 | 1 << 5, "core 1: [../BB][../..]");
    expect_core(&cores, 2, 1 << 2 | 1 << 6, "core 2: [../..][BB/..]");
    expect_core(&cores, 3, 1 << 3 | 1 << 7, "core 3: [../..][../BB]");
}

static void what_is_not_allowed_is_left_alone(void **state)
{
    (void)state;
    const struct mu_cores cores = {8, three};
    assert_int_equal(mu_cores_usable(&cores), 3);
    expect_core(&cores, 0, 1 << 5, "core 1: [../.B][../..]");
    expect_core(&cores, 1, 1 << 2, "core 2: [../..][B./..]");
    expect_core(&cores, 2, 1 << 3, "core 3: [../..][../B.]");
}

static void a_picture_that_does_not_fit_is_left_out(void **state)
{
    (void)state;
    const struct mu_cores cores = {8, eight};
    char text[sizeof "core 2: [../..][BB/..]"];
    mu_cores_text(&cores, 2, text, sizeof text);
    assert_string_equal(text, "core 2: [../..][BB/..]");
    for (size_t room = sizeof text - 1; room >= sizeof "core 2"; room--) {
        mu_cores_text(&cores, 2, text, room);
        assert_string_equal(text, "core 2");
    }
}

static void the_last_processor_has_its_bit(void **state)
{
    (void)state;
    struct mu_cores_thread last = {MU_SPAWN_CPUS_MAX - 1, 0, 0, true};
    const struct mu_cores cores = {1, &last};
    struct mu_spawn_cpus cpus;
    mu_cores_mask(&cores, 0, &cpus);
    size_t words = sizeof cpus.words / sizeof cpus.words[0];
    assert_int_equal(cpus.words[words - 1], 1ul << (MU_SPAWN_WORD_BITS - 1));
    assert_int_equal(cpus.words[0], 0);
}

/* ---- nodes ---- */

static void nodes_of_one_host_share_its_cores(void **state)
{
    (void)state;
    const struct mu_launch_run runs[] = {{2, 0, 3}, {0, 3, 1}, {2, 4, 1}, {1, 5, 2}};
    const struct mu_launch_job spec = {.size = 7, .run_count = 4, .runs = runs};
    const uint32_t before[] = {0, 1, 3, 7};
    for (mu_slot slot = 0; slot < 4; slot++) {
        assert_int_equal(mu_cores_before(&spec, slot, true), before[slot]);
        assert_int_equal(mu_cores_wanted(&spec, slot, true), 7);
    }
    const uint32_t own[] = {1, 2, 4, 0};
    for (mu_slot slot = 0; slot < 4; slot++) {
        assert_int_equal(mu_cores_before(&spec, slot, false), 0);
        assert_int_equal(mu_cores_wanted(&spec, slot, false), own[slot]);
    }
}

/* ---- parts ---- */

static unsigned long part_of(unsigned long allowed, mu_slot slot, uint32_t nodes)
{
    const struct mu_spawn_cpus all = {{allowed}};
    struct mu_spawn_cpus part;
    mu_cores_part(&all, slot, nodes, &part);
    for (size_t i = 1; i < sizeof part.words / sizeof part.words[0]; i++)
        assert_int_equal(part.words[i], 0);
    return part.words[0];
}

static void nodes_of_one_host_share_its_processors(void **state)
{
    (void)state;
    assert_int_equal(part_of(0xff, 0, 1), 0xff);
    assert_int_equal(part_of(0xff, 0, 2), 0x0f);
    assert_int_equal(part_of(0xff, 1, 2), 0xf0);
    assert_int_equal(part_of(0xff, 0, 3), 0x03); /* 2, 3 and 3 of 8 */
    assert_int_equal(part_of(0xff, 1, 3), 0x1c);
    assert_int_equal(part_of(0xff, 2, 3), 0xe0);
    assert_int_equal(part_of(0x03, 0, 4), 0x01); /* two nodes on each of two */
    assert_int_equal(part_of(0x03, 1, 4), 0x01);
    assert_int_equal(part_of(0x03, 2, 4), 0x02);
    assert_int_equal(part_of(0x03, 3, 4), 0x02);
    assert_int_equal(part_of(0xa4, 0, 3), 0x04); /* what is not allowed is not counted */
    assert_int_equal(part_of(0xa4, 1, 3), 0x20);
    assert_int_equal(part_of(0xa4, 2, 3), 0x80);
    assert_int_equal(part_of(0x10, 63, 64), 0x10);
}

static void expect_list(unsigned long mask, size_t room, const char *list)
{
    const struct mu_spawn_cpus cpus = {{mask}};
    char text[32];
    mu_cores_list(&cpus, text, room);
    assert_string_equal(text, list);
}

static void processors_are_listed_as_people_do(void **state)
{
    (void)state;
    expect_list(0, 32, "");
    expect_list(1, 32, "0");
    expect_list(0xf, 32, "0-3");
    expect_list(0xb6, 32, "1-2,4-5,7");
    expect_list(0x8000000000000000, 32, "63");
    expect_list(0xb6, 6, "1-2,4");
}

/* ---- this host ---- */

/* Every processor that we may use is in exactly one core; narrowed down to one, one core is left.
 */
static void this_host_is_what_the_kernel_says(void **state)
{
    (void)state;
    struct mu_cores cores = {0};
    struct mu_spawn_cpus cpus, usable;
    cpu_set_t allowed, one;
    uint32_t threads = 0;
    int first = 0;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    assert_true(mu_cores_allowed(&usable));
    assert_int_equal(mu_cores_count(&usable), CPU_COUNT(&allowed));
    assert_null(mu_cores_read(&cores, &usable));
    for (uint32_t i = 0; i < mu_cores_usable(&cores); i++) {
        mu_cores_mask(&cores, i, &cpus);
        for (size_t word = 0; word < sizeof cpus.words / sizeof cpus.words[0]; word++)
            threads += (uint32_t)__builtin_popcountl(cpus.words[word]);
    }
    assert_int_equal(threads, CPU_COUNT(&allowed));
    mu_cores_free(&cores);

    while (!CPU_ISSET(first, &allowed))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_true(mu_cores_allowed(&usable));
    assert_memory_equal(&usable, &one, sizeof one);
    assert_null(mu_cores_read(&cores, &usable));
    assert_int_equal(mu_cores_usable(&cores), 1);
    mu_cores_mask(&cores, 0, &cpus);
    assert_memory_equal(&cpus, &one, sizeof one);
    mu_cores_free(&cores);
    assert_int_equal(sched_setaffinity(0, sizeof allowed, &allowed), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_core_is_all_its_threads),
        cmocka_unit_test(what_is_not_allowed_is_left_alone),
        cmocka_unit_test(a_picture_that_does_not_fit_is_left_out),
        cmocka_unit_test(the_last_processor_has_its_bit),
        cmocka_unit_test(nodes_of_one_host_share_its_cores),
        cmocka_unit_test(nodes_of_one_host_share_its_processors),
        cmocka_unit_test(processors_are_listed_as_people_do),
        cmocka_unit_test(this_host_is_what_the_kernel_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
