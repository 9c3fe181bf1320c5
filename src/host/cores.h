/* The cores of this host, and which of them a process of a job is bound to.
 *
 * A core is bound to as a whole, with all its hardware threads.  Usable is what this daemon itself
 * might run on when it began: what a cpuset, a container or taskset(1) keeps from it is left alone.
 */
#ifndef MU_HOST_CORES_H
#define MU_HOST_CORES_H

#include "host/spawn.h"
#include "wire/launch/launch.h"

/* One hardware thread; in the order of cores, and these in the order of packages. */
struct mu_cores_thread {
    uint32_t cpu; /* the kernel's number */
    uint32_t core, package;
    bool usable;
};

/* Zeroed at first: nothing is known. */
struct mu_cores {
    uint32_t count; /* of threads */
    struct mu_cores_thread *threads;
};

/* Asks hwloc, which takes some milliseconds.  NULL, or why nothing is known. */
const char *mu_cores_read(struct mu_cores *cores, const struct mu_spawn_cpus *allowed);
void mu_cores_free(struct mu_cores *cores);

/* Cores with a usable thread. */
uint32_t mu_cores_usable(const struct mu_cores *cores);

/* The usable threads of the usable core with this index. */
void mu_cores_mask(const struct mu_cores *cores, uint32_t index, struct mu_spawn_cpus *cpus);

/* "core 1: [./B]": a package in brackets, its cores between slashes, a character for each thread.
 * Without the picture where it does not fit. */
void mu_cores_text(const struct mu_cores *cores, uint32_t index, char *text, size_t room);

/* What this thread may run on, with every cpuset in it.  False: the kernel does not say. */
bool mu_cores_allowed(struct mu_spawn_cpus *allowed);

/* From now on a thread, or this one (0), runs on these.  Returns 0, or -1 with errno. */
int mu_cores_keep_to(pid_t thread, const struct mu_spawn_cpus *cpus);

bool mu_cores_has(const struct mu_spawn_cpus *cpus, uint32_t cpu); /* below MU_SPAWN_CPUS_MAX */
uint32_t mu_cores_count(const struct mu_spawn_cpus *cpus);

/* "0-3,5"; cut off where it does not fit. */
void mu_cores_list(const struct mu_spawn_cpus *cpus, char *text, size_t room);

/* A node's part of these, of which there is at least one (wire/launch/launch.h). */
void mu_cores_part(const struct mu_spawn_cpus *allowed, mu_slot slot, uint32_t nodes,
                   struct mu_spawn_cpus *part);

/* From now on this thread, and those that it makes, run on the part of this node.  Returns 0, or -1
 * with errno. */
int mu_cores_keep_to_part(mu_slot slot, uint32_t nodes);

/* How many processes of the job share the cores that 'self' has, and how many of these come before
 * its own: on a shared host, those of lower slots. */
uint32_t mu_cores_wanted(const struct mu_launch_job *spec, mu_slot self, bool shared_host);
uint32_t mu_cores_before(const struct mu_launch_job *spec, mu_slot self, bool shared_host);

#endif
