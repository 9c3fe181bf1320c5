/* What detectors say to each other, as it stands in a datagram: docs/wire.md has every byte.
 *
 * All types have one layout, and one beat has exactly one encoding.  What can be checked without
 * knowing the machine is checked here, on the way out as on the way in. */
#ifndef MU_WIRE_PEER_BEAT_H
#define MU_WIRE_PEER_BEAT_H

#include "core/ring/beat.h"

enum {
    MU_BEAT_VERSION = 1,
    MU_BEAT_BYTES = 67, /* always; the tag that follows in a datagram is not counted */
    MU_BEAT_TAG = 16,   /* bytes of that tag: SipHash-2-4 with 128 bits */
    MU_DATAGRAM_BYTES = MU_BEAT_BYTES + MU_BEAT_TAG,
};

/* NULL, or the rule that the beat breaks. */
const char *mu_beat_error(const struct mu_beat *beat);

/* The beat has passed mu_beat_error(). */
void mu_beat_encode(const struct mu_beat *beat, uint8_t bytes[MU_BEAT_BYTES]);

/* NULL, or the rule that the bytes break; then *beat is worth nothing. */
const char *mu_beat_decode(const uint8_t *bytes, size_t count, struct mu_beat *beat);

#endif
