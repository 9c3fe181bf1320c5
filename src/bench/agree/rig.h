/* Daemons and processes of the benches of agreements. */
#ifndef MU_BENCH_AGREE_RIG_H
#define MU_BENCH_AGREE_RIG_H

#include "bench/agree/page.h"
#include "rig/rig.h"

#include <limits.h>

enum { AGREE_START_MS = 60000 }; /* until all processes are there */

struct agree_rig {
    const char *command; /* "muster bench agree": whose words these are */
    uint32_t nodes, procs, fanout;
    char client[PATH_MAX]; /* the program */
    struct agree_page *page;
    int page_fd;
    struct rig ring;
    struct job *job;
    uint32_t ended; /* processes */
};

/* Finds the program and makes the page, with logs of so many entries.  False: it has said why. */
bool agree_rig_open(struct agree_rig *rig, uint32_t log);
void agree_rig_close(struct agree_rig *rig);

/* New daemons and new processes, which wait for page->go.  False: it has said why, or a signal
 * came. agree_rig_end() follows in any case. */
bool agree_rig_begin(struct agree_rig *rig);
void agree_rig_end(struct agree_rig *rig);

/* Lets so much time pass.  False: something broke, or a signal came. */
bool agree_rig_pass_ms(struct agree_rig *rig, uint32_t ms);

#endif
