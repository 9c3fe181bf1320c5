/* What the parts of the ring's world offer each other. */
#ifndef MU_SIM_RING_WORLD_INSIDE_H
#define MU_SIM_RING_WORLD_INSIDE_H

#include "sim/ring/world.h"

/* ---- world.c ---- */

/* A step of one detector, with its effects.  'datagram': of RECV, which one. */
void ring_world_step(struct ring_world *world, mu_slot slot, struct mu_detect_event *event,
                     const struct ring_datagram *datagram);
void ring_world_receive(struct ring_world *world, mu_slot slot, uint32_t ref);

/* Puts an item for its deadline into the queue, unless there is one in time. */
void ring_world_arm(struct ring_world *world, mu_slot slot);

/* Below ns_max, or 0. */
uint64_t ring_world_draw_ns(struct ring_world *world, uint64_t ns_max);

/* ---- fault.c: queue items ---- */

void ring_fault_on_fault(struct ring_world *world, uint32_t index);
void ring_fault_on_wake(struct ring_world *world, mu_slot slot);
void ring_fault_on_proven(struct ring_world *world, mu_slot node);
void ring_fault_on_mended(struct ring_world *world, mu_slot node);
void ring_fault_on_set(struct ring_world *world, mu_slot slot, const struct ring_fault *fault);

/* A datagram comes to a node that stands still. */
void ring_fault_wait_in_socket(struct ring_world *world, mu_slot slot, uint32_t ref);

/* ---- launcher.c ---- */

/* The launcher is asked, and answers: an effect, and a queue item. */
/* A node that the launcher listens to says that another one is dead. */
void ring_launcher_on_word(struct ring_world *world, mu_slot by, mu_slot out);
void ring_launcher_on_ask(struct ring_world *world, mu_slot slot,
                          const struct mu_detect_effect *effect);
void ring_launcher_on_answer(struct ring_world *world, const struct sim_item *item);

/* ---- tell.c ---- */

/* Queue items: a verdict has come to the node of the detector; a node tells its detector. */
void ring_tell_on_verdict(struct ring_world *world, const struct sim_item *item);
void ring_tell_on_out(struct ring_world *world, const struct sim_item *item);
void ring_tell_on_loop(struct ring_world *world, mu_slot slot);

/* The oracle tells those who are to know, but for 'by'. */
void ring_tell_everybody(struct ring_world *world, mu_slot by, mu_slot out, bool proven);

#endif
