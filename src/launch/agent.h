/* The command that starts a daemon on another host: its words, then the host, then the daemon's.
 *
 *     ssh -x -o BatchMode=yes h2 /usr/local/bin/musterd
 *
 * The agent passes standard input, output and error on, and ends when the daemon does; ssh is such
 * a command, and so is 'ip netns exec' where hosts are network namespaces. */
#ifndef MU_LAUNCH_AGENT_H
#define MU_LAUNCH_AGENT_H

#include <stddef.h>

enum {
    AGENT_WORDS_MAX = 32,
    AGENT_BYTES_MAX = 1024,
    AGENT_EXIT_NOT_FOUND = 127, /* a shell there, or env(1), has not found the daemon */
};

#define AGENT_USUAL    "ssh -x -o BatchMode=yes"
#define AGENT_VARIABLE "MUSTER_AGENT" /* names another one */

struct agent {
    char bytes[AGENT_BYTES_MAX];
    const char *words[AGENT_WORDS_MAX]; /* in 'bytes' */
    size_t count;
};

/* Splits a command at blanks: there are no quotes.  NULL, or the rule that it breaks. */
const char *agent_split(struct agent *agent, const char *command);

/* Behind an agent there may be a shell, so only paths are passed on that every shell leaves alone.
 * NULL, or the rule. */
const char *agent_path_error(const char *path);

#endif
