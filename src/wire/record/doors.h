/* What is recorded of each door of the core (core/doors.h) but the node's, which record.h has: its
 * configuration, its events, and a digest of its updates.  docs/record.md lists the fields. */
#ifndef MU_WIRE_RECORD_DOORS_H
#define MU_WIRE_RECORD_DOORS_H

#include "core/agree/agree.h"
#include "core/gather/gather.h"
#include "core/ring/ring.h"
#include "wire/record/fields.h"

enum mu_record_door {
    MU_RECORD_NODE = 1,
    MU_RECORD_RING,
    MU_RECORD_AGREE,
    MU_RECORD_GATHER,
    MU_RECORD_DOOR_LAST = MU_RECORD_GATHER,
};

/* One event of any of them, with what it points to. */
union mu_record_event {
    struct mu_detect_event ring;
    struct mu_agree_event agree;
    struct mu_allgather_event gather;
};

union mu_record_config {
    struct mu_detect_config ring;
    struct mu_agree_config agree;
    struct mu_allgather_config gather;
};

struct mu_record_codec {
    const char *name; /* of the door, and of its streams */
    bool has_time;    /* its events have one, and the first of them is START */
    void (*config)(struct mu_fields *fields, void *config);
    const char *(*config_error)(const void *config);
    /* Fills 'size' and 'words'. */
    void (*measure)(struct mu_fields *fields, const void *config);
    void (*event)(struct mu_fields *fields, void *event);
    uint64_t *(*time)(void *event);                               /* where it is */
    void (*update)(struct mu_fields *fields, const void *update); /* digested only */
};

/* NULL: the node's door, or none. */
const struct mu_record_codec *mu_record_codec(enum mu_record_door door);

/* "node", "ring", "agree", "gather". */
const char *mu_record_door_name(enum mu_record_door door);

#endif
