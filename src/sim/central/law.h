/* The laws of the central detector: docs/spec/central.md.  One function for each place where one of
 * them can break. */
#ifndef MU_SIM_CENTRAL_LAW_H
#define MU_SIM_CENTRAL_LAW_H

#include "sim/central/world.h"

/* The first one counts; the run ends. */
void central_law_fail(struct central_world *world, const char *law, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void central_law_on_send(struct central_world *world, mu_slot slot, const struct mu_poll *poll);
void central_law_on_verdict(struct central_world *world, mu_slot by,
                            const struct mu_detect_evidence *evidence);
void central_law_on_crash(struct central_world *world, mu_slot slot);
void central_law_on_loop(struct central_world *world, mu_slot slot);
void central_law_on_due(struct central_world *world, mu_slot slot, uint32_t incarnation);
void central_law_on_end(struct central_world *world);

#endif
