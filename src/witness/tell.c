#define _GNU_SOURCE
#include "witness/tell.h"

#include "wire/peer/word.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint64_t answer_ns = 500000000; /* for a handshake, or for HEARD */
static const uint64_t again_ns = 200000000;  /* before one that did not answer is tried again */

/* ---- whom to call ---- */

static uint32_t wanted(const struct mu_tell *tell)
{
    return tell->list.count < MU_TELL_WANTED ? tell->list.count : MU_TELL_WANTED;
}

bool mu_tell_is_over(const struct mu_tell *tell)
{
    return tell->told >= wanted(tell);
}

bool mu_tell_is_heard(const struct mu_tell *tell)
{
    uint32_t heard = tell->told;
    for (uint32_t i = 0; i < MU_TELL_WANTED; i++)
        heard += tell->calls[i].fd >= 0 && tell->calls[i].heard_dead;
    return heard >= wanted(tell);
}

/* The first of those that failed least; the list's length: nobody can be called now. */
static uint32_t next_whom(const struct mu_tell *tell, uint64_t now_ns)
{
    uint32_t best = tell->list.count;
    for (uint32_t i = 0; i < tell->list.count; i++)
        if (!tell->called[i] && tell->not_before[i] <= now_ns &&
            (best == tell->list.count || tell->tries[i] < tell->tries[best]))
            best = i;
    return best;
}

static void hang_up(struct mu_tell_call *call)
{
    if (call->fd >= 0)
        close(call->fd);
    call->fd = -1;
    mu_seal_free(&call->seal);
}

static void fail(struct mu_tell *tell, struct mu_tell_call *call, uint64_t now_ns)
{
    tell->called[call->whom] = false;
    tell->tries[call->whom]++;
    tell->not_before[call->whom] = now_ns + again_ns;
    hang_up(call);
}

