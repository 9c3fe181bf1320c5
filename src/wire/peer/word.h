/* What the witness of a daemon says to another daemon, and what that one answers: each is one
 * sealed frame of a connection of kind witness.  Who it is about, node and incarnation, is said in
 * the handshake.  docs/wire.md has every byte. */
#ifndef MU_WIRE_PEER_WORD_H
#define MU_WIRE_PEER_WORD_H

#include "wire/base/bytes.h"
#include "wire/base/exit_kind.h"

enum mu_word_type {
    MU_WORD_DEAD = 1,  /* the daemon of this incarnation has ended */
    MU_WORD_GONE = 2,  /* so have all processes of its node */
    MU_WORD_HEARD = 3, /* the answer to either */
    MU_WORD_LAST = MU_WORD_HEARD,
};

struct mu_word {
    uint8_t type;            /* enum mu_word_type */
    uint8_t heard;           /* HEARD: DEAD or GONE; else 0 */
    struct mu_exit_kind how; /* DEAD, GONE: the daemon ended; not NOT_STARTED */
    uint64_t age_ns;         /* since it ended, when this is sent */
};

enum { MU_WORD_BYTES_MAX = 13 };

/* Returns how many bytes; asserts what breaks a rule. */
size_t mu_word_encode(const struct mu_word *word, uint8_t bytes[MU_WORD_BYTES_MAX]);

/* NULL, or the rule that the bytes break; then *word is worth nothing. */
const char *mu_word_decode(const uint8_t *bytes, size_t count, struct mu_word *word);

/* How a daemon ended, in 4 bytes; also a part of other messages.  On a broken rule the reader is
 * bad. */
void mu_word_write_how(struct mu_writer *writer, const struct mu_exit_kind *how);
void mu_word_read_how(struct mu_reader *reader, struct mu_exit_kind *how);

#endif
