/* Who tests whom: the clusters c(i,s) of the hypercube, or all pairs.
 *
 * c(i,s)[k] = i xor 2^(s-1) xor k, for k below 2^(s-1): the half of a cube of dimension s that i is
 * not in, nearest first.  For each s the first member in c(j,s) tests j, so whoever is out is
 * tested, too, and everybody has log2 N testers.  Turned round: i stands for itself and for the
 * places near it that are empty, and tests what lies across from each. */
#ifndef MU_CORE_ADVISE_CLUSTER_H
#define MU_CORE_ADVISE_CLUSTER_H

#include "core/advise/group.h"

enum mu_advise_assignment {
    MU_ADVISE_ALL_PAIRS = 1,
    MU_ADVISE_CLUSTERS,
};

/* The smallest d with 2^d >= size. */
uint32_t mu_cluster_dimension(uint32_t size);

/* c(i,s)[k]; it may be above the size of what is no power of two.  s >= 1, k < 2^(s-1). */
mu_slot mu_cluster_at(mu_slot i, uint32_t s, uint32_t k);

/* The member x of the cube of dimension d around 'place' with the least place xor x; MU_SLOT_NONE:
 * no member is in it.  With the dimension of all it is the host of task 'place'. */
mu_slot mu_cluster_host(const struct mu_advise_group *group, mu_slot place, uint32_t d);

/* The first member in c(j,s); MU_SLOT_NONE: there is none. */
mu_slot mu_cluster_tester(const struct mu_advise_group *group, mu_slot j, uint32_t s);

/* Does i test j?  i is a member. */
bool mu_advise_tests(const struct mu_advise_group *group, enum mu_advise_assignment assignment,
                     mu_slot i, mu_slot j);

/* All that i tests, in no order: whoever is not gone, member or not.  Returns how many there are;
 * at most 'room' of them are written.  i is a member. */
uint32_t mu_advise_tested(const struct mu_advise_group *group, enum mu_advise_assignment assignment,
                          mu_slot i, mu_slot *tested, uint32_t room);

#endif