/* False: this one is not to be had now. */
static bool dial(struct mu_tell *tell, struct mu_tell_call *call)
{
    const struct mu_witness_neighbour *whom = &tell->list.at[call->whom];
    int one = 1;
    call->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (call->fd < 0)
        return false;
    setsockopt(call->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct mu_hello self = tell->self;
    self.to = whom->slot;
    mu_seal_init(&call->seal, MU_SEAL_DIALLER, tell->key, MU_SEAL_WITNESS, &self);
    call->connecting = true;
    return connect(call->fd, (const struct sockaddr *)&whom->address, sizeof whom->address) == 0 ||
           errno == EINPROGRESS;
}

static bool is_callable(const struct mu_tell *tell, const struct mu_witness_neighbour *whom)
{
    return whom->slot < tell->self.size && whom->slot != tell->self.from;
}

static void call_others(struct mu_tell *tell, uint64_t now_ns)
{
    uint32_t calling = 0;
    for (uint32_t i = 0; i < MU_TELL_WANTED; i++)
        calling += tell->calls[i].fd >= 0;
    for (uint32_t i = 0; i < MU_TELL_WANTED && calling + tell->told < wanted(tell); i++) {
        struct mu_tell_call *call = &tell->calls[i];
        uint32_t whom = next_whom(tell, now_ns);
        if (call->fd >= 0)
            continue;
        if (whom == tell->list.count)
            return;
        *call = (struct mu_tell_call){.fd = -1, .whom = whom, .until_ns = now_ns + answer_ns};
        tell->called[whom] = true;
        if (is_callable(tell, &tell->list.at[whom]) && dial(tell, call))
            calling++;
        else
            fail(tell, call, now_ns);
    }
}

/* ---- what is said ---- */

/* All of it fits into an empty socket, or something is wrong. */
static bool send_all(const struct mu_tell_call *call, const uint8_t *bytes, size_t count)
{
    return send(call->fd, bytes, count, MSG_NOSIGNAL) == (ssize_t)count;
}

static bool send_output(struct mu_tell_call *call)
{
    const uint8_t *bytes;
    size_t count = mu_seal_output(&call->seal, &bytes);
    if (count == 0)
        return true;
    bool good = send_all(call, bytes, count);
    mu_seal_consume(&call->seal, count);
    return good;
}

static bool say(struct mu_tell *tell, struct mu_tell_call *call, enum mu_word_type type,
                uint64_t now_ns)
{
    struct mu_word word = {.type = (uint8_t)type, .how = tell->how};
    uint8_t plain[MU_WORD_BYTES_MAX], sealed[MU_WORD_BYTES_MAX + MU_SEAL_OVERHEAD];
    word.age_ns = now_ns > tell->ended_ns ? now_ns - tell->ended_ns : 0;
    size_t count = mu_seal_send(&call->seal, plain, mu_word_encode(&word, plain), sealed);
    call->until_ns = now_ns + answer_ns;
    return count > 0 && send_all(call, sealed, count);
}

/* Whatever can be said on it now. */
static bool go_on(struct mu_tell *tell, struct mu_tell_call *call, uint64_t now_ns)
{
    if (!call->open || !call->heard_dead || !tell->gone || call->said_gone)
        return true;
    call->said_gone = true;
    return say(tell, call, MU_WORD_GONE, now_ns);
}

void mu_tell_gone(struct mu_tell *tell, uint64_t now_ns)
{
    tell->gone = true;
    for (uint32_t i = 0; i < MU_TELL_WANTED; i++)
        if (tell->calls[i].fd >= 0 && !go_on(tell, &tell->calls[i], now_ns))
            fail(tell, &tell->calls[i], now_ns);
}

/* ---- what is answered ---- */

static bool on_heard(struct mu_tell *tell, struct mu_tell_call *call, uint64_t now_ns)
{
    size_t count;
    const uint8_t *plain = mu_seal_plain(&call->seal, &count);
    struct mu_word word;
    if (mu_word_decode(plain, count, &word) != NULL || word.type != MU_WORD_HEARD)
        return false;
    call->heard_dead |= word.heard == MU_WORD_DEAD;
    call->heard_gone |= word.heard == MU_WORD_GONE;
    call->until_ns = MU_NEVER;
    return go_on(tell, call, now_ns);
}

static bool on_event(struct mu_tell *tell, struct mu_tell_call *call, enum mu_seal_event event,
                     uint64_t now_ns)
{
    switch (event) {
    case MU_SEAL_MORE:
        return true;
    case MU_SEAL_PEER_KNOWN:
        mu_seal_accept(&call->seal, 0, call->buffer, sizeof call->buffer);
        return send_output(call) && say(tell, call, MU_WORD_DEAD, now_ns);
    case MU_SEAL_OPEN:
        call->open = true;
        return true;
    case MU_SEAL_FRAME:
        return on_heard(tell, call, now_ns);
    case MU_SEAL_REFUSED:
    case MU_SEAL_GOODBYE:
    case MU_SEAL_BAD:
        return false;
    }
    return false;
}

static bool take_bytes(struct mu_tell *tell, struct mu_tell_call *call, const uint8_t *bytes,
                       size_t count, uint64_t now_ns)
{
    enum mu_seal_event event;
    do {
        size_t used;
        event = mu_seal_input(&call->seal, bytes, count, &used);
        bytes += used;
        count -= used;
        if (!on_event(tell, call, event, now_ns) || !send_output(call))
            return false;
    } while (event != MU_SEAL_MORE);
    return true;
}

static bool read_some(struct mu_tell *tell, struct mu_tell_call *call, uint64_t now_ns)
{
    uint8_t bytes[1024];
    ssize_t count = recv(call->fd, bytes, sizeof bytes, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    return count > 0 && take_bytes(tell, call, bytes, (size_t)count, now_ns);
}

static bool on_connected(struct mu_tell_call *call)
{
    int error = 0;
    socklen_t length = sizeof error;
    call->connecting = false;
    if (getsockopt(call->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0)
        return false;
    return send_output(call);
}

static void finish(struct mu_tell *tell, struct mu_tell_call *call)
{
    mu_seal_bye(&call->seal);
    send_output(call);
    tell->told++;
    hang_up(call);
}

static void step_call(struct mu_tell *tell, struct mu_tell_call *call, short revents,
                      uint64_t now_ns)
{
    bool good = true;
    if (revents != 0 && call->connecting)
        good = on_connected(call);
    else if (revents != 0)
        good = read_some(tell, call, now_ns);
    if (!good || now_ns >= call->until_ns)
        fail(tell, call, now_ns);
    else if (call->heard_gone)
        finish(tell, call);
}

/* ---- for the loop ---- */

void mu_tell_begin(struct mu_tell *tell, const uint8_t *key, const struct mu_hello *self,
                   const struct mu_witness_list *list, const struct mu_exit_kind *how,
                   uint64_t ended_ns)
{
    memset(tell, 0, sizeof *tell);
    tell->key = key;
    tell->self = *self;
    tell->how = *how;
    tell->ended_ns = ended_ns;
    tell->list = *list;
    for (uint32_t i = 0; i < MU_TELL_WANTED; i++)
        tell->calls[i].fd = -1;
    call_others(tell, ended_ns);
}

void mu_tell_polls(const struct mu_tell *tell, struct pollfd polls[MU_TELL_WANTED])
{
    for (uint32_t i = 0; i < MU_TELL_WANTED; i++)
        polls[i] = (struct pollfd){.fd = tell->calls[i].fd,
                                   .events = tell->calls[i].connecting ? POLLOUT : POLLIN};
}

uint64_t mu_tell_due_ns(const struct mu_tell *tell)
{
    uint64_t due_ns = MU_NEVER;
    for (uint32_t i = 0; i < MU_TELL_WANTED; i++)
        if (tell->calls[i].fd >= 0 && tell->calls[i].until_ns < due_ns)
            due_ns = tell->calls[i].until_ns;
    for (uint32_t i = 0; i < tell->list.count; i++)
        if (!tell->called[i] && tell->tries[i] > 0 && tell->not_before[i] < due_ns)
            due_ns = tell->not_before[i];
    return due_ns;
}

void mu_tell_step(struct mu_tell *tell, const struct pollfd polls[MU_TELL_WANTED], uint64_t now_ns)
{
    for (uint32_t i = 0; i < MU_TELL_WANTED; i++)
        if (tell->calls[i].fd >= 0)
            step_call(tell, &tell->calls[i], polls[i].revents, now_ns);
    call_others(tell, now_ns);
}

void mu_tell_end(struct mu_tell *tell)
{
    for (uint32_t i = 0; i < MU_TELL_WANTED; i++)
        hang_up(&tell->calls[i]);
}
