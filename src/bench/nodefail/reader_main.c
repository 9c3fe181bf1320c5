/* muster-bench-reader, which 'muster bench nodefail' starts on every node: reads what libmuster
 * tells, as any program would, and writes down when.
 *
 *     muster-bench-reader BENCH      in a job; BENCH is the process id of the bench
 *
 * It is small, because a process takes as long to wake up as it is large, which is not muster's
 * time. */
#include "bench/nodefail/note.h"
#include "rig/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "muster-bench-reader: %s: %s\n", what, why);
    exit(1);
}

/* Up to CAUGHT_UP everything is history; a new job has none, so what it has is wrong. */
static uint32_t read_history(struct muster *muster)
{
    struct muster_event event = {0};
    struct muster_error error;
    for (uint32_t count = 0;; count++) {
        if (muster_next(muster, &event, MUSTER_FOREVER, &error) < 0)
            fail("muster_next", error.text);
        if (event.type == MUSTER_EVENT_CAUGHT_UP)
            return count;
    }
}

static void join(struct nodefail_reader *reader, uint32_t bench, uint32_t rank)
{
    reader->page = nodefail_page_get(bench);
    if (reader->page == NULL)
        fail("the page of the bench", strerror(errno));
    if (rank >= reader->page->size)
        fail("the rank of this process", "not below the size of the page");
    reader->slot = &reader->page->slots[rank];
    reader->told_rank = calloc(reader->page->size, sizeof *reader->told_rank);
    if (reader->told_rank == NULL)
        fail("memory", strerror(errno));
}

/* When the bench is over, or this is a victim, the daemon ends, and that is no surprise. */
static _Noreturn void end(const struct nodefail_reader *reader, uint32_t node, const char *why)
{
    if (reader->page->is_over || reader->page->is_victim[node])
        exit(0);
    fail("muster_next", why);
}

int main(int argc, char **argv)
{
    static struct nodefail_reader reader;
    struct muster *muster;
    struct muster_error error;
    struct muster_event event;
    if (argc != 2)
        fail("it takes BENCH", "'muster bench nodefail' starts it, nobody else");
    prctl(PR_SET_NAME, "bench-reader"); /* for who profiles it */
    if (muster_open(&muster, &error) != 0)
        fail("muster_open", error.text);
    uint32_t before = read_history(muster), node = muster_node(muster);
    join(&reader, (uint32_t)strtoul(argv[1], NULL, 10), muster_rank(muster));
    reader.slot->wrong = before;
    reader.slot->pid = (uint32_t)getpid();
    atomic_fetch_add(&reader.page->ready, 1);
    while (muster_next(muster, &event, MUSTER_FOREVER, &error) == 1)
        nodefail_note(&reader, &event, bench_now_ns());
    end(&reader, node, error.text);
}
