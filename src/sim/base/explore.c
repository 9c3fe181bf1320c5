#include "sim/base/explore.h"

#include "sim/base/memory.h"
#include "sim/base/visited.h"
#include "sim/base/wall.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 4096, PROGRESS_EVERY = 1 << 14 };

/* One state on the way down: how it looked, and which of its actions comes next. */
struct level {
    void *saved;
    struct explore_action *actions;
    uint32_t count, next;
    uint64_t cuts; /* places where the action taken last is still to be cut short */
    struct explore_action taken;
    struct mu_fingerprint print;
};

struct search {
    struct explore_model *model;
    const struct explore_options *options;
    struct explore_result *result;
    struct visited visited;
    struct level *levels;
    uint64_t depth;
    uint64_t limit;   /* no deeper than this */
    bool reached;     /* the limit cut something off */
    bool shortest;    /* looking for the shortest trace: a state counts again when met earlier */
    bool out_of_room; /* of memory or time */
    double start_s;
};

static void search_init(struct search *search, struct explore_model *model,
                        const struct explore_options *options, struct explore_result *result)
{
    *search = (struct search){.model = model,
                              .options = options,
                              .result = result,
                              .limit = DEPTH_MAX - 1,
                              .start_s = sim_wall_s()};
    visited_init(&search->visited, options->memory_bytes);
    search->levels = sim_calloc(DEPTH_MAX, sizeof *search->levels);
}

static void search_free(struct search *search)
{
    visited_free(&search->visited);
    for (uint64_t i = 0; i < DEPTH_MAX; i++) {
        free(search->levels[i].saved);
        free(search->levels[i].actions);
    }
    free(search->levels);
}

/* Saves the present state as the level to go on from. */
static void enter(struct search *search)
{
    struct level *level = &search->levels[search->depth];
    if (level->saved == NULL) {
        level->saved = sim_calloc(1, search->model->state_bytes);
        level->actions = sim_calloc(EXPLORE_ACTIONS_MAX, sizeof *level->actions);
    }
    memcpy(level->saved, search->model->state, search->model->state_bytes);
    level->count = search->model->actions(search->model, level->actions);
    assert(level->count <= EXPLORE_ACTIONS_MAX);
    level->next = 0;
    level->cuts = 0;
}

/* Takes the next action of the level: whole first, then cut short at each place where that makes a
 * difference.  Returns false when the level is used up. */
static bool take_next(struct search *search, struct level *level)
{
    struct explore_model *model = search->model;
    if (level->cuts != 0) {
        level->taken = level->actions[level->next - 1];
        level->taken.cut = (uint8_t)__builtin_ctzll(level->cuts);
        level->cuts &= level->cuts - 1;
        model->take(model, &level->taken);
        return true;
    }
    if (level->next == level->count)
        return false;
    level->taken = level->actions[level->next++];
    model->take(model, &level->taken);
    level->cuts = model->cuts(model);
    return true;
}

static void note(struct explore_result *result, const char *law, const char *message)
{
    result->violations = 1;
    snprintf(result->law, sizeof result->law, "%s", law);
    snprintf(result->message, sizeof result->message, "%s", message);
}

/* Is it one of the states on the way to the present one? */
static bool is_on_the_way(const struct search *search, const struct mu_fingerprint *print)
{
    for (uint64_t i = 0; i < search->depth; i++)
        if (search->levels[i].print.a == print->a && search->levels[i].print.b == print->b)
            return true;
    return false;
}

/* Checks and counts the present state.  Returns true when the search goes on below it. */
static bool meet(struct search *search)
{
    struct explore_result *result = search->result;
    char message[256];
    const char *law = search->model->check(search->model, message);
    if (law != NULL) {
        note(result, law, message);
        return false;
    }
    struct mu_fingerprint print;
    mu_fingerprint_init(&print);
    search->model->fingerprint(search->model, &print);
    switch (visited_add(&search->visited, &print, search->depth, search->shortest)) {
    case VISITED_NEW:
        break;
    case VISITED_SEEN:
        if (search->model->is_acyclic && is_on_the_way(search, &print))
            note(result, "cycle", "the same state comes again");
        return false;
    case VISITED_FULL:
        search->out_of_room = true;
        return false;
    }
    if (search->depth >= search->limit) {
        search->reached = true;
        return false;
    }
    search->levels[search->depth].print = print;
    return true;
}

