#include "sim/agree/explore_inside.h"

#include <stdio.h>
#include <string.h>

struct agree_small agree_small_value(const struct mu_agree_value *value)
{
    struct agree_small small = {.contributed = (agree_mask)~value->bits, .more = value->more};
    for (uint32_t i = 0; i < value->failed_count; i++) {
        agree_mask bit = (agree_mask)(1u << value->failed[i].node);
        small.failed |= bit;
        small.acked |= value->failed[i].acked ? bit : 0;
        small.proven |= value->failed[i].proven ? bit : 0;
    }
    return small;
}

struct agree_small agree_shrink(const struct mu_agree_message *message)
{
    struct agree_small small = {0};
    if (message->type != MU_AGREE_ASK)
        small = agree_small_value(&message->value);
    for (uint32_t i = 0; i < message->dead_count; i++) {
        agree_mask bit = (agree_mask)(1u << message->dead[i].slot);
        small.failed |= bit;
        small.proven |= message->dead[i].proven ? bit : 0;
    }
    small.type = message->type;
    small.group = (uint8_t)message->group;
    small.round = (uint8_t)message->round;
    return small;
}

void agree_widen(const struct agree_small *small, struct agree_whole *whole)
{
    memset(whole, 0, sizeof *whole);
    struct mu_agree_message *message = &whole->message;
    message->type = small->type;
    message->group = small->group;
    message->round = small->round;
    message->dead = whole->dead;
    message->value.bits = ~(uint64_t)small->contributed;
    message->value.more = small->more != 0;
    message->value.failed = whole->failed;
    for (uint32_t slot = 0; slot < AGREE_NODES; slot++) {
        bool proven = agree_in(small->proven, slot);
        if (!agree_in(small->failed, slot))
            continue;
        if (small->type == MU_AGREE_ASK)
            whole->dead[message->dead_count++] =
                (struct mu_roster_entry){.slot = slot, .incarnation = 1, .proven = proven};
        else
            whole->failed[message->value.failed_count++] =
                (struct mu_failed){.node = slot & 0x7f,
                                   .acked = agree_in(small->acked, slot),
                                   .proven = proven,
                                   .process = MU_FAILED_NODE};
    }
}

void agree_describe_message(const struct agree_small *message, char text[AGREE_TEXT])
{
    static const char *const names[] = {"", "UP", "DOWN", "ASK"};
    size_t used = (size_t)snprintf(text, AGREE_TEXT, "%s", names[message->type]);
    agree_mask set = message->type == MU_AGREE_ASK ? message->failed : message->contributed;
    used += (size_t)snprintf(text + used, AGREE_TEXT - used,
                             message->type == MU_AGREE_ASK ? " (dead: " : " {");
    for (uint32_t slot = 0; slot < AGREE_NODES; slot++)
        if (agree_in(set, slot))
            used += (size_t)snprintf(text + used, AGREE_TEXT - used, "%u", slot);
    snprintf(text + used, AGREE_TEXT - used, message->type == MU_AGREE_ASK ? ")" : "}");
    if (message->group > 1 || message->round > 1) {
        used = strlen(text);
        snprintf(text + used, AGREE_TEXT - used, " of agreement %u.%u", message->group,
                 message->round);
    }
}
