#include "tune/advice.h"

#include "tune/ladder.h"
#include "core/ring/ring.h"

#include <stddef.h>

#define MS UINT64_C(1000000)

uint64_t tune_round_up_ns(uint64_t period_ns)
{
    static const uint64_t tenths[] = {10, 15, 20, 25, 30, 40, 50, 60, 80};
    for (uint64_t decade_ns = MS;; decade_ns *= 10)
        for (size_t i = 0; i < sizeof tenths / sizeof tenths[0]; i++) {
            uint64_t round_ns = decade_ns / 10 * tenths[i];
            if (round_ns % MS == 0 && round_ns >= period_ns)
                return round_ns;
        }
}

/* Takes the longer one, and why. */
static void ask_for(struct tune_advice *advice, uint64_t period_ns, enum tune_reason reason)
{
    if (period_ns <= advice->period_ns)
        return;
    advice->period_ns = period_ns;
    advice->reason = reason;
}

bool tune_advise(const struct tune_facts *facts, struct tune_advice *advice)
{
    struct tune_advice wanted = {0};
    for (int i = 0; i < TUNE_CONDITIONS; i++) {
        if (facts->held_ns[i] == 0)
            return false;
        if (facts->held_ns[i] > wanted.held_ns)
            wanted.held_ns = facts->held_ns[i];
    }
    /* Longer than any time for which this command runs, and far below what overflows. */
    if (facts->stall_ns > MU_TIMEOUT_NS_MAX || facts->refuted_ns > MU_TIMEOUT_NS_MAX)
        return false;
    ask_for(&wanted, tune_round_up_ns(TUNE_MARGIN * wanted.held_ns), TUNE_BY_HELD);
    ask_for(&wanted, tune_round_up_ns(TUNE_MARGIN * facts->stall_ns + 1), TUNE_BY_STALL);
    ask_for(&wanted, tune_round_up_ns(TUNE_MARGIN * facts->refuted_ns), TUNE_BY_CHECK);
    wanted.timeout_ns = TUNE_RATIO * wanted.period_ns;
    if (mu_detect_times_error(wanted.period_ns, wanted.timeout_ns) != NULL)
        return false;
    *advice = wanted;
    return true;
}
