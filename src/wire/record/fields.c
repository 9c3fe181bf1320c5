#include "wire/record/fields.h"

#include <assert.h>
#include <stdlib.h>

struct mu_fields_list {
    struct mu_fields_list *next;
    uint64_t items[];
};

void mu_fields_free(struct mu_fields *fields)
{
    while (fields->lists != NULL) {
        struct mu_fields_list *list = fields->lists;
        fields->lists = list->next;
        free(list);
    }
}

void mu_field_check(struct mu_fields *fields, bool good, const char *rule)
{
    if (fields->reader != NULL && !good && fields->rule == NULL)
        fields->rule = rule;
}

void mu_field_u64(struct mu_fields *fields, uint64_t *value)
{
    if (fields->writer != NULL)
        mu_write_varint(fields->writer, *value);
    else if (fields->digest != NULL)
        mu_fingerprint_add(fields->digest, *value);
    else
        *value = mu_read_varint(fields->reader);
}

/* A number of fewer bits. */
static uint64_t up_to(struct mu_fields *fields, uint64_t value, uint64_t most)
{
    mu_field_u64(fields, &value);
    mu_field_check(fields, value <= most, "a number is too large for its field");
    return value <= most ? value : 0;
}

void mu_field_u32(struct mu_fields *fields, uint32_t *value)
{
    uint64_t number = up_to(fields, *value, UINT32_MAX);
    if (fields->reader != NULL)
        *value = (uint32_t)number;
}

void mu_field_u16(struct mu_fields *fields, uint16_t *value)
{
    uint64_t number = up_to(fields, *value, UINT16_MAX);
    if (fields->reader != NULL)
        *value = (uint16_t)number;
}

void mu_field_u8(struct mu_fields *fields, uint8_t *value)
{
    uint64_t number = up_to(fields, *value, UINT8_MAX);
    if (fields->reader != NULL)
        *value = (uint8_t)number;
}

void mu_field_bool(struct mu_fields *fields, bool *value)
{
    uint64_t number = up_to(fields, *value, 1);
    if (fields->reader != NULL)
        *value = number != 0;
}

void mu_field_slot(struct mu_fields *fields, uint32_t *value)
{
    mu_field_u32(fields, value);
    mu_field_check(fields, fields->size == 0 || *value < fields->size,
                   "a slot is not below the size of the cluster");
}

void mu_field_slot_or_none(struct mu_fields *fields, uint32_t *value)
{
    mu_field_u32(fields, value);
    mu_field_check(fields, fields->size == 0 || *value < fields->size || *value == MU_SLOT_NONE,
                   "a slot is not below the size of the cluster");
}

void mu_field_bytes(struct mu_fields *fields, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mu_field_u8(fields, &bytes[i]);
}

/* No more than there can be in the bytes that are left: a number asks for no memory by itself. */
static void *make_list(struct mu_fields *fields, uint32_t count, size_t item_bytes, size_t least)
{
    if (count > mu_reader_left(fields->reader) / least) {
        mu_field_check(fields, false, "a list is longer than its record");
        return NULL;
    }
    struct mu_fields_list *list = calloc(1, sizeof *list + count * item_bytes);
    if (list == NULL)
        abort(); /* whoever reads a recording is a tool, and no daemon */
    list->next = fields->lists;
    fields->lists = list;
    return list->items;
}

void *mu_field_list(struct mu_fields *fields, const void *list, uint32_t *count, size_t item_bytes,
                    size_t least)
{
    assert(least > 0);
    mu_field_u32(fields, count);
    if (fields->reader == NULL)
        return (void *)(uintptr_t)list;
    void *made = make_list(fields, *count, item_bytes, least);
    if (made == NULL)
        *count = 0;
    return made;
}
