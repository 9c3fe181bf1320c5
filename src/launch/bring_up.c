#include "launch/bring_up.h"

#include "launch/machine.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_MAX = 512, WHERE_MAX = 48 /* for each node */ };

int bring_up_find(const char *given, char path[PATH_MAX])
{
    static const char name[] = "musterd";
    if (given != NULL) {
        snprintf(path, PATH_MAX, "%s", given);
    } else {
        ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof name);
        while (length > 0 && path[length - 1] != '/')
            length--;
        memcpy(path + (length > 0 ? length : 0), name, sizeof name);
    }
    return access(path, X_OK) == 0 ? 0 : errno;
}

void bring_up_address(uint64_t machine, mu_slot slot, struct sockaddr_in *address)
{
    uint32_t high = 1 + (uint32_t)(machine >> 32) % 254;
    uint32_t low = (uint32_t)machine % 63 * MACHINE_NODES_MAX + slot + 1;
    *address = (struct sockaddr_in){.sin_family = AF_INET};
    address->sin_addr.s_addr = htonl(127u << 24 | high << 16 | low);
}

static char *text_new(size_t room)
{
    char *text = malloc(room);
    if (text == NULL)
        abort();
    return text;
}

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

char *bring_up_first(uint64_t machine, const uint8_t key[MU_SEAL_KEY_BYTES], uint32_t size,
                     mu_slot slot, const struct sockaddr_in *address, const char *name,
                     uint64_t period_ns, uint64_t timeout_ns, size_t *count)
{
    char dotted[INET_ADDRSTRLEN], digits[2 * MU_SEAL_KEY_BYTES + 1];
    char *text = text_new(FIRST_MAX);
    inet_ntop(AF_INET, &address->sin_addr, dotted, sizeof dotted);
    sodium_bin2hex(digits, sizeof digits, key, MU_SEAL_KEY_BYTES);
    *count = 0;
    add(text, FIRST_MAX, count,
        "muster-orders 1\nmachine %016" PRIx64 "\nkey %s\nsize %u\nslot %u\nlisten %s\nname %s\n"
        "period %" PRIu64 "\ntimeout %" PRIu64 "\n.\n",
        machine, digits, size, slot, dotted, name, period_ns, timeout_ns);
    sodium_memzero(digits, sizeof digits);
    return text;
}

char *bring_up_where(const struct sockaddr_in *addresses, uint32_t size, size_t *count)
{
    size_t room = ((size_t)size + 1) * WHERE_MAX;
    char *text = text_new(room), dotted[INET_ADDRSTRLEN];
    *count = 0;
    for (uint32_t i = 0; i < size; i++) {
        inet_ntop(AF_INET, &addresses[i].sin_addr, dotted, sizeof dotted);
        add(text, room, count, "node %u %s %u\n", i, dotted, ntohs(addresses[i].sin_port));
    }
    add(text, room, count, ".\n");
    return text;
}

char *bring_up_end(size_t *count)
{
    char *text = text_new(FIRST_MAX);
    *count = 0;
    add(text, FIRST_MAX, count, "end\n");
    return text;
}

bool bring_up_listening(const char *line, struct sockaddr_in *address, pid_t *daemon)
{
    char dotted[INET_ADDRSTRLEN], expected[64];
    unsigned port;
    int end = 0, pid;
    inet_ntop(AF_INET, &address->sin_addr, dotted, sizeof dotted);
    int length = snprintf(expected, sizeof expected, "listening %s ", dotted);
    if (strncmp(line, expected, (size_t)length) != 0 ||
        sscanf(line + length, "%5u %9d%n", &port, &pid, &end) != 2 || line[length + end] != '\0' ||
        port == 0 || port > UINT16_MAX || pid <= 0)
        return false;
    *daemon = pid;
    address->sin_port = htons((uint16_t)port);
    return true;
}
