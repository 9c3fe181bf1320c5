#include "sim/mutants.h"

#include "core/config.h"
#include "core/detect_ring.h"
#include "sim/check_ring.h"
#include "sim/check_spread.h"
#include "sim/explore_link.h"
#include "sim/explore_spread.h"

#include <string.h>

const struct sim_mutant sim_mutants[] = {
    {"no-redundant-edges", "redundant edges are never served", MU_BROKEN_NO_REDUNDANT, false},
    {"no-duplicate-check", "every copy is delivered", MU_BROKEN_NO_DUP_CHECK, false},
    {"no-replacement", "a dead neighbour's edge leads nowhere", MU_BROKEN_NO_REPLACE, false},
    {"no-resend", "a replacement gets only what comes later", MU_BROKEN_NO_RESEND, false},
    {"link-forgets", "a reconnect starts the link from nothing", MU_BROKEN_LINK_FORGETS, false},
    {"fence-relayed", "a relayed notice is dropped because its root is dead",
     MU_BROKEN_FENCE_RELAYED, false},
    {"no-memory", "what is not held any more counts as news again", MU_BROKEN_NO_SEEN, false},
    {"forget-early", "a notice is dropped before every edge carried it", MU_BROKEN_FORGET_EARLY,
     false},
    {"resume-all", "a reconnect sends again what the other side has", MU_BROKEN_RESUME_ALL, false},
    {"no-fence", "the link to a dead node stays open", MU_BROKEN_NO_FENCE, false},
    {"send-again", "an edge that is done is served again", MU_BROKEN_SEND_AGAIN, false},
    {"chain", "the tree is a chain from slot to slot", MU_BROKEN_CHAIN, false},
    {"no-lag", "an observer's own lag is not given back", MU_DETECT_BROKEN_NO_LAG, true},
    {"sequential-mending", "one timeout after the other", MU_DETECT_BROKEN_SEQUENTIAL, true},
    {"fence-origin", "DEAD is believed for any incarnation", MU_DETECT_BROKEN_FENCE_ORIGIN, true},
    {"no-helpers", "a helper's answer is ignored", MU_DETECT_BROKEN_HELPERS, true},
    {"no-lease", "the lease never runs out", MU_DETECT_BROKEN_LEASE, true},
    {"any-nonce", "a beat counts whatever its nonce", MU_DETECT_BROKEN_NONCE, true},
    {"no-doubt", "an observer that nobody answers accuses", MU_DETECT_BROKEN_DOUBT, true},
    {"old-watch", "an older watch replaces a newer one", MU_DETECT_BROKEN_OLD_WATCH, true},
    {"any-stamp", "a repeated beat counts as a new one", MU_DETECT_BROKEN_STAMP, true},
};

const size_t sim_mutant_count = sizeof sim_mutants / sizeof sim_mutants[0];

const struct sim_mutant *sim_mutant_find(const char *name)
{
    for (size_t i = 0; i < sim_mutant_count; i++)
        if (strcmp(sim_mutants[i].name, name) == 0)
            return &sim_mutants[i];
    return NULL;
}

static void note_explore(const struct explore_result *found, const char *by,
                         struct sim_mutant_result *result)
{
    if (found->violations == 0)
        return;
    result->caught = true;
    result->by = by;
    memcpy(result->law, found->law, sizeof result->law);
    memcpy(result->message, found->message, sizeof result->message);
    result->trace_length = found->trace_length;
}

/* Random worlds, until one of them shows it. */
static void try_worlds(const struct sim_mutant *mutant, uint64_t seeds,
                       struct sim_mutant_result *result)
{
    struct sim_check check = {.nodes_first = 2,
                              .nodes_last = 64,
                              .seeds_first = 1,
                              .seeds_last = seeds,
                              .broken_rules = mutant->rule};
    struct sim_check_result seen;
    (mutant->of_ring ? sim_check_ring : sim_check_spread)(&check, true, &seen);
    result->caught = seen.violations > 0;
    result->by = mutant->of_ring ? "check ring" : "check spread";
    result->seed = seen.seed;
    result->nodes = seen.nodes;
    memcpy(result->law, seen.law, sizeof result->law);
    memcpy(result->message, seen.message, sizeof result->message);
}

static void try_explorers(const struct sim_mutant *mutant, struct sim_mutant_result *result)
{
    struct explore_options options = {.seconds_max = 20, .memory_bytes = 1ull << 30};
    struct explore_result found;

    struct explore_link link = {.posts = 2, .resets = 2, .window = 2, .broken_rules = mutant->rule};
    explore_link(&link, &options, &found);
    result->nodes = 2;
    note_explore(&found, "explore link", result);
    for (uint32_t nodes = 2; !result->caught && nodes <= 4; nodes++) {
        struct explore_spread spread = {
            .nodes = nodes, .crashes = nodes - 1, .posts = 1, .broken_rules = mutant->rule};
        explore_spread(&spread, &options, &found);
        result->nodes = nodes;
        note_explore(&found, "explore spread", result);
    }
}

void sim_mutant_try(const struct sim_mutant *mutant, struct sim_mutant_result *result)
{
    memset(result, 0, sizeof *result);
    if (!mutant->of_ring)
        try_explorers(mutant, result);
    if (!result->caught)
        try_worlds(mutant, 5000, result);
}
