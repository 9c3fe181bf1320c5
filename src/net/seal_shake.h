/* The messages of the handshake, their tags, and the keys that come of it: docs/spec/seal.md.
 * For seal.c only. */
#ifndef MU_NET_SEAL_SHAKE_H
#define MU_NET_SEAL_SHAKE_H

#include "net/seal.h"

enum mu_seal_step { MU_SEAL_STEP_CALL = 1, MU_SEAL_STEP_ANSWER, MU_SEAL_STEP_CONFIRM };

#define MU_SEAL_MAGIC 0x4d555345u /* "MUSE" */

struct mu_seal_said {
    uint8_t version, kind;
    struct mu_hello hello; /* has: 0 */
    const uint8_t *ephemeral;
};

/* What every message begins with, before any tag: magic, and the step that is due. */
struct mu_seal_result mu_seal_check_head(const uint8_t *head, enum mu_seal_step due);

/* Writes CALL or ANSWER to its place in 'shake', with fresh random bytes and its tag.  The
 * ephemeral key pair is drawn here, too: the public half goes into the message. */
void mu_seal_write_said(uint8_t *shake, enum mu_seal_step step, const uint8_t *key, uint8_t kind,
                        const struct mu_hello *self, uint8_t *ephemeral);

bool mu_seal_tag_is_right(const uint8_t *shake, enum mu_seal_step step, const uint8_t *key);

/* After its tag was found right.  Nothing is checked here. */
struct mu_seal_said mu_seal_read_said(const uint8_t *shake, enum mu_seal_step step);

/* From the machine's key, one's own ephemeral key and the other's, and both messages.  False: the
 * other's is of small order, and the secret would be none. */
bool mu_seal_derive(struct mu_seal_keys *keys, const uint8_t *key, const uint8_t *ephemeral,
                    const uint8_t *other, const uint8_t *shake);

void mu_seal_write_confirm(uint8_t *confirm, const struct mu_seal_keys *keys);
bool mu_seal_confirm_is_right(const uint8_t *confirm, const struct mu_seal_keys *keys);

#endif
