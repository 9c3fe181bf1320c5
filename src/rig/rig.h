/* The daemons of a bench of the ring: a machine on this host with given times of heartbeats, and
 * what each daemon counts.
 *
 * SIGINT, SIGTERM and SIGHUP do not end the bench at once: what is stopped would be left behind.
 * Everything that waits gives up, the bench closes what it has opened, and then ends by the signal
 * (rig_end). */
#ifndef MU_RIG_RIG_H
#define MU_RIG_RIG_H

#include "launch/job.h"

enum { RIG_SIGNALS = 3 };

struct rig_config {
    const char *command; /* "muster bench noise": whose words these are */
    uint32_t nodes;
    uint64_t period_ns, timeout_ns;
    uint32_t fanout; /* as in machine.h */
    bool is_mute;    /* daemons that learn that they were declared dead do not say so */
    /* A daemon has ended that nobody ended.  NULL: that is a failure. */
    void (*lost)(void *owner, mu_slot node, const char *text);
    void *owner;
};

struct rig {
    struct rig_config config;
    uv_loop_t loop;
    bool has_loop;
    uv_timer_t tick;
    uv_signal_t signals[RIG_SIGNALS];
    int signal;     /* that came; 0: none */
    bool is_broken; /* something happened that must not; it was said */
    struct machine *machine;
};

/* Of one daemon, since it started. */
struct rig_counts {
    uint64_t up_ns;
    uint64_t period_ns, timeout_ns; /* that it has now */
    uint64_t lease_ns;              /* that it still has */
    uint64_t beats_out;             /* datagrams: heartbeats, acknowledgements and all others */
    uint64_t beat_bytes_out;
    uint64_t cpu_ns;                 /* of its heartbeat thread */
    uint64_t lag_ns_p99, lag_ns_max; /* how late that came to its deadlines */
    uint64_t lags_given_back;        /* to others, because it was late itself */
    uint64_t unreachable;            /* nodes that it did not hear, but others did */
};

/* Times from flags.  NULL, or the rule that they break. */
const char *rig_times_error(uint64_t period_ms, uint64_t timeout_ms);

/* Starts the daemons.  False: it has said why, or a signal came.  rig_close() follows either
 * way. */
bool rig_open(struct rig *rig, const struct rig_config *config);

/* Waits until each of them is heard by its observer.  False: it has said why, or a signal came. */
bool rig_wait_heard(struct rig *rig);

/* Kills the daemons and everything else that descends from this process. */
void rig_close(struct rig *rig);

/* After the end of everything: the exit code, or the end by the signal that came. */
int rig_end(const struct rig *rig, int code);

/* Lets so much time pass on the loop.  False: something broke, or a signal came. */
bool rig_pass_ms(struct rig *rig, uint32_t ms);

/* Asks the daemon of a node.  False with a clause in 'why': "does not answer". */
bool rig_ask(struct rig *rig, mu_slot node, struct rig_counts *counts, char why[MACHINE_TEXT_MAX]);

/* "muster bench noise: node 3: ...", once, and no going on. */
void rig_broke(struct rig *rig, mu_slot node, const char *why);

#endif