static bool should_stop(struct search *search)
{
    struct explore_result *result = search->result;
    const struct explore_options *options = search->options;
    if (result->transitions % PROGRESS_EVERY == 0) {
        if (options->progress != NULL)
            options->progress(search->visited.count, result->transitions);
        if (options->seconds_max > 0 &&
            sim_wall_s() - search->start_s > (double)options->seconds_max)
            search->out_of_room = true;
    }
    return result->violations > 0 || search->out_of_room;
}

/* Depth first from the present state, which stays as it is. */
static void run(struct search *search)
{
    struct explore_model *model = search->model;
    search->depth = 0;
    if (!meet(search))
        return;
    enter(search);
    for (;;) {
        struct level *level = &search->levels[search->depth];
        if (!take_next(search, level)) {
            if (search->depth == 0)
                return;
            search->depth--;
            memcpy(model->state, search->levels[search->depth].saved, model->state_bytes);
            continue;
        }
        search->result->transitions++;
        search->depth++;
        if (search->depth > search->result->depth_max)
            search->result->depth_max = search->depth;
        bool below = meet(search);
        if (should_stop(search))
            return;
        if (below) {
            enter(search);
        } else {
            search->depth--;
            memcpy(model->state, search->levels[search->depth].saved, model->state_bytes);
        }
    }
}

static void print_trace(struct search *search)
{
    FILE *to = search->options->trace;
    struct explore_model *model = search->model;
    if (to == NULL)
        return;
    fprintf(to, "%s to a broken law:\n", search->options->any_trace ? "a trace" : "shortest trace");
    for (uint64_t i = 0; i < search->depth; i++) {
        char text[128];
        memcpy(model->state, search->levels[i].saved, model->state_bytes);
        model->describe(model, &search->levels[i].taken, text);
        fprintf(to, "%4llu  %s\n", (unsigned long long)(i + 1), text);
    }
    fprintf(to, "%s is broken: %s\n", search->result->law, search->result->message);
}

/* Deeper and deeper, until the violation that is known to exist is met. */
static void find_shortest(struct explore_model *model, const struct explore_options *options,
                          double start_s, struct explore_result *result)
{
    void *start = sim_calloc(1, model->state_bytes);
    memcpy(start, model->state, model->state_bytes);
    for (uint64_t limit = 0; limit < DEPTH_MAX; limit++) {
        struct explore_result found = {0};
        struct search search;
        search_init(&search, model, options, &found);
        search.start_s = start_s;
        search.limit = limit;
        search.shortest = true;
        memcpy(model->state, start, model->state_bytes);
        run(&search);
        if (found.violations > 0) {
            result->trace_length = (uint32_t)search.depth;
            memcpy(result->law, found.law, sizeof result->law);
            memcpy(result->message, found.message, sizeof result->message);
            print_trace(&search);
        }
        search_free(&search);
        if (found.violations > 0 || search.out_of_room)
            break;
    }
    free(start);
}

void explore(struct explore_model *model, const struct explore_options *options,
             struct explore_result *result)
{
    memset(result, 0, sizeof *result);
    void *start = sim_calloc(1, model->state_bytes);
    memcpy(start, model->state, model->state_bytes);
    struct search search;
    search_init(&search, model, options, result);
    run(&search);
    result->states = search.visited.count;
    result->trace_length = (uint32_t)search.depth;
    if (result->violations > 0 && options->any_trace)
        print_trace(&search);
    result->complete = result->violations == 0 && !search.out_of_room && !search.reached;
    search_free(&search);
    memcpy(model->state, start, model->state_bytes);
    if (result->violations > 0 && !options->any_trace)
        find_shortest(model, options, sim_wall_s(), result);
    memcpy(model->state, start, model->state_bytes);
    free(start);
    result->wall_s = sim_wall_s() - search.start_s;
    result->rss_mib = sim_peak_rss_mib();
}
