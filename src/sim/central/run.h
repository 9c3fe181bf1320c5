/* Healthy hosts, polled for many cycles: whom does a central detector accuse?  By our rules, and by
 * those that the paper prints. */
#ifndef MU_SIM_CENTRAL_RUN_H
#define MU_SIM_CENTRAL_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct sim_run_central {
    uint32_t nodes; /* the master, and hosts that are all well */
    uint64_t seed;
    uint64_t cycles;
    bool printed;      /* Fig. 4a */
    uint64_t trip_ns;  /* the average round trip; one way takes a tenth to nine tenths of it */
    uint64_t cycle_ns; /* ours */
};

struct sim_run_central_result {
    uint64_t accused;          /* verdicts on hosts that are well */
    uint64_t accused_restored; /* printed: the same if the timeout were restored in each cycle */
    uint64_t exhausted_cycle;  /* printed: when the timeout was zero for the first time; 0: never */
    uint64_t events;
    double wall_s;
};

void sim_run_central(const struct sim_run_central *run, struct sim_run_central_result *result);

#endif
