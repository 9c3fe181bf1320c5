/* Throws at one daemon what a stranger, or a thief of traffic, would.
 *
 *     hostile ADDRESS PORT MACHINE SIZE SLOT KIND COUNT [SEED]
 *
 * KIND   random    connections of random bytes, of random length
 *        flipped   one bit is wrong: of a CALL, of a CONFIRM, or of what is sealed after a
 * handshake that is right.  The machine's key comes on standard input, as 64 hexadecimal digits:
 * nobody without it gets so far halfopen  connections that say nothing, all open at once, until the
 * daemon closes them slow      one byte of a CALL at a time, until the daemon closes
 *
 * Each connection is kept until the daemon has closed it, so that what a daemon counted can be
 * compared with what was thrown.  Prints one JSON object: what was thrown, by the class under which
 * a daemon counts it (net/seal.h).  The same seed makes the same choices; keys of connections
 * are fresh each time. */
#define _GNU_SOURCE
#include "net/seal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { RANDOM_MAX = 4096, PATIENCE_S = 30, SLOW_MS = 100, CHUNK = 4096 };

static struct {
    struct sockaddr_in address;
    struct mu_hello self;
    uint8_t key[MU_SEAL_KEY_BYTES];
    uint64_t seed, random;
    uint64_t thrown, classes[MU_SEAL_CLASSES];
} me;

static _Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

static _Noreturn void give_up(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "hostile: seed %" PRIu64 ", after %" PRIu64 ": ", me.seed, me.thrown);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

/* ---- small tools ---- */

/* splitmix64 */
static uint64_t draw(void)
{
    uint64_t z = me.random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t below(uint32_t bound)
{
    return (uint32_t)(draw() % bound);
}

static void fill(uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)draw();
}

/* From an address of the loopback network of its own, where the daemon is there, too: tens of
 * thousands of connections in a minute use up the ports of one. */
static int dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        give_up("socket: %s", strerror(errno));
    struct timeval patience = {.tv_sec = PATIENCE_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (ntohl(me.address.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET) {
        uint32_t host = 1 + below((1u << 24) - 2);
        struct sockaddr_in own = {.sin_family = AF_INET};
        own.sin_addr.s_addr = htonl((uint32_t)IN_LOOPBACKNET << 24 | host);
        if (bind(fd, (struct sockaddr *)&own, sizeof own) != 0)
            give_up("bind: %s", strerror(errno));
    }
    if (connect(fd, (struct sockaddr *)&me.address, sizeof me.address) != 0)
        give_up("connect: %s", strerror(errno));
    return fd;
}

/* False: the daemon has closed already. */
static bool send_all(int fd, const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
            return false;
        if (sent < 0)
            give_up("send: %s", strerror(errno));
        bytes += sent;
        count -= (size_t)sent;
    }
    return true;
}

/* 0: closed.  What was read is in 'bytes'. */
static size_t receive(int fd, uint8_t *bytes, size_t room)
{
    ssize_t count = recv(fd, bytes, room, 0);
    if (count < 0 && errno != ECONNRESET)
        give_up("the daemon neither answers nor closes: %s", strerror(errno));
    return count < 0 ? 0 : (size_t)count;
}

