/* Signals to daemons and their processes.  Through pidfds: a number may be another's by then. */
#define _GNU_SOURCE
#include "stops.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_process(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool send_signal(int process, int number)
{
    return syscall(SYS_pidfd_send_signal, process, number, NULL, 0) == 0;
}

bool stops_has_exited(const struct node *node)
{
    return poll(&(struct pollfd){.fd = node->daemon, .events = POLLIN}, 1, 0) == 1;
}

/* ---- daemons ---- */

bool stops_find_daemons(struct cycle *cycle)
{
    static pid_t children[TRIAL_CHILDREN_MAX];
    uint32_t count = trial_daemons(cycle->trial.launcher, children);
    cycle->why = "so many daemons are there:";
    cycle->number = count;
    for (uint32_t n = 0; count >= cycle->trial.nodes && n < cycle->trial.nodes; n++)
        cycle->nodes[n].daemon = open_process(children[n]); /* it starts them in this order */
    return count >= cycle->trial.nodes;
}

void stops_close(struct cycle *cycle)
{
    for (uint32_t n = 0; n < cycle->trial.nodes; n++)
        if (cycle->nodes[n].daemon >= 0)
            close(cycle->nodes[n].daemon);
    for (uint32_t i = 0; i < cycle->stop_count; i++)
        for (uint32_t k = 0; !cycle->stops[i].over && k < cycle->stops[i].process_count; k++)
            close(cycle->stops[i].processes[k]);
}

/* ---- stops and kills ---- */

static bool is_stopped(const struct cycle *cycle, uint32_t slot)
{
    for (uint32_t i = 0; i < cycle->stop_count; i++)
        if (cycle->stops[i].slot == slot && !cycle->stops[i].over)
            return true;
    return false;
}

static void stop_processes(const struct cycle *cycle, struct stop *stop)
{
    for (uint32_t r = 0; r < cycle->trial.ranks && stop->process_count < PROCESSES_MAX; r++) {
        struct trial_notes notes;
        if (trial_home(&cycle->trial, r) != stop->slot)
            continue;
        trial_read_notes(&cycle->trial, r, &notes);
        int process = notes.there ? open_process(notes.pid) : -1;
        if (process < 0)
            continue;
        /* From here on the number is its own, if it was a moment ago. */
        if (trial_has_process(&cycle->trial, notes.pid) && send_signal(process, SIGSTOP))
            stop->processes[stop->process_count++] = process;
        else
            close(process);
    }
}

/* Somebody has to be left who notices that others are stopped for good: a node that was never
 * disturbed. */
static bool is_last_witness(const struct cycle *cycle, const struct action *action, uint32_t slot)
{
    bool for_good = action->what != KILL && action->for_ns == FOR_GOOD_NS;
    bool disturbed[TRIAL_NODES_MAX] = {false};
    disturbed[slot] = true;
    for (uint32_t i = 0; i < cycle->stop_count; i++) {
        for_good |= cycle->stops[i].due_ns == FOR_GOOD_NS;
        disturbed[cycle->stops[i].slot] = true;
    }
    bool others = false;
    for (uint32_t n = 0; n < cycle->trial.nodes; n++)
        others |= !disturbed[n] && !cycle->nodes[n].killed;
    return for_good && !others;
}

static void stop_node(struct cycle *cycle, const struct action *action, uint32_t slot)
{
    struct node *node = &cycle->nodes[slot];
    if (node->killed || is_stopped(cycle, slot) || is_last_witness(cycle, action, slot))
        return;
    struct stop *stop = &cycle->stops[cycle->stop_count];
    *stop = (struct stop){.slot = slot, .when = action->when, .from_ns = trial_now_ns()};
    if (!send_signal(node->daemon, SIGSTOP))
        return;
    cycle->stop_count++;
    stop->begun_ns = trial_now_ns();
    stop->due_ns = action->for_ns == FOR_GOOD_NS ? FOR_GOOD_NS : stop->from_ns + action->for_ns;
    if (action->what == STOP_WITH_PROCESSES)
        stop_processes(cycle, stop);
}

static void go_on(struct cycle *cycle, struct stop *stop)
{
    stop->ending_ns = trial_now_ns();
    send_signal(cycle->nodes[stop->slot].daemon, SIGCONT);
    stop->until_ns = trial_now_ns();
    stop->over = true;
    for (uint32_t i = 0; i < stop->process_count; i++) {
        send_signal(stop->processes[i], SIGCONT);
        close(stop->processes[i]);
    }
}

void stops_carry_out(struct cycle *cycle, const struct action *action)
{
    uint32_t next = (action->slot + 1) % cycle->trial.nodes;
    struct node *node = &cycle->nodes[action->slot];
    node->touched_at_end |= action->when == ENDING;
    switch (action->what) {
    case STOP:
    case STOP_WITH_PROCESSES:
        stop_node(cycle, action, action->slot);
        return;
    case STOP_TWO:
        cycle->nodes[next].touched_at_end |= action->when == ENDING;
        stop_node(cycle, action, action->slot);
        stop_node(cycle, action, next);
        return;
    case KILL:
        if (node->killed || is_last_witness(cycle, action, action->slot))
            return;
        node->killed_ns = trial_now_ns();
        node->killed = send_signal(node->daemon, SIGKILL);
        node->killed_at_start |= node->killed && action->when == STARTING;
        return;
    case WHATS:
        break;
    }
    abort();
}

uint64_t stops_tend(struct cycle *cycle)
{
    uint64_t next_ns = UINT64_MAX;
    for (uint32_t i = 0; i < cycle->stop_count; i++) {
        struct stop *stop = &cycle->stops[i];
        if (!stop->over && stop->due_ns <= trial_now_ns())
            go_on(cycle, stop);
        if (!stop->over && stop->due_ns < next_ns)
            next_ns = stop->due_ns;
    }
    return next_ns;
}
