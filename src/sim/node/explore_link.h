/* Every interleaving of two nodes whose connection breaks at any moment, and which may have too
 * little room for what they say. */
#ifndef MU_SIM_NODE_EXPLORE_LINK_H
#define MU_SIM_NODE_EXPLORE_LINK_H

#include "sim/base/explore.h"

struct explore_link {
    uint32_t posts;  /* each node has so many payloads for the other one */
    uint32_t resets; /* how often the connection breaks */
    uint32_t window;
    uint32_t room; /* places for notices at each node; 0: enough for all.  With it there is a third
                      node, which says nothing, and at some moment node 0 sees that it is dead */
    uint32_t broken_rules;
};

enum { EXPLORE_LINK_POSTS_MAX = 6, EXPLORE_LINK_RESETS_MAX = 8, EXPLORE_LINK_ROOM_MAX = 16 };

void explore_link(const struct explore_link *link, const struct explore_options *options,
                  struct explore_result *result);

#endif
