/* The doors of the core: all that drivers, recordings and replays need to know of a protocol.
 *
 * A protocol is entered by one function, and nothing but its events changes its state: what comes
 * of a step depends on the configuration and on the events so far, and on nothing else.  So each
 * door can be driven, explored, recorded and run again by itself, on a thread of its own, whatever
 * the others do.
 *
 * With S the state and C the configuration, every door is these six:
 *   const char *C_error(const struct C *);             NULL, or the rule that it breaks
 *   size_t S_bytes(const struct C *);                  of memory that all of the state takes
 *   struct S *S_init(void *memory, size_t, const struct C *);
 *   uint32_t S_effects_max(const struct C *);          of one step: room for them is the caller's
 *   void S_step(struct S *, const struct EVENT *, struct UPDATE *);
 *   void S_fingerprint(const struct S *, struct mu_fingerprint *);
 * A step overwrites the update.  What an event breaks of the rules for others is a FAULT in it;
 * what it breaks of the driver's own duties may be an assert. */
#ifndef MU_CORE_DOORS_H
#define MU_CORE_DOORS_H

#include "core/advise/advise.h"
#include "core/agree/agree.h"
#include "core/central/central.h"
#include "core/gather/gather.h"
#include "core/node.h"
#include "core/ring/ring.h"
#include "core/view/view.h"

/* DOOR(name, state, configuration, event, update).  A node has one of each, and as many of 'gather'
 * as there are series of exchanges. */
#define MU_DOORS(DOOR)                                                                             \
    DOOR(node, mu_node, mu_config, mu_event, mu_update)                                            \
    DOOR(ring, mu_detect, mu_detect_config, mu_detect_event, mu_detect_update)                     \
    DOOR(central, mu_central, mu_central_config, mu_central_event, mu_central_update)              \
    DOOR(agree, mu_agree, mu_agree_config, mu_agree_event, mu_agree_update)                        \
    DOOR(gather, mu_allgather, mu_allgather_config, mu_allgather_event, mu_allgather_update)       \
    DOOR(view, mu_view, mu_view_config, mu_view_event, mu_view_update)                             \
    DOOR(advise, mu_advise, mu_advise_config, mu_advise_event, mu_advise_update)

/* The compiler sees to it. */
#define MU_DOOR_HAS(function, type)                                                                \
    _Static_assert(_Generic(&(function), type : 1, default : 0), #function " has another shape")
#define MU_DOOR_SHAPE(name, state, config, event, update)                                          \
    MU_DOOR_HAS(config##_error, const char *(*)(const struct config *));                           \
    MU_DOOR_HAS(state##_bytes, size_t (*)(const struct config *));                                 \
    MU_DOOR_HAS(state##_init, struct state *(*)(void *, size_t, const struct config *));           \
    MU_DOOR_HAS(state##_effects_max, uint32_t (*)(const struct config *));                         \
    MU_DOOR_HAS(state##_step, void (*)(struct state *, const struct event *, struct update *));    \
    MU_DOOR_HAS(state##_fingerprint, void (*)(const struct state *, struct mu_fingerprint *));
MU_DOORS(MU_DOOR_SHAPE)

#endif
