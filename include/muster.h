/* muster: who of a parallel job is still there.
 *
 * A process that 'muster run' started opens its job, and from then on reads every change: first
 * what has already happened, then each death as it becomes known, without a gap.
 *
 *     struct muster *m;
 *     struct muster_error error;
 *     if (muster_open(&m, &error) != 0) { fprintf(stderr, "%s\n", error.text); exit(1); }
 *     struct muster_event event;
 *     while (muster_next(m, &event, MUSTER_FOREVER, &error) == 1)
 *         printf("%s\n", event.text);
 *     muster_close(m);
 *
 * Threads: every function may be called from any thread, also on one handle at once; an event is
 * given to one of those that wait, and nobody waits for another.  muster_close() is for the last
 * one.  There are no threads, signal handlers or variables of the library's own.
 * fork(): the handle belongs to the process that opened it.  In a child muster_next() fails with
 * MUSTER_E_FORKED, muster_fd() is -1, the numbers stay, and muster_close() frees the child's copy
 * and leaves the parent's alone.  A child may open its own.
 * exec(): a new program inherits nothing, every descriptor is close-on-exec.  None is 0, 1 or 2.
 * A handle has three.
 * Signals: a call that a signal interrupts goes on.  Nothing here raises SIGPIPE.
 * errno is left as it was.  muster_open() reads the environment: not while it is changed.
 *
 * What grows: a new field takes the place of something reserved, which is 0 until then; new types
 * and verdicts get new numbers, so skip those that you don't know.  Whatever else would change a
 * struct gets a new soname. */
#ifndef MUSTER_H
#define MUSTER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

struct muster;

enum muster_code {
    MUSTER_E_NONE = 0,
    MUSTER_E_NOT_A_MEMBER, /* not started by muster: the environment does not say which job */
    MUSTER_E_NO_DAEMON,    /* the daemon of this node cannot be reached, or is gone */
    MUSTER_E_REFUSED,      /* the daemon does not know this process, or is of another user */
    MUSTER_E_VERSION,      /* library and daemon do not speak the same version */
    MUSTER_E_FORKED,       /* the handle is of another process */
    MUSTER_E_PROTOCOL,     /* the daemon said what cannot be */
    MUSTER_E_SYSTEM        /* memory, descriptors: 'text' says which */
};

struct muster_error {
    int code;       /* enum muster_code */
    char text[256]; /* one sentence, with the value and the rule */
};

enum muster_verdict {
    MUSTER_DEAD = 1,     /* gone, proven */
    MUSTER_SILENT,       /* a node that nobody hears */
    MUSTER_UNREACHABLE,  /* a node that others still hear */
    MUSTER_HUNG,         /* a process that lives and makes no progress */
    MUSTER_SLOW,         /* not recommended */
    MUSTER_FAILED_CHECK, /* the program said so */
    MUSTER_LEFT          /* ended with exit code 0: not a failure */
};

enum muster_event_type {
    MUSTER_EVENT_PROCESS = 1, /* of this job: 'rank', on node 'node' */
    MUSTER_EVENT_NODE,        /* of the machine: 'node'; its processes follow one by one */
    MUSTER_EVENT_LOST,     /* this reader was too slow: 'lost' events are gone; the state as it is
                              now follows, each event with is_state set, then CAUGHT_UP */
    MUSTER_EVENT_CAUGHT_UP /* what had happened before has been read; from here on it is news */
};

struct muster_event {
    uint32_t type;     /* enum muster_event_type; a field that says nothing of its type is 0 */
    uint32_t verdict;  /* PROCESS, NODE: enum muster_verdict */
    uint32_t rank;     /* PROCESS */
    uint32_t node;     /* PROCESS: where it ran; NODE: itself */
    uint32_t seen_by;  /* the node that saw it first */
    uint32_t is_state; /* it happened before muster_open(), or is told again after LOST */
    int32_t exit_code; /* PROCESS: that it ended with, 0 to 255; -1: it did not end by itself */
    int32_t signal;    /* PROCESS: what ended it; 0: no signal */
    uint32_t hops;     /* the news passed through so many daemons */
    uint32_t pid;      /* PROCESS: its process id, on its node; 0: it never had one */
    uint64_t lost;     /* LOST */
    uint64_t age_ns;   /* since it was seen, when this event was read */
    uint64_t serial;   /* counts at the daemon of this node; 0: LOST, CAUGHT_UP */
    char text[256];    /* "process 7 on node 1 is dead: killed (signal 9)" */
    uint64_t reserved[8];
};

#define MUSTER_NOW     INT64_C(0)
#define MUSTER_FOREVER INT64_MAX

/* Joins the job that this process was started in; several times, if you like: each handle reads
 * everything.  Returns 0 and the handle, to be closed with muster_close(); or -1 with *error filled
 * (NULL is fine) and *m untouched.  Waits for the daemon of this node, at most 10 seconds. */
int muster_open(struct muster **m, struct muster_error *error);

/* Tells the daemon so, as the end of the process does not.  NULL is fine. */
void muster_close(struct muster *m);

/* The next event.  Waits up to timeout_ns nanoseconds: MUSTER_NOW, or what is below it because a
 * deadline has passed, does not wait; MUSTER_FOREVER does not give up.  Returns 1 with *event
 * filled, 0 when none came in time, -1 with *error filled (NULL is fine); then the handle is of no
 * more use, and fails the same way each time, except after MUSTER_E_FORKED in the parent. */
int muster_next(struct muster *m, struct muster_event *event, int64_t timeout_ns,
                struct muster_error *error);

/* Readable while muster_next() has something to say: for poll(), select(), epoll.  It may be
 * readable once too often, when all was read already, so call muster_next(..., MUSTER_NOW, ...)
 * until it returns 0.  Who reads one event each time misses none either, unless it waits for edges
 * (EPOLLET).  It is an epoll descriptor, and belongs to the handle: do not read, change or close
 * it.  It may be made nonblocking, as event loops do. */
int muster_fd(const struct muster *m);

uint32_t muster_rank(const struct muster *m);  /* of this process, from 0 */
uint32_t muster_size(const struct muster *m);  /* processes of the job, dead or alive */
uint32_t muster_job(const struct muster *m);   /* number of the job */
uint32_t muster_node(const struct muster *m);  /* that this process runs on, from 0 */
uint32_t muster_nodes(const struct muster *m); /* of the machine, dead or alive */

/* "dead", "silent", ...; "unknown" for a number without a name. */
const char *muster_verdict_word(uint32_t verdict);

/* Version of the library, "0.1.0". */
const char *muster_version(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
