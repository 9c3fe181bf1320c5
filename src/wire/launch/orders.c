#define _DEFAULT_SOURCE /* explicit_bzero() */
#include "wire/launch/orders.h"

#include "core/ring/ring.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char first_line[] = "muster-orders 1", shared_host[] = "shared-host";

/* ---- writing ---- */

__attribute__((format(printf, 4, 5))) static void add(char *text, size_t room, size_t *used,
                                                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(text + *used, room - *used, format, arguments);
    va_end(arguments);
    assert(count >= 0 && (size_t)count < room - *used);
    *used += (size_t)count;
}

size_t mu_orders_write(const struct mu_orders *orders, char text[MU_ORDERS_BYTES_MAX])
{
    char dotted[INET_ADDRSTRLEN];
    size_t used = 0, room = MU_ORDERS_BYTES_MAX;
    inet_ntop(AF_INET, &orders->listen, dotted, sizeof dotted);
    add(text, room, &used, "%s\nmachine %016" PRIx64 "\nkey ", first_line, orders->machine);
    for (size_t i = 0; i < sizeof orders->key; i++)
        add(text, room, &used, "%02x", orders->key[i]);
    add(text, room, &used, "\nsize %" PRIu32 "\nslot %" PRIu32 "\nlisten %s\nname %s\n",
        orders->size, orders->slot, dotted, orders->name);
    add(text, room, &used, "period %" PRIu64 "\ntimeout %" PRIu64 "\n%s%s.\n", orders->period_ns,
        orders->timeout_ns, orders->shared_host ? shared_host : "",
        orders->shared_host ? "\n" : "");
    return used;
}

size_t mu_orders_write_nodes(const struct sockaddr_in *addresses, uint32_t size, char *text)
{
    size_t room = ((size_t)size + 1) * MU_ORDERS_NODE_MAX, used = 0;
    char dotted[INET_ADDRSTRLEN];
    for (uint32_t i = 0; i < size; i++) {
        inet_ntop(AF_INET, &addresses[i].sin_addr, dotted, sizeof dotted);
        add(text, room, &used, "node %" PRIu32 " %s %u\n", i, dotted, ntohs(addresses[i].sin_port));
    }
    add(text, room, &used, ".\n");
    return used;
}

/* ---- reading ---- */

__attribute__((format(printf, 2, 3))) static const char *say(char *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, MU_ORDERS_TEXT_MAX, format, arguments);
    va_end(arguments);
    return text;
}

/* What follows "WORD " on a line; NULL when it begins otherwise. */
static const char *after(const char *line, const char *word)
{
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 && line[length] == ' ' ? line + length + 1 : NULL;
}

static bool read_long(const char *digits, uint64_t low, uint64_t high, uint64_t *number)
{
    if (*digits < '0' || *digits > '9')
        return false;
    char *rest;
    errno = 0;
    *number = strtoull(digits, &rest, 10);
    return errno == 0 && *rest == '\0' && *number >= low && *number <= high;
}

static bool read_number(const char *digits, uint32_t low, uint32_t high, uint32_t *number)
{
    uint64_t value = 0;
    bool good = read_long(digits, low, high, &value);
    *number = (uint32_t)value;
    return good;
}

