/* Where a node of 'muster run --nodes' runs: row 'node' of as many rows of this host's processors
 * as there are nodes, or one of them where there are fewer (src/wire/launch/launch.h).  What is
 * measured beside muster runs there as well. */
#ifndef MU_BENCH_PART_H
#define MU_BENCH_PART_H

#ifndef _GNU_SOURCE
#error "cpu_set_t is an extension of GNU's"
#endif
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static void keep_to_part(int node, int nodes)
{
    cpu_set_t allowed, part;
    CPU_ZERO(&part);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        int all = CPU_COUNT(&allowed), first = node * all / nodes, end = (node + 1) * all / nodes;
        for (int cpu = 0, at = 0; cpu < CPU_SETSIZE; cpu++) {
            if (!CPU_ISSET(cpu, &allowed))
                continue;
            if (at == first || (at > first && at < end))
                CPU_SET(cpu, &part);
            at++;
        }
    }
    if (sched_setaffinity(0, sizeof part, &part) == 0)
        return;
    perror("a part of the processors");
    exit(1);
}

#endif
