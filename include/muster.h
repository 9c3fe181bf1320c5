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
 * A handle has three, and each group one more, also that of all, once it is used.
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
    MUSTER_E_SYSTEM,       /* memory, descriptors: 'text' says which */
    MUSTER_E_USE           /* not now, or not with these arguments: 'text' says why */
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
    MUSTER_LEFT          /* ended with exit code 0, its handles closed: not a failure */
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
    int32_t exit_code; /* PROCESS: that it ended with, 0 to 255; -1: it did not end by itself.  0 of
                          one that is MUSTER_DEAD: it never called muster_close or MPI_Finalize */
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

/* Frees the handle, and tells the daemon so.  NULL is fine.
 *
 * Close every handle before the process exits with code 0, or calls exec().  Who exits with code 0
 * while a handle of its own is open, and while others of its job run, has FAILED, as in MPI without
 * MPI_Finalize: they may wait for it in an agreement or elsewhere.  They are told (MUSTER_DEAD,
 * exit_code 0), 'muster run' says so, and its exit code is 1.  When all others have ended, nobody
 * can wait, and it has left.  Who exits with another code has failed anyway. */
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

/* ---- agreements ----
 *
 * Processes of a group decide the same, while more of them die: the bitwise AND of what each has
 * contributed, and who is gone.  Nothing is lost by the death of any process, daemon or node, at
 * any moment, and nobody who lives waits for the dead.
 *
 *     uint64_t bits = is_converged ? 1 : 0;
 *     switch (muster_agree(m, MUSTER_ALL, &bits, &error)) {
 *     case MUSTER_AGREED: ...                  all who live have contributed to 'bits'
 *     case MUSTER_FAILED: ...                  the same, and somebody has failed: all are told so
 *     default: fprintf(stderr, "%s\n", error.text);
 *     }
 *
 * Who takes part.  An agreement ends when every member of the group has contributed, or has failed
 * or left.  Failed: it ended otherwise than with exit code 0, or with an open handle while others
 * ran (muster_close()), or its node is dead.  Left: it has freed the group or closed its handle, or
 * never had one and ended with exit code 0.  Who has left is no longer waited
 * for, and is no failure.  (Whose node is lost right after it left, before an agreement could tell
 * so, counts as failed.)
 *
 * When somebody dies
 *   before it contributes: the decision is without it, and tells that it failed;
 *   after it has contributed: its contribution may be in the decision or not, at all the same; that
 *     it failed is told by this decision or by the next one;
 *   after the decision: it may have been told, or not.  All others decide as if it had been.  (One
 *     that was told just before it died may have been told what nobody else will hear: what it did
 *     then is what only it did.)
 * What has been decided is the same at everybody who lives to hear it: bits, result, and the
 * failed.
 *
 * Failures and acknowledgements.  As long as somebody who failed has not been acknowledged by every
 * living member the result is MUSTER_FAILED, at all of them; the bits are good nevertheless.
 * muster_get_failed() tells who it was, the same everywhere, muster_ack_failed() acknowledges all
 * of them, and once every member has done so the result is MUSTER_AGREED again.  It is also
 * MUSTER_FAILED when more have gone at once than one decision can tell of; the next ones tell more.
 * Events of muster_next() come sooner than that, and each process hears of them at another moment.
 *
 * Each process takes part in the agreements of a group in the same order as all others, one at a
 * time.  For several at once make several groups, which may have the same members.
 *
 * All of these return -1 with *error filled (NULL is fine) when they cannot: a group whose daemon
 * is gone, for instance, is of no more use, and fails the same way each time.
 *
 * Threads: groups are independent of each other, and nobody waits for another thread.  Of one group
 * one agreement is pending at a time: who would begin a second one is told so (MUSTER_E_USE).
 * fork(): a child cannot use the groups of its parent, as it cannot use its handle.
 * exec(): free groups before, or the others wait for the new program to end. */

struct muster_group;

/* All processes of the job.  It is joined when it is used for the first time. */
#define MUSTER_ALL ((struct muster_group *)0)

