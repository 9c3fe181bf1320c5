#include "bench/agree/rig.h"

bool agree_rig_open(struct agree_rig *rig, uint32_t log)
{
    rig->page = rig_prepare_clients(rig->command, rig->nodes, rig->procs, log * sizeof(uint64_t));
    return rig->page != NULL;
}

/* Who ends was killed, or its processes tell. */
bool agree_rig_begin(struct agree_rig *rig, const struct rig_agree *what)
{
    const struct rig_config config = {.command = rig->command,
                                      .nodes = rig->nodes,
                                      .period_ns = MACHINE_PERIOD_NS,
                                      .timeout_ns = MACHINE_TIMEOUT_NS,
                                      .fanout = rig->fanout,
                                      .may_lose = true};
    rig_page_reset(rig->page);
    rig->page->agree = *what;
    bool good = rig_open(&rig->rig, &config) && rig_wait_heard(&rig->rig) &&
                rig_start_clients(&rig->rig, rig->page, "agree", MU_LAUNCH_PART) &&
                rig_wait_ready(&rig->rig);
    rig->page->go = true;
    return good;
}
