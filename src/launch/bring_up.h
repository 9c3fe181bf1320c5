/* Bringing up a daemon: where its executable is, its address, and the texts of wire/launch/orders.h
 * as they go to its standard input.  The machine's key goes this way and no other: never in a file,
 * arguments or environment. */
#ifndef MU_LAUNCH_BRING_UP_H
#define MU_LAUNCH_BRING_UP_H

#include "wire/launch/orders.h"

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
char *bring_up_first(const struct mu_orders *orders, size_t *count);
char *bring_up_where(const struct sockaddr_in *addresses, uint32_t size, size_t *count);
char *bring_up_end(size_t *count);

/* Takes the port and the daemon's process id from its "listening" line.  False: it is none, or of
 * another address. */
bool bring_up_listening(const char *line, struct sockaddr_in *address, pid_t *daemon);

#endif
