/* Where the processes of 'muster run' go, and what they are bound to: the words of the command
 * line, and what follows from them. */
#ifndef MU_RUN_PLACE_H
#define MU_RUN_PLACE_H

#include "launch/hosts.h"
#include "wire/launch/launch.h"

enum { RUN_PLACE_TEXT_MAX = 512 };

struct run_place {
    bool by_slot, by_node; /* at most one; neither: as usual */
    bool oversubscribe;
    uint8_t binding; /* enum mu_launch_binding */
    uint32_t slots;  /* of each node; 0: any number, or the hosts say */
};

/* "node", "slot:oversubscribe", ":nooversubscribe".  False: it is something else. */
bool run_place_map_by(struct run_place *place, const char *text);

/* "none", "core", "core:overload-allowed". */
bool run_place_bind_to(struct run_place *place, const char *text);

/* Why so many ranks do not fit, as a sentence in 'text', or NULL.  'hosts' may be none. */
const char *run_place_error(const struct run_place *place, uint32_t ranks, uint32_t nodes,
                            const struct hosts *hosts, char text[RUN_PLACE_TEXT_MAX]);

/* There are more ranks than slots. */
bool run_place_is_oversubscribed(const struct run_place *place, uint32_t ranks, uint32_t nodes,
                                 const struct hosts *hosts);

/* Which rank is where; the caller frees *runs.  Returns how many.  Without hosts, slots and wishes
 * in blocks over all nodes. */
uint32_t run_place_runs(const struct run_place *place, uint32_t ranks, uint32_t nodes,
                        const struct hosts *hosts, struct mu_launch_run **runs);

#endif
