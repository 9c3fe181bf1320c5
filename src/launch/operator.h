/* What status, events, why, kill, set and chaos share: which clusters run on this host, and a
 * conversation with one of their daemons (wire/local/local.h).
 *
 * Nothing is registered anywhere.  Every daemon listens on a Unix socket whose name says user,
 * cluster and slot, and the kernel lists the names of this host (of this network namespace) in
 * /proc/net/unix.  Anybody may take a name, so who listens there is asked of the kernel
 * (SO_PEERCRED) before a word is said. */
#ifndef MU_LAUNCH_OPERATOR_H
#define MU_LAUNCH_OPERATOR_H

#include "command/args.h"
#include "wire/local/local.h"

#include <stdio.h>
#include <sys/types.h>

/* Which cluster a command means: all zero is the only one of this user. */
struct operator_choice {
    const char *prefix; /* of its ID; NULL: not said */
    const char *user;   /* a name or number; NULL: this user */
    bool all;           /* of any user */
};

/* Its options; not every command has those of users. */
#define OPERATOR_CLUSTER_ARG(to)                                                                   \
    {                                                                                              \
        "--cluster||--machine", ARG_TEXT, to, 0, 0, "ID",                                          \
            "cluster, by a unique prefix of its ID [default: the only one]"                        \
    }
#define OPERATOR_CHOICE_ARGS(choice)                                                               \
    OPERATOR_CLUSTER_ARG(&(choice).prefix),                                                        \
        {"user",                                                                                   \
         ARG_TEXT,                                                                                 \
         &(choice).user,                                                                           \
         0,                                                                                        \
         0,                                                                                        \
         "NAME",                                                                                   \
         "clusters of this user (root only) [default: your own]"},                                 \
    {                                                                                              \
        "all", ARG_FLAG, &(choice).all, 0, 0, NULL, "clusters of all users (root only)"            \
    }

enum { OPERATOR_TEXT_MAX = 512 };
enum { OPERATOR_TIMEOUT_MS = 1000 }; /* without a word from a daemon: it does not answer */

struct operator_daemon {
    uint64_t machine;
    mu_slot slot;
    uid_t uid; /* whose it is */
};

#define OPERATOR_ANY_USER ((uid_t)-1)

/* Zeroed at first; freed with operator_free(). */
struct operator_found {
    struct operator_daemon *daemons; /* by machine and slot, each once */
    size_t count;
};

/* The daemon of this user (or OPERATOR_ANY_USER) that a line of /proc/net/unix shows; false when it
 * shows none. */
bool operator_line(const char *line, uid_t uid, struct operator_daemon *daemon);

/* All of them, from a file of such lines.  False: no memory, or it cannot be read; errno says. */
bool operator_read(FILE *file, uid_t uid, struct operator_found *found);

/* Keeps the daemons of clusters whose ID begins with 'prefix'; NULL: of all.  Returns how many
 * clusters that are. */
size_t operator_keep(struct operator_found *found, const char *prefix);

/* The daemons of the cluster that begins at 'first': *count, a part of 'found'. */
const struct operator_daemon *operator_cluster(const struct operator_found *found, size_t first,
                                               size_t *count);

void operator_free(struct operator_found *found);

/* All of the above, for a command: what it finds are daemons of at least one cluster.  False: said
 * why on standard error.  A choice that cannot be ends the command. */
bool operator_find_all(const struct command *command, const struct operator_choice *choice,
                       struct operator_found *found);

/* The same of exactly one cluster; where there are several, they are listed. */
bool operator_find(const struct command *command, const struct operator_choice *choice,
                   struct operator_found *found);

/* ---- one cluster, in a line ---- */

enum { OPERATOR_ID_DIGITS = 8, OPERATOR_PROGRAM_MAX = 64 };

struct operator_summary {
    uint64_t id;
    uid_t owner;
    bool answers; /* else nothing else is known */
    uint32_t nodes, nodes_failed;
    uint64_t up_ns;
    uint32_t jobs, job;                 /* how many; the first one, where there is one */
    char program[OPERATOR_PROGRAM_MAX]; /* of that job; "": it has no process on this host */
    pid_t launcher;                     /* 'muster run'; 0: it is not on this host */
};

/* Of the daemons of one cluster the first that answers is asked. */
void operator_summarize(const struct operator_daemon *daemons, size_t count,
                        struct operator_summary *summary);

/* "28c0496b", as IDs are shown. */
const char *operator_id_text(uint64_t id, char text[OPERATOR_ID_DIGITS + 1]);

/* "1.7 s", "12 min", "3 h", "2 d" */
enum { OPERATOR_AGE_MAX = 32 };
const char *operator_age_text(uint64_t ns, char text[OPERATOR_AGE_MAX]);

/* ---- one daemon ---- */

struct operator_link {
    int fd; /* -1: not connected */
    mu_slot slot;
    pid_t pid; /* of the daemon, by the kernel's word; 0: it is not of this pid namespace */
    struct mu_local_welcome welcome;
    bool refused;                /* it said REFUSED */
    char why[OPERATOR_TEXT_MAX]; /* after a failure, a clause about the daemon: "does not answer" */
};

/* Connects, and says hello.  False with 'why' filled and nothing to close. */
bool operator_open(struct operator_link *link, const struct operator_daemon *daemon);
void operator_close(struct operator_link *link);

/* Connects without a word, so also to a daemon that is stopped: 'pid' is known then.  False as
 * above. */
bool operator_reach(struct operator_link *link, const struct operator_daemon *daemon);

/* False with 'why' filled. */
bool operator_say(struct operator_link *link, const struct mu_local_message *message);

/* The next message; waits up to timeout_ms, -1 without end.  False with 'why' filled. */
bool operator_hear(struct operator_link *link, struct mu_local_message *message, int timeout_ms);

/* Asks for STATUS; each message of the answer but the last, DONE, goes to 'each'.  False with 'why'
 * filled: it is not all there. */
typedef void operator_each(void *owner, const struct mu_local_message *message);
bool operator_status(struct operator_link *link, operator_each *each, void *owner);

/* Says what is answered with DONE or REFUSED.  False with 'why' filled. */
bool operator_order(struct operator_link *link, const struct mu_local_message *order);

/* For a message that is no answer to what was said: fills in 'why'.  Returns false. */
bool operator_unexpected(struct operator_link *link, const struct mu_local_message *message);

#endif
