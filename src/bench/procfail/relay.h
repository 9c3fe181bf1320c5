/* The floor of every measurement: what the same graph of processes needs with bare sockets and no
 * protocol.
 *
 * One relay process per node.  Relays are connected by TCP along the edges of the binomial graph,
 * clients to the relay of their node by a Unix socket of packets.  A message that a relay sees for
 * the first time goes to all its neighbours but the one it came from, and then to its clients.
 * There is nothing else: no frame, no check, no acknowledgement, no copy that waits. */
#ifndef MU_BENCH_PROCFAIL_RELAY_H
#define MU_BENCH_PROCFAIL_RELAY_H

#include "rig/page.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    BENCH_RELAYS_MAX = 1024,
    BENCH_CLIENTS_MAX = 512, /* of one relay */
};

#define BENCH_RANK_NONE UINT32_MAX

/* Relays belong to one host, so both sides have the same layout. */
struct bench_message {
    uint64_t sequence; /* from 1; each is new once at each relay */
    uint32_t skip;     /* this rank is not told, as if it had died; BENCH_RANK_NONE: all are */
    uint8_t rest[BENCH_MESSAGE_BYTES - 12];
};

struct bench_relays {
    uint32_t nodes;
    uint64_t sequence;
    pid_t pids[BENCH_RELAYS_MAX];
    int posts[BENCH_RELAYS_MAX]; /* one socket to each relay */
};

/* Starts them as ordinary processes, connected to each other.  They die with the calling thread.
 * Returns 0; or -1 with errno: then some may be left, and end with this process. */
int bench_relays_start(struct bench_relays *relays, uint32_t nodes);

/* Ends and reaps them. */
void bench_relays_stop(struct bench_relays *relays);

/* From now on they have the priority and the processors that daemons have, or are as ordinary
 * processes.  Returns 0; or -1 with errno, EPERM where it is not permitted: then none is other than
 * before, because what the first may, all may. */
int bench_relays_set_realtime(const struct bench_relays *relays, bool is_realtime);

/* The next message enters at this node.  Returns 0, or -1 with errno. */
int bench_relays_post(struct bench_relays *relays, uint32_t node, uint32_t skip);

#endif
