#include "tune/ladder.h"

#include <assert.h>
#include <stdlib.h>

#define SPAN_NS_MIN UINT64_C(200000000) /* what disturbs a host may be rarer than heartbeats */

uint64_t tune_rung_ns(size_t rung)
{
    static const uint64_t periods_ms[TUNE_RUNGS] = {200, 100, 50, 20, 10, 5, 2, 1};
    assert(rung < TUNE_RUNGS);
    return periods_ms[rung] * 1000000;
}

uint64_t tune_span_ns_min(uint64_t period_ns)
{
    uint64_t span_ns = TUNE_PERIODS_MIN * period_ns;
    return span_ns < SPAN_NS_MIN ? SPAN_NS_MIN : span_ns;
}

/* A heartbeat and an acknowledgement of each node are due in each period.  Daemons that sent less
 * than half of that did not run, and that nobody was declared dead then says nothing. */
static bool has_enough_beats(const struct tune_sample *sample, uint32_t nodes, uint64_t period_ns)
{
    uint64_t periods = sample->span_ns / period_ns;
    if (periods < TUNE_PERIODS_MIN)
        periods = TUNE_PERIODS_MIN;
    return sample->beats >= nodes * periods;
}

enum tune_result tune_judge(const struct tune_sample *sample, uint32_t nodes, uint64_t period_ns)
{
    assert(sample->excused <= sample->alarms);
    if (sample->alarms > sample->excused)
        return TUNE_ALARM;
    if (sample->alarms > 0)
        return TUNE_SPOILT;
    if (sample->is_refused)
        return TUNE_REFUSED;
    return has_enough_beats(sample, nodes, period_ns) ? TUNE_HELD : TUNE_SPOILT;
}

bool tune_is_refuted(const struct tune_sample *sample)
{
    return sample->alarms > 0 || sample->is_refused;
}

bool tune_ladder_next(struct tune_ladder *ladder, uint64_t left_ns, uint64_t *period_ns,
                      uint64_t *span_ns)
{
    if (ladder->end != TUNE_GOES_ON)
        return false;
    uint64_t rung_ns = tune_rung_ns(ladder->rung), min_ns = tune_span_ns_min(rung_ns);
    bool is_first = ladder->rung == 0 && ladder->spoilt == 0;
    if (left_ns < min_ns && !is_first) {
        ladder->end = ladder->spoilt > 0 ? TUNE_END_STALLS : TUNE_END_TIME;
        ladder->failed_ns = ladder->spoilt > 0 ? rung_ns : 0;
        return false;
    }
    uint64_t share_ns = left_ns / (TUNE_RUNGS - ladder->rung);
    *period_ns = rung_ns;
    *span_ns = share_ns < min_ns ? min_ns : share_ns;
    return true;
}

static void end_here(struct tune_ladder *ladder, enum tune_end end)
{
    ladder->end = end;
    ladder->failed_ns = tune_rung_ns(ladder->rung);
}

void tune_ladder_take(struct tune_ladder *ladder, enum tune_result result)
{
    assert(ladder->end == TUNE_GOES_ON);
    switch (result) {
    case TUNE_HELD:
        ladder->held_ns = tune_rung_ns(ladder->rung);
        ladder->spoilt = 0;
        if (++ladder->rung == TUNE_RUNGS)
            ladder->end = TUNE_END_BOTTOM;
        return;
    case TUNE_ALARM:
        end_here(ladder, TUNE_END_ALARM);
        return;
    case TUNE_REFUSED:
        end_here(ladder, TUNE_END_REFUSED);
        return;
    case TUNE_SPOILT:
        if (++ladder->spoilt == TUNE_TRIES)
            end_here(ladder, TUNE_END_STALLS);
        return;
    }
    abort();
}
