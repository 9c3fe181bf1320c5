/* What a daemon leaves to its witness: a page that both have mapped.  The daemon writes it when
 * something changes, without a system call and without waking anybody; the witness reads it once,
 * when the daemon has ended.  A daemon that is killed while it writes leaves the list before. */
#ifndef MU_WITNESS_PAGE_H
#define MU_WITNESS_PAGE_H

#include "core/base/types.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { MU_WITNESS_NEIGHBOURS = 16 };

struct mu_witness_neighbour {
    mu_slot slot;
    struct sockaddr_in address;
};

struct mu_witness_list {
    bool leaving; /* it has said goodbye to everybody itself: the witness says nothing */
    uint32_t count;
    struct mu_witness_neighbour at[MU_WITNESS_NEIGHBOURS]; /* to be told in this order */
};

struct mu_witness_page {
    _Atomic uint32_t current; /* which of the two is the list */
    struct mu_witness_list lists[2];
};

/* NULL: no memory; errno says why. */
struct mu_witness_page *mu_witness_page_make(void);

/* For the daemon's one thread. */
void mu_witness_page_write(struct mu_witness_page *page, const struct mu_witness_list *list);

/* When the daemon has ended.  What cannot be is left out. */
struct mu_witness_list mu_witness_page_read(const struct mu_witness_page *page);

#endif
