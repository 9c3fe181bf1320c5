/* Which rank runs on which node: in blocks, so that neighbours in rank are neighbours in place,
 * unless somebody wants it otherwise. */
#ifndef MU_LAUNCH_MAP_H
#define MU_LAUNCH_MAP_H

#include "wire/launch/launch.h"

/* How many ranks a node gets at most. */
uint32_t map_ranks_per_node(uint32_t ranks, uint32_t nodes);

/* Rank r of n runs on node r * K / n.  'runs' has room for 'nodes'.  Returns how many are filled:
 * a node without ranks has none. */
uint32_t map_blocks(uint32_t ranks, uint32_t nodes, struct mu_launch_run *runs);

/* The same by the slots of each node: the first ranks fill node 0, the next ones node 1, and so on.
 * There are no more ranks than slots. */
uint32_t map_slots(uint32_t ranks, const uint32_t *slots, uint32_t nodes,
                   struct mu_launch_run *runs);

/* Rank after rank on the next node that has a slot left.  'runs' has room for 'ranks'. */
uint32_t map_by_node(uint32_t ranks, const uint32_t *slots, uint32_t nodes,
                     struct mu_launch_run *runs);

/* Where there are more ranks than slots, gives each node some more in turn, up to its 'most', until
 * there are as many.  All together have room for them. */
void map_widen(uint32_t ranks, uint32_t *slots, const uint32_t *most, uint32_t nodes);

/* Of so many processors, does no node's part (wire/launch/launch.h) have more than its share of the
 * ranks, rounded up, or fewer ranks than processors? */
bool map_is_even(const struct mu_launch_run *runs, uint32_t run_count, uint32_t nodes,
                 uint32_t processors);

/* Ranks as people write them: "4", "4-7". */
enum { MAP_RANKS_TEXT_MAX = 24 };
const char *map_ranks_text(uint32_t first, uint32_t count, char text[MAP_RANKS_TEXT_MAX]);

#endif
