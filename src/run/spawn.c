/* Further jobs that processes of a run have asked for (MPI_Comm_spawn).
 *
 * Every daemon that has one job of the run has all of them, because processes of two jobs meet at
 * it.  So a wish is served in two steps: daemons that are new to the run get the jobs that are
 * there already; then the new job starts, and is answered when all its processes have. */
#include "run/child.h"

#include "launch/map.h"

#include <stdlib.h>

/* Each has a connection to every node, and may have arguments of MU_LAUNCH_MESSAGE_MAX bytes. */
enum { CHILDREN_MAX = 1024 };

/* ---- all jobs of a run ---- */

struct job *run_job_of(const struct run *run, uint32_t number)
{
    if (run->job != NULL && job_number(run->job) == number)
        return run->job;
    for (const struct run_child *child = run->children; child != NULL; child = child->next)
        if (child->job != NULL && job_number(child->job) == number)
            return child->job;
    return NULL;
}

uint32_t run_left(const struct run *run)
{
    uint32_t left = run->job != NULL ? job_left(run->job) : 0;
    for (const struct run_child *child = run->children; child != NULL; child = child->next)
        left += child->job != NULL             ? job_left(child->job)
                : child->state != CHILD_FAILED ? child->size
                                               : 0;
    return left;
}

void run_stop_jobs(struct run *run, uint32_t grace_ms)
{
    if (!job_stopped(run->job))
        job_stop(run->job, grace_ms);
    for (struct run_child *child = run->children; child != NULL; child = child->next)
        if (child->job != NULL && !job_stopped(child->job))
            job_stop(child->job, grace_ms);
}

void run_signal_jobs(struct run *run, int number)
{
    job_signal(run->job, number);
    for (struct run_child *child = run->children; child != NULL; child = child->next)
        if (child->job != NULL)
            job_signal(child->job, number);
}

void run_each_job(const struct run *run, void (*visit)(struct run *run, const struct job *job))
{
    visit((struct run *)run, run->job);
    for (const struct run_child *child = run->children; child != NULL; child = child->next)
        if (child->job != NULL)
            visit((struct run *)run, child->job);
}

void run_credit(struct run *run, uint32_t source, uint64_t bytes)
{
    uint32_t index = source / run->options.nodes;
    mu_slot node = source % run->options.nodes;
    if (index == 0 && run->job != NULL)
        job_credit(run->job, node, bytes);
    for (struct run_child *child = run->children; child != NULL; child = child->next)
        if (child->index == index && child->job != NULL)
            job_credit(child->job, node, bytes);
}

/* ---- beginning ---- */

/* Does it live, and have all jobs of the run, or none that it would not have? */
static bool is_usable(const struct run *run, mu_slot node)
{
    if (!machine_alive(run->machine, node) || run->nodes[node].declared || run->nodes[node].said ||
        job_turned_away(run->job, node))
        return false;
    for (const struct run_child *child = run->children; child != NULL; child = child->next)
        if (child->job != NULL && job_turned_away(child->job, node))
            return false;
    return true;
}

/* Over the nodes that live now, in blocks. */
static bool place(struct run_child *child)
{
    const struct run *run = child->run;
    uint32_t nodes = run->options.nodes, living = 0;
    mu_slot *slots = calloc(nodes, sizeof *slots);
    if (child->runs == NULL)
        child->runs = calloc(nodes, sizeof *child->runs);
    if (slots == NULL || child->runs == NULL)
        abort();
    for (mu_slot node = 0; node < nodes; node++)
        if (is_usable(run, node))
            slots[living++] = node;
    child->run_count = living > 0 ? map_blocks(child->size, living, child->runs) : 0;
    for (uint32_t i = 0; i < child->run_count; i++)
        child->runs[i].slot = slots[child->runs[i].slot];
    free(slots);
    return living > 0;
}

