#include "daemon/heart/tag.h"

#include <assert.h>
#include <stdlib.h>

/* libsodium makes this the personalisation of BLAKE2b, padded with zeros: none of the handshake's
 * (seal_shake.c) is the same, so no key is good for both. */
#define CONTEXT "mu-beats"

static_assert(sizeof CONTEXT - 1 == crypto_kdf_CONTEXTBYTES, "libsodium reads as many");
static_assert((int)crypto_shorthash_siphashx24_KEYBYTES >= (int)crypto_kdf_BYTES_MIN,
              "can be derived");

enum { SUBKEY_TAG = 1 };

void mu_beat_key_derive(struct mu_beat_key *key, const uint8_t *machine_key)
{
    if (sodium_init() < 0)
        abort(); /* as in seal.c */
    int failed =
        crypto_kdf_derive_from_key(key->bytes, sizeof key->bytes, SUBKEY_TAG, CONTEXT, machine_key);
    assert(failed == 0); /* sizes are constants */
    (void)failed;
}

void mu_beat_key_wipe(struct mu_beat_key *key)
{
    sodium_memzero(key, sizeof *key);
}

static void make_tag(uint8_t *tag, const uint8_t *datagram, const struct mu_beat_key *key)
{
    crypto_shorthash_siphashx24(tag, datagram, MU_BEAT_BYTES, key->bytes);
}

void mu_beat_tag_write(uint8_t *datagram, const struct mu_beat_key *key)
{
    make_tag(datagram + MU_BEAT_BYTES, datagram, key);
}

bool mu_beat_tag_is_right(const uint8_t *datagram, const struct mu_beat_key *key)
{
    uint8_t tag[MU_BEAT_TAG];
    make_tag(tag, datagram, key);
    return sodium_memcmp(tag, datagram + MU_BEAT_BYTES, sizeof tag) == 0;
}
