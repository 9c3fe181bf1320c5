/* Messages of agreements: what decodes encodes to the same bytes, and no member, whatever it says,
 * breaks a node. */
#include "wire/peer/agree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE = 8, SELF = 1, ROOM = 64, BYTES = 4096 };

static struct mu_failed failed[ROOM];
static struct mu_roster_entry dead[ROOM];
static struct mu_agree_entry entries[ROOM];
static const struct mu_agree_room room = {failed, ROOM, dead, ROOM, entries, ROOM};

static bool decode(const uint8_t *bytes, size_t count, struct mu_agree_message *message)
{
    const char *rule = mu_agree_decode(bytes, count, &room, message);
    if (rule != NULL) {
        assert(strlen(rule) > 0);
        return false;
    }
    uint8_t again[BYTES];
    struct mu_writer writer;
    mu_writer_init(&writer, again, sizeof again);
    mu_agree_encode(&writer, message);
    assert(!writer.full && writer.used == count && memcmp(again, bytes, count) == 0);
    return true;
}

/* ---- a node among hostile members ---- */

struct life {
    struct mu_agree *agree;
    struct mu_agree_update update;
};

static void step(struct life *life, struct mu_agree_event *event, bool held)
{
    event->lease_held = held;
    mu_agree_step(life->agree, event, &life->update);
    for (uint32_t i = 0; i < life->update.count; i++) {
        const struct mu_agree_effect *effect = &life->update.effects[i];
        assert(effect->type != MU_AGREE_SEND ||
               (held && effect->peer < SIZE && mu_agree_message_error(&effect->message) == NULL));
        assert(effect->type != MU_AGREE_DELIVER || held);
    }
}

/* Each piece: what happens, from or about whom, how long; then the bytes of a message. */
static size_t happen(struct life *life, const uint8_t *data, size_t size)
{
    struct mu_agree_event event = {.type =
                                       (enum mu_agree_event_type)(1 + data[0] % MU_AGREE_LEASE)};
    static const struct mu_span all = {.first = 0, .count = SIZE};
    bool held = (data[0] & 0x80) == 0;
    size_t length = event.type == MU_AGREE_RECV ? data[2] : 0;
    struct mu_agree_message message;
    if (length > size - 3)
        length = size - 3;
    switch (event.type) {
    case MU_AGREE_OPEN:
        event.open.group = data[1] % 3;
        event.open.spans = &all;
        event.open.count = 1;
        break;
    case MU_AGREE_CLOSE:
        event.close.group = data[1] % 3;
        break;
    case MU_AGREE_CALL:
        event.call.group = data[1] % 3;
        event.call.bits = data[2];
        event.call.silent = data[2] % 4 == 0;
        break;
    case MU_AGREE_RECV:
        event.recv.from = data[1] % (SIZE + 1);
        event.recv.message = &message;
        if (!decode(data + 3, length, &message))
            return 3 + length;
        break;
    case MU_AGREE_DEAD:
        event.dead.slot = data[1] % (SIZE + 1);
        event.dead.incarnation = 1;
        break;
    case MU_AGREE_RESUME:
        event.resume.peer = data[1] % SIZE;
        break;
    case MU_AGREE_LEASE:
        break;
    case MU_AGREE_NOTE:
        event.note = (struct mu_agree_entry){
            .kind = data[1] % 4, .key = data[2] % 4, .length = data[2] % 2, .bytes = {0}};
        break;
    }
    step(life, &event, held);
    return 3 + length;
}

static void live(const uint8_t *data, size_t size)
{
    struct mu_agree_config config;
    mu_agree_config_default(&config, SIZE, SELF);
    config.rebalance_at = 1;
    config.limits = (struct mu_agree_limits){.dead = SIZE - 2, .groups = 2, .runs = 2, .failed = 3};
    size_t bytes = mu_agree_bytes(&config);
    void *memory = aligned_alloc(64, bytes);
    struct life life = {.agree = mu_agree_init(memory, bytes, &config)};
    life.update.capacity = mu_agree_effects_max(&config);
    life.update.effects = calloc(life.update.capacity, sizeof *life.update.effects);
    while (size >= 3) {
        size_t used = happen(&life, data, size);
        data += used;
        size -= used;
    }
    free(life.update.effects);
    free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mu_agree_message message;
    if (size <= BYTES)
        decode(data, size, &message);
    live(data, size);
    return 0;
}
