/* libmuster: failure notification and agreement for parallel jobs.
 *
 * A process that 'muster run' started opens its job and then reads events: first what has already
 * happened, then each failure as the daemon of its node learns of it, without a gap.
 *
 *     struct muster *m;
 *     struct muster_error error;
 *     if (muster_open(&m, &error) != 0) { fprintf(stderr, "%s\n", error.text); exit(1); }
 *     struct muster_event event;
 *     while (muster_next(m, &event, MUSTER_FOREVER, &error) == 1)
 *         printf("%s\n", event.text);
 *     muster_close(m);
 *
 * Threads: every function may be called from any thread, several threads may use one handle at
 * once, and an event is given to one of the threads that wait.  No thread waits for another.  Only
 * muster_close() needs the handle for itself.  The library has no threads, no signal handlers and
 * no global variables.
 * fork(): a handle belongs to the process that opened it.  In a child muster_next() fails with
 * MUSTER_E_FORKED, muster_fd() is -1, muster_rank() and its neighbours still answer, and
 * muster_close() frees the child's copy without touching the parent's.  A child may open its own.
 * exec(): the new program inherits nothing: every descriptor is close-on-exec.  None is 0, 1 or 2.
 * A handle has three descriptors, and each group one more; MUSTER_ALL has it from its first use on.
 * Signals: a call that a signal interrupts is resumed.  Nothing here raises SIGPIPE.
 * errno is preserved.  muster_open() reads the environment: do not change it at the same time.
 *
 * Compatibility: a new field takes the place of a reserved one, which is 0 until then; new event
 * types and verdicts get new numbers, so skip those that you do not know.  Any other change of a
 * struct comes with a new soname. */
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
    MUSTER_E_NOT_A_MEMBER, /* not started by 'muster run': the environment names no job */
    MUSTER_E_NO_DAEMON,    /* the daemon of this node cannot be reached, or has ended */
    MUSTER_E_REFUSED,      /* the daemon does not know this process, or runs as another user */
    MUSTER_E_VERSION,      /* library and daemon have different protocol versions */
    MUSTER_E_FORKED,       /* the handle belongs to another process */
    MUSTER_E_PROTOCOL,     /* invalid message from the daemon */
    MUSTER_E_SYSTEM,       /* out of memory or descriptors: 'text' says which */
    MUSTER_E_INVALID       /* not now, or not with these arguments: 'text' says why */
};

struct muster_error {
    int code;       /* enum muster_code */
    char text[256]; /* one sentence, with the value and the rule */
};

/* How a rank or a node ended.  All but MUSTER_LEFT are failures. */
enum muster_verdict {
    MUSTER_DEAD = 1,        /* failure confirmed: exit status seen, or reported by the witness */
    MUSTER_SILENT = 2,      /* a node: no heartbeat for the timeout, and no other node reaches it */
    MUSTER_UNREACHABLE = 3, /* a node: its observer does not hear it, other nodes do */
    MUSTER_LEFT = 7         /* a rank that exited with code 0 and all handles closed */
};

enum muster_event_type {
    MUSTER_EVENT_PROCESS = 1, /* a rank of this job: 'rank', on node 'node' */
    MUSTER_EVENT_NODE, /* a node of the cluster: 'node'; an event for each of its ranks follows */
    MUSTER_EVENT_OVERFLOW,  /* this reader was too slow: 'lost' events were dropped.  The current
                               state follows, each event with is_state set, then CAUGHT_UP */
    MUSTER_EVENT_CAUGHT_UP, /* all earlier events have been read; later events are live */
    MUSTER_EVENT_VIEW       /* a new view, 'view': muster_view() has its members */
};

struct muster_event {
    uint32_t type;     /* enum muster_event_type; a field without meaning for its type is 0 */
    uint32_t verdict;  /* PROCESS, NODE: enum muster_verdict */
    uint32_t rank;     /* PROCESS */
    uint32_t node;     /* PROCESS: where it ran; NODE: itself */
    uint32_t seen_by;  /* the node that detected it */
    uint32_t is_state; /* 1: it happened before muster_open(), or is repeated after OVERFLOW */
    int32_t exit_code; /* PROCESS: 0 to 255; -1: it did not exit by itself.  0 with MUSTER_DEAD: it
                          exited without muster_close() or MPI_Finalize */
    int32_t signal;    /* PROCESS: the signal that ended it; 0: none */
    uint32_t hops;     /* number of daemons that forwarded the notice */
    uint32_t pid;      /* PROCESS: its process ID, on its node; 0: it was never started */
    uint64_t lost;     /* OVERFLOW: number of events dropped */
    uint64_t age_ns;   /* time from detection until this event was read */
    uint64_t serial;   /* counts events at the daemon of this node; 0: OVERFLOW, CAUGHT_UP */
    char text[256];    /* the event in one sentence */
    uint64_t view;     /* VIEW: its number */
    uint64_t reserved[7];
};

#define MUSTER_NOW     INT64_C(0)
#define MUSTER_FOREVER INT64_MAX

