/* What an agreement is about: the bitwise AND of what was contributed, and who has failed.
 *
 * The failed are dead nodes and dead processes of live nodes; a dead node stands for all its
 * processes.  Each is marked when every contributor so far has acknowledged it.  The death of a
 * node is proven when one of them had proof of it.  Values are joined in any order, and joining one
 * twice changes nothing.
 *
 * The list is bounded.  When the failed are more, the lowest stay, and 'more' says that there are
 * others: the same ones whatever the order of joining.  Such a decision is an error at all; once
 * its failures are acknowledged they take no room any more, and the next agreement tells of the
 * next ones.  So nothing is silently lost, however many fail.
 *
 * Entries are bounded in the same way, with a flag of their own: whoever contributed one that is
 * not in the decision contributes it again. */
#ifndef MU_CORE_AGREE_VALUE_H
#define MU_CORE_AGREE_VALUE_H

#include "core/base/types.h"

#define MU_FAILED_NODE UINT32_MAX /* in place of a process: the node itself */

struct mu_failed {
    uint32_t node : 30;
    uint32_t acked : 1;  /* by every contributor */
    uint32_t proven : 1; /* of a node: that it is dead, and not only silent */
    uint32_t process;    /* by the driver's numbers; MU_FAILED_NODE */
};

/* Something that a contributor knows, and that nobody here understands: joined by union.  What a
 * key says is the same whoever says it; if it is not, the greater one stays. */
enum { MU_AGREE_ENTRY_BYTES = 46 };

struct mu_agree_entry {
    uint64_t key;
    uint8_t kind; /* the first to be compared, then the key */
    uint8_t length;
    uint8_t bytes[MU_AGREE_ENTRY_BYTES]; /* zero from 'length' on */
};

struct mu_agree_value {
    uint64_t bits;
    const struct mu_failed *failed; /* by node, then process, none twice */
    uint32_t failed_count;
    const struct mu_agree_entry *entries; /* by kind, then key, none twice */
    uint32_t entry_count;
    bool entries_more; /* not all of the entries are there */
    bool more;         /* not all of the failed are listed */
    bool silent; /* no contributor has a say in what is acknowledged: all is, as far as they go */
};

/* A value that is being gathered, in memory of its own. */
struct mu_gather {
    uint64_t bits;
    struct mu_failed *failed;
    uint16_t count;
    uint16_t capacity;
    struct mu_agree_entry *entries;
    uint16_t entry_count;
    uint16_t entry_capacity;
    bool entries_more;
    bool more;
    bool any; /* somebody with a say has contributed */
};

void mu_gather_clear(struct mu_gather *gather);
void mu_gather_join(struct mu_gather *gather, const struct mu_agree_value *value);
void mu_gather_set(struct mu_gather *gather, const struct mu_agree_value *value);

/* Adds a node that failed, which no contributor has acknowledged.  Of one that is there already
 * only the proof can be new. */
void mu_gather_add_failed(struct mu_gather *gather, mu_slot node, bool proven);

/* How it looks to others; points into the gather. */
struct mu_agree_value mu_gather_value(const struct mu_gather *gather);

/* Is one of the failed not acknowledged by all? */
bool mu_agree_value_error(const struct mu_agree_value *value);

/* The entry of that kind and key; NULL: there is none. */
const struct mu_agree_entry *mu_agree_value_entry(const struct mu_agree_value *value, uint8_t kind,
                                                  uint64_t key);

/* Negative, zero or positive, by kind, then key: the order of entries in a value. */
int mu_agree_entry_compare(const struct mu_agree_entry *a, const struct mu_agree_entry *b);

/* NULL, or the rule that the list of the failed, or of the entries, breaks. */
const char *mu_agree_value_check(const struct mu_agree_value *value, uint32_t size);

#endif
