/* Datagrams of beats: what decodes encodes to the same bytes, nothing gets past its tag, and no
 * member, whatever it says, breaks a detector. */
#define _GNU_SOURCE
#include "daemon/heart/datagrams.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE = 8, SELF = 3 };

static void decode(const uint8_t *bytes, size_t count)
{
    struct mu_beat beat;
    const char *rule = mu_beat_decode(bytes, count, &beat);
    if (rule != NULL) {
        assert(strlen(rule) > 0);
        return;
    }
    uint8_t again[MU_BEAT_BYTES];
    mu_beat_encode(&beat, again);
    assert(count == sizeof again && memcmp(again, bytes, count) == 0);
}

/* As it comes off the socket: each is counted once, as good or bad. */
static bool open_datagram(const uint8_t *bytes, size_t count, bool with_tag, struct mu_beat *beat)
{
    struct mu_heartbeat_counts counts = {0};
    static struct mu_datagrams datagrams;
    static const uint8_t machine_key[crypto_kdf_KEYBYTES] = {1};
    memset(&datagrams, 0, sizeof datagrams);
    datagrams.fd = -1;
    datagrams.self = SELF;
    datagrams.size = SIZE;
    datagrams.counts = &counts;
    mu_beat_key_derive(&datagrams.key, machine_key);
    mu_datagrams_init(&datagrams);
    size_t room = sizeof datagrams.in_bytes[0];
    datagrams.in[0].msg_len = (unsigned)(count < room ? count : room);
    memcpy(datagrams.in_bytes[0], bytes, datagrams.in[0].msg_len);
    if (with_tag)
        mu_beat_tag_write(datagrams.in_bytes[0], &datagrams.key);
    bool good = mu_datagrams_open(&datagrams, 0, beat);
    assert(counts.in == 1 && counts.malformed + counts.forged + good == 1);
    assert(!with_tag || counts.forged == 0);
    assert(!good || (beat->to == SELF && beat->from < SIZE && beat->subject < SIZE));
    return good;
}

/* ---- a detector among hostile members ---- */

struct life {
    struct mu_detect *detect;
    struct mu_detect_update update;
    uint64_t now_ns;
};

static void step(struct life *life, struct mu_detect_event *event)
{
    event->now_ns = life->now_ns;
    mu_detect_step(life->detect, event, &life->update);
    assert(life->update.count <= life->update.capacity);
    for (uint32_t i = 0; i < life->update.count; i++) {
        const struct mu_detect_effect *effect = &life->update.effects[i];
        assert(effect->type != MU_DETECT_SEND || mu_beat_error(&effect->beat) == NULL);
    }
}

/* The first byte: how much later, and whether slots and incarnations are as in this machine, which
 * chance rarely hits. */
static void hear(struct life *life, const uint8_t *chunk)
{
    uint8_t bytes[MU_DATAGRAM_BYTES] = {MU_BEAT_VERSION};
    struct mu_beat beat;
    life->now_ns += (uint64_t)(chunk[0] >> 2) * 1000 * 1000;
    for (int i = 0; i < 100 && life->update.deadline_ns <= life->now_ns; i++)
        step(life, &(struct mu_detect_event){.type = MU_DETECT_TIMEOUT});
    memcpy(bytes + 1, chunk + 1, MU_BEAT_BYTES - 1);
    if (chunk[0] & 1) {
        memset(bytes + 3, 0, 15);
        bytes[6] = chunk[6] % SIZE;
        bytes[10] = SELF;
        bytes[14] = bytes[18] = 1;
    }
    if (chunk[0] & 2 && chunk[1] % MU_BEAT_LAST + 1 >= MU_BEAT_ASK) {
        memset(bytes + 59, 0, 7);
        bytes[62] = chunk[62] % SIZE;
        bytes[66] = 1;
    }
    if (open_datagram(bytes, sizeof bytes, true, &beat))
        step(life, &(struct mu_detect_event){.type = MU_DETECT_RECV, .beat = &beat});
}

static void live(const uint8_t *data, size_t size)
{
    struct mu_detect_config config;
    struct mu_detect_effect effects[MU_DETECT_EFFECTS_MAX];
    mu_detect_config_default(&config, SIZE, SELF);
    struct life life = {.update = {.effects = effects, .capacity = MU_DETECT_EFFECTS_MAX}};
    size_t bytes = mu_detect_bytes(&config);
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    life.detect = mu_detect_init(memory, bytes, &config);
    step(&life, &(struct mu_detect_event){.type = MU_DETECT_START});
    for (; size >= MU_BEAT_BYTES; data += MU_BEAT_BYTES, size -= MU_BEAT_BYTES)
        hear(&life, data);
    free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mu_beat beat;
    decode(data, size);
    open_datagram(data, size, false, &beat);
    if (size == MU_DATAGRAM_BYTES)
        open_datagram(data, size, true, &beat);
    live(data, size);
    return 0;
}
