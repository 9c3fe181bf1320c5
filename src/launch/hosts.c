#include "launch/hosts.h"

#include "command/args.h"
#include "launch/machine.h"
#include "wire/launch/launch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static const char *say(char *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, HOSTS_TEXT_MAX, format, arguments);
    va_end(arguments);
    return text;
}

/* ---- one host ---- */

/* It becomes an argument of the agent, and of a shell behind it. */
static bool is_name(const char *name, size_t length)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    return length >= 1 && length <= MU_ORDERS_NAME_MAX && strspn(name, allowed) >= length &&
           name[0] != '-';
}

static bool read_slots(const char *digits, uint32_t *slots)
{
    uint64_t number;
    if (!args_number(digits, &number) || number < 1 || number > MU_LAUNCH_RANKS_MAX)
        return false;
    *slots = (uint32_t)number;
    return true;
}

static struct host *find(struct hosts *hosts, const char *name)
{
    for (uint32_t i = 0; i < hosts->count; i++)
        if (strcmp(hosts->items[i].name, name) == 0)
            return &hosts->items[i];
    return NULL;
}

static const char *add(struct hosts *hosts, const struct host *host, char *text)
{
    struct host *known = find(hosts, host->name);
    if (known == NULL) {
        if (hosts->count == MACHINE_NODES_MAX)
            return say(text, "more than %d hosts", MACHINE_NODES_MAX);
        struct host *items = realloc(hosts->items, (hosts->count + 1) * sizeof *items);
        if (items == NULL)
            return say(text, "no memory for %u hosts", hosts->count + 1);
        hosts->items = items;
        items[hosts->count++] = *host;
        return NULL;
    }
    if (host->has_address && known->has_address &&
        host->address.sin_addr.s_addr != known->address.sin_addr.s_addr)
        return say(text, "host '%s' has two different addresses", host->name);
    if (known->slots + host->slots > MU_LAUNCH_RANKS_MAX)
        return say(text, "host '%s' has more than %d slots", host->name, MU_LAUNCH_RANKS_MAX);
    known->slots += host->slots;
    if (host->max_slots > 0)
        known->max_slots = host->max_slots;
    if (host->has_address) {
        known->has_address = true;
        known->address = host->address;
    }
    return NULL;
}

#define NAME_RULE "1 to 64 letters, digits, '.', '_' and '-', not beginning with '-'"

static const char *say_no_name(const char *name, size_t length, char *text)
{
    const char *at = memchr(name, '@', length);
    if (at != NULL)
        return say(text,
                   "'%.*s' has a user name: write the host only, and the user in --agent 'ssh -l "
                   "%.*s' or ~/.ssh/config",
                   (int)length, name, (int)(at - name), name);
    return say(text, "'%.*s' is not a host name: " NAME_RULE, (int)length, name);
}

/* ---- a list ---- */

static const char *add_item(struct hosts *hosts, const char *item, size_t length, char *text)
{
    struct host host = {.slots = 1};
    char digits[16] = "";
    size_t name = strcspn(item, ":,");
    if (!is_name(item, name))
        return say_no_name(item, name, text);
    memcpy(host.name, item, name);
    if (name == length)
        return add(hosts, &host, text);
    if (length - name - 1 < sizeof digits)
        memcpy(digits, item + name + 1, length - name - 1);
    if (!read_slots(digits, &host.slots))
        return say(text, "'%.*s': slots must be a number from 1 to %d", (int)length, item,
                   MU_LAUNCH_RANKS_MAX);
    return add(hosts, &host, text);
}

const char *hosts_from_list(struct hosts *hosts, const char *list, char text[HOSTS_TEXT_MAX])
{
    for (const char *item = list;; item++) {
        size_t length = strcspn(item, ",");
        const char *wrong = add_item(hosts, item, length, text);
        item += length;
        if (wrong != NULL || *item == '\0')
            return wrong;
    }
}

/* ---- a file ---- */

static const char *read_word(struct host *host, const char *word, char *text)
{
    if (strncmp(word, "slots=", 6) == 0)
        return read_slots(word + 6, &host->slots)
                   ? NULL
                   : say(text, "'%s' is not a number from 1 to %d", word, MU_LAUNCH_RANKS_MAX);
    if (strncmp(word, "max_slots=", 10) == 0 || strncmp(word, "max-slots=", 10) == 0)
        return read_slots(word + 10, &host->max_slots)
                   ? NULL
                   : say(text, "'%s' is not a number from 1 to %d", word, MU_LAUNCH_RANKS_MAX);
    if (strncmp(word, "address=", 8) == 0) {
        host->has_address = inet_pton(AF_INET, word + 8, &host->address.sin_addr) == 1;
        return host->has_address ? NULL : say(text, "'%s' is not an IPv4 address", word);
    }
    return say(text, "unknown word '%s' (known: slots=K, max_slots=K, address=A)", word);
}

