/* What a process takes of memory. */
#ifndef MU_RIG_PSS_H
#define MU_RIG_PSS_H

#include <sys/types.h>

/* KiB of its own and its share of what it shares with others (Pss), or 0: it cannot be read. */
double bench_pss_kib(pid_t pid);

#endif
