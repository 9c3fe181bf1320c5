#include "daemon/orders.h"

#include "core/ring/ring.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 2, 3))) static const char *say(char *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, MU_ORDERS_TEXT_MAX, format, arguments);
    va_end(arguments);
    return text;
}

/* The next line without its end.  NULL, or what is wrong. */
static const char *read_line(struct mu_orders_input *input, char line[MU_ORDERS_LINE_MAX],
                             char *text)
{
    size_t used = 0;
    for (;;) {
        if (input->from == input->to) {
            ssize_t count = read(input->fd, input->bytes, sizeof input->bytes);
            if (count < 0 && errno == EINTR)
                continue;
            if (count < 0)
                return say(text, "cannot read the orders: %s", strerror(errno));
            if (count == 0)
                return say(text, "the orders end before they are complete");
            input->from = 0;
            input->to = (size_t)count;
        }
        char byte = input->bytes[input->from++];
        if (byte == '\n') {
            line[used] = '\0';
            return NULL;
        }
        if (byte < 0x20 || byte > 0x7e)
            return say(text, "byte %u in the orders is not printable", (unsigned)(uint8_t)byte);
        if (used == MU_ORDERS_LINE_MAX - 1)
            return say(text, "a line of the orders is longer than %d", MU_ORDERS_LINE_MAX - 1);
        line[used++] = byte;
    }
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

static bool read_hex(const char *digits, uint8_t *bytes, size_t count)
{
    size_t length;
    return strlen(digits) == 2 * count &&
           sodium_hex2bin(bytes, count, digits, 2 * count, NULL, &length, NULL) == 0 &&
           length == count;
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

static const char *read_row(const char *line, struct mu_orders *orders, unsigned *there, char *text)
{
    for (unsigned i = 0; i < ROWS; i++) {
        const char *value = after(line, rows[i].word);
        if (value == NULL)
            continue;
        if ((*there & 1u << i) != 0)
            return say(text, "the line '%s' is there twice in the orders", rows[i].word);
        if (!rows[i].read(value, orders))
            return say(text, "%s '%s' in the orders is not %s", rows[i].word,
                       rows[i].secret ? "(not shown)" : value, rows[i].rule);
        *there |= 1u << i;
        return NULL;
    }
    return say(text, "unknown line '%.40s' in the orders", line);
}

/* The bytes that the key came in, but not those that nobody has looked at yet. */
static void wipe_read(struct mu_orders_input *input)
{
    sodium_memzero(input->bytes, input->from);
    sodium_memzero(input->bytes + input->to, sizeof input->bytes - input->to); /* of older reads */
}

const char *mu_orders_read(struct mu_orders_input *input, struct mu_orders *orders, char *text)
{
    char line[MU_ORDERS_LINE_MAX];
    memset(orders, 0, sizeof *orders);
    const char *wrong = read_line(input, line, text);
    if (wrong == NULL && strcmp(line, "muster-orders 1") != 0)
        wrong = say(text, "'%.40s' is not the first line of orders, 'muster-orders 1'", line);
    unsigned there = 0;
    while (wrong == NULL) {
        wrong = read_line(input, line, text);
        if (wrong == NULL && strcmp(line, ".") == 0)
            break;
        if (wrong == NULL)
            wrong = read_row(line, orders, &there, text);
    }
    sodium_memzero(line, sizeof line);
    wipe_read(input);
    for (unsigned i = 0; i < ROWS && wrong == NULL; i++)
        if ((there & 1u << i) == 0)
            wrong = say(text, "no line '%s' in the orders", rows[i].word);
    return wrong;
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

const char *mu_orders_read_nodes(struct mu_orders_input *input, uint32_t size,
                                 struct sockaddr_in *addresses, char *text)
{
    memset(addresses, 0, size * sizeof *addresses);
    for (;;) {
        char line[MU_ORDERS_LINE_MAX], copy[MU_ORDERS_LINE_MAX];
        const char *wrong = read_line(input, line, text);
        if (wrong != NULL)
            return wrong;
        if (strcmp(line, ".") == 0)
            break;
        memcpy(copy, line, sizeof copy);
        mu_slot slot;
        struct sockaddr_in address;
        if (!read_node(copy, size, &slot, &address))
            return say(text, "'%.60s' in the orders is not 'node SLOT ADDRESS PORT' below %" PRIu32,
                       line, size);
        addresses[slot] = address;
    }
    for (mu_slot slot = 0; slot < size; slot++)
        if (addresses[slot].sin_port == 0)
            return say(text, "the orders do not say where node %" PRIu32 " is", slot);
    return NULL;
}

static void take_last_words(struct mu_orders_input *input)
{
    static const char last[] = "end\n";
    while (input->from < input->to) {
        char byte = input->bytes[input->from++];
        bool fits = input->matched < sizeof last - 1 && byte == last[input->matched];
        input->matched = fits ? input->matched + 1 : sizeof last;
        input->end_said |= fits && byte == '\n';
        if (byte == '\n')
            input->matched = 0;
    }
}

bool mu_orders_lifeline(struct mu_orders_input *input)
{
    take_last_words(input);
    ssize_t count = read(input->fd, input->bytes, sizeof input->bytes);
    if (count <= 0)
        return count < 0 && (errno == EAGAIN || errno == EINTR);
    input->from = 0;
    input->to = (size_t)count;
    take_last_words(input);
    return true;
}

void mu_orders_wipe(struct mu_orders *orders)
{
    sodium_memzero(orders->key, sizeof orders->key);
}
