#include "wire/base/bytes.h"

#include <endian.h>
#include <string.h>

/* ---- out ---- */

void mu_writer_init(struct mu_writer *writer, uint8_t *bytes, size_t capacity)
{
    *writer = (struct mu_writer){.bytes = bytes, .capacity = capacity};
}

void mu_write_bytes(struct mu_writer *writer, const void *bytes, size_t count)
{
    if (writer->full || count > writer->capacity - writer->used) {
        writer->full = true;
        return;
    }
    if (writer->bytes != NULL && count > 0)
        memcpy(writer->bytes + writer->used, bytes, count);
    writer->used += count;
}

void mu_write_u8(struct mu_writer *writer, uint8_t value)
{
    mu_write_bytes(writer, &value, sizeof value);
}

void mu_write_u16(struct mu_writer *writer, uint16_t value)
{
    uint16_t big = htobe16(value);
    mu_write_bytes(writer, &big, sizeof big);
}

void mu_write_u32(struct mu_writer *writer, uint32_t value)
{
    uint32_t big = htobe32(value);
    mu_write_bytes(writer, &big, sizeof big);
}

void mu_write_u64(struct mu_writer *writer, uint64_t value)
{
    uint64_t big = htobe64(value);
    mu_write_bytes(writer, &big, sizeof big);
}

void mu_write_varint(struct mu_writer *writer, uint64_t value)
{
    uint8_t bytes[MU_VARINT_MAX];
    size_t count = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[count++] = (uint8_t)(value | 0x80);
    bytes[count++] = (uint8_t)value;
    mu_write_bytes(writer, bytes, count);
}

/* ---- in ---- */

void mu_reader_init(struct mu_reader *reader, const uint8_t *bytes, size_t count)
{
    *reader = (struct mu_reader){.at = bytes, .end = bytes + count};
}

size_t mu_reader_left(const struct mu_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

const uint8_t *mu_read_bytes(struct mu_reader *reader, size_t count)
{
    if (reader->bad)
        return NULL;
    if (count > mu_reader_left(reader)) {
        reader->bad = reader->ended = true;
        return NULL;
    }
    const uint8_t *bytes = reader->at;
    reader->at += count;
    return bytes;
}

/* What is not there is 0.  A program reads some twenty numbers for each event that it is told. */
static inline void read_number(struct mu_reader *reader, void *big, size_t count)
{
    const uint8_t *bytes = mu_read_bytes(reader, count);
    if (bytes != NULL)
        memcpy(big, bytes, count);
}

uint8_t mu_read_u8(struct mu_reader *reader)
{
    uint8_t value = 0;
    read_number(reader, &value, sizeof value);
    return value;
}

uint16_t mu_read_u16(struct mu_reader *reader)
{
    uint16_t big = 0;
    read_number(reader, &big, sizeof big);
    return be16toh(big);
}

uint32_t mu_read_u32(struct mu_reader *reader)
{
    uint32_t big = 0;
    read_number(reader, &big, sizeof big);
    return be32toh(big);
}

uint64_t mu_read_u64(struct mu_reader *reader)
{
    uint64_t big = 0;
    read_number(reader, &big, sizeof big);
    return be64toh(big);
}

uint64_t mu_read_varint(struct mu_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 7 * MU_VARINT_MAX; shift += 7) {
        uint8_t byte = mu_read_u8(reader);
        if (reader->bad)
            return 0;
        bool overlong = byte == 0 && shift > 0;
        bool too_large = shift == 63 && byte > 1; /* or goes on: nine times seven bits are read */
        if (overlong || too_large)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    reader->bad = true;
    return 0;
}
