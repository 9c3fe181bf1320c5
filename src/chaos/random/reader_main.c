/* muster-chaos-reader, which 'muster chaos random' starts on every node: reads what libmuster
 * tells, as any program would, and counts it.
 *
 *     muster-chaos-reader PAGE      in a job; PAGE leads to the memory of page.h */
#include "chaos/random/page.h"
#include "muster.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "muster-chaos-reader: %s: %s\n", what, why);
    exit(1);
}

static void count(_Atomic uint8_t *counter, bool is_state)
{
    if (is_state)
        *counter = *counter == 0 ? 1 : *counter; /* told again, after this reader was too slow */
    else if (*counter < UINT8_MAX)
        ++*counter;
}

static void note(struct chaos_page *page, uint32_t rank, const struct muster_event *event)
{
    bool is_state = event->is_state != 0;
    if (event->type == MUSTER_EVENT_NODE && event->node < page->nodes)
        count(chaos_page_node(page, rank, event->node), is_state);
    else if (event->type == MUSTER_EVENT_PROCESS && event->rank < page->nodes &&
             event->verdict != MUSTER_LEFT)
        count(chaos_page_process(page, rank, event->rank), is_state);
    else if (event->type == MUSTER_EVENT_NODE || event->type == MUSTER_EVENT_PROCESS)
        count(chaos_page_wrong(page, rank), false);
}

int main(int argc, char **argv)
{
    struct muster *muster;
    struct muster_error error;
    struct muster_event event;
    if (argc != 2)
        fail("it takes PAGE", "'muster chaos random' starts it, nobody else");
    struct chaos_page *page = chaos_page_open(argv[1]);
    if (page == NULL)
        fail(argv[1], strerror(errno));
    if (muster_open(&muster, &error) != 0)
        fail("muster_open", error.text);
    uint32_t rank = muster_rank(muster);
    if (rank >= page->nodes)
        fail("the rank of this process", "not below the size of the page");
    do {
        if (muster_next(muster, &event, MUSTER_FOREVER, &error) != 1)
            fail("muster_next", error.text);
        note(page, rank, &event);
    } while (event.type != MUSTER_EVENT_CAUGHT_UP);
    atomic_fetch_add(&page->ready, 1);
    while (muster_next(muster, &event, MUSTER_FOREVER, &error) == 1)
        note(page, rank, &event);
    return 0; /* its daemon has ended, and so does it */
}
