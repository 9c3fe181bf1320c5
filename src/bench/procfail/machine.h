/* The machine of a bench: daemons that stand, one job of clients at a time, and what the daemons
 * say of the one death in it. */
#ifndef MU_BENCH_PROCFAIL_MACHINE_H
#define MU_BENCH_PROCFAIL_MACHINE_H

#include "launch/job.h"

/* When a daemon told its clients of the victim's death; ns 0: it did not say so. */
struct bench_told {
    uint64_t ns; /* CLOCK_MONOTONIC: all daemons are on this host */
    uint16_t hops;
};

struct bench_machine {
    uv_loop_t loop;
    bool has_loop;
    uv_timer_t tick;
    bool is_broken; /* something happened that must not; it was said */
    struct machine *machine;
    struct job *job;
    uint32_t victim;
    bool is_idle;            /* all processes of the job have ended */
    uint64_t seen_ns;        /* the victim's daemon saw it die then; 0: not yet */
    struct bench_told *told; /* of each node */
};

/* Starts the daemons and waits until all are linked.  False: it has said why. */
bool bench_machine_open(struct bench_machine *bench, uint32_t nodes);

/* Ends them, with everything that runs there; also after a failure. */
void bench_machine_close(struct bench_machine *bench);

/* Starts clients of this process, whose program is 'client': so many on each node, which keep to
 * its part of the host or run anywhere.  False: it has said why. */
bool bench_machine_start(struct bench_machine *bench, const char *client, uint32_t procs,
                         uint32_t victim, bool has_parts);

/* Kills them, and waits until the daemons have forgotten them. */
bool bench_machine_stop(struct bench_machine *bench);

/* Waits until every daemon has said when it told its clients, so that nothing of the death is on
 * its way any more.  Gives up after a while: a daemon that says nothing has no figure. */
bool bench_machine_reported(struct bench_machine *bench);

/* Lets a millisecond pass on the loop; 'bench' is a bench_machine.  False: something broke. */
bool bench_machine_pass_ms(void *bench);

#endif
