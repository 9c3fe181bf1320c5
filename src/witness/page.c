#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "witness/page.h"

#include <sys/mman.h>

struct mu_witness_page *mu_witness_page_make(void)
{
    void *page = mmap(NULL, sizeof(struct mu_witness_page), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? NULL : page;
}

void mu_witness_page_write(struct mu_witness_page *page, const struct mu_witness_list *list)
{
    uint32_t other = 1 - atomic_load_explicit(&page->current, memory_order_relaxed);
    page->lists[other] = *list;
    atomic_store_explicit(&page->current, other, memory_order_release);
}

struct mu_witness_list mu_witness_page_read(const struct mu_witness_page *page)
{
    uint32_t current = atomic_load_explicit(&page->current, memory_order_acquire);
    struct mu_witness_list list = page->lists[current & 1];
    if (list.count > MU_WITNESS_NEIGHBOURS)
        list.count = MU_WITNESS_NEIGHBOURS;
    return list;
}
