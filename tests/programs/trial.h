/* What trials of random events share: one job under 'muster run' that is disturbed, what its
 * processes (roll.c) noted, and whether anything is left of it. */
#ifndef TESTS_TRIAL_H
#define TESTS_TRIAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    TRIAL_RANKS_MAX = 64,
    TRIAL_NODES_MAX = 8,
    TRIAL_CHILDREN_MAX = 4096,
    TRIAL_SOCKET_MAX = 128
};

struct trial {
    const char *muster, *roll; /* paths of the command, and of what it runs */
    char folder[2048];         /* of this trial alone: notes, log */
    char mark[64];             /* NAME=VALUE, in the environment of all that is started */
    uint32_t nodes, ranks;
    const char *hostfile; /* where the nodes are; NULL: on this host */
    uint64_t clean_ms;    /* for everything to be gone after the launcher is */
    pid_t launcher;
    bool ended; /* the launcher has, with this status */
    int status;
    bool told_over;
};

/* ---- chance and time ---- */

/* The same numbers follow each time. */
void trial_seed(uint64_t seed, uint32_t number);
uint32_t trial_draw(uint32_t below);

uint64_t trial_now_ns(void);
void trial_pause_us(uint64_t us);

/* ---- what the kernel knows ---- */

/* In the order in which they were started.  Returns how many. */
uint32_t trial_children(pid_t pid, pid_t children[TRIAL_CHILDREN_MAX]);

/* The same for daemons: a launcher's child is a daemon's witness, whose only child is the daemon.
 */
uint32_t trial_daemons(pid_t launcher, pid_t daemons[TRIAL_CHILDREN_MAX]);

/* Does a file of /proc have these bytes? */
bool trial_file_has(const char *path, const char *bytes);

/* Is this process there, not ended, and of this trial?  Its number may be another's by now. */
bool trial_has_process(const struct trial *trial, pid_t pid);

/* ---- the job ---- */

/* Makes the folder and runs 'muster run' with 'flags' (up to NULL) and the job; its output goes to
 * FOLDER/log.  Returns 0 or an errno. */
int trial_start(struct trial *trial, const char *const *flags);

/* Has the launcher ended? */
bool trial_has_ended(struct trial *trial);

/* Tells every process that it is over. */
void trial_say_over(struct trial *trial);

/* Waits for the end of the launcher; returns whether it came. */
bool trial_wait_for_end(struct trial *trial, uint64_t limit_ms);

/* After a failure: ends what is left, and waits for the launcher. */
void trial_end(struct trial *trial);

/* NULL, or what is left, with its number: a process, a socket of a daemon. */
const char *trial_left(const struct trial *trial, long *number);

void trial_remove_folder(const struct trial *trial);

/* ---- what a process has noted ---- */

struct trial_notes {
    bool there, over, broken;
    pid_t pid;
    uint32_t node;
    char socket[TRIAL_SOCKET_MAX];
    uint32_t dead[TRIAL_RANKS_MAX], left[TRIAL_RANKS_MAX]; /* how often it was told so of a rank */
    uint32_t nodes[TRIAL_NODES_MAX];                       /* the same of a node's death */
};

void trial_read_notes(const struct trial *trial, uint32_t rank, struct trial_notes *notes);

/* The node that a rank runs on. */
uint32_t trial_home(const struct trial *trial, uint32_t rank);

/* NULL, or which rule the notes break by themselves, with the rank or node: nobody is told of one
 * death twice, and no survivor of its own. */
const char *trial_notes_error(const struct trial *trial, const struct trial_notes *notes,
                              uint32_t rank, long *number);

#endif
