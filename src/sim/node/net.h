/* The network below the links: connections that deliver in order and then break. */
#ifndef MU_SIM_NODE_NET_H
#define MU_SIM_NODE_NET_H

#include "core/base/types.h"
#include "sim/base/random.h"

struct sim_world;

struct sim_net_plan {
    uint64_t delay_ns_min;  /* of a frame */
    uint64_t jitter_ns_max; /* on top, drawn */
    /* Connections are kept one by one, can break, and every frame draws its own delay.  Without it,
     * for large worlds: nothing breaks, and each pair of nodes has one delay for good. */
    bool tracked;
};

/* One pair of nodes; end 0 belongs to the lower slot. */
struct sim_connection {
    uint64_t last_arrival_ns[2]; /* at each end: frames do not overtake */
    uint32_t epoch;
    bool up[2];
    bool connecting;
    uint64_t refused_until_ns; /* a firewall rejects it, though both ends live */
};

struct sim_net {
    struct sim_net_plan plan;
    uint64_t seed;
    struct sim_connection *connections; /* size * size, the upper half in use; NULL: not tracked */
    uint32_t size;
    mu_slot split_below;     /* slots below cannot reach the rest ... */
    uint64_t split_until_ns; /* ... until then */
};

void sim_net_init(struct sim_net *net, const struct sim_net_plan *plan, uint64_t seed,
                  uint32_t size);
void sim_net_free(struct sim_net *net);

/* Takes every edge of the founders' graph as connected. */
void sim_net_connect_graph(struct sim_net *net, uint32_t founders);

/* When a frame sent now arrives; MU_NEVER: never, the other end has gone.  This end is up.  *epoch
 * names the connection. */
uint64_t sim_net_send(struct sim_world *world, mu_slot from, mu_slot to, uint32_t *epoch);

/* Does a frame of that epoch still reach the core of 'to'? */
bool sim_net_delivers(const struct sim_net *net, mu_slot from, mu_slot to, uint32_t epoch);

/* The core of 'node' wants a connection. */
void sim_net_open(struct sim_world *world, mu_slot node, mu_slot peer);

/* The core of 'node' drops a connection: both ends will notice. */
void sim_net_close(struct sim_world *world, mu_slot node, mu_slot peer);

/* The node has crashed.  Its peers see the connections close, or, when the host died with it,
 * nothing at all. */
void sim_net_vanish(struct sim_world *world, mu_slot node, bool peers_notice);

/* Queue items. */
void sim_net_on_connect(struct sim_world *world, mu_slot node, mu_slot peer);
void sim_net_on_link_down(struct sim_world *world, mu_slot node, mu_slot peer, uint32_t epoch);

/* Faults. */
void sim_net_reset(struct sim_world *world, mu_slot a, mu_slot b);
void sim_net_split(struct sim_world *world, mu_slot below, uint64_t for_ns);
void sim_net_refuse(struct sim_world *world, mu_slot a, mu_slot b, uint64_t for_ns);

#endif