/* That was all: waits until the daemon has closed, too. */
static void finish(int fd, enum mu_seal_class class)
{
    uint8_t bytes[CHUNK];
    shutdown(fd, SHUT_WR);
    while (receive(fd, bytes, sizeof bytes) > 0)
        continue;
    close(fd);
    me.thrown++;
    me.classes[class]++;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- random ---- */

/* Mostly short: what matters happens in the first bytes.  Every other one begins well. */
static void throw_random(void)
{
    uint8_t bytes[RANDOM_MAX] = {0};
    size_t count = below(4) > 0 ? below(2 * MU_SEAL_CALL) : below(RANDOM_MAX + 1);
    bool head = below(2) > 0 && count >= MU_SEAL_HEAD;
    fill(bytes, count);
    bytes[0] = bytes[0] == 'M' ? 'm' : bytes[0];
    enum mu_seal_class class = MU_SEAL_CLASS_MALFORMED;
    if (head) {
        memcpy(bytes, "MUSE\x03\x01", MU_SEAL_HEAD);
        class = count < MU_SEAL_CALL ? MU_SEAL_CLASS_CUT : MU_SEAL_CLASS_FORGED;
    } else if (count < MU_SEAL_HEAD) {
        class = MU_SEAL_CLASS_CUT;
    }
    int fd = dial();
    send_all(fd, bytes, count);
    finish(fd, class);
}

/* ---- flipped ---- */

/* Flips one bit of bytes[from .. to).  Returns which byte, counted from 'from'. */
static size_t flip(uint8_t *bytes, size_t from, size_t to)
{
    size_t bit = below((uint32_t)(8 * (to - from)));
    bytes[from + bit / 8] ^= (uint8_t)(1 << bit % 8);
    return bit / 8;
}

/* Of a handshake message, 'tag' says how a wrong tag of this one counts. */
static enum mu_seal_class class_of_shake(size_t at, uint8_t step, enum mu_seal_class tag)
{
    if (at < 4)
        return MU_SEAL_CLASS_MALFORMED; /* magic */
    if (at != 5)
        return tag;
    return step >= 1 && step <= 3 ? MU_SEAL_CLASS_ORDER : MU_SEAL_CLASS_MALFORMED;
}

/* Of a sealed frame whose length was 'sealed' bytes after the length field. */
static enum mu_seal_class class_of_frame(size_t at, const uint8_t *frame, size_t sealed)
{
    struct mu_reader reader;
    mu_reader_init(&reader, frame, 4);
    uint32_t length = mu_read_u32(&reader);
    if (at >= 4)
        return MU_SEAL_CLASS_FORGED;
    if (length <= MU_SEAL_CIPHER_EXTRA || length > MU_SEAL_BULK_BUFFER)
        return MU_SEAL_CLASS_MALFORMED;
    return length < sealed ? MU_SEAL_CLASS_FORGED : MU_SEAL_CLASS_CUT; /* it waits for more */
}

static void send_output(int fd, struct mu_seal *seal)
{
    const uint8_t *bytes;
    size_t count = mu_seal_output(seal, &bytes);
    if (!send_all(fd, bytes, count))
        give_up("the daemon closed, though nothing was wrong so far");
    mu_seal_consume(seal, count);
}

/* Up to where the daemon is known; CONFIRM, header and HELLO are in the seal's output. */
static void shake_hands(int fd, struct mu_seal *seal, uint8_t *buffer)
{
    uint8_t bytes[MU_SEAL_CALL];
    send_output(fd, seal);
    for (enum mu_seal_event event = MU_SEAL_MORE; event != MU_SEAL_PEER_KNOWN;) {
        size_t used, count = receive(fd, bytes, sizeof bytes);
        if (count == 0)
            give_up("the daemon closed in the handshake, though nothing was wrong");
        event = mu_seal_input(seal, bytes, count, &used);
        if (event == MU_SEAL_BAD) {
            char text[MU_SEAL_TEXT_MAX];
            give_up("%s", mu_seal_text(mu_seal_result(seal), text, sizeof text));
        }
    }
    mu_seal_accept(seal, 0, buffer, MU_SEAL_BULK_BUFFER);
}

static void throw_flipped_call(struct mu_seal *seal)
{
    uint8_t call[MU_SEAL_CALL];
    const uint8_t *bytes;
    size_t count = mu_seal_output(seal, &bytes);
    memcpy(call, bytes, count);
    size_t at = flip(call, 0, count);
    int fd = dial();
    send_all(fd, call, count);
    finish(fd, class_of_shake(at, call[5], MU_SEAL_CLASS_FORGED));
}

/* The dialler's second flight: CONFIRM, header, HELLO. */
static void throw_flipped_confirm(struct mu_seal *seal, uint8_t *buffer)
{
    enum { HELLO = MU_SEAL_CONFIRM + MU_SEAL_HEADER };
    uint8_t flight[MU_SEAL_OUT];
    const uint8_t *bytes;
    enum mu_seal_class class;
    int fd = dial();
    shake_hands(fd, seal, buffer);
    size_t count = mu_seal_output(seal, &bytes), at;
    memcpy(flight, bytes, count);
    switch (below(3)) {
    case 0:
        at = flip(flight, 0, MU_SEAL_CONFIRM);
        class = class_of_shake(at, flight[5], MU_SEAL_CLASS_ORDER);
        break;
    case 1:
        flip(flight, MU_SEAL_CONFIRM, HELLO);
        class = MU_SEAL_CLASS_FORGED;
        break;
    default:
        at = flip(flight, HELLO, count);
        class = class_of_frame(at, flight + HELLO, count - HELLO - 4);
    }
    send_all(fd, flight, count);
    finish(fd, class);
}

/* A connection that is open, and the first frame on it. */
static void throw_flipped_frame(struct mu_seal *seal, uint8_t *buffer)
{
    enum { PLAIN_MAX = 300 };
    uint8_t plain[PLAIN_MAX], frame[PLAIN_MAX + MU_SEAL_OVERHEAD];
    int fd = dial();
    shake_hands(fd, seal, buffer);
    send_output(fd, seal);
    size_t length = 1 + below(PLAIN_MAX);
    fill(plain, length);
    size_t count = mu_seal_send(seal, plain, length, frame);
    size_t at = flip(frame, 0, count);
    send_all(fd, frame, count);
    finish(fd, class_of_frame(at, frame, count - 4));
}

static void throw_flipped(void)
{
    static uint8_t buffer[MU_SEAL_BULK_BUFFER];
    struct mu_seal seal;
    mu_seal_init(&seal, MU_SEAL_DIALLER, me.key, MU_SEAL_LAUNCHER, &me.self);
    switch (below(3)) {
    case 0:
        throw_flipped_call(&seal);
        break;
    case 1:
        throw_flipped_confirm(&seal, buffer);
        break;
    default:
        throw_flipped_frame(&seal, buffer);
    }
    mu_seal_free(&seal);
}

/* ---- those who stay ---- */

static void throw_halfopen(uint64_t count)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    struct pollfd *polled = calloc(count, sizeof *polled);
    if (polled == NULL)
        give_up("no memory for %" PRIu64 " connections", count);
    for (uint64_t i = 0; i < count; i++)
        polled[i] = (struct pollfd){.fd = dial(), .events = POLLIN};
    uint64_t end_ms = now_ms() + PATIENCE_S * 1000;
    while (me.thrown < count) {
        if (now_ms() > end_ms)
            give_up("%" PRIu64 " connections are still open after %d s", count - me.thrown,
                    PATIENCE_S);
        poll(polled, count, 1000);
        for (uint64_t i = 0; i < count; i++) {
            uint8_t byte;
            if (polled[i].fd < 0 || polled[i].revents == 0)
                continue;
            if (receive(polled[i].fd, &byte, 1) > 0)
                give_up("the daemon said something to somebody who said nothing");
            close(polled[i].fd);
            polled[i].fd = -1; /* poll() leaves it out */
            me.thrown++;
        }
    }
    free(polled);
}

