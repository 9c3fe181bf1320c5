/* A rig: a machine on this host that is measured or harmed, with given times of heartbeats; one job
 * of clients on it at a time, which share a page with us; and what each daemon counts.
 *
 *     rig_open()  ->  rig_start_clients()  ->  rig_wait_ready()  ->  rig_pass_ms()...
 *     rig_close()  ->  rig_end()
 *
 * SIGINT, SIGTERM and SIGHUP do not end the bench at once: what is stopped would be left behind.
 * Everything that waits gives up, the bench closes what it has opened, and then ends by the signal
 * (rig_end). */
#ifndef MU_RIG_RIG_H
#define MU_RIG_RIG_H

#include "rig/page.h"
#include "launch/job.h"

enum { RIG_SIGNALS = 3 };

struct rig_config {
    const char *command; /* "muster bench noise": whose words these are */
    uint32_t nodes;      /* 0: there is no machine, only a loop, signals and a page */
    uint64_t period_ns, timeout_ns;
    uint32_t fanout; /* as in machine.h */
    bool is_mute;    /* daemons that learn that they were declared dead do not say so */
    bool may_lose;   /* a daemon that ends, and nobody ended it, is no failure */
    /* Such a daemon, in place of that. */
    void (*lost)(void *owner, mu_slot node, const char *text);
    /* Of clients, as in job.h.  May be NULL. */
    void (*ended)(void *owner, uint32_t rank, const struct mu_evidence *evidence);
    void (*told)(void *owner, const struct job_told *told);
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
    uint32_t lost; /* daemons that have ended, and nobody ended them */
    /* Of clients. */
    struct rig_page *page;
    int door; /* where they get it; -1: there is none */
    uv_poll_t knock;
    struct job *job;
    bool is_idle;   /* all of them have ended */
    uint32_t ended; /* of them */
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

/* Kills clients, daemons and everything else that descends from this process.  From then on nothing
 * counts (page->is_over). */
void rig_close(struct rig *rig);

/* After the end of everything: the exit code, or the end by the signal that came. */
int rig_end(const struct rig *rig, int code);

/* Lets so much time pass on the loop.  False: something broke, or a signal came. */
bool rig_pass_ms(struct rig *rig, uint32_t ms);

/* Asks the daemon of a node.  False with a clause in 'why': "does not answer". */
bool rig_ask(struct rig *rig, mu_slot node, struct rig_counts *counts, char why[MACHINE_TEXT_MAX]);

/* "muster bench noise: node 3: ...", once, and no going on. */
void rig_broke(struct rig *rig, mu_slot node, const char *why);

/* A job of a program on all nodes.  NULL: it has said why. */
struct job *rig_start_job(struct rig *rig, uint32_t procs, const char *const *argv, uint8_t binding,
                          const struct job_hooks *hooks);

/* ---- clients (clients.c) ----
 *
 * All are the program muster-rig-client in one of its roles (role.h). */

#define RIG_CLIENT "muster-rig-client"

/* The page of so many clients, for any number of rigs one after the other; and a look whether there
 * is the program.  NULL: it has said why. */
struct rig_page *rig_prepare_clients(const char *command, uint32_t nodes, uint32_t procs,
                                     uint32_t log_bytes);

/* From now on whoever comes to the rig's door is given this page.  False: it has said why. */
bool rig_open_door(struct rig *rig, struct rig_page *page);

/* Starts them, each in this role.  The page was reset, and has what they are to do.  'binding' is
 * enum mu_launch_binding.  False: it has said why. */
bool rig_start_clients(struct rig *rig, struct rig_page *page, const char *role, uint8_t binding);

/* Until all are there.  False: it has said why, or a signal came; also when one has ended, or a
 * daemon has: then they never will be. */
bool rig_wait_ready(struct rig *rig);

/* Kills them, and waits until the daemons have forgotten them.  False: it has said why, or a signal
 * came. */
bool rig_stop_clients(struct rig *rig);

#endif
