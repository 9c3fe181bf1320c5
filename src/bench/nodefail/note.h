/* What a reader of 'muster bench nodefail' makes of an event. */
#ifndef MU_BENCH_NODEFAIL_NOTE_H
#define MU_BENCH_NODEFAIL_NOTE_H

#include "bench/nodefail/page.h"
#include "muster.h"

struct nodefail_reader {
    struct nodefail_page *page;
    struct nodefail_slot *slot;
    bool told_node[NODEFAIL_NODES_MAX];
    bool *told_rank; /* of the page's size */
};

/* The event was read at now_ns.  Every victim is to be told once, then each of its processes once;
 * everything else is wrong: about somebody who lives, told again, a process before its node.  What
 * is told as state after this reader was too slow may be a repetition. */
void nodefail_note(struct nodefail_reader *reader, const struct muster_event *event,
                   uint64_t now_ns);

#endif