/* Faster than a timer that begins anew with each byte, slower than a handshake may be. */
static void throw_slow(void)
{
    uint8_t call[MU_SEAL_CALL];
    int fd = dial();
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    fill(call, sizeof call);
    memcpy(call, "MUSE\x03\x01", MU_SEAL_HEAD);
    for (size_t i = 0; i < sizeof call - 1; i++)
        if (!send_all(fd, call + i, 1) || poll(&polled, 1, SLOW_MS) > 0)
            break;
    if (poll(&polled, 1, PATIENCE_S * 1000) <= 0)
        give_up("a CALL may take longer than %d s", PATIENCE_S);
    close(fd);
    me.thrown++;
}

/* ---- the program ---- */

static uint64_t number(const char *name, const char *text, int base, uint64_t high)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, base);
    if (errno != 0 || end == text || *end != '\0' || value > high)
        give_up("%s is '%s', but must be a number up to %" PRIu64, name, text, high);
    return value;
}

static void read_key(void)
{
    char hex[2 * MU_SEAL_KEY_BYTES + 1] = "";
    if (fgets(hex, sizeof hex, stdin) == NULL ||
        sodium_hex2bin(me.key, sizeof me.key, hex, strlen(hex), NULL, NULL, NULL) != 0)
        give_up("no key on standard input: %d hexadecimal digits", 2 * MU_SEAL_KEY_BYTES);
}

static void throw_all(const char *kind, uint64_t count)
{
    if (strcmp(kind, "halfopen") == 0) {
        throw_halfopen(count);
        return;
    }
    void (*one)(void) = strcmp(kind, "random") == 0    ? throw_random
                        : strcmp(kind, "flipped") == 0 ? throw_flipped
                        : strcmp(kind, "slow") == 0    ? throw_slow
                                                       : NULL;
    if (one == NULL)
        give_up("KIND is '%s', but must be random, flipped, halfopen or slow", kind);
    if (one == throw_flipped)
        read_key();
    for (uint64_t i = 0; i < count; i++)
        one();
}

int main(int argc, char **argv)
{
    if (argc < 8 || argc > 9 || sodium_init() < 0) {
        fprintf(stderr, "usage: hostile ADDRESS PORT MACHINE SIZE SLOT KIND COUNT [SEED]\n");
        return 2;
    }
    me.address.sin_family = AF_INET;
    if (inet_pton(AF_INET, argv[1], &me.address.sin_addr) != 1)
        give_up("ADDRESS is '%s', but must be like 127.0.0.1", argv[1]);
    me.address.sin_port = htons((uint16_t)number("PORT", argv[2], 10, UINT16_MAX));
    me.self.machine = number("MACHINE", argv[3], 16, UINT64_MAX);
    me.self.size = (uint32_t)number("SIZE", argv[4], 10, MU_SIZE_MAX);
    me.self.from = me.self.size; /* as a launcher */
    me.self.to = (mu_slot)number("SLOT", argv[5], 10, me.self.size - 1);
    me.self.incarnation = 1;
    uint64_t count = number("COUNT", argv[7], 10, 1000000);
    me.seed = argc > 8 ? number("SEED", argv[8], 10, UINT64_MAX) : now_ms();
    me.random = me.seed;
    throw_all(argv[6], count);
    printf("{\"what\":\"%s\",\"seed\":%" PRIu64 ",\"thrown\":%" PRIu64, argv[6], me.seed,
           me.thrown);
    for (int i = 1; i < MU_SEAL_CLASSES; i++)
        printf(",\"%s\":%" PRIu64, mu_seal_class_name((enum mu_seal_class)i), me.classes[i]);
    printf("}\n");
    return 0;
}