/* Joins the job that this process was started in.  May be called more than once: each handle reads
 * all events.  Waits at most 10 seconds for the daemon of this node.  Returns 0 and a handle, to be
 * closed with muster_close(); or -1 with *error filled (NULL is allowed) and *m untouched. */
int muster_open(struct muster **m, struct muster_error *error);

/* Frees the handle and notifies the daemon.  NULL is allowed.
 *
 * Close every handle before the process exits with code 0, or calls exec().  A process that exits
 * with code 0 while it has an open handle, and while other ranks of its job run, has FAILED, as in
 * MPI without MPI_Finalize: the others may be waiting for it, in an agreement or elsewhere.  They
 * are notified (MUSTER_DEAD, exit_code 0), 'muster run' reports it, and its exit code is 1.  When
 * all other ranks have ended, none can be waiting, and it counts as MUSTER_LEFT.  A process that
 * exits with another code has failed in any case. */
void muster_close(struct muster *m);

/* Reads the next event.  Waits up to timeout_ns nanoseconds: MUSTER_NOW, or a negative number, does
 * not wait; MUSTER_FOREVER waits without limit.  Returns 1 with *event filled, 0 when no event came
 * in time, or -1 with *error filled (NULL is allowed).  After -1 the handle can only be closed, and
 * every call fails the same way; except after MUSTER_E_FORKED, in the parent. */
int muster_next(struct muster *m, struct muster_event *event, int64_t timeout_ns,
                struct muster_error *error);

/* A descriptor that is readable while muster_next() has an event: for poll(), select(), epoll.  It
 * can be readable although all events were read, so call muster_next(..., MUSTER_NOW, ...) until it
 * returns 0.  Reading one event per wake-up is safe, too, unless you wait for edges (EPOLLET).  It
 * is an epoll descriptor and belongs to the handle: do not read, change or close it.  Making it
 * nonblocking, as event loops do, is allowed. */
int muster_fd(const struct muster *m);

uint32_t muster_rank(const struct muster *m);  /* rank of this process, from 0 */
uint32_t muster_size(const struct muster *m);  /* ranks of the job, failed ones included */
uint32_t muster_job(const struct muster *m);   /* number of the job */
uint32_t muster_node(const struct muster *m);  /* node that this process runs on, from 0 */
uint32_t muster_nodes(const struct muster *m); /* nodes of the cluster, failed ones included */

/* ---- views ----
 *
 * A view is the numbered membership of the cluster: the nodes that have not failed.  A failure is
 * an event at once; the view without the node follows when the survivors have agreed on it and all
 * of them have installed it.  Survivors pass through the same sequence of views, by increasing
 * numbers, some of which are not told.  View 1 has all nodes.  When the network falls apart, the
 * launcher chooses the side that goes on; the other side, until it is stopped, may be told other
 * views. */

/* The view of the last MUSTER_EVENT_VIEW that muster_next() has returned: its number, 0 when there
 * was none yet, and up to 'room' of its nodes in increasing order, with their total in *count.
 * Sends no message.  Returns 0 or -1. */
int muster_view(struct muster *m, uint64_t *number, uint32_t *nodes, uint32_t room, uint32_t *count,
                struct muster_error *error);

/* ---- agreements ----
 *
 * The members of a group decide on one result while more of them fail: the bitwise AND of their
 * contributions, and the set of failed members.  The failure of any rank, daemon or node, at any
 * moment, neither loses a decision nor makes a survivor wait for a failed member.
 *
 *     uint64_t bits = is_converged ? 1 : 0;
 *     switch (muster_agree(m, MUSTER_ALL, &bits, &error)) {
 *     case MUSTER_AGREED: ...             'bits' has the contributions of all survivors
 *     case MUSTER_AGREED_FAILURES: ...    the same, and there is a failure to handle
 *     default: fprintf(stderr, "%s\n", error.text);
 *     }
 *
 * Members.  An agreement ends when every member has contributed, failed or left.  A member has
 * failed when it ended otherwise than with exit code 0, or with an open handle while others ran
 * (muster_close()), or when its node has failed.  It has left when it has freed the group or closed
 * its handle, or never had one and exited with code 0.  The others do not wait for a member that
 * has left, and it does not count as a failure.  (When its node fails right after that, before an
 * agreement could record it, it counts as failed.)
 *
 * A member that fails
 *   before it contributes: the decision is made without it and reports it as failed;
 *   after it has contributed: the decision may or may not include its contribution, the same for
 *     all survivors; this decision or the next one reports it as failed;
 *   after the decision: it may or may not have received it.  The survivors' decision is the same.
 *     (A member that received a decision just before it failed may have received one that no
 *     survivor will see: what it did after that, only it did.)
 * All survivors receive the same decision: bits, result and failed members.
 *
 * Acknowledging failures.  The result is MUSTER_AGREED_FAILURES at all survivors until every one of
 * them has acknowledged every failure; the bits are valid nevertheless.  muster_get_failed() lists
 * the failed members, the same everywhere, muster_ack_failed() acknowledges all of them, and once
 * every survivor has done so the result is MUSTER_AGREED again.  It is also MUSTER_AGREED_FAILURES
 * when more members failed at once than one decision can report; the next ones report the rest.
 * Events of muster_next() arrive sooner, but at a different moment in each process.
 *
 * Every member takes part in the agreements of a group in the same order, one at a time.  For
 * several at once create several groups; they may have the same members.
 *
 * All of these functions return -1 with *error filled (NULL is allowed) when they cannot do their
 * work.  A group whose daemon has ended is unusable, and every call fails the same way.
 *
 * Threads: groups are independent of each other.  One agreement of a group is pending at a time; a
 * thread that starts a second one gets MUSTER_E_INVALID.
 * fork(): a child cannot use the groups of its parent.
 * exec(): free groups before, or the others wait until the new program has ended. */

