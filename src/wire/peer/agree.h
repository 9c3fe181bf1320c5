/* The messages of an agreement as bytes: docs/wire.md has every one.
 *
 * One message has exactly one encoding.  What can be checked without knowing the machine is checked
 * here, on the way out as on the way in. */
#ifndef MU_WIRE_PEER_AGREE_H
#define MU_WIRE_PEER_AGREE_H

#include "core/agree/agree.h"
#include "wire/base/bytes.h"

enum {
    MU_AGREE_VERSION = 3,
    MU_AGREE_FAILED_MAX = 4096, /* listed in one message */
    MU_AGREE_ENTRIES_MAX = 256, /* likewise */
    MU_AGREE_DEAD_MAX = 32768,
    /* The longest: a list of dead nodes, none next to another. */
    MU_AGREE_BYTES_MAX = 64 + MU_AGREE_DEAD_MAX * 10,
};

/* Where the lists of a message go that is read. */
struct mu_agree_room {
    struct mu_failed *failed;
    uint32_t failed_capacity;
    struct mu_roster_entry *dead;
    uint32_t dead_capacity;
    struct mu_agree_entry *entries;
    uint32_t entry_capacity;
};

/* NULL, or the rule that the message breaks. */
const char *mu_agree_message_error(const struct mu_agree_message *message);

/* The message has passed mu_agree_message_error(). */
void mu_agree_encode(struct mu_writer *writer, const struct mu_agree_message *message);

/* NULL, or the rule that the bytes break; then *message is worth nothing.  Its lists are in the
 * room; more than fits there is refused, too. */
const char *mu_agree_decode(const uint8_t *bytes, size_t count, const struct mu_agree_room *room,
                            struct mu_agree_message *message);

/* One entry of a value, for whoever has it elsewhere.  Rules of its kind are the caller's. */
void mu_agree_write_entry(struct mu_writer *writer, const struct mu_agree_entry *entry);
void mu_agree_read_entry(struct mu_reader *reader, struct mu_agree_entry *entry);

#endif
