#include "chaos/random/law.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

void chaos_law_blur(struct chaos_law *law, mu_slot node)
{
    if (law->node[node] == CHAOS_LIVES)
        law->node[node] = CHAOS_EITHER;
}

void chaos_law_take(struct chaos_law *law, const struct chaos_planned *planned)
{
    switch (planned->outcome) {
    case CHAOS_NOTHING:
        return;
    case CHAOS_PROCESS_DIES:
        law->process[planned->node] = CHAOS_DIES;
        return;
    case CHAOS_NODE_DIES:
        law->node[planned->node] = CHAOS_DIES;
        return;
    case CHAOS_ONE_DIES:
        chaos_law_blur(law, planned->node);
        chaos_law_blur(law, planned->peer);
        law->pair[planned->node] = planned->peer + 1;
        law->pair[planned->peer] = planned->node + 1;
        return;
    }
    abort();
}

/* ---- what was found ---- */

static void say(struct chaos_findings *findings, const char *what, bool is_node, uint32_t subject,
                uint32_t reader)
{
    if (findings->first[0] == '\0')
        snprintf(findings->first, sizeof findings->first, "%s %u: %s by process %u",
                 is_node ? "node" : "process", subject, what, reader);
}

static void judge(struct chaos_findings *findings, enum chaos_fate fate, bool is_node,
                  uint32_t subject, uint32_t reader, uint8_t times)
{
    if (fate == CHAOS_LIVES && times > 0) {
        findings->wrong++;
        say(findings, "is alive, but was reported as failed", is_node, subject, reader);
    } else if (times > 1) {
        findings->duplicates++;
        say(findings, "its failure was reported more than once", is_node, subject, reader);
    } else if (fate == CHAOS_DIES && times == 0) {
        findings->missed++;
        say(findings, "its failure was not reported", is_node, subject, reader);
    } else {
        findings->told += times;
    }
}

/* A process that was killed is told once, and not again with its node. */
static enum chaos_fate process_fate(const struct chaos_law *law, const uint8_t *node, uint32_t rank)
{
    return law->process[rank] > node[rank] ? law->process[rank] : node[rank];
}

static bool is_reader(const struct chaos_law *law, uint32_t rank)
{
    return law->node[rank] == CHAOS_LIVES && law->process[rank] == CHAOS_LIVES;
}

/* Where both is possible, the first one to know decides for all; and of a pair one is dead. */
static void settle(const struct chaos_law *law, struct rig_page *page,
                   struct chaos_findings *findings, uint8_t *node)
{
    memcpy(node, law->node, law->nodes);
    for (uint32_t reader = 0; reader < law->nodes; reader++)
        for (uint32_t n = 0; is_reader(law, reader) && n < law->nodes; n++)
            if (node[n] == CHAOS_EITHER && *rig_page_node(page, reader, n) > 0)
                node[n] = CHAOS_DIES;
    for (uint32_t n = 0; n < law->nodes; n++) {
        uint32_t other = law->pair[n] - 1;
        if (law->pair[n] == 0 || other < n || law->node[n] != CHAOS_EITHER)
            continue;
        if (node[n] != CHAOS_DIES && node[other] != CHAOS_DIES) {
            findings->missed++;
            say(findings, "neither it nor its peer was reported as failed", true, n, n);
        }
    }
    for (uint32_t n = 0; n < law->nodes; n++)
        if (node[n] == CHAOS_EITHER)
            node[n] = CHAOS_LIVES;
}

void chaos_law_find(const struct chaos_law *law, struct rig_page *page,
                    struct chaos_findings *findings)
{
    uint8_t node[CHAOS_NODES_MAX];
    *findings = (struct chaos_findings){0};
    settle(law, page, findings, node);
    for (uint32_t reader = 0; reader < law->nodes; reader++) {
        if (!is_reader(law, reader))
            continue;
        for (uint32_t n = 0; n < law->nodes; n++) {
            judge(findings, node[n], true, n, reader, *rig_page_node(page, reader, n));
            judge(findings, process_fate(law, node, n), false, n, reader,
                  *rig_page_process(page, reader, n));
        }
        if (page->slots[reader].wrong > 0) {
            findings->wrong += page->slots[reader].wrong;
            say(findings, "an invalid event was reported", false, reader, reader);
        }
    }
}
