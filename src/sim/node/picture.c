#include "sim/node/run.h"

#include "sim/base/memory.h"

#include <stdlib.h>

enum { COLUMNS = 16 };

static void print_square(FILE *to, uint16_t hop, uint16_t now, bool colour)
{
    static const char *const tints[] = {"\033[1;37;41m", "\033[1;30;43m", "\033[30;42m",
                                        "\033[30;46m",   "\033[37;44m",   "\033[37;45m"};
    const char *tint = colour ? tints[hop % 6] : "";
    const char *plain = colour ? "\033[0m" : "";
    if (hop == UINT16_MAX)
        fprintf(to, " x ");
    else if (hop > now)
        fprintf(to, " . ");
    else
        fprintf(to, "%s %x %s", tint, hop % 16, plain);
}

static uint32_t count_at(const uint16_t *hop_of, uint32_t nodes, uint16_t hop)
{
    uint32_t count = 0;
    for (uint32_t node = 0; node < nodes; node++)
        count += hop_of[node] == hop;
    return count;
}

static void print_grid(FILE *to, const uint16_t *hop_of, uint32_t nodes, uint16_t now, bool colour)
{
    for (uint32_t node = 0; node < nodes; node++) {
        if (node % COLUMNS == 0)
            fprintf(to, "%s  %4u  ", node == 0 ? "" : "\n", node);
        print_square(to, hop_of[node], now, colour);
    }
    fprintf(to, "\n\n");
}

void sim_picture_spread(FILE *to, const struct sim_run_spread *run, bool colour,
                        struct sim_run_spread_result *result)
{
    uint16_t *hop_of = sim_calloc(run->nodes, sizeof *hop_of);
    sim_run_spread(run, result, hop_of);
    if (run->node_dies)
        fprintf(to, "Node %u of %u dies.  Its neighbours see their connections close.\n\n",
                result->origin, run->nodes);
    else
        fprintf(to, "A process on node %u of %u dies.  Its daemon sees it.\n\n", result->origin,
                run->nodes);
    for (uint16_t hop = 0; hop <= result->hops_max; hop++) {
        fprintf(to, "after hop %u: %u more know\n", hop, count_at(hop_of, run->nodes, hop));
        print_grid(to, hop_of, run->nodes, hop, colour);
    }
    free(hop_of);
    if (result->broken[0] != '\0')
        return;
    uint32_t survivors = run->nodes - (run->node_dies ? 1 : 0);
    fprintf(to,
            "All %u survivors know after %u hops and %.3f ms of virtual time, with %llu messages\n"
            "(%.1f a node, at most %u), and are prepared for any neighbour to die meanwhile.\n",
            survivors, result->hops_max, result->virtual_ms, (unsigned long long)result->messages,
            (double)result->messages / run->nodes, result->messages_per_node_max);
}