enum muster_result {
    MUSTER_AGREED = 0,
    MUSTER_FAILED = 1, /* agreed; and there is a failure that not all have acknowledged */
    MUSTER_PENDING = 2 /* no decision yet */
};

/* A group of these ranks of the job, in any order, none twice, this process among them.  Every one
 * of them makes it, with the same ranks; nobody waits for the others here.  When several groups of
 * the same ranks are made, the first one here is the first one at the others.  There is no such
 * group for more than 28 runs of neighbouring ranks.  To be freed with muster_group_free(), before
 * the handle is closed.  Returns 0, or -1 with *group untouched.
 * Ranks that are dead already are fine: the first agreement tells so. */
int muster_group_create(struct muster *m, const uint32_t *ranks, uint32_t count,
                        struct muster_group **group, struct muster_error *error);

/* Leaves the group: the others no longer wait for this process.  Not while one of its agreements is
 * pending.  NULL is fine. */
void muster_group_free(struct muster_group *group);

/* The numbers of a group's members: 0 .. size-1, in the order of ranks; muster_shrink() makes them
 * dense again.  'member' is the rank of the one with that number, UINT32_MAX when there is none;
 * 'index' the number of a rank, UINT32_MAX when it is no member any more. */
uint32_t muster_group_size(struct muster *m, struct muster_group *group);
uint32_t muster_group_member(struct muster *m, struct muster_group *group, uint32_t number);
uint32_t muster_group_index(struct muster *m, struct muster_group *group, uint32_t rank);

/* Contributes *bits and waits for the decision, which is then in *bits.  Returns MUSTER_AGREED or
 * MUSTER_FAILED, or -1 with *bits untouched. */
int muster_agree(struct muster *m, struct muster_group *group, uint64_t *bits,
                 struct muster_error *error);

/* The same in two steps.  Between them the process is free to do other things: its contribution is
 * made, and the others decide without its help.  'start' returns 0, or -1.  'test' and 'wait'
 * return what muster_agree() does, or MUSTER_PENDING with *bits untouched: when there is no
 * decision yet, or none within timeout_ns (as for muster_next()).  One agreement of a group is
 * pending at a time. */
int muster_agree_start(struct muster *m, struct muster_group *group, uint64_t bits,
                       struct muster_error *error);
int muster_agree_test(struct muster *m, struct muster_group *group, uint64_t *bits,
                      struct muster_error *error);
int muster_agree_wait(struct muster *m, struct muster_group *group, uint64_t *bits,
                      int64_t timeout_ns, struct muster_error *error);

/* Readable when muster_agree_test() has something to say, maybe once too often: for poll(),
 * select(), epoll.  It belongs to the group: do not read, change or close it.  -1: there is none,
 * because the group is of another process, or MUSTER_ALL cannot be joined. */
int muster_agree_fd(struct muster *m, struct muster_group *group);

/* Returns when every member has come here, or is gone: MUSTER_AGREED or MUSTER_FAILED, as
 * muster_agree() does.  It is one. */
int muster_barrier(struct muster *m, struct muster_group *group, struct muster_error *error);

/* All who have failed so far, by the agreements on this group: their ranks, in an order that is the
 * same at all members.  Fills up to 'room' of them and *count with how many there are.  It asks
 * nobody.  Returns 0 or -1. */
int muster_get_failed(struct muster *m, struct muster_group *group, uint32_t *ranks, uint32_t room,
                      uint32_t *count, struct muster_error *error);

/* Acknowledges all of them; the next agreement tells the others.  Returns 0 or -1. */
int muster_ack_failed(struct muster *m, struct muster_group *group, struct muster_error *error);

/* An agreement, after which the group is those who are left: whoever has failed or left by then is
 * out of it and acknowledged, and the others have new dense numbers, the same at all of them
 * (muster_group_size() and so on).  Ranks stay.  Who dies before or during is out, at all or at
 * none; who dies after it is reported by the next agreement, as always.  Returns 0 or -1. */
int muster_shrink(struct muster *m, struct muster_group *group, struct muster_error *error);

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
