/* Views of this daemon: between the view of the core, the links to other daemons, the roll and the
 * programs.
 *
 * The core decides; here its messages become frames, what it learns of deaths goes to the one door
 * that all deaths have, an installed view is written into the roll, and a view that is stable is
 * told to programs.  Frames are dropped where there is no connection: one is made, and
 * mu_views_up() has both ends say again what matters. */
#ifndef MU_DAEMON_VIEW_VIEW_H
#define MU_DAEMON_VIEW_VIEW_H

#include "core/view/view.h"
#include "daemon/roll/roll.h"

#include <uv.h>

struct mu_views;

struct mu_views_hooks {
    void *owner;
    /* Without a connection it is dropped, one is made, and mu_views_up() follows. */
    void (*send)(void *owner, mu_slot peer, const uint8_t *bytes, size_t count);
    bool (*lease)(void *owner); /* is it held, now? */
    /* Members told of a death, or of proof of one; from the loop, within no other call. */
    void (*dead)(void *owner, const struct mu_roster_entry *death, mu_slot by);
    /* A view is installed: who went and came since the one before. */
    void (*installed)(void *owner, const struct mu_roll_view *view);
    /* A view is stable: its members, good within the call. */
    void (*told)(void *owner, struct mu_view_mark mark, const struct mu_span *spans,
                 uint32_t count);
    /* This node does and says nothing any more; from the loop. */
    void (*stopped)(void *owner, enum mu_view_stop why);
    /* Of a peer: its message was not taken, and its connection is to be cut. */
    void (*fault)(void *owner, enum mu_fault fault, mu_slot peer);
};

struct mu_views_config {
    uv_loop_t *loop;
    const struct mu_roll *roll; /* of the caller; the founding members are in it */
    uint64_t cluster;           /* its number */
    uint8_t shift;              /* the tree's fan-out is 2^shift */
    enum mu_view_partition partition;
    uint64_t clock; /* which clock ours is: wire/base/evidence.h */
    struct mu_views_hooks hooks;
};

/* Returns 0 or an errno. */
int mu_views_open(const struct mu_views_config *config, struct mu_views **views);

/* All members of the roll found the cluster: view 1. */
void mu_views_start(struct mu_views *views);

/* Handles of the loop are closed when it runs next. */
void mu_views_close(struct mu_views *views);

/* ---- what happens ---- */

/* A frame of a view (wire/peer/view.h): NULL, or the rule that it breaks. */
const char *mu_views_frame(struct mu_views *views, mu_slot from, const uint8_t *bytes,
                           size_t count);
void mu_views_up(struct mu_views *views, mu_slot peer);
void mu_views_dead(struct mu_views *views, const struct mu_roster_entry *death);
void mu_views_lease(struct mu_views *views); /* it may have changed */

/* ---- to look ---- */

/* The view that is installed; the roll has the one that was told last. */
struct mu_view_mark mu_views_present(const struct mu_views *views);

#endif