static int digit_of(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

static bool read_hex(const char *digits, uint8_t *bytes, size_t count)
{
    if (strlen(digits) != 2 * count)
        return false;
    for (size_t i = 0; i < count; i++) {
        int high = digit_of(digits[2 * i]), low = digit_of(digits[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool read_machine(const char *value, struct mu_orders *orders)
{
    uint8_t bytes[8];
    if (!read_hex(value, bytes, sizeof bytes))
        return false;
    orders->machine = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        orders->machine = orders->machine << 8 | bytes[i];
    return orders->machine != 0;
}

static bool read_key(const char *value, struct mu_orders *orders)
{
    return read_hex(value, orders->key, sizeof orders->key);
}

static bool read_size(const char *value, struct mu_orders *orders)
{
    return read_number(value, 1, MU_SIZE_MAX, &orders->size);
}

static bool read_slot(const char *value, struct mu_orders *orders)
{
    return orders->size > 0 && read_number(value, 0, orders->size - 1, &orders->slot);
}

static bool read_listen(const char *value, struct mu_orders *orders)
{
    return inet_pton(AF_INET, value, &orders->listen) == 1;
}

static bool read_name(const char *value, struct mu_orders *orders)
{
    size_t length = strlen(value);
    if (length < 1 || length > MU_ORDERS_NAME_MAX)
        return false;
    memcpy(orders->name, value, length + 1);
    return true;
}

/* The two belong together: the second one is held against the first. */
static bool read_period(const char *value, struct mu_orders *orders)
{
    return read_long(value, MU_PERIOD_NS_MIN, MU_TIMEOUT_NS_MAX, &orders->period_ns);
}

static bool read_timeout(const char *value, struct mu_orders *orders)
{
    return read_long(value, 1, MU_TIMEOUT_NS_MAX, &orders->timeout_ns) &&
           mu_detect_times_error(orders->period_ns, orders->timeout_ns) == NULL;
}

static const struct {
    const char *word;
    bool (*read)(const char *value, struct mu_orders *orders);
    const char *rule;
    bool secret;
} rows[] = {
    {"machine", read_machine, "16 hexadecimal digits, not all zero", false},
    {"key", read_key, "64 hexadecimal digits", true},
    {"size", read_size, "between 1 and 16777216", false},
    {"slot", read_slot, "below the size, which comes before it", false},
    {"listen", read_listen, "an IPv4 address", false},
    {"name", read_name, "1 to 64 characters", false},
    {"period", read_period, "nanoseconds, between 1 ms and an hour", false},
    {"timeout", read_timeout, "at least twice the period, which comes before it, up to an hour",
     false},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static const char *read_row(const char *line, struct mu_orders *orders, char *text)
{
    for (unsigned i = 0; i < ROWS; i++) {
        const char *value = after(line, rows[i].word);
        if (value == NULL)
            continue;
        if ((orders->there & 1u << i) != 0)
            return say(text, "the line '%s' is there twice in the orders", rows[i].word);
        if (!rows[i].read(value, orders))
            return say(text, "%s '%s' in the orders is not %s", rows[i].word,
                       rows[i].secret ? "(not shown)" : value, rows[i].rule);
        orders->there |= 1u << i;
        return NULL;
    }
    return say(text, "unknown line '%.40s' in the orders", line);
}

const char *mu_orders_first(const char *line, char *text)
{
    return strcmp(line, first_line) == 0
               ? NULL
               : say(text, "'%.40s' is not the first line of orders, '%s'", line, first_line);
}

const char *mu_orders_line(const char *line, struct mu_orders *orders, bool *over, char *text)
{
    *over = strcmp(line, ".") == 0;
    if (strcmp(line, shared_host) == 0) {
        orders->shared_host = true;
        return NULL;
    }
    if (!*over)
        return read_row(line, orders, text);
    for (unsigned i = 0; i < ROWS; i++)
        if ((orders->there & 1u << i) == 0)
            return say(text, "no line '%s' in the orders", rows[i].word);
    return NULL;
}

static bool read_node(char *line, uint32_t size, mu_slot *slot, struct sockaddr_in *address)
{
    char *rest = NULL;
    uint32_t port;
    char *word = strtok_r(line, " ", &rest);
    if (word == NULL || strcmp(word, "node") != 0)
        return false;
    const char *parts[3];
    for (int i = 0; i < 3; i++)
        if ((parts[i] = strtok_r(NULL, " ", &rest)) == NULL)
            return false;
    *address = (struct sockaddr_in){.sin_family = AF_INET};
    if (strtok_r(NULL, " ", &rest) != NULL || !read_number(parts[0], 0, size - 1, slot) ||
        inet_pton(AF_INET, parts[1], &address->sin_addr) != 1 ||
        !read_number(parts[2], 1, UINT16_MAX, &port))
        return false;
    address->sin_port = htons((uint16_t)port);
    return true;
}

const char *mu_orders_node(const char *line, uint32_t size, struct sockaddr_in *addresses,
                           bool *over, char *text)
{
    char copy[MU_ORDERS_LINE_MAX];
    mu_slot slot;
    struct sockaddr_in address;
    *over = strcmp(line, ".") == 0;
    for (mu_slot each = 0; *over && each < size; each++)
        if (addresses[each].sin_port == 0)
            return say(text, "the orders do not say where node %" PRIu32 " is", each);
    if (*over)
        return NULL;
    snprintf(copy, sizeof copy, "%s", line);
    if (!read_node(copy, size, &slot, &address))
        return say(text, "'%.60s' in the orders is not 'node SLOT ADDRESS PORT' below %" PRIu32,
                   line, size);
    addresses[slot] = address;
    return NULL;
}

void mu_orders_wipe(struct mu_orders *orders)
{
    explicit_bzero(orders->key, sizeof orders->key);
}