/* NAME [slots=K] [max_slots=K] [address=A], or nothing.  'line' is cut up. */
static const char *add_line(struct hosts *hosts, char *line, char *text)
{
    struct host host = {.slots = 1, .address = {.sin_family = AF_INET}};
    const char *wrong = NULL;
    char *rest = NULL;
    line[strcspn(line, "#\r\n")] = '\0';
    const char *word = strtok_r(line, " \t", &rest);
    if (word == NULL)
        return NULL;
    size_t name = strcspn(word, ":"); /* "ha:2", as in files of MPICH */
    if (!is_name(word, name))
        return say_no_name(word, name, text);
    if (word[name] == ':' && !read_slots(word + name + 1, &host.slots))
        return say(text, "'%s': slots must be a number from 1 to %d", word, MU_LAUNCH_RANKS_MAX);
    memcpy(host.name, word, name);
    while (wrong == NULL && (word = strtok_r(NULL, " \t", &rest)) != NULL)
        wrong = read_word(&host, word, text);
    return wrong != NULL ? wrong : add(hosts, &host, text);
}

static const char *read_lines(struct hosts *hosts, FILE *file, const char *path, char *text)
{
    char line[HOSTS_LINE_MAX], inner[HOSTS_TEXT_MAX];
    for (unsigned number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        const char *wrong = NULL;
        if (strlen(line) == sizeof line - 1)
            wrong = say(inner, "a line is longer than %d characters", HOSTS_LINE_MAX - 2);
        else
            wrong = add_line(hosts, line, inner);
        if (wrong != NULL)
            return say(text, "%s:%u: %.400s", path, number, wrong);
    }
    if (ferror(file))
        return say(text, "%s: %s", path, strerror(errno));
    if (hosts->count == 0)
        return say(text, "%s: no host in this file", path);
    for (uint32_t i = 0; i < hosts->count; i++) {
        const struct host *host = &hosts->items[i];
        if (host->max_slots > 0 && host->max_slots < host->slots)
            return say(text, "%s: host '%s' has %u slots, but max_slots is %u", path, host->name,
                       host->slots, host->max_slots);
    }
    return NULL;
}

const char *hosts_from_file(struct hosts *hosts, const char *path, char text[HOSTS_TEXT_MAX])
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return say(text, "%s: %s", path, strerror(errno));
    const char *wrong = read_lines(hosts, file, path, text);
    fclose(file);
    return wrong;
}

/* ---- addresses ---- */

static const char *resolve(struct host *host, char *text)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int error = getaddrinfo(host->name, NULL, &hints, &found);
    if (error != 0)
        return say(text,
                   "cannot resolve host '%s': %s; nothing was started\n"
                   "        Check the name, or give its address in a hostfile: %s address=10.0.0.7",
                   host->name, error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error),
                   host->name);
    memcpy(&host->address, found->ai_addr, sizeof host->address);
    host->has_address = true;
    freeaddrinfo(found);
    return NULL;
}

static bool is_loopback(const struct host *host)
{
    return (ntohl(host->address.sin_addr.s_addr) & IN_CLASSA_NET) ==
           (INADDR_LOOPBACK & IN_CLASSA_NET);
}

const char *hosts_resolve(struct hosts *hosts, char text[HOSTS_TEXT_MAX])
{
    uint32_t loopback = 0;
    const struct host *last = NULL;
    for (uint32_t i = 0; i < hosts->count; i++) {
        struct host *host = &hosts->items[i];
        const char *wrong = host->has_address ? NULL : resolve(host, text);
        if (wrong != NULL)
            return wrong;
        if (!is_loopback(host))
            continue;
        loopback++;
        last = host;
    }
    if (loopback == 0 || loopback == hosts->count)
        return NULL;
    char dotted[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &last->address.sin_addr, dotted, sizeof dotted);
    return say(text,
               "host '%s' resolves to %s, which other hosts cannot reach; nothing was started\n"
               "        Give its address in a hostfile: %s address=10.0.0.7",
               last->name, dotted, last->name);
}

bool hosts_share(const struct hosts *hosts)
{
    for (uint32_t i = 0; i < hosts->count; i++)
        if (!is_loopback(&hosts->items[i]))
            return false;
    return true;
}

uint64_t hosts_slots(const struct hosts *hosts)
{
    uint64_t slots = 0;
    for (uint32_t i = 0; i < hosts->count; i++)
        slots += hosts->items[i].slots;
    return slots;
}

void hosts_free(struct hosts *hosts)
{
    free(hosts->items);
    *hosts = (struct hosts){0};
}
