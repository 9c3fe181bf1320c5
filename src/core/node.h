/* One node: every protocol behind one door.
 *
 * A driver (daemon, simulator, explorer, test) owns the memory, the clock and the sockets.  It
 * calls mu_node_step() with what happened and carries out the effects in their order.  The core
 * never calls out, never waits and never allocates after mu_node_init(). */
#ifndef MU_CORE_NODE_H
#define MU_CORE_NODE_H

#include "core/base/arena.h"
#include "core/base/config.h"
#include "core/base/roster.h"
#include "core/base/event.h"
#include "core/base/fingerprint.h"
#include "core/link/link.h"
#include "core/base/seen.h"
#include "core/spread/spread.h"

/* Plain, so that checkers can look inside; drivers use the functions below.  What every frame
 * touches comes first: a simulation of a million nodes lives on few cache lines for each. */
struct mu_node {
    uint64_t now_ns;
    bool started;
    bool fenced;    /* declared dead: inert for good */
    bool owes_room; /* some peer was told that there is none, and is to be told when there is */
    struct mu_links links;
    struct mu_spread spread;
    struct mu_roster roster;
    struct mu_seen seen;
    uint64_t posted; /* sequence of the last payload of this node */
    uint64_t strays; /* frames that came over no link: of the dead, or too late */
    struct mu_config config;
};

/* Bytes of memory that mu_node_init() needs for this configuration. */
size_t mu_node_bytes(const struct mu_config *config);

/* Builds a node at the start of 'memory' (64-byte aligned, mu_node_bytes() long, of the caller) and
 * returns it.  All state lives there: copying those bytes away and back, to the same place,
 * restores the node.  The configuration must have passed mu_config_error(). */
struct mu_node *mu_node_init(void *memory, size_t bytes, const struct mu_config *config);

/* The most effects that one step can have. */
uint32_t mu_node_effects_max(const struct mu_config *config);

/* The one door.  START comes first, but for what a newcomer's first view says (MEMBER).  'update'
 * has room for mu_node_effects_max(); it is overwritten.  A fenced node accepts every event and
 * does nothing. */
void mu_node_step(struct mu_node *node, const struct mu_event *event, struct mu_update *update);

/* For a handshake: the last sequence received from this incarnation of the peer, 0 when nothing
 * was. */
uint64_t mu_node_link_has(struct mu_node *node, mu_slot peer, uint32_t incarnation);

/* What the next step depends on, and nothing else: two nodes with the same fingerprint behave
 * alike. */
void mu_node_fingerprint(const struct mu_node *node, struct mu_fingerprint *print);

/* The same without links, for explorers whose links neither break nor fill up. */
void mu_node_fingerprint_linkless(const struct mu_node *node, struct mu_fingerprint *print);

#endif
