/* Who comes back and who joins, as views would have it: everybody is told, in order. */
#ifndef MU_SIM_NODE_MEMBERS_H
#define MU_SIM_NODE_MEMBERS_H

#include "sim/node/world.h"

/* The node comes back, or comes for the first time: a living node admits it and gives it its first
 * view.  The others are told within plan.member_ns_max. */
void sim_members_on_return(struct sim_world *world, mu_slot slot);

/* A node is told that this incarnation of its peer is in. */
void sim_members_on_member(struct sim_world *world, mu_slot node, mu_slot peer,
                           uint32_t incarnation);

/* If everybody knows this death by now, it is over: each node is told soon. */
void sim_members_on_over(struct sim_world *world, mu_slot dead, uint32_t incarnation);
void sim_members_on_forget(struct sim_world *world, mu_slot node, mu_slot dead,
                           uint32_t incarnation);

/* In the end every death is over. */
void sim_members_forget_all(struct sim_world *world);

/* What views owe: everybody comes to know who is in.  Returns false when nobody has to be told. */
bool sim_members_insist(struct sim_world *world);

#endif
