/* A roll with founders, and the changes that tests of parts of the daemon hand on. */
#ifndef TEST_ROLLS_H
#define TEST_ROLLS_H

#include "daemon/roll/roll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* after those above */
#include <cmocka.h>

static inline void roll_found(struct mu_roll *roll, mu_slot self, uint32_t size)
{
    struct mu_roll_seat *seats = calloc(size, sizeof *seats);
    assert_true(mu_roll_open(roll, self, size) && seats != NULL);
    for (mu_slot slot = 0; slot < size; slot++)
        seats[slot] = (struct mu_roll_seat){.slot = slot, .incarnation = 1};
    const struct mu_roll_change change =
        mu_roll_view(roll, &(struct mu_roll_view){.number = 1, .in_count = size, .ins = seats});
    assert_int_equal(change.what, MU_ROLL_VIEW);
    free(seats);
}

/* A process has ended: by the own word of its node, or by news. */
static inline struct mu_roll_change roll_end(struct mu_roll *roll, uint32_t job, uint32_t rank,
                                             bool failed)
{
    const struct mu_roll_job *known = mu_roll_find(roll, job);
    if (known != NULL && mu_roll_place(known, rank) != UINT32_MAX)
        return mu_roll_ended(roll, job, rank, failed);
    struct mu_local_event event = {.subject = MU_SUBJECT_PROCESS, .job = job, .rank = rank};
    event.evidence = (struct mu_evidence){.verdict = MU_VERDICT_LEFT, .cause = MU_CAUSE_EXIT};
    if (failed) {
        event.evidence.verdict = MU_VERDICT_DEAD;
        event.evidence.how = (struct mu_exit_kind){.type = MU_EXIT_SIGNAL, .signal = 9};
    }
    return mu_roll_told(roll, &event, 0);
}

static inline struct mu_roll_change roll_lose(struct mu_roll *roll, mu_slot node, bool proven)
{
    const struct mu_local_event event = {
        .subject = MU_SUBJECT_NODE,
        .node = node,
        .evidence = {.verdict = proven ? MU_VERDICT_DEAD : MU_VERDICT_SILENT,
                     .cause = MU_CAUSE_TOLD}};
    return mu_roll_told(roll, &event, 1);
}

#endif
