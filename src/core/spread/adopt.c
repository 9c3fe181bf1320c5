#include "core/spread/adopt.h"

/* Nearest to the root first: they hear first.  Of those that are as near, by edge. */
static uint32_t rank_of(uint32_t size, mu_slot root, mu_slot orphan, uint32_t edge)
{
    uint32_t depth = mu_graph_depth(size, root, mu_graph_target(size, orphan, edge));
    return depth * MU_GRAPH_EDGES_MAX + edge;
}

static bool is_one_of_three(const struct mu_roster *roster, mu_slot root, mu_slot self,
                            mu_slot orphan)
{
    uint32_t size = roster->size, edges = mu_graph_edges(size), before = 0;
    uint32_t own = mu_graph_edge_to(size, orphan, self);
    uint32_t rank = own < edges ? rank_of(size, root, orphan, own) : UINT32_MAX;
    for (uint32_t e = 0; e < edges && before < MU_ADOPTERS; e++) {
        mu_slot other = mu_graph_target(size, orphan, e);
        bool is_twice = mu_graph_edge_to(size, orphan, other) != e;
        if (!is_twice && !mu_roster_is_vacant(roster, other) &&
            rank_of(size, root, orphan, e) < rank)
            before++;
    }
    return before < MU_ADOPTERS;
}

bool mu_adopts(const struct mu_roster *roster, mu_slot root, mu_slot self, mu_slot orphan)
{
    mu_slot parent = mu_graph_parent(roster->size, root, self);
    if (parent == MU_SLOT_NONE || mu_roster_is_vacant(roster, parent))
        return true;
    return is_one_of_three(roster, root, self, orphan);
}
