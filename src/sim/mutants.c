#include "sim/mutants.h"

#include "core/advise/advise.h"
#include "core/agree/agree.h"
#include "core/central/central.h"
#include "core/gather/gather.h"
#include "core/base/config.h"
#include "core/ring/ring.h"
#include "core/view/view.h"
#include "sim/advise/check.h"
#include "sim/agree/check.h"
#include "sim/central/check.h"
#include "sim/ring/check.h"
#include "sim/node/check.h"
#include "sim/view/check.h"
#include "sim/agree/explore.h"
#include "sim/gather/explore.h"
#include "sim/node/explore_link.h"
#include "sim/node/explore_spread.h"
#include "sim/view/explore.h"

#include <stdlib.h>
#include <string.h>

const struct sim_mutant sim_mutants[] = {
    {"no-redundant-edges", "redundant edges are never served", MU_BROKEN_NO_REDUNDANT, SIM_SPREAD},
    {"no-duplicate-check", "every copy is delivered", MU_BROKEN_NO_DUP_CHECK, SIM_SPREAD},
    {"no-replacement", "a dead neighbour's edge leads nowhere", MU_BROKEN_NO_REPLACE, SIM_SPREAD},
    {"no-resend", "a replacement gets only what comes later", MU_BROKEN_NO_RESEND, SIM_SPREAD},
    {"link-forgets", "a reconnect starts the link from nothing", MU_BROKEN_LINK_FORGETS,
     SIM_SPREAD},
    {"fence-relayed", "a relayed notice is dropped because its root is dead",
     MU_BROKEN_FENCE_RELAYED, SIM_SPREAD},
    {"no-memory", "what is not held any more counts as news again", MU_BROKEN_NO_SEEN, SIM_SPREAD},
    {"forget-early", "a notice is dropped before every edge carried it", MU_BROKEN_FORGET_EARLY,
     SIM_SPREAD},
    {"resume-all", "a reconnect sends again what the other side has", MU_BROKEN_RESUME_ALL,
     SIM_SPREAD},
    {"no-fence", "the link to a dead node stays open", MU_BROKEN_NO_FENCE, SIM_SPREAD},
    {"send-again", "an edge that is done is served again", MU_BROKEN_SEND_AGAIN, SIM_SPREAD},
    {"chain", "the tree is a chain from slot to slot", MU_BROKEN_CHAIN, SIM_SPREAD},
    {"deaths-wait", "a node's death waits for room like everything else", MU_BROKEN_DEATHS_WAIT,
     SIM_SPREAD},
    {"own-death", "a node is fenced by its own incarnation's death only", MU_BROKEN_OWN_DEATH,
     SIM_SPREAD},
    {"ranges-apart", "ranges of known notices are not joined to the next", MU_BROKEN_SEEN_APART,
     SIM_SPREAD},
    {"refused-is-dead", "who refuses a connection is declared dead", MU_BROKEN_REFUSED, SIM_SPREAD},
    {"first-wins", "the proof of a death that is known is dropped", MU_BROKEN_FIRST_WINS,
     SIM_SPREAD},
    {"own-fills", "what a node sees leaves no room for what it hears", MU_BROKEN_OWN_FILLS,
     SIM_SPREAD},
    {"same-again", "who comes back has the incarnation that it had", MU_BROKEN_SAME_AGAIN,
     SIM_SPREAD},
    {"old-frames", "frames of a dead incarnation are believed", MU_BROKEN_OLD_FRAMES, SIM_SPREAD},
    {"keeps-ring", "what waits for a dead node goes to the one that comes back",
     MU_BROKEN_KEEPS_RING, SIM_SPREAD},
    {"no-newcomer", "who comes gets only what comes later", MU_BROKEN_NEWCOMER, SIM_SPREAD},
    {"join-no-death", "a join says nothing of who was there before", MU_BROKEN_JOIN_NO_DEATH,
     SIM_SPREAD},
    {"deaths-kept", "the notice of a death is kept when it is over", MU_BROKEN_DEATHS_KEPT,
     SIM_SPREAD},
    {"no-lag", "an observer's own lag is not given back", MU_DETECT_BROKEN_NO_LAG, SIM_RING},
    {"sequential-mending", "one timeout after the other", MU_DETECT_BROKEN_SEQUENTIAL, SIM_RING},
    {"fence-origin", "DEAD is believed for any incarnation", MU_DETECT_BROKEN_FENCE_ORIGIN,
     SIM_RING},
    {"no-helpers", "a helper's answer is ignored", MU_DETECT_BROKEN_HELPERS, SIM_RING},
    {"no-lease", "the lease never runs out", MU_DETECT_BROKEN_LEASE, SIM_RING},
    {"any-nonce", "a beat counts whatever its nonce", MU_DETECT_BROKEN_NONCE, SIM_RING},
    {"no-doubt", "an observer that nobody answers accuses", MU_DETECT_BROKEN_DOUBT, SIM_RING},
    {"old-watch", "an older watch replaces a newer one", MU_DETECT_BROKEN_OLD_WATCH, SIM_RING},
    {"any-stamp", "a repeated beat counts as a new one", MU_DETECT_BROKEN_STAMP, SIM_RING},
    {"no-loop", "a main loop may stand still for ever", MU_DETECT_BROKEN_LOOP, SIM_RING},
    {"lease-back", "an ended lease comes back from anybody, at once", MU_DETECT_BROKEN_LEASE_BACK,
     SIM_RING},
    {"no-lease-declares", "who has no lease declares", MU_DETECT_BROKEN_NO_LEASE, SIM_RING},
    {"alone-holds", "who is alone has a lease, whatever led there", MU_DETECT_BROKEN_ALONE,
     SIM_RING},
    {"dead-answers", "DEAD is only an answer", MU_DETECT_BROKEN_TELLING, SIM_RING},
    {"short-take", "a taken node is declared a timeout after the TAKE", MU_DETECT_BROKEN_OVER,
     SIM_RING},
    {"take-own", "an observer takes whom it observes itself", MU_DETECT_BROKEN_TAKE_OWN, SIM_RING},
    {"old-take", "a TAKE is followed, however old it may be", MU_DETECT_BROKEN_OLD_TAKE, SIM_RING},
    {"late-ack", "a beat is acknowledged, however long it waited", MU_DETECT_BROKEN_LATE_ACK,
     SIM_RING},
    {"broke-is-silent", "a connection that breaks is a timeout of silence", MU_DETECT_BROKEN_BROKE,
     SIM_RING},
    {"far-as-near", "behind one that was only probed nobody is given more time",
     MU_DETECT_BROKEN_FAR, SIM_RING},
    {"old-heard", "HEARD with an old clock is a sign of life", MU_DETECT_BROKEN_HEARD, SIM_RING},
    {"judges-early", "the master judges before it has taken in all that has come",
     MU_CENTRAL_BROKEN_EARLY, SIM_CENTRAL},
    {"any-answer", "an answer counts, whatever it answers", MU_CENTRAL_BROKEN_NONCE, SIM_CENTRAL},
    {"no-floor", "the timeout of a host has no floor", MU_CENTRAL_BROKEN_FLOOR, SIM_CENTRAL},
    {"no-late-samples", "late answers are no samples", MU_CENTRAL_BROKEN_LATE, SIM_CENTRAL},
    {"first-timeout", "a host is declared at its first timeout", MU_CENTRAL_BROKEN_ONCE,
     SIM_CENTRAL},
    {"deaf-to-helpers", "the master does not listen to helpers", MU_CENTRAL_BROKEN_HELPERS,
     SIM_CENTRAL},
    {"back-from-dead", "a late answer brings a declared host back", MU_CENTRAL_BROKEN_BACK,
     SIM_CENTRAL},
    {"declared-untold", "nobody tells a declared host", MU_CENTRAL_BROKEN_TELLING, SIM_CENTRAL},
    {"grant-ignored", "a host is declared before its grant is over", MU_CENTRAL_BROKEN_GRANT,
     SIM_CENTRAL},
    {"lease-from-poll", "a lease counts from the poll that grants it", MU_CENTRAL_BROKEN_LEASE,
     SIM_CENTRAL},
    {"no-half", "nobody vouches for the master", MU_CENTRAL_BROKEN_HALF, SIM_CENTRAL},
    {"master-lag", "the master's own lag counts against the hosts", MU_CENTRAL_BROKEN_LAG,
     SIM_CENTRAL},
    {"no-alarm", "nobody misses the master", MU_CENTRAL_BROKEN_ALARM, SIM_CENTRAL},
    {"no-promise", "who misses the master goes on answering it", MU_CENTRAL_BROKEN_PROMISE,
     SIM_CENTRAL},
    {"one-misses", "one that misses the master is enough", MU_CENTRAL_BROKEN_MAJORITY, SIM_CENTRAL},
    {"no-inherited-wait", "a new master does not wait for old grants", MU_CENTRAL_BROKEN_INHERITED,
     SIM_CENTRAL},
    {"ungranted-counts", "a poll that grants nothing is one, too", MU_CENTRAL_BROKEN_UNGRANTED,
     SIM_CENTRAL},
    {"central-no-loop", "a main loop may stand still for ever", MU_CENTRAL_BROKEN_LOOP,
     SIM_CENTRAL},
    {"no-askers", "a contribution that comes late is forgotten", MU_AGREE_BROKEN_ASKERS, SIM_AGREE},
    {"deaf-root", "a decision counts from the parent only", MU_AGREE_BROKEN_DEAF_ROOT, SIM_AGREE},
    {"no-discard", "messages of the dead count", MU_AGREE_BROKEN_DISCARD, SIM_AGREE},
    {"no-discard-told", "messages of those count of whose death an ASK told",
     MU_AGREE_BROKEN_DISCARD_TOLD, SIM_AGREE},
    {"no-path", "an ASK tells only of the dead before its sender", MU_AGREE_BROKEN_PATH, SIM_AGREE},
    {"parent-after", "the parent is compared after it was marked dead", MU_AGREE_BROKEN_PARENT,
     SIM_AGREE},
    {"decide-again", "a parent's death counts after the decision, too", MU_AGREE_BROKEN_AGAIN,
     SIM_AGREE},
    {"early-decision", "nobody waits for its children", MU_AGREE_BROKEN_CHILDREN, SIM_AGREE},
    {"no-orphans", "nobody asks a dead child's children", MU_AGREE_BROKEN_ORPHANS, SIM_AGREE},
    {"early-collect", "a result is forgotten when the next agreement begins",
     MU_AGREE_BROKEN_COLLECT, SIM_AGREE},
    {"failed-grows", "a contribution said again has the latest deaths", MU_AGREE_BROKEN_GROWS,
     SIM_AGREE},
    {"failed-frozen", "the failed are those known at the call", MU_AGREE_BROKEN_FROZEN, SIM_AGREE},
    {"lease-ignored", "a node without lease sends and decides", MU_AGREE_BROKEN_LEASE, SIM_AGREE},
    {"no-resume", "nothing is said again on a new connection", MU_AGREE_BROKEN_RESUME, SIM_AGREE},
    {"own-error", "an error by what the node knows, not by the decision", MU_AGREE_BROKEN_ERROR,
     SIM_AGREE},
    {"own-tree", "the tree is laid anew by what the node knows", MU_AGREE_BROKEN_REBALANCE,
     SIM_AGREE},
    {"invented-proof", "a death that others tell of counts as proven", MU_AGREE_BROKEN_PROVES,
     SIM_AGREE},
    {"lost-proof", "proof of a death that is known is dropped", MU_AGREE_BROKEN_FIRST, SIM_AGREE},
    {"no-up-again", "a new parent is sent nothing", MU_ALLGATHER_BROKEN_AGAIN, SIM_GATHER},
    {"no-answer", "who has the result does not answer", MU_ALLGATHER_BROKEN_ANSWER, SIM_GATHER},
    {"no-telling", "who asked early is not told the result", MU_ALLGATHER_BROKEN_ASKERS,
     SIM_GATHER},
    {"no-want", "a new root asks nobody for the result", MU_ALLGATHER_BROKEN_WANT, SIM_GATHER},
    {"no-waiting", "nobody waits for the parts of others", MU_ALLGATHER_BROKEN_COVER, SIM_GATHER},
    {"forget-result", "a result is forgotten at the next call", MU_ALLGATHER_BROKEN_FORGET,
     SIM_GATHER},
    {"first-median", "times count against the first median, for ever", MU_ADVISE_BROKEN_MEDIAN,
     SIM_ADVISE},
    {"outsiders-count", "times of those that are out are in the median", MU_ADVISE_BROKEN_OUTSIDERS,
     SIM_ADVISE},
    {"late-tester", "an interval counts although its tester was late", MU_ADVISE_BROKEN_LATE,
     SIM_ADVISE},
    {"one-test", "one failed test accuses", MU_ADVISE_BROKEN_ONCE, SIM_ADVISE},
    {"old-history", "a new stint begins with the old tests", MU_ADVISE_BROKEN_STINT, SIM_ADVISE},
    {"old-accusations", "a new stint begins with the old accusations", MU_ADVISE_BROKEN_COUNTS,
     SIM_ADVISE},
    {"strangers-accuse", "whoever takes part accuses", MU_ADVISE_BROKEN_STRANGERS, SIM_ADVISE},
    {"own-counters", "each decides by what it has said itself", MU_ADVISE_BROKEN_LOCAL, SIM_ADVISE},
    {"accused-accuse", "who leaves takes its accused along", MU_ADVISE_BROKEN_OWN_WORD, SIM_ADVISE},
    {"no-minimum", "all but one may leave", MU_ADVISE_BROKEN_MINIMUM, SIM_ADVISE},
    {"no-majority", "who is proposed comes back", MU_ADVISE_BROKEN_MAJORITY, SIM_ADVISE},
    {"majority-of-all", "of all members, and not of the testers", MU_ADVISE_BROKEN_TESTERS,
     SIM_ADVISE},
    {"one-pass", "one passed test is enough for a vote", MU_ADVISE_BROKEN_PASSES, SIM_ADVISE},
    {"no-recall", "nobody is called when too few are left", MU_ADVISE_BROKEN_RECALL, SIM_ADVISE},
    {"leaver-absent", "who leaves takes no part in the next boundary", MU_ADVISE_BROKEN_LEAVER,
     SIM_ADVISE},
    {"comer-works", "who comes works as soon as it hears of it", MU_ADVISE_BROKEN_COMER,
     SIM_ADVISE},
    {"lowest-posts", "only the lowest member tells of a new group", MU_ADVISE_BROKEN_POST,
     SIM_ADVISE},
    {"no-refounding", "all members have failed, and nobody does anything", MU_ADVISE_BROKEN_REFOUND,
     SIM_ADVISE},
    {"silent-call", "who wants to found anew tells nobody", MU_ADVISE_BROKEN_CALL, SIM_ADVISE},
    {"no-backoff", "earlier exits cost nothing", MU_ADVISE_BROKEN_BACKOFF, SIM_ADVISE},
    {"number-only", "views are told apart by the number alone", MU_VIEW_BROKEN_HASH, SIM_VIEW},
    {"no-late-answer", "nobody answers for the view before", MU_VIEW_BROKEN_LATE, SIM_VIEW},
    {"forget-ahead", "a message of the next view is forgotten", MU_VIEW_BROKEN_EARLY, SIM_VIEW},
    {"death-let-be", "a death that was not decided is let be", MU_VIEW_BROKEN_AGAIN, SIM_VIEW},
    {"last-majority", "a majority of the last view is enough", MU_VIEW_BROKEN_LAST, SIM_VIEW},
    {"any-half", "any half goes on", MU_VIEW_BROKEN_TIE, SIM_VIEW},
    {"proven-counted", "proven deaths count as silent ones", MU_VIEW_BROKEN_COUNTED, SIM_VIEW},
    {"silent-uncounted", "silent deaths leave the count", MU_VIEW_BROKEN_UNCOUNTED, SIM_VIEW},
    {"no-last-word", "a proven death leaves the count, whatever the last word", MU_VIEW_BROKEN_WORD,
     SIM_VIEW},
    {"told-early", "a view is told when it is installed", MU_VIEW_BROKEN_STABLE, SIM_VIEW},
    {"no-follow", "a change is followed by no second agreement", MU_VIEW_BROKEN_FOLLOW, SIM_VIEW},
    {"lease-unasked", "a node without lease sends and installs", MU_VIEW_BROKEN_LEASE, SIM_VIEW},
    {"join-outside", "the sponsor takes a joiner in by itself", MU_VIEW_BROKEN_OUTSIDE, SIM_VIEW},
    {"next-welcome", "a WELCOME of the direct successor is taken", MU_VIEW_BROKEN_NEWER, SIM_VIEW},
    {"provisional-tells", "a provisional node tells its view", MU_VIEW_BROKEN_DELIVERS, SIM_VIEW},
    {"nobody-fenced", "nobody is told that it is out", MU_VIEW_BROKEN_NO_FENCE, SIM_VIEW},
    {"no-beats", "no heartbeat goes to the silent dead", MU_VIEW_BROKEN_BEATS, SIM_VIEW},
    {"one-asked", "a joiner asks one member, and no other", MU_VIEW_BROKEN_ONE_ASKED, SIM_VIEW},
    {"old-incarnation", "who comes back has its old incarnation", MU_VIEW_BROKEN_RETURN, SIM_VIEW},
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

const char *sim_mutant_of_name(enum sim_mutant_of of)
{
    switch (of) {
    case SIM_SPREAD:
        return "spread";
    case SIM_RING:
        return "ring";
    case SIM_CENTRAL:
        return "central";
    case SIM_AGREE:
        return "agree";
    case SIM_GATHER:
        return "gather";
    case SIM_VIEW:
        return "view";
    case SIM_ADVISE:
        return "advise";
    }
    abort();
}

/* Random worlds, until one of them shows it. */
static void try_worlds(const struct sim_mutant *mutant, uint32_t nodes_last, uint64_t seeds,
                       struct sim_mutant_result *result)
{
    static sim_check_one *const worlds[] = {
        [SIM_SPREAD] = sim_check_spread_one,   [SIM_RING] = sim_check_ring_one,
        [SIM_CENTRAL] = sim_check_central_one, [SIM_AGREE] = sim_check_agree_one,
        [SIM_ADVISE] = sim_check_advise_one,   [SIM_VIEW] = sim_check_view_one,
    };
    static const char *const names[] = {
        [SIM_SPREAD] = "check spread",   [SIM_RING] = "check ring",
        [SIM_CENTRAL] = "check central", [SIM_AGREE] = "check agree",
        [SIM_ADVISE] = "check advise",   [SIM_VIEW] = "check view",
    };
    struct sim_check check = {.nodes_first = 2,
                              .nodes_last = nodes_last,
                              .seeds_first = 1,
                              .seeds_last = seeds,
                              .broken_rules = mutant->rule};
    struct sim_check_result seen;
    sim_check_all(&check, worlds[mutant->of], true, &seen);
    result->caught = seen.violations > 0;
    result->by = names[mutant->of];
    result->seed = seen.seed;
    result->nodes = seen.nodes;
    memcpy(result->law, seen.law, sizeof result->law);
    memcpy(result->message, seen.message, sizeof result->message);
}

static void explore_spreads(const struct sim_mutant *mutant, struct sim_mutant_result *result)
{
    struct explore_options options = {.seconds_max = 20, .memory_bytes = 1ull << 30};
    struct explore_result found;

    struct explore_link link = {.posts = 2, .resets = 2, .window = 2, .broken_rules = mutant->rule};
    explore_link(&link, &options, &found);
    result->nodes = 2;
    note_explore(&found, "explore link", result);
    for (uint32_t room = 1; !result->caught && room <= 2; room++) {
        link = (struct explore_link){
            .posts = room, .window = 2, .room = room, .broken_rules = mutant->rule};
        explore_link(&link, &options, &found);
        note_explore(&found, "explore link", result);
    }
    for (uint32_t nodes = 2; !result->caught && nodes <= 4; nodes++) {
        struct explore_spread spread = {
            .nodes = nodes, .crashes = nodes - 1, .posts = 1, .broken_rules = mutant->rule};
        explore_spread(&spread, &options, &found);
        result->nodes = nodes;
        note_explore(&found, "explore spread", result);
    }
    for (uint32_t nodes = 2; !result->caught && nodes <= 3; nodes++) {
        struct explore_spread spread = {
            .nodes = nodes, .crashes = 1, .returns = 1, .posts = 1, .broken_rules = mutant->rule};
        explore_spread(&spread, &options, &found);
        result->nodes = nodes;
        note_explore(&found, "explore spread", result);
    }
}

/* From the smallest group on: the trace is short, and so is the time. */
static void explore_agrees(const struct sim_mutant *mutant, struct sim_mutant_result *result)
{
    static const struct explore_agree tries[] = {
        {.nodes = 2, .crashes = 1, .agreements = 1, .rounds = 1, .shift = 1},
        {.nodes = 3, .crashes = 1, .agreements = 1, .rounds = 1, .shift = 1},
        {.nodes = 2, .lapses = 1, .agreements = 1, .rounds = 1, .shift = 1},
        {.nodes = 2, .resets = 1, .agreements = 1, .rounds = 1, .shift = 1},
        {.nodes = 3, .crashes = 1, .proofs = 1, .agreements = 1, .rounds = 1, .shift = 1},
        {.nodes = 4, .crashes = 2, .agreements = 1, .rounds = 1, .shift = 1},
        {.nodes = 3, .crashes = 1, .agreements = 1, .rounds = 2, .shift = 1},
        {.nodes = 4, .crashes = 2, .agreements = 1, .rounds = 2, .shift = 1},
        {.nodes = 6, .crashes = 2, .agreements = 1, .rounds = 1, .shift = 1, .calls_first = true},
    };
    struct explore_options options = {.seconds_max = 300, .memory_bytes = 4ull << 30};
    for (size_t i = 0; !result->caught && i < sizeof tries / sizeof tries[0]; i++) {
        struct explore_agree agree = tries[i];
        struct explore_result found;
        agree.broken_rules = mutant->rule;
        options.any_trace = agree.nodes > 4; /* the shortest takes long there */
        explore_agree(&agree, &options, &found);
        result->nodes = agree.nodes;
        note_explore(&found, "explore agree", result);
    }
}

static void explore_gathers(const struct sim_mutant *mutant, struct sim_mutant_result *result)
{
    struct explore_options options = {.seconds_max = 60, .memory_bytes = 1ull << 30};
    for (uint32_t rounds = 1; !result->caught && rounds <= 2; rounds++)
        for (uint32_t nodes = 2; !result->caught && nodes <= 4; nodes++) {
            struct explore_gather gather = {.nodes = nodes,
                                            .crashes = nodes - 1,
                                            .rounds = rounds,
                                            .shift = 1,
                                            .broken_rules = mutant->rule};
            struct explore_result found;
            explore_gather(&gather, &options, &found);
            result->nodes = nodes;
            note_explore(&found, "explore gather", result);
        }
}

/* Most need no more than three nodes. */
static void explore_views(const struct sim_mutant *mutant, struct sim_mutant_result *result)
{
    static const struct explore_view tries[] = {
        {.nodes = 3, .crashes = 2, .shift = 1},
        {.nodes = 3, .crashes = 2, .proofs = 2, .shift = 1},
        {.nodes = 2, .cuts = 1, .heals = true, .shift = 1},
        {.nodes = 3, .crashes = 1, .stalls = 1, .shift = 1},
        {.nodes = 2, .joiners = 1, .shift = 1},
        {.nodes = 2, .joiners = 1, .crashes = 1, .shift = 1},
        {.nodes = 2, .crashes = 1, .returns = 1, .shift = 1},
        {.nodes = 4, .crashes = 2, .shift = 1},
        {.nodes = 3, .crashes = 1, .cuts = 1, .heals = true, .shift = 1},
        {.nodes = 3, .crashes = 1, .proofs = 1, .cuts = 1, .heals = true, .shift = 1},
        {.nodes = 2, .joiners = 1, .cuts = 1, .heals = true, .shift = 1},
        {.nodes = 2, .crashes = 1, .returns = 1, .cuts = 1, .heals = true, .shift = 1},
        {.nodes = 4, .crashes = 1, .stalls = 1, .shift = 1},
        {.nodes = 4, .cuts = 1, .heals = true, .shift = 1},
        {.nodes = 3, .joiners = 1, .crashes = 1, .shift = 1},
        {.nodes = 4, .crashes = 1, .cuts = 1, .heals = true, .shift = 1},
    };
    struct explore_options options = {.seconds_max = 120, .memory_bytes = 4ull << 30};
    for (size_t i = 0; !result->caught && i < sizeof tries / sizeof tries[0]; i++) {
        struct explore_view view = tries[i];
        struct explore_result found;
        view.broken_rules = mutant->rule;
        options.any_trace = view.nodes + view.joiners > 3; /* the shortest takes long there */
        explore_view(&view, &options, &found);
        result->nodes = view.nodes;
        note_explore(&found, "explore view", result);
    }
}

void sim_mutant_try(const struct sim_mutant *mutant, struct sim_mutant_result *result)
{
    memset(result, 0, sizeof *result);
    if (mutant->of == SIM_SPREAD)
        explore_spreads(mutant, result);
    else if (mutant->of == SIM_AGREE)
        explore_agrees(mutant, result);
    else if (mutant->of == SIM_GATHER)
        explore_gathers(mutant, result);
    else if (mutant->of == SIM_VIEW)
        explore_views(mutant, result);
    else if (mutant->of == SIM_ADVISE) /* small and harsh worlds find most */
        try_worlds(mutant, 7, 20000, result);
    if (!result->caught && mutant->of == SIM_VIEW)
        try_worlds(mutant, 5, 20000, result);
    else if (!result->caught && mutant->of != SIM_GATHER)
        try_worlds(mutant, 64, mutant->of == SIM_ADVISE ? 500 : 5000, result);
}
