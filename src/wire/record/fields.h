/* One list of fields for three uses: written, read, or fed to a digest.  So what is recorded, what
 * is run again and what is compared cannot drift apart.
 *
 * A number stands as a varint, a yes or no as 0 or 1.  Lists that are read take memory, which
 * mu_fields_free() gives back. */
#ifndef MU_WIRE_RECORD_FIELDS_H
#define MU_WIRE_RECORD_FIELDS_H

#include "core/base/fingerprint.h"
#include "wire/base/bytes.h"

struct mu_fields_list;

/* Exactly one of these is not NULL. */
struct mu_fields {
    struct mu_writer *writer;
    struct mu_reader *reader;
    struct mu_fingerprint *digest;
    const char *rule;             /* read: the first one that is broken; NULL: none */
    struct mu_fields_list *lists; /* read: to be freed */
    uint32_t size;                /* slots that are read are below; 0: not known */
    uint32_t words;               /* of one set of members */
};

void mu_fields_free(struct mu_fields *fields);

/* A rule is broken unless 'good'.  Only what is read is looked at. */
void mu_field_check(struct mu_fields *fields, bool good, const char *rule);

/* Each writes, reads or digests what 'value' points to; only reading stores there. */
void mu_field_u64(struct mu_fields *fields, uint64_t *value);
void mu_field_u32(struct mu_fields *fields, uint32_t *value);
void mu_field_u16(struct mu_fields *fields, uint16_t *value);
void mu_field_u8(struct mu_fields *fields, uint8_t *value);
void mu_field_bool(struct mu_fields *fields, bool *value);

/* Below 'size'; or, where that may be, MU_SLOT_NONE. */
void mu_field_slot(struct mu_fields *fields, uint32_t *value);
void mu_field_slot_or_none(struct mu_fields *fields, uint32_t *value);
void mu_field_bytes(struct mu_fields *fields, uint8_t *bytes, size_t count);

/* A list of 'count' items of so many bytes: its length.  Returns where it is: '*list', or fresh
 * zeroed memory that '*list' points to then.  'least' bytes of input are needed for each item. */
void *mu_field_list(struct mu_fields *fields, const void *list, uint32_t *count, size_t item_bytes,
                    size_t least);

#endif
