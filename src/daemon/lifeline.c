#include "daemon/lifeline.h"

#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
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

/* The bytes that the key came in, but not those that nobody has looked at yet. */
static void wipe_read(struct mu_orders_input *input)
{
    sodium_memzero(input->bytes, input->from);
    sodium_memzero(input->bytes + input->to, sizeof input->bytes - input->to); /* of older reads */
}

const char *mu_orders_read(struct mu_orders_input *input, struct mu_orders *orders, char *text)
{
    char line[MU_ORDERS_LINE_MAX];
    bool over = false;
    memset(orders, 0, sizeof *orders);
    const char *wrong = read_line(input, line, text);
    if (wrong == NULL)
        wrong = mu_orders_first(line, text);
    while (wrong == NULL && !over) {
        wrong = read_line(input, line, text);
        if (wrong == NULL)
            wrong = mu_orders_line(line, orders, &over, text);
    }
    sodium_memzero(line, sizeof line);
    wipe_read(input);
    return wrong;
}

const char *mu_orders_read_nodes(struct mu_orders_input *input, uint32_t size,
                                 struct sockaddr_in *addresses, char *text)
{
    bool over = false;
    const char *wrong = NULL;
    memset(addresses, 0, size * sizeof *addresses);
    while (wrong == NULL && !over) {
        char line[MU_ORDERS_LINE_MAX];
        wrong = read_line(input, line, text);
        if (wrong == NULL)
            wrong = mu_orders_node(line, size, addresses, &over, text);
    }
    return wrong;
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
