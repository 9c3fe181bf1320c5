/* The fault of the network that this node does to itself, for tests
 * (docs/operate/fault-injection.md).  Connections and datagrams each have a copy, and ask it before
 * anything goes in or out. */
#ifndef MU_NET_HARM_H
#define MU_NET_HARM_H

#include "wire/local/chaos.h"

/* Zeroed: there is none. */
struct mu_harm {
    bool is_on; /* of a flap: it is down just now */
    struct mu_chaos chaos;
    uint64_t random; /* state of the jitter; begins as the seed */
};

/* May nothing come from this peer, or go to it?  MU_SLOT_NONE as in mu_chaos_concerns(). */
bool mu_harm_cuts_in(const struct mu_harm *harm, mu_slot peer);
bool mu_harm_cuts_out(const struct mu_harm *harm, mu_slot peer);

/* By how much is the next word late that comes from there, or goes there?  0: not at all. */
uint64_t mu_harm_late_in_ns(struct mu_harm *harm, mu_slot peer);
uint64_t mu_harm_late_out_ns(struct mu_harm *harm, mu_slot peer);

#endif
