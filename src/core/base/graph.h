/* Geometry of the binomial graph: who is whose neighbour, and the broadcast tree inside it.
 *
 * Slots sit on a circle of 'size'.  Edge 2k of a slot leads 2^k slots onward, edge 2k+1 leads 2^k
 * slots back.  The tree that hangs from a root is laid along the same edges: write the shortest
 * signed distance from the root in the non-adjacent form (digits -1, 0, 1, no two neighbours
 * nonzero), and drop the most significant digit to come to the parent.  Such a number of b bits
 * has at most (b + 1) / 2 nonzero digits, so this tree is half as high as the usual binomial one,
 * with the same number of messages.  Nothing here looks at who is alive, and nothing is stored. */
#ifndef MU_CORE_BASE_GRAPH_H
#define MU_CORE_BASE_GRAPH_H

#include "core/base/types.h"

enum { MU_GRAPH_EDGES_MAX = 48 }; /* two for each bit of MU_SIZE_MAX */

/* Smallest b with 2^b >= size; 0 for a single node. */
uint32_t mu_graph_bits(uint32_t size);

/* Number of edges of every slot: 2 * bits.  On small circles some lead to the same slot. */
uint32_t mu_graph_edges(uint32_t size);

/* The slot at the far end of an edge.  size >= 2. */
mu_slot mu_graph_target(uint32_t size, mu_slot from, uint32_t edge);

/* The lowest edge of 'from' that leads to 'to', or mu_graph_edges(size) when there is none. */
uint32_t mu_graph_edge_to(uint32_t size, mu_slot from, mu_slot to);

/* Parent of 'slot' in the tree that hangs from 'root'; MU_SLOT_NONE for the root itself. */
mu_slot mu_graph_parent(uint32_t size, mu_slot root, mu_slot slot);

/* Distance of 'slot' from 'root' along the tree, in hops. */
uint32_t mu_graph_depth(uint32_t size, mu_slot root, mu_slot slot);

#endif
