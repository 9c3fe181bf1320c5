/* A machine: one musterd for each node, on this host or on others, started, linked, and ended by
 * us.
 *
 *     machine_open()  ->  'ready', or 'failed'
 *     jobs, one after another or at once (job.h)
 *     machine_end()   ->  'gone'  ->  machine_free()
 *
 * Everything happens on one loop of the caller's, in hooks; no hook is called within a function
 * of this header, unless it says so.  No globals: several machines can be there at once. */
#ifndef MU_LAUNCH_MACHINE_H
#define MU_LAUNCH_MACHINE_H

#include "launch/hosts.h"
#include "net/conn.h"

#include <sys/types.h>

enum {
    MACHINE_NODES_MAX = 1024,
    MACHINE_TEXT_MAX = 512,         /* every sentence of this header and job.h, cut off there */
    MACHINE_PATIENCE_MS = 2000,     /* for machine_end(): ample, since daemons need 500 ms */
    MACHINE_BRING_UP_MS = 30 * 1000 /* then a machine that is not ready has failed */
};

struct machine;

/* All are called on the loop, and may be NULL. */
struct machine_hooks {
    void *owner;
    /* Every daemon is up and has its links.  Once, unless 'failed' comes. */
    void (*ready)(void *owner);
    /* It could not be brought up: 'text' says which node, and why.  It is ending: 'gone' follows.
     */
    void (*failed)(void *owner, const char *text);
    /* After 'ready', when nobody asked for it: the daemon of a node has ended; 'text' says how, as
     * a clause: "its daemon ended: killed (signal 9)".  Jobs with processes there hear of it by
     * themselves, sooner or later than this. */
    void (*lost)(void *owner, mu_slot node, const char *text);
    /* No daemon and no connection is left: machine_free() may follow, at once or later. */
    void (*gone)(void *owner);
};

/* Fast enough that nobody waits, and slow enough for a host that is busy: a node may be stopped for
 * 0.4 s before anybody calls it dead. */
#define MACHINE_PERIOD_NS  UINT64_C(100000000)
#define MACHINE_TIMEOUT_NS UINT64_C(500000000)

struct machine_config {
    uv_loop_t *loop;
    uint32_t nodes;      /* 1 .. MACHINE_NODES_MAX */
    const char *musterd; /* path of the daemon; NULL: next to this executable */
    /* Where the nodes are, with addresses, as long as the machine is there; NULL: on this host, at
     * loopback addresses of their own. */
    const struct hosts *hosts;
    /* With hosts: the command that starts a daemon there (agent.h), which has its path there. */
    const char *agent;
    const char *record_dir; /* an existing folder for node-N, on other hosts with its whole
                               path; NULL: nothing is recorded */
    uint32_t fanout;        /* of trees of agreements; a power of two; 0: the daemons' own */
    bool pmix;              /* daemons serve PMIx, to programs that look for it */
    bool verbose;           /* daemons say on standard error what they do */
    bool is_mute;           /* they say nothing there, not even what somebody should know */
    uint64_t period_ns;     /* of heartbeats, and their timeout; 0: MACHINE_PERIOD_NS */
    uint64_t timeout_ns;
    struct machine_hooks hooks;
};

/* Draws the machine's number and key, and starts the daemons.  Returns the machine, or NULL with a
 * sentence in 'text'; then nothing was started. */
struct machine *machine_open(const struct machine_config *config, char text[MACHINE_TEXT_MAX]);

/* For callers without a loop of their own making: runs it until 'ready' or 'failed' (after the
 * hook), or until 'gone'.  Returns whether the machine is ready. */
bool machine_wait_ready(struct machine *machine);
void machine_wait_gone(struct machine *machine);

/* Ends it: closes the daemons' lifelines; whoever has not exited after 'patience_ms' gets SIGKILL,
 * and its processes die with it.  0: SIGKILL at once.  Again: a shorter patience counts.  Jobs are
 * finished or freed by their owners before; what still runs ends as a lost job does. */
void machine_end(struct machine *machine, uint32_t patience_ms);

/* After 'gone', or after it as the last thing in that hook.  Wipes the key.  NULL is fine. */
void machine_free(struct machine *machine);

/* Kills the daemon of a node, and with it what it runs: its witness tells its neighbours, and they
 * tell all.  On another host its lifeline ends, and it ends itself.  Without effect when it has
 * ended. */
void machine_kill(struct machine *machine, mu_slot node);

/* No further job can be started: the key is wiped.  After the last job is 'connected' (job.h). */
void machine_forget_key(struct machine *machine);

uint64_t machine_id(const struct machine *machine);
uint32_t machine_nodes(const struct machine *machine);
bool machine_shares_host(const struct machine *machine);         /* all nodes are on one host */
bool machine_alive(const struct machine *machine, mu_slot node); /* its daemon has not ended */
uint32_t machine_alive_count(const struct machine *machine);
/* The process id of its daemon, or of its agent; and of our child: of the daemon's witness, or of
 * the agent. */
pid_t machine_daemon(const struct machine *machine, mu_slot node);
pid_t machine_child(const struct machine *machine, mu_slot node);
const char *machine_name(const struct machine *machine, mu_slot node); /* "node3", or its host */

/* ---- for job.c ---- */

uv_loop_t *machine_loop(const struct machine *machine);
struct mu_net *machine_net(struct machine *machine);
const struct sockaddr_in *machine_address(const struct machine *machine, mu_slot node);
uint32_t machine_next_job(struct machine *machine); /* 1, 2, 3, ... */

#endif
