/* The central detector, told as stories: node 0 is the master of four. */
#include "core/central/central.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { NODES = 4, MS = 1000 * 1000 };

static const struct mu_span all = {0, NODES};
static const uint32_t incarnations[NODES] = {1, 1, 1, 1};

struct story {
    struct mu_central *central;
    struct mu_central_update update;
    uint64_t now_ns;
};

static void step(struct story *story, struct mu_central_event event)
{
    event.now_ns = story->now_ns;
    mu_central_step(story->central, &event, &story->update);
}

static void install(struct story *story, uint64_t number, const struct mu_span *spans,
                    const uint32_t *with)
{
    step(story, (struct mu_central_event){.type = MU_CENTRAL_VIEW,
                                          .view = {number, number, spans, 1, with}});
}

static void begin(struct story *story, mu_slot self, uint32_t hosts)
{
    struct mu_central_config config;
    mu_central_config_default(&config, NODES, self);
    config.hosts = hosts;
    size_t bytes = mu_central_bytes(&config);
    story->now_ns = MS;
    story->central = mu_central_init(aligned_alloc(64, bytes), bytes, &config);
    story->update.capacity = mu_central_effects_max(&config);
    story->update.effects = calloc(story->update.capacity, sizeof *story->update.effects);
    step(story, (struct mu_central_event){.type = MU_CENTRAL_START});
    install(story, 1, &all, incarnations);
}

static void end(struct story *story)
{
    free(story->central);
    free(story->update.effects);
}

static const struct mu_central_effect *find(const struct story *story,
                                            enum mu_central_effect_type type)
{
    for (uint32_t i = 0; i < story->update.count; i++)
        if (story->update.effects[i].type == type)
            return &story->update.effects[i];
    return NULL;
}

static void answer(struct story *story, const struct mu_poll *poll, uint64_t at_ns)
{
    struct mu_poll back = {.type = MU_POLL_ANSWER,
                           .from = poll->to,
                           .from_incarnation = 1,
                           .to_incarnation = 1,
                           .follows = true,
                           .nonce = poll->nonce,
                           .stamp_ns = poll->stamp_ns,
                           .clock_ns = at_ns};
    step(story, (struct mu_central_event){.type = MU_CENTRAL_RECV, .poll = &back});
}

/* Time goes on for so long; all answer at once but 'silent'.  Who is declared, at the latest. */
static mu_slot go_on(struct story *story, uint64_t for_ns, mu_slot silent, uint64_t *at_ns)
{
    uint64_t until_ns = story->now_ns + for_ns;
    while (story->update.deadline_ns < until_ns) {
        story->now_ns = story->update.deadline_ns;
        step(story, (struct mu_central_event){.type = MU_CENTRAL_TIMEOUT});
        const struct mu_central_effect *verdict = find(story, MU_CENTRAL_VERDICT);
        if (verdict != NULL) {
            *at_ns = story->now_ns;
            return verdict->evidence.subject;
        }
        struct mu_poll polls[NODES];
        uint32_t count = 0;
        for (uint32_t i = 0; i < story->update.count; i++)
            if (story->update.effects[i].type == MU_CENTRAL_SEND &&
                story->update.effects[i].poll.type == MU_POLL_POLL)
                polls[count++] = story->update.effects[i].poll;
        story->now_ns += MS;
        for (uint32_t i = 0; i < count; i++)
            if (polls[i].to != silent && silent != MU_SLOT_NONE - 1)
                answer(story, &polls[i], story->now_ns);
    }
    story->now_ns = until_ns;
    return MU_SLOT_NONE;
}

