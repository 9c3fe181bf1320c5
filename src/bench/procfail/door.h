/* Where a client finds the relay of its node, and gets the page. */
#ifndef MU_BENCH_PROCFAIL_DOOR_H
#define MU_BENCH_PROCFAIL_DOOR_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The address of the relay of 'node' of the bench with process id 'bench'; returns its length.  It
 * is in the abstract namespace, so that nothing is left in a file system whatever dies. */
socklen_t bench_door_address(struct sockaddr_un *address, uint32_t bench, uint32_t node);

/* In a client: a connection to that relay, which has taken note of it when this returns; *page_fd
 * is the page.  -1 with errno: it cannot be. */
int bench_door_connect(uint32_t bench, uint32_t node, uint32_t rank, int *page_fd);

#endif
