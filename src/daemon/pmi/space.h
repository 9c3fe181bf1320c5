/* What the processes of a job have put for each other, by PMI-1: keys and values, and which of them
 * the other nodes do not have yet. */
#ifndef MU_DAEMON_PMI_SPACE_H
#define MU_DAEMON_PMI_SPACE_H

#include "daemon/pmi/line.h"
#include "wire/launch/launch.h"

/* What a node's processes may put, in bytes of keys and values: ample for a business card each. */
enum { MU_PMI1_SPACE_MAX = 32 * 1024 * 1024 };

struct mu_pmi1_space;

struct mu_pmi1_space *mu_pmi1_space_open(void);        /* NULL: no memory */
void mu_pmi1_space_close(struct mu_pmi1_space *space); /* NULL is fine */

/* A process of this node.  NULL, or in a word without blanks why not: the key is there already, or
 * there is no room. */
const char *mu_pmi1_put(struct mu_pmi1_space *space, struct mu_pmi1_text key,
                        struct mu_pmi1_text value);

/* False: nobody has put it.  The value is good until the next call of a function of this header. */
bool mu_pmi1_get(const struct mu_pmi1_space *space, struct mu_pmi1_text key,
                 struct mu_pmi1_text *value);

/* What was put here since the last mu_pmi1_space_told(), for other nodes. */
const uint8_t *mu_pmi1_news(const struct mu_pmi1_space *space, size_t *count);
void mu_pmi1_told(struct mu_pmi1_space *space);

/* News of another node.  Pairs that are there already stay as they are.  NULL, or the rule that the
 * bytes break; then those before it were taken. */
const char *mu_pmi1_merge(struct mu_pmi1_space *space, const uint8_t *bytes, size_t count);

/* The value of PMI_process_mapping: which ranks share a node.  False: it is longer than a value may
 * be, or there is no memory. */
bool mu_pmi1_mapping(const struct mu_launch_job *spec, char text[MU_PMI1_VALUE_MAX]);

/* The value of PMI_dead_processes: which of the job's ranks have failed, a bit each.  "": none.
 * False: it is longer than a value may be. */
bool mu_pmi1_dead(const uint64_t *failed, uint32_t size, char text[MU_PMI1_VALUE_MAX]);

static inline bool mu_pmi1_has_failed(const uint64_t *failed, uint32_t rank)
{
    return (failed[rank / 64] >> rank % 64 & 1) != 0;
}

#endif
