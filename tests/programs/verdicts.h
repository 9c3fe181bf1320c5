/* Faults on real networks, and what everybody must be told of them: one table, which is run as a
 * test and printed as a page.
 *
 * tests/system/verdicts.table has the words; verdicts_table.c reads them. */
#ifndef TESTS_VERDICTS_H
#define TESTS_VERDICTS_H

#include "trial.h"

#include <stdio.h>

enum {
    NODES = 8,
    EACH = 2, /* processes of a node */
    RANKS = NODES * EACH,
    ROWS_MAX = 40,
    STEPS_MAX = 12,
    EVENTS_MAX = 64, /* that one process is told */
    TEXT_MAX = 256
};

/* ---- the table ---- */

/* So many timeouts and periods. */
struct span {
    double timeouts, periods;
    char text[64];
};

enum act {
    ACT_KILL_PROCESS,
    ACT_EXIT_PROCESS,
    ACT_KILL,
    ACT_STOP,
    ACT_RESUME,
    ACT_FREEZE,
    ACT_CUT,   /* nodes from peers; with all peers, from the launcher, too */
    ACT_SPLIT, /* nodes from all others; the launcher is with these */
    ACT_HEAL,
    ACT_FLAP, /* a cut of nodes from all, so often */
    ACT_LOAD, /* more busy processes than there are cores */
    ACT_CLOCK /* the daemons' wall clock is an hour ahead */
};

enum step_type { STEP_DO, STEP_TOLD, STEP_NOTHING, STEP_ENDS };

struct step {
    enum step_type type;
    char text[TEXT_MAX]; /* as it stands in the table, without its first word */
    /* STEP_DO */
    enum act act;
    uint32_t nodes, peers; /* bit n: node n */
    uint32_t rank;
    bool in, out; /* what is lost of the nodes */
    bool all;     /* everybody is a peer, the launcher too */
    struct span down, up;
    uint32_t times;
    /* the others: 'nodes' are told, or end */
    bool is_node;      /* it is told of nodes; else of a process */
    uint32_t subjects; /* bit n: node n, or the one rank */
    bool one_of;       /* it is one of these nodes, the same for everybody */
    char verdict[16];
    struct span from, until;
};

struct row {
    char name[32];
    char title[TEXT_MAX], why[2 * TEXT_MAX];
    char needs[16]; /* "", "cgroup" or "faketime" */
    struct step steps[STEPS_MAX];
    uint32_t step_count;
};

struct table {
    char head[4096]; /* of the page */
    struct row rows[ROWS_MAX];
    uint32_t count;
};

/* Exits with 2 and says which line breaks which rule. */
void table_read(struct table *table, const char *path);

/* The page: docs/reference/verdicts.md. */
void table_print(const struct table *table, uint64_t period_ns, uint64_t timeout_ns);

/* "0-2,5" */
const char *nodes_text(uint32_t nodes, char text[TEXT_MAX]);

/* ---- what is done ---- */

struct rig {
    struct trial trial;
    uint64_t period_ns, timeout_ns;
    pid_t daemons[NODES], processes[RANKS];
    uint64_t begin_ns, end_ns; /* of the last thing that was done */
    uint64_t worst_down_ns;    /* of a flap: how long it was cut off in one piece, at most */
    char clock[2048];          /* the file with the daemons' wall clock */
};

uint64_t span_ns(const struct rig *rig, const struct span *span);

/* Faults come when they are due: this process has real-time priority from here on, and so have its
 * children, or not.  Returns 0, or why not. */
int act_come_first(bool children);

/* NULL, or what is missing on this host. */
const char *act_needs_error(const char *needs);

/* Does it, and takes the time.  NULL, or what failed. */
const char *act_do(struct rig *rig, const struct step *step);

/* Takes everything back that outlives the machine. */
void act_undo(struct rig *rig);

/* After the last case: nothing of ours is left on the host. */
void act_close(void);

/* ---- what is told ---- */

struct told {
    bool is_node;
    uint32_t subject, by;
    char verdict[16];
    uint64_t at_ns;
    bool expected;
};

struct witness {
    bool there, over, broken;
    pid_t pid;
    struct told told[EVENTS_MAX];
    uint32_t count;
};

/* What every process has noted so far. */
void watch_read(const struct rig *rig, struct witness witnesses[RANKS]);

/* Marks what this step explains, and says nothing more about it: it was judged before. */
void watch_explain(const struct step *step, struct witness witnesses[RANKS]);

/* Marks what this step explains.  NULL: all of it has come, and in time.  Else
 * what is missing or wrong in 'text'; *hopeless: more time does not help. */
const char *watch_judge(const struct rig *rig, const struct step *step,
                        struct witness witnesses[RANKS], char text[TEXT_MAX], bool *hopeless);

/* NULL, or what somebody was told and nothing explains.  On nodes that have 'ended' muster may fail
 * before the processes do. */
const char *watch_surplus(const struct witness witnesses[RANKS], uint32_t ended,
                          char text[TEXT_MAX]);

#endif
