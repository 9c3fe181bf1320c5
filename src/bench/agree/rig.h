/* Daemons and processes of the benches of agreements. */
#ifndef MU_BENCH_AGREE_RIG_H
#define MU_BENCH_AGREE_RIG_H

#include "rig/rig.h"

struct agree_rig {
    const char *command; /* "muster bench agree": whose words these are */
    uint32_t nodes, procs, fanout;
    struct rig_page *page;
    struct rig rig;
};

/* Makes the page, with logs of so many entries; rig_page_free() follows.  False: it has said why.
 */
bool agree_rig_open(struct agree_rig *rig, uint32_t log);

/* New daemons and new processes, which have begun to do this.  False: it has said why, or a signal
 * came.  rig_close() follows in any case; what they wrote stays in the page. */
bool agree_rig_begin(struct agree_rig *rig, const struct rig_agree *what);

#endif
