/* The memory that 'muster chaos random' and its readers share: how often each reader was told of
 * each node and of each process.  There is one process for each node: rank r on node r. */
#ifndef MU_CHAOS_RANDOM_PAGE_H
#define MU_CHAOS_RANDOM_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

struct chaos_page {
    uint32_t nodes;
    _Atomic uint32_t ready; /* readers that wait for events */
    /* Of each reader: events about nodes, events about processes, then events that cannot be. */
    _Atomic uint8_t told[];
};

/* A new page; *fd is the caller's, for chaos_page_path().  NULL with errno. */
struct chaos_page *chaos_page_make(uint32_t nodes, int *fd);
void chaos_page_free(struct chaos_page *page);

/* For the next readers, when those before are gone. */
void chaos_page_reset(struct chaos_page *page);

/* What a reader is given to find it: only its owner and root can open that.  Returns 'path'. */
enum { CHAOS_PATH_MAX = 64 };
const char *chaos_page_path(int fd, char path[CHAOS_PATH_MAX]);

/* In a reader.  NULL with errno. */
struct chaos_page *chaos_page_open(const char *path);

/* Where it is counted. */
_Atomic uint8_t *chaos_page_node(struct chaos_page *page, uint32_t reader, uint32_t node);
_Atomic uint8_t *chaos_page_process(struct chaos_page *page, uint32_t reader, uint32_t rank);
_Atomic uint8_t *chaos_page_wrong(struct chaos_page *page, uint32_t reader);

#endif