struct muster_group;

/* All ranks of the job.  A process joins this group when it first uses it. */
#define MUSTER_ALL ((struct muster_group *)0)

enum muster_result {
    MUSTER_AGREED = 0,
    MUSTER_AGREED_FAILURES = 1, /* agreed; some survivor has not acknowledged every failure */
    MUSTER_PENDING = 2          /* no decision yet */
};

/* Creates a group of these ranks of the job, in any order, without duplicates, this process among
 * them.  Every member creates it, with the same ranks, and does not wait for the others here.  When
 * several groups of the same ranks are created, the first one here is the first one at the other
 * members.  The ranks may form at most 28 ranges of consecutive numbers.  Free it with
 * muster_group_free() before the handle is closed.  Failed ranks are allowed: the first agreement
 * reports them.  Returns 0, or -1 with *group untouched. */
int muster_group_create(struct muster *m, const uint32_t *ranks, uint32_t count,
                        struct muster_group **group, struct muster_error *error);

/* Leaves the group: the others no longer wait for this process.  Not allowed while one of its
 * agreements is pending.  NULL is allowed. */
void muster_group_free(struct muster_group *group);

/* The members of a group have numbers 0 .. size-1, in the order of their ranks; muster_shrink()
 * renumbers the survivors.  'member' is the rank of the member with that number, UINT32_MAX when
 * there is none; 'index' is the number of a rank, UINT32_MAX when it is not a member any more. */
uint32_t muster_group_size(struct muster *m, struct muster_group *group);
uint32_t muster_group_member(struct muster *m, struct muster_group *group, uint32_t number);
uint32_t muster_group_index(struct muster *m, struct muster_group *group, uint32_t rank);

/* Contributes *bits, waits for the decision and stores it in *bits.  Returns MUSTER_AGREED or
 * MUSTER_AGREED_FAILURES, or -1 with *bits untouched. */
int muster_agree(struct muster *m, struct muster_group *group, uint64_t *bits,
                 struct muster_error *error);

/* The same in two steps.  Between them the process can do other work: it has contributed, and the
 * others decide without its help.  'start' returns 0 or -1.  'test' and 'wait' return what
 * muster_agree() returns; or MUSTER_PENDING with *bits untouched when there is no decision yet, or
 * none within timeout_ns (as for muster_next()).  One agreement of a group is pending at a time. */
int muster_agree_start(struct muster *m, struct muster_group *group, uint64_t bits,
                       struct muster_error *error);
int muster_agree_test(struct muster *m, struct muster_group *group, uint64_t *bits,
                      struct muster_error *error);
int muster_agree_wait(struct muster *m, struct muster_group *group, uint64_t *bits,
                      int64_t timeout_ns, struct muster_error *error);

/* A descriptor that is readable when muster_agree_test() has a decision, and sometimes when it has
 * none: for poll(), select(), epoll.  It belongs to the group: do not read, change or close it.  -1
 * when the group belongs to another process, or MUSTER_ALL cannot be joined. */
int muster_agree_fd(struct muster *m, struct muster_group *group);

/* Returns when every member has called it, failed or left.  It is an agreement without bits, and
 * returns MUSTER_AGREED or MUSTER_AGREED_FAILURES as muster_agree() does. */
int muster_barrier(struct muster *m, struct muster_group *group, struct muster_error *error);

/* Lists the ranks that have failed so far, by the agreements on this group, in an order that is the
 * same at all members.  Fills up to 'room' of them, and *count with their total number.  Sends no
 * message.  Returns 0 or -1. */
int muster_get_failed(struct muster *m, struct muster_group *group, uint32_t *ranks, uint32_t room,
                      uint32_t *count, struct muster_error *error);

/* Acknowledges all of them; the next agreement carries this to the others.  Returns 0 or -1. */
int muster_ack_failed(struct muster *m, struct muster_group *group, struct muster_error *error);

/* An agreement that reduces the group to its survivors: members that have failed or left are
 * removed and acknowledged, and the others get new consecutive numbers, the same at all of them
 * (muster_group_size() and its neighbours).  Ranks do not change.  A member that fails before or
 * during the call is removed at all survivors or at none; the next agreement reports one that fails
 * after it.  Returns 0 or -1. */
int muster_shrink(struct muster *m, struct muster_group *group, struct muster_error *error);

/* "dead", "silent", "unreachable", "left"; "unknown" for a number without a name. */
const char *muster_verdict_name(uint32_t verdict);

/* The version of the library, "0.1.0". */
const char *muster_version(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
