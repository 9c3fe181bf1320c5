/* The words between the launcher and a daemon that it brings up: lines of text, over the daemon's
 * standard input and output.
 *
 *     to the daemon      muster-orders 1, machine, key, size, slot, listen, name, "."
 *     from the daemon    listening ADDRESS PORT PID  or: failed SENTENCE
 *     to the daemon      node SLOT ADDRESS PORT, for each slot, "."
 *     from the daemon    ready
 *     to the daemon      end, when the machine ends
 *
 * The machine's key goes this way and no other: never in a file, arguments or environment. */
#ifndef MU_LAUNCH_BRING_UP_H
#define MU_LAUNCH_BRING_UP_H

#include "net/seal.h"

#include <limits.h>
#include <netinet/in.h>
#include <sys/types.h>

/* The daemon's executable: 'given', or when that is NULL the one next to this executable.  0, or
 * why it cannot be executed; 'path' says which one it would be. */
int bring_up_find(const char *given, char path[PATH_MAX]);

/* An address for each node, so that two machines on one host are not in each other's way:
 * 127.A.B.C, from the machine's number.  Port 0. */
void bring_up_address(uint64_t machine, mu_slot slot, struct sockaddr_in *address);

/* All texts are the caller's, to be freed; the first holds the key, and is wiped before. */
char *bring_up_first(uint64_t machine, const uint8_t key[MU_SEAL_KEY_BYTES], uint32_t size,
                     mu_slot slot, const struct sockaddr_in *address, const char *name,
                     uint64_t period_ns, uint64_t timeout_ns, size_t *count);
char *bring_up_where(const struct sockaddr_in *addresses, uint32_t size, size_t *count);
char *bring_up_end(size_t *count);

/* Takes the port and the daemon's process id from its "listening" line.  False: it is none, or of
 * another address. */
bool bring_up_listening(const char *line, struct sockaddr_in *address, pid_t *daemon);

#endif
