/* One daemon, or the agent that starts it on another host, as our child: a pipe to its standard
 * input, its standard output line by line, and its end.  Its standard error is ours, or nobody's.
 */
#ifndef MU_LAUNCH_CHILD_H
#define MU_LAUNCH_CHILD_H

#include "wire/base/exit_kind.h"

#include <sys/types.h>
#include <uv.h>

enum { CHILD_LINE_MAX = 1024 }; /* a longer line is cut off */

struct child;

struct child_hooks {
    void (*line)(struct child *child, const char *line);
    /* Once: it has exited and is reaped; all its lines have come.  Where it has a witness, there is
     * no other process any more that could write one. */
    void (*ended)(struct child *child, const struct mu_exit_kind *how);
    /* Last, after child_close(). */
    void (*closed)(struct child *child);
};

/* Plain, so that it can stand in the caller's own struct. */
struct child {
    const struct child_hooks *hooks;
    void *owner;
    pid_t pid;
    bool has_witness; /* of its kind */
    bool exited, ended;
    struct mu_exit_kind how; /* EXITED */
    bool orders_open, closing;
    bool silent;     /* its standard output has ended */
    uint8_t handles; /* that are not closed yet */
    uv_pipe_t orders, answers;
    uv_poll_t exit;
    int pidfd;
    char incoming[CHILD_LINE_MAX];
    size_t used;
    char line[CHILD_LINE_MAX];
};

struct child_kind {
    bool is_mute; /* what it writes to standard error is lost */
    /* It is the witness of a daemon, which may outlive it, is of its process group, and alone has
     * its standard output. */
    bool has_witness;
};

/* Starts it, with our environment, default signals, no descriptors but 0, 1 and 2, and a session of
 * its own: Ctrl-C at the terminal is for us.  argv[0] without a slash is looked for in PATH.
 * Returns 0, or an errno with nothing started and nothing to close. */
int child_start(struct child *child, uv_loop_t *loop, const char *const *argv,
                const struct child_kind *kind, const struct child_hooks *hooks, void *owner);

/* To its standard input.  'text' is taken over, wiped and freed once it was written. */
void child_write(struct child *child, char *text, size_t count);

/* Its standard input ends. */
void child_hang_up(struct child *child);

/* To its process group: to a daemon as well as to its witness.  Without effect once it has ended.
 */
void child_signal(struct child *child, int number);

/* After 'ended'. */
void child_close(struct child *child);

#endif
