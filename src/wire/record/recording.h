/* A recording while it is made: its bytes, piece by piece, and the digest that ends it.  Whoever
 * makes one writes each piece to its file. */
#ifndef MU_WIRE_RECORD_RECORDING_H
#define MU_WIRE_RECORD_RECORDING_H

#include "wire/record/record.h"

struct mu_recording {
    struct mu_record_state state;
    struct mu_fingerprint digest;
    size_t count; /* of the piece */
    uint8_t bytes[MU_RECORD_MAX];
};

/* Each makes the next piece: the header, one step with what came of it, the end.  False: it breaks
 * a rule of docs/record.md, and there is no piece. */
bool mu_recording_start(struct mu_recording *recording, const struct mu_config *config);
bool mu_recording_step(struct mu_recording *recording, const struct mu_event *event,
                       const struct mu_update *update);
bool mu_recording_end(struct mu_recording *recording);

#endif
