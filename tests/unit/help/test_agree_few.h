/* A few nodes that agree, driven by hand: what one sends waits until it is carried over. */
#ifndef TEST_AGREE_FEW_H
#define TEST_AGREE_FEW_H

#include "core/agree/inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { FEW_MAX = 16, MAIL_MAX = 256, LIST_MAX = 32, GROUP = 7 };

struct mail {
    mu_slot from, to;
    struct mu_agree_message message;
    struct mu_failed failed[LIST_MAX];
    struct mu_roster_entry dead[LIST_MAX];
};

struct few {
    struct mu_agree_config config;
    uint32_t size;
    struct mu_agree *nodes[FEW_MAX];
    bool unheld[FEW_MAX], crashed[FEW_MAX];
    struct mu_agree_update update; /* of the last step */
    struct mail mail[MAIL_MAX];
    uint32_t mail_count;
    /* the last decision of each */
    uint32_t decisions[FEW_MAX];
    struct mu_agree_effect decided[FEW_MAX];
    struct mu_failed failed[FEW_MAX][LIST_MAX];
};

static inline struct few *few_new(uint32_t size)
{
    struct few *few = calloc(1, sizeof *few);
    few->size = size;
    mu_agree_config_default(&few->config, size, 0);
    few->config.limits =
        (struct mu_agree_limits){.dead = size, .groups = 2, .runs = 8, .failed = 8};
    return few;
}

static inline void few_start(struct few *few)
{
    size_t bytes = mu_agree_bytes(&few->config);
    few->update.capacity = mu_agree_effects_max(&few->config);
    few->update.effects = calloc(few->update.capacity, sizeof *few->update.effects);
    for (mu_slot slot = 0; slot < few->size; slot++) {
        few->config.self = slot;
        few->nodes[slot] = mu_agree_init(aligned_alloc(64, bytes), bytes, &few->config);
    }
}

static inline void few_free(struct few *few)
{
    for (mu_slot slot = 0; slot < few->size; slot++)
        free(few->nodes[slot]);
    free(few->update.effects);
    free(few);
}

static inline void few_post(struct few *few, mu_slot from, const struct mu_agree_effect *effect)
{
    assert_true(few->mail_count < MAIL_MAX);
    struct mail *mail = &few->mail[few->mail_count++];
    mail->from = from;
    mail->to = effect->peer;
    mail->message = effect->message;
    for (uint32_t i = 0; i < effect->message.value.failed_count; i++)
        mail->failed[i] = effect->message.value.failed[i];
    for (uint32_t i = 0; i < effect->message.dead_count; i++)
        mail->dead[i] = effect->message.dead[i];
}

static inline void few_step(struct few *few, mu_slot slot, struct mu_agree_event event)
{
    event.lease_held = !few->unheld[slot];
    mu_agree_step(few->nodes[slot], &event, &few->update);
    for (uint32_t i = 0; i < few->update.count; i++) {
        const struct mu_agree_effect *effect = &few->update.effects[i];
        if (effect->type == MU_AGREE_SEND)
            few_post(few, slot, effect);
        if (effect->type != MU_AGREE_DELIVER)
            continue;
        few->decisions[slot]++;
        few->decided[slot] = *effect;
        for (uint32_t k = 0; k < effect->decision.value.failed_count; k++)
            few->failed[slot][k] = effect->decision.value.failed[k];
        few->decided[slot].decision.value.failed = few->failed[slot];
    }
}

/* Carries the first message over that waits from one to another; MU_SLOT_NONE: anybody. */
static inline bool few_carry(struct few *few, mu_slot from, mu_slot to)
{
    for (uint32_t i = 0; i < few->mail_count; i++) {
        struct mail mail = few->mail[i];
        if ((from != MU_SLOT_NONE && mail.from != from) || (to != MU_SLOT_NONE && mail.to != to))
            continue;
        memmove(&few->mail[i], &few->mail[i + 1], (--few->mail_count - i) * sizeof few->mail[0]);
        mail.message.value.failed = mail.failed;
        mail.message.dead = mail.dead;
        struct mu_agree_event event = {.type = MU_AGREE_RECV,
                                       .recv = {.from = mail.from, .message = &mail.message}};
        if (!few->crashed[mail.to])
            few_step(few, mail.to, event);
        return true;
    }
    return false;
}

static inline void few_carry_all(struct few *few)
{
    while (few_carry(few, MU_SLOT_NONE, MU_SLOT_NONE))
        ;
}

static inline void few_open_at(struct few *few, mu_slot slot, const struct mu_span *spans,
                               uint32_t count)
{
    few_step(few, slot,
             (struct mu_agree_event){.type = MU_AGREE_OPEN,
                                     .open = {.group = GROUP, .spans = spans, .count = count}});
}

/* The group of all, at all. */
static inline void few_open(struct few *few)
{
    struct mu_span all = {0, few->size};
    for (mu_slot slot = 0; slot < few->size; slot++)
        few_open_at(few, slot, &all, 1);
}

static inline void few_call_with(struct few *few, mu_slot slot, uint64_t bits,
                                 const struct mu_failed *failed, uint32_t count)
{
    struct mu_agree_event event = {.type = MU_AGREE_CALL, .call = {.group = GROUP, .bits = bits}};
    event.call.failed = failed;
    event.call.failed_count = count;
    few_step(few, slot, event);
}

static inline void few_call(struct few *few, mu_slot slot, uint64_t bits)
{
    few_call_with(few, slot, bits, NULL, 0);
}

static inline void few_tell(struct few *few, mu_slot slot, mu_slot dead)
{
    few_step(
        few, slot,
        (struct mu_agree_event){.type = MU_AGREE_DEAD, .dead = {.slot = dead, .incarnation = 1}});
}

/* The first effect of a type in the last step, or NULL. */
static inline const struct mu_agree_effect *few_effect(const struct few *few,
                                                       enum mu_agree_effect_type type)
{
    for (uint32_t i = 0; i < few->update.count; i++)
        if (few->update.effects[i].type == type)
            return &few->update.effects[i];
    return NULL;
}

static inline void few_expect_fault(const struct few *few, enum mu_fault fault)
{
    const struct mu_agree_effect *effect = few_effect(few, MU_AGREE_FAULT);
    assert_non_null(effect);
    assert_string_equal(mu_fault_name(effect->fault), mu_fault_name(fault));
}

#endif
