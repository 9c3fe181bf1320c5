/* Memory of the virtual world: it may grow, and running out ends the program with a message. */
#ifndef MU_SIM_BASE_MEMORY_H
#define MU_SIM_BASE_MEMORY_H

#include <stddef.h>

void *sim_realloc(void *old, size_t bytes);

/* Zeroed. */
void *sim_calloc(size_t count, size_t item_size);

/* Zeroed pages from the kernel, in huge pages where it can: for the state of a million nodes. */
void *sim_map(size_t bytes);
void sim_unmap(void *memory, size_t bytes);

/* The most memory this process has had, in MiB. */
double sim_peak_rss_mib(void);

#endif
