/* Readers and writers: whatever is read well is written back to the same bytes. */
#include "wire/base/bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Copies one field of the kind that 'choice' names.  Returns false at the end of what is good. */
static bool copy_field(struct mu_reader *reader, struct mu_writer *writer, uint8_t choice)
{
    struct mu_reader ahead = *reader;
    uint64_t value = 0;
    const uint8_t *bytes = NULL;
    size_t count = choice / 8;
    switch (choice % 6) {
    case 0:
        value = mu_read_u8(&ahead);
        break;
    case 1:
        value = mu_read_u16(&ahead);
        break;
    case 2:
        value = mu_read_u32(&ahead);
        break;
    case 3:
        value = mu_read_u64(&ahead);
        break;
    case 4:
        bytes = mu_read_bytes(&ahead, count);
        break;
    case 5:
        value = mu_read_varint(&ahead);
        break;
    }
    if (ahead.bad) {
        assert(value == 0 && bytes == NULL);
        return false;
    }
    *reader = ahead;
    switch (choice % 6) {
    case 0:
        mu_write_u8(writer, (uint8_t)value);
        break;
    case 1:
        mu_write_u16(writer, (uint16_t)value);
        break;
    case 2:
        mu_write_u32(writer, (uint32_t)value);
        break;
    case 3:
        mu_write_u64(writer, value);
        break;
    case 4:
        mu_write_bytes(writer, bytes, count);
        break;
    case 5:
        mu_write_varint(writer, value);
        break;
    }
    return true;
}

/* The first byte says how many choices follow; the rest is what is read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size - 1 < data[0])
        return 0;
    const uint8_t *choices = data + 1;
    const uint8_t *rest = choices + data[0];
    size_t left = size - 1 - data[0];
    uint8_t *copy = malloc(left + 1);
    struct mu_reader reader;
    struct mu_writer writer, tight, counter;
    mu_reader_init(&reader, rest, left);
    mu_writer_init(&writer, copy, left);
    for (uint8_t i = 0; i < data[0] && copy_field(&reader, &writer, choices[i]); i++)
        assert(!writer.full);
    assert(writer.used == left - mu_reader_left(&reader));
    assert(writer.used == 0 || memcmp(copy, rest, writer.used) == 0);

    /* With one byte less of room the last field that has any bytes does not fit. */
    mu_reader_init(&reader, rest, left);
    mu_writer_init(&tight, copy, writer.used - (writer.used > 0));
    mu_writer_init(&counter, NULL, SIZE_MAX);
    for (uint8_t i = 0; i < data[0] && copy_field(&reader, &tight, choices[i]); i++)
        ;
    assert(tight.full == (writer.used > 0) && tight.used <= tight.capacity);
    mu_reader_init(&reader, rest, left);
    for (uint8_t i = 0; i < data[0] && copy_field(&reader, &counter, choices[i]); i++)
        ;
    assert(counter.used == writer.used);
    free(copy);
    return 0;
}
