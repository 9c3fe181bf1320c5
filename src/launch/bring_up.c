#include "launch/bring_up.h"

#include "launch/machine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

char *bring_up_first(const struct mu_orders *orders, size_t *count)
{
    char *text = text_new(MU_ORDERS_BYTES_MAX);
    *count = mu_orders_write(orders, text);
    return text;
}

char *bring_up_where(const struct sockaddr_in *addresses, uint32_t size, size_t *count)
{
    char *text = text_new(((size_t)size + 1) * MU_ORDERS_NODE_MAX);
    *count = mu_orders_write_nodes(addresses, size, text);
    return text;
}

char *bring_up_end(size_t *count)
{
    static const char end[] = "end\n";
    char *text = text_new(sizeof end);
    *count = strlen(strcpy(text, end));
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
