/* One cycle of random_stops: its plan, what was done, and what that allows and demands. */
#ifndef TESTS_STOPS_H
#define TESTS_STOPS_H

#include "trial.h"

enum {
    ACTIONS_MAX = 5,
    STOPS_MAX = 2 * ACTIONS_MAX,
    PROCESSES_MAX = 8 /* that are stopped with one daemon */
};

#define MS          UINT64_C(1000000)
#define FOR_GOOD_NS UINT64_MAX

enum what { STOP, STOP_WITH_PROCESSES, STOP_TWO, KILL, WHATS };
enum when { STARTING, RUNNING, ENDING, WHENS };
enum length { SHORT, BETWEEN, LONG, FOR_GOOD, LENGTHS };

extern const char *const what_words[WHATS], *const when_words[WHENS], *const length_words[LENGTHS];

struct action {
    enum what what;
    enum when when;
    enum length length;
    uint32_t slot;
    uint64_t after_ns; /* the action before of the same phase, or its beginning */
    uint64_t for_ns;
};

/* A stop is as long as it was, not as long as it was meant to be: at least 'begun' to 'ending', at
 * most 'from' to 'until'. */
struct stop {
    uint32_t slot;
    enum when when;
    uint64_t due_ns;              /* SIGCONT */
    uint64_t from_ns, begun_ns;   /* before and after SIGSTOP */
    uint64_t ending_ns, until_ns; /* before and after SIGCONT */
    bool over;
    int processes[PROCESSES_MAX]; /* pidfds of those that were stopped with it */
    uint32_t process_count;
};

struct node {
    int daemon; /* its pidfd */
    bool killed, killed_at_start;
    uint64_t killed_ns;
    bool touched_at_end;
    bool dead;         /* by what processes have noted, or by our hand */
    bool was_dead;     /* the same, when the job was told to end */
    uint32_t reported; /* how often */
};

struct cycle {
    struct trial trial;
    uint64_t period_ns, timeout_ns;
    struct action actions[ACTIONS_MAX];
    uint32_t action_count;
    struct node nodes[TRIAL_NODES_MAX];
    struct stop stops[STOPS_MAX]; /* in the order in which they began */
    uint32_t stop_count;
    uint64_t lag_ns; /* the worst of the machine in this cycle */
    const char *why; /* what is not yet as it should be, and its number */
    long number;
};

/* ---- stops_plan.c ---- */

/* Heartbeats, and all that is drawn from them, are 'times' as slow. */
void stops_plan(struct cycle *cycle, uint64_t times);

/* Says what failed, what was planned and what was done.  Returns 1. */
int stops_fail(const struct cycle *cycle, const char *what, long number);

/* ---- stops_act.c ---- */

/* Finds the daemons, which are the launcher's children; false: not all of them are there. */
bool stops_find_daemons(struct cycle *cycle);
void stops_close(struct cycle *cycle);

void stops_carry_out(struct cycle *cycle, const struct action *action);

/* Whoever is due goes on.  Returns when the next one is. */
uint64_t stops_tend(struct cycle *cycle);

bool stops_has_exited(const struct node *node);

/* ---- stops_law.c ---- */

/* The machine itself stood still for longer than any law allows. */
bool stops_is_stalled(const struct cycle *cycle);

/* It was killed, or stopped for longer than timeout - period.  The other: for so long, while the
 * job ran, that somebody must have noticed. */
bool stops_may_be_declared(const struct cycle *cycle, uint32_t slot);
bool stops_must_be_declared(const struct cycle *cycle, uint32_t slot);

bool stops_is_for_good(const struct cycle *cycle, uint32_t slot);

/* No machine, because a daemon was dead before it was complete; or no node is left. */
bool stops_may_end_early(const struct cycle *cycle);

/* Has every process noted that it is there?  False: 'why' says who has not; below, too. */
bool stops_are_up(struct cycle *cycle);

/* Does nobody stay stopped, except for good? */
bool stops_are_over(struct cycle *cycle);

/* Was whoever should be declared dead declared, does everybody know, and is it over there? */
bool stops_are_settled(struct cycle *cycle);

/* ---- stops_check.c ---- */

/* What processes, daemons and the launcher have written down by the end.  Returns 0, or 1 and has
 * said which law is broken. */
int stops_check(struct cycle *cycle);

/* The same when there was no job. */
int stops_check_log(struct cycle *cycle);

#endif