static bool all_have_begun(const struct run *run)
{
    if (!job_has_begun(run->job))
        return false;
    for (const struct run_child *child = run->children; child != NULL; child = child->next)
        if (child->state == CHILD_STARTING || (child->job != NULL && !job_has_begun(child->job)))
            return false;
    return true;
}

/* Every daemon that it will be on gets the jobs that are there.  False with 'text'. */
static bool extend(struct run_child *child, char text[MACHINE_TEXT_MAX])
{
    struct run *run = child->run;
    for (uint32_t i = 0; i < child->run_count; i++) {
        mu_slot slot = child->runs[i].slot;
        if (!job_extend(run->job, slot, text))
            return false;
        for (struct run_child *other = run->children; other != NULL; other = other->next)
            if (other->job != NULL && !job_extend(other->job, slot, text))
                return false;
    }
    return true;
}

/* As long as a daemon is new to the run, that comes first: then everything is looked at again. */
static void begin(struct run_child *child)
{
    char text[MACHINE_TEXT_MAX];
    if (!place(child))
        run_child_fail(child, "no node is alive");
    else if (!extend(child, text))
        run_child_fail(child, text);
    else if (all_have_begun(child->run))
        run_child_start(child);
}

void run_spawn(struct run *run, struct job *asker, mu_slot node, uint32_t number, uint32_t rank,
               const struct mu_launch_job *wish)
{
    uint32_t count = 0;
    struct run_child **end = &run->children, *child;
    for (; *end != NULL; end = &(*end)->next)
        count++;
    *end = child = run_child_make(run, wish->size, wish->program_count, wish->programs);
    child->asker.job = job_number(asker);
    child->asker.rank = rank;
    child->asker.number = number;
    child->asker.node = node;
    if (count >= CHILDREN_MAX) {
        char text[MACHINE_TEXT_MAX];
        snprintf(text, sizeof text, "the run has %u further jobs, and the limit is %d at a time",
                 count, CHILDREN_MAX);
        run_child_fail(child, text);
    }
    run_look_soon(run);
}

/* ---- what comes next ---- */

static bool is_done(const struct run_child *child)
{
    const struct run *run = child->run;
    if (child->job == NULL)
        return child->state == CHILD_FAILED;
    bool unanswered = child->state == CHILD_STARTING && !run->stopping;
    if (!child->idle || unanswered)
        return false;
    return run->output_given_up ||
           (run_deaths_settled(child->deaths) &&
            (child->output == run->output || run_output_drained(child->output)));
}

/* Nobody would know of its job. */
static bool asker_has_ended(const struct run_child *child)
{
    const struct job *asker = run_job_of(child->run, child->asker.job);
    return asker == NULL || !job_hosts(asker, child->asker.node) ||
           job_state(asker, child->asker.rank) == JOB_ENDED;
}

/* One at a time is started, so that all see the jobs come in one order. */
static void step(struct run_child *child)
{
    struct run *run = child->run;
    if (child->state != CHILD_WANTED && child->state != CHILD_STARTING)
        return;
    if (child->state == CHILD_WANTED && run->stopping) {
        run_child_fail(child, "the run is ending");
    } else if (!run->stopping && asker_has_ended(child)) {
        run_child_fail(child, "the rank that requested it has ended");
    } else if (child->state == CHILD_WANTED && all_have_begun(run)) {
        begin(child);
    } else if (child->state == CHILD_STARTING && job_has_begun(child->job)) {
        child->state = CHILD_RUNS;
        run_child_answer(child, job_number(child->job), "");
        run_look_soon(run);
    }
}

void run_spawn_look(struct run *run)
{
    for (struct run_child **place_of = &run->children; *place_of != NULL;) {
        struct run_child *child = *place_of;
        if (run->job != NULL)
            step(child);
        if (!is_done(child)) {
            place_of = &child->next;
            continue;
        }
        *place_of = child->next;
        run_child_free(child);
    }
}
