/* What hwloc knows of this host. */
#define _GNU_SOURCE
#include "host/cores.h"

#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool mu_cores_allowed(struct mu_spawn_cpus *allowed)
{
    memset(allowed, 0, sizeof *allowed); /* the kernel fills as much as it is built for */
    return syscall(SYS_sched_getaffinity, 0, sizeof *allowed, allowed) > 0;
}

int mu_cores_keep_to(pid_t thread, const struct mu_spawn_cpus *cpus)
{
    return (int)syscall(SYS_sched_setaffinity, thread, sizeof *cpus, cpus);
}

int mu_cores_keep_to_part(mu_slot slot, uint32_t nodes)
{
    struct mu_spawn_cpus allowed, part;
    if (!mu_cores_allowed(&allowed))
        return -1;
    mu_cores_part(&allowed, slot, nodes, &part);
    return mu_cores_keep_to(0, &part);
}

static bool is_allowed(const struct mu_spawn_cpus *allowed, uint32_t cpu)
{
    return cpu < MU_SPAWN_CPUS_MAX && mu_cores_has(allowed, cpu);
}

/* Of a machine that does not say so, each thread is a core, and all are one package. */
static uint32_t number_of(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_obj_t thread,
                          uint32_t otherwise)
{
    hwloc_obj_t above = hwloc_get_ancestor_obj_by_type(topology, type, thread);
    return above != NULL ? above->logical_index : otherwise;
}

static const char *copy_threads(struct mu_cores *cores, hwloc_topology_t topology,
                                const struct mu_spawn_cpus *allowed)
{
    int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    if (count <= 0)
        return "hwloc finds no processor";
    cores->threads = calloc((size_t)count, sizeof *cores->threads);
    if (cores->threads == NULL)
        return "no memory for a list of cores";
    cores->count = (uint32_t)count;
    for (uint32_t i = 0; i < cores->count; i++) {
        hwloc_obj_t thread = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, i);
        cores->threads[i] = (struct mu_cores_thread){
            .cpu = thread->os_index,
            .core = number_of(topology, HWLOC_OBJ_CORE, thread, i),
            .package = number_of(topology, HWLOC_OBJ_PACKAGE, thread, 0),
            .usable = is_allowed(allowed, thread->os_index),
        };
    }
    return NULL;
}

/* Without hwloc's part that runs on one core after the other to ask each: the kernel knows. */
static bool load(hwloc_topology_t topology)
{
    return hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                         "x86") == 0 &&
           hwloc_topology_load(topology) == 0;
}

const char *mu_cores_read(struct mu_cores *cores, const struct mu_spawn_cpus *allowed)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return "hwloc does not start";
    const char *wrong = load(topology) ? copy_threads(cores, topology, allowed)
                                       : "hwloc cannot read the host's topology";
    hwloc_topology_destroy(topology);
    return wrong;
}
