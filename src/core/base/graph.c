#include "core/base/graph.h"

#include <assert.h>

uint32_t mu_graph_bits(uint32_t size)
{
    assert(size >= 1 && size <= MU_SIZE_MAX);
    return size == 1 ? 0 : 32 - (uint32_t)__builtin_clz(size - 1);
}

uint32_t mu_graph_edges(uint32_t size)
{
    return 2 * mu_graph_bits(size);
}

static mu_slot forward(uint32_t size, mu_slot from, uint32_t step)
{
    uint32_t to = from + step; /* no wrap of the integer: both are below 2^24 */
    return to >= size ? to - size : to;
}

mu_slot mu_graph_target(uint32_t size, mu_slot from, uint32_t edge)
{
    uint32_t step = 1u << (edge / 2);
    assert(from < size && step < size);
    return edge % 2 == 0 ? forward(size, from, step) : forward(size, from, size - step);
}

static bool is_power_of_two(uint32_t x)
{
    return (x & (x - 1)) == 0;
}

uint32_t mu_graph_edge_to(uint32_t size, mu_slot from, mu_slot to)
{
    assert(from < size && to < size);
    uint32_t onward = to >= from ? to - from : to + size - from;
    uint32_t back = size - onward;
    uint32_t edge = mu_graph_edges(size);
    if (onward == 0)
        return edge;
    if (is_power_of_two(onward))
        edge = 2 * (uint32_t)__builtin_ctz(onward);
    if (is_power_of_two(back) && 2 * (uint32_t)__builtin_ctz(back) + 1 < edge)
        edge = 2 * (uint32_t)__builtin_ctz(back) + 1;
    return edge;
}

/* The way from root to slot: how far, and whether onward or back, whichever is shorter. */
static uint32_t shortest(uint32_t size, mu_slot root, mu_slot slot, bool *back)
{
    assert(root < size && slot < size);
    uint32_t onward = slot >= root ? slot - root : slot + size - root;
    *back = onward > size / 2;
    return *back ? size - onward : onward;
}

/* Bit i is set when digit i of the non-adjacent form of x is not zero: the form is the carry-free
 * difference of 3x and x, halved. */
static uint32_t digits(uint32_t x)
{
    return ((3 * x) ^ x) >> 1;
}

mu_slot mu_graph_parent(uint32_t size, mu_slot root, mu_slot slot)
{
    bool back;
    uint32_t distance = shortest(size, root, slot, &back);
    if (distance == 0)
        return MU_SLOT_NONE;
    uint32_t step = 1u << (31 - (uint32_t)__builtin_clz(digits(distance)));
    /* The most significant digit has the sign of the whole: undo one step in that direction. */
    return back ? forward(size, slot, step) : forward(size, slot, size - step);
}

uint32_t mu_graph_depth(uint32_t size, mu_slot root, mu_slot slot)
{
    bool back;
    uint32_t depth = 0;
    for (uint32_t left = digits(shortest(size, root, slot, &back)); left != 0; left &= left - 1)
        depth++;
    return depth;
}
