/* What status, events, why, kill, set and chaos share: which machines of this user run on this
 * host, and a conversation with one of their daemons (wire/local/local.h).
 *
 * Nothing is registered anywhere.  Every daemon listens on a Unix socket whose name says user,
 * machine and slot, and the kernel lists the names of this host (of this network namespace) in
 * /proc/net/unix.  Anybody may take a name, so who listens there is asked of the kernel
 * (SO_PEERCRED) before a word is said. */
#ifndef MU_LAUNCH_OPERATOR_H
#define MU_LAUNCH_OPERATOR_H

#include "command/args.h"
#include "wire/local/local.h"

#include <stdio.h>
#include <sys/types.h>

/* For the --help of each: how a machine is found, and its flag. */
#define OPERATOR_HELP                                                                              \
    "The machine is found by itself when one machine of yours runs on this host: the sockets of\n" \
    "its daemons are in /proc/net/unix, named @muster/UID/MACHINE/SLOT.  Where there are\n"        \
    "several, --machine says which one."
#define OPERATOR_MACHINE_ARG(to)                                                                   \
    {                                                                                              \
        "machine", ARG_TEXT, to, 0, 0, "ID", "its 16 hexadecimal digits, or as many as tell it"    \
    }

enum { OPERATOR_TIMEOUT_MS = 1000 }; /* without a word from a daemon: it does not answer */

struct operator_daemon {
    uint64_t machine;
    mu_slot slot;
};

/* Zeroed at first; freed with operator_free(). */
struct operator_found {
    struct operator_daemon *daemons; /* by machine and slot, each once */
    size_t count;
};

/* The daemon of this user that a line of /proc/net/unix shows; false when it shows none. */
bool operator_line(const char *line, uid_t uid, struct operator_daemon *daemon);

/* All of them, from a file of such lines.  False: no memory, or it cannot be read; errno says. */
bool operator_read(FILE *file, uid_t uid, struct operator_found *found);

/* Keeps the daemons of one machine: of that one whose number begins with 'prefix', or of the only
 * one when it is NULL.  NULL, or a sentence in 'text' that says why it cannot be told. */
enum { OPERATOR_TEXT_MAX = 512 };
const char *operator_choose(struct operator_found *found, const char *prefix,
                            char text[OPERATOR_TEXT_MAX]);

void operator_free(struct operator_found *found);

/* All of the above, for a command: what it finds are daemons of one machine, at least one.  False:
 * said why on standard error.  A 'prefix' that cannot be one ends the command. */
bool operator_find(const struct command *command, const char *prefix, struct operator_found *found);

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
