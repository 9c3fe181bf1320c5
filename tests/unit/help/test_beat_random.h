/* Random beats that are good, from one seed: for tests/unit/wire/test_beat.c and tests/fuzz. */
#ifndef TEST_BEAT_RANDOM_H
#define TEST_BEAT_RANDOM_H

#include "test_wire_random.h"

#include "core/ring/ring.h"
#include "wire/peer/beat.h"

static inline bool beat_has_stamp(uint8_t type)
{
    return type == MU_BEAT_BEAT || type == MU_BEAT_ACK || type == MU_BEAT_PROBE ||
           type == MU_BEAT_ANSWER || type == MU_BEAT_ASK || type == MU_BEAT_REPLY ||
           type == MU_BEAT_TAKE;
}

static inline bool beat_has_acked(uint8_t type)
{
    return type == MU_BEAT_BEAT || type == MU_BEAT_ANSWER || type == MU_BEAT_REPLY;
}

static inline bool beat_has_subject(uint8_t type)
{
    return type != MU_BEAT_BEAT && type != MU_BEAT_ACK;
}

static inline bool beat_has_subject_incarnation(uint8_t type)
{
    return beat_has_subject(type) && type != MU_BEAT_WATCH && type != MU_BEAT_RELEASE;
}

static inline uint32_t random_incarnation(struct random *r)
{
    return (uint32_t)random_between(r, 1, UINT32_MAX);
}

static inline void random_times(struct random *r, struct mu_beat *beat)
{
    beat->period_ns = random_between(r, MU_PERIOD_NS_MIN, MU_TIMEOUT_NS_MAX / MU_TIMEOUT_RATIO_MIN);
    beat->timeout_ns = random_between(r, beat->period_ns * MU_TIMEOUT_RATIO_MIN, MU_TIMEOUT_NS_MAX);
}

static inline struct mu_beat random_beat(struct random *r, uint8_t type)
{
    struct mu_beat beat = {.type = type, .from = random_slot(r)};
    do
        beat.to = random_slot(r);
    while (beat.to == beat.from);
    beat.from_incarnation = random_incarnation(r);
    beat.to_incarnation = (uint32_t)random_between(r, 0, UINT32_MAX);
    if (type != MU_BEAT_DEAD)
        beat.nonce = random_between(r, 0, UINT64_MAX - 1);
    if (beat_has_stamp(type))
        beat.stamp_ns = random_between(r, 0, UINT64_MAX);
    if (beat_has_acked(type))
        beat.acked_ns = random_between(r, 0, UINT64_MAX);
    if (type == MU_BEAT_WATCH || type == MU_BEAT_TAKE)
        random_times(r, &beat);
    if (type == MU_BEAT_REPLY)
        beat.reach = (uint8_t)random_between(r, 1, MU_REACH_LAST);
    if (beat_has_subject(type))
        beat.subject = type == MU_BEAT_DEAD ? beat.to : random_slot(r);
    if (beat_has_subject_incarnation(type))
        beat.subject_incarnation = (uint32_t)random_between(r, type == MU_BEAT_DEAD, UINT32_MAX);
    return beat;
}

#endif