static void a_silent_host_is_declared_within_a_cycle_and_two_timeouts(void **unused)
{
    (void)unused;
    struct story story;
    uint64_t at_ns = 0;
    begin(&story, 0, 8);
    step(&story, (struct mu_central_event){.type = MU_CENTRAL_TIMEOUT});
    assert_int_equal(go_on(&story, UINT64_C(60000) * MS, MU_SLOT_NONE, &at_ns), MU_SLOT_NONE);
    assert_true(mu_central_lease_held(story.central));
    assert_int_equal(mu_central_timeout_ns(story.central, 2), 400 * MS);
    uint64_t from_ns = story.now_ns;
    assert_int_equal(go_on(&story, UINT64_C(60000) * MS, 2, &at_ns), 2);
    assert_in_range(at_ns - from_ns, 800 * MS, 1301 * MS);
    assert_int_equal(mu_central_timeout_ns(story.central, 2), 0);
    end(&story);
}

static void a_master_that_nobody_answers_accuses_nobody_and_loses_its_lease(void **unused)
{
    (void)unused;
    struct story story;
    uint64_t at_ns = 0;
    begin(&story, 0, 8);
    step(&story, (struct mu_central_event){.type = MU_CENTRAL_TIMEOUT});
    go_on(&story, UINT64_C(60000) * MS, MU_SLOT_NONE, &at_ns);
    assert_int_equal(go_on(&story, UINT64_C(60000) * MS, MU_SLOT_NONE - 1, &at_ns), MU_SLOT_NONE);
    assert_false(mu_central_lease_held(story.central));
    end(&story);
}

static void a_view_with_too_many_members_is_a_fault_and_is_not_taken(void **unused)
{
    (void)unused;
    struct story story;
    begin(&story, 0, 3);
    assert_non_null(find(&story, MU_CENTRAL_FAULT));
    assert_int_equal(find(&story, MU_CENTRAL_FAULT)->fault, MU_FAULT_HOSTS_FULL);
    assert_int_equal(mu_central_master(story.central), MU_SLOT_NONE);
    end(&story);
}

static void the_lowest_that_lives_is_the_master(void **unused)
{
    (void)unused;
    struct story story;
    begin(&story, 1, 8);
    assert_int_equal(mu_central_master(story.central), 0);
    step(&story, (struct mu_central_event){.type = MU_CENTRAL_OUT, .out = {0, 1, true}});
    assert_int_equal(mu_central_master(story.central), 1);
    const uint32_t returned[NODES] = {2, 1, 1, 1};
    install(&story, 2, &all, returned);
    assert_int_equal(mu_central_master(story.central), 0);
    end(&story);
}

static void who_is_declared_is_told_and_fenced(void **unused)
{
    (void)unused;
    struct story story;
    begin(&story, 1, 8);
    struct mu_poll dead = {.type = MU_POLL_DEAD,
                           .to = 1,
                           .from_incarnation = 1,
                           .to_incarnation = 1,
                           .subject = 1,
                           .subject_incarnation = 1};
    dead.to_incarnation = 2;
    step(&story, (struct mu_central_event){.type = MU_CENTRAL_RECV, .poll = &dead});
    assert_null(find(&story, MU_CENTRAL_FENCED));
    dead.to_incarnation = 1;
    step(&story, (struct mu_central_event){.type = MU_CENTRAL_RECV, .poll = &dead});
    assert_non_null(find(&story, MU_CENTRAL_FENCED));
    assert_int_equal(story.update.deadline_ns, MU_NEVER);
    end(&story);
}

static void a_configuration_whose_lease_would_flicker_is_refused(void **unused)
{
    (void)unused;
    struct mu_central_config config;
    mu_central_config_default(&config, NODES, 0);
    assert_null(mu_central_config_error(&config));
    config.floor_ns = config.cycle_ns / 2;
    assert_non_null(strstr(mu_central_config_error(&config), "three quarters"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_host_is_declared_within_a_cycle_and_two_timeouts),
        cmocka_unit_test(a_master_that_nobody_answers_accuses_nobody_and_loses_its_lease),
        cmocka_unit_test(a_view_with_too_many_members_is_a_fault_and_is_not_taken),
        cmocka_unit_test(the_lowest_that_lives_is_the_master),
        cmocka_unit_test(who_is_declared_is_told_and_fenced),
        cmocka_unit_test(a_configuration_whose_lease_would_flicker_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
