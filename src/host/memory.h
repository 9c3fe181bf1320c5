/* Memory that will be written from end to end. */
#ifndef MU_HOST_MEMORY_H
#define MU_HOST_MEMORY_H

#include <stddef.h>

/* The kernel gives all pages of this fresh memory at once, where it can (Linux 5.14): a page fault
 * for each takes several times as long.  What is in the memory stays. */
void mu_memory_populate(void *memory, size_t bytes);

#endif
