/* The keyed tag of a datagram: whoever does not have the machine's key cannot make one.
 *
 * It proves that a member said these bytes, to whom and as which incarnation, for all of that is
 * inside.  It does not prove that they were said now: nonces and stamps do that, in the core. */
#ifndef MU_DAEMON_HEART_TAG_H
#define MU_DAEMON_HEART_TAG_H

#include "wire/peer/beat.h"

#include <assert.h>
#include <sodium.h>

static_assert(MU_BEAT_TAG == crypto_shorthash_siphashx24_BYTES, "docs/wire.md says how long");

struct mu_beat_key {
    uint8_t bytes[crypto_shorthash_siphashx24_KEYBYTES];
};

/* From the machine's key, which has crypto_kdf_KEYBYTES.  The same at all its daemons. */
void mu_beat_key_derive(struct mu_beat_key *key, const uint8_t *machine_key);
void mu_beat_key_wipe(struct mu_beat_key *key);

/* Both of a datagram of MU_DATAGRAM_BYTES.  The comparison takes the same time whatever differs. */
void mu_beat_tag_write(uint8_t *datagram, const struct mu_beat_key *key);
bool mu_beat_tag_is_right(const uint8_t *datagram, const struct mu_beat_key *key);

#endif
