/* Bytes in and out, one field at a time.  Numbers are big-endian.
 *
 * Both sides have a sticky flag: a caller writes or reads all fields of a message and looks once,
 * at the end.  No struct is ever cast onto bytes, so neither padding nor byte order leaks out. */
#ifndef MU_WIRE_BASE_BYTES_H
#define MU_WIRE_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MU_VARINT_MAX = 10 }; /* bytes of the longest variable-length number */

struct mu_writer {
    uint8_t *bytes; /* of the caller; NULL: only count */
    size_t capacity;
    size_t used;
    bool full; /* something did not fit; it and everything after it was left out */
};

struct mu_reader {
    const uint8_t *at, *end; /* of the caller */
    bool bad;                /* everything read since is 0 or NULL */
    bool ended;              /* bad because the bytes ended: with more of them it might not be */
};

/* With bytes NULL nothing is stored, and 'used' says afterwards how many bytes it would have been.
 */
void mu_writer_init(struct mu_writer *writer, uint8_t *bytes, size_t capacity);
void mu_write_u8(struct mu_writer *writer, uint8_t value);
void mu_write_u16(struct mu_writer *writer, uint16_t value);
void mu_write_u32(struct mu_writer *writer, uint32_t value);
void mu_write_u64(struct mu_writer *writer, uint64_t value);
void mu_write_bytes(struct mu_writer *writer, const void *bytes, size_t count);

/* LEB128: seven bits a byte, the lowest first, the top bit of every byte but the last one set. */
void mu_write_varint(struct mu_writer *writer, uint64_t value);

void mu_reader_init(struct mu_reader *reader, const uint8_t *bytes, size_t count);
size_t mu_reader_left(const struct mu_reader *reader);
uint8_t mu_read_u8(struct mu_reader *reader);
uint16_t mu_read_u16(struct mu_reader *reader);
uint32_t mu_read_u32(struct mu_reader *reader);
uint64_t mu_read_u64(struct mu_reader *reader);

/* Where the next 'count' bytes are, in the caller's own buffer; NULL when there are fewer. */
const uint8_t *mu_read_bytes(struct mu_reader *reader, size_t count);

/* Only the shortest encoding is good: one value, one spelling.  Over 64 bits is bad, too. */
uint64_t mu_read_varint(struct mu_reader *reader);

#endif
