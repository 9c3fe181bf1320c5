/* Nodes that failed, in one line each.  That a connection ended is known first, and why its daemon
 * ended a moment later, from its parent or from other nodes: the line waits for that. */
#include "run/inside.h"

#include <stdlib.h>
#include <string.h>

enum { CAUSE_MS = 250 };

static char *copy(const char *text)
{
    char *result = strdup(text);
    if (result == NULL)
        abort();
    return result;
}

static void say(struct run *run, mu_slot node)
{
    struct run_node *of = &run->nodes[node];
    char with[512] = "", consequence[RUN_CONSEQUENCE_MAX];
    if (of->left > 0)
        snprintf(with, sizeof with, " with rank%s %s", of->left == 1 ? "" : "s", of->ranks);
    run_output_say(run->output, "muster: node %u (%s) failed%s: %s%s\n", node,
                   machine_name(run->machine, node), with, of->how != NULL ? of->how : of->text,
                   run_consequence(run, consequence));
    free(of->ranks);
    of->ranks = NULL;
}

void run_say_lost(struct run *run)
{
    for (mu_slot node = 0; node < run->options.nodes; node++)
        if (run->nodes[node].ranks != NULL)
            say(run, node);
}

static void on_late(uv_timer_t *timer)
{
    run_say_lost(timer->data);
}

void run_node_failed(struct run *run, mu_slot node, const char *ranks, uint32_t left,
                     const char *text)
{
    struct run_node *of = &run->nodes[node];
    if (of->said)
        return;
    run_say_alike(run);
    of->said = true;
    of->ranks = copy(ranks);
    of->left = left;
    of->text = copy(text);
    if (of->how != NULL || of->declared)
        say(run, node);
    else
        uv_timer_start(&run->lost_timer, on_late, CAUSE_MS, 0);
}

void run_node_how(struct run *run, mu_slot node, const char *how)
{
    struct run_node *of = &run->nodes[node];
    if (of->how == NULL)
        of->how = copy(how);
    if (of->ranks != NULL)
        say(run, node);
}

void run_nodes_free(struct run *run)
{
    for (mu_slot node = 0; node < run->options.nodes; node++) {
        free(run->nodes[node].how);
        free(run->nodes[node].ranks);
        free(run->nodes[node].text);
    }
    free(run->nodes);
}
