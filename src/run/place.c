#include "run/place.h"

#include "launch/map.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- words ---- */

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncasecmp(text, word, length) == 0;
}

bool run_place_map_by(struct run_place *place, const char *text)
{
    size_t length = strcspn(text, ":");
    const char *modifier = text[length] == ':' ? text + length + 1 : NULL;
    bool by_node = is_word(text, length, "node"), by_slot = is_word(text, length, "slot");
    if (!by_node && !by_slot && (length > 0 || modifier == NULL))
        return false;
    place->by_node = by_node;
    place->by_slot = by_slot;
    if (modifier == NULL)
        return true;
    bool over = strcasecmp(modifier, "oversubscribe") == 0;
    if (!over && strcasecmp(modifier, "nooversubscribe") != 0)
        return false;
    place->oversubscribe = over;
    return true;
}

bool run_place_bind_to(struct run_place *place, const char *text)
{
    static const struct {
        const char *word;
        uint8_t binding;
    } words[] = {{"none", MU_LAUNCH_UNBOUND},
                 {"core", MU_LAUNCH_CORES},
                 {"core:overload-allowed", MU_LAUNCH_CORES_SHARED}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(text, words[i].word) == 0) {
            place->binding = words[i].binding;
            return true;
        }
    return false;
}

/* ---- room ---- */

/* Of one node.  UINT32_MAX: any number. */
static uint32_t slots_of(const struct run_place *place, const struct hosts *hosts, uint32_t node)
{
    if (hosts->count > 0)
        return hosts->items[node].slots;
    return place->slots > 0 ? place->slots : UINT32_MAX;
}

static uint32_t most_of(const struct hosts *hosts, uint32_t node)
{
    return hosts->count > 0 && hosts->items[node].max_slots > 0 ? hosts->items[node].max_slots
                                                                : UINT32_MAX;
}

static uint64_t sum_of_slots(const struct run_place *place, uint32_t nodes,
                             const struct hosts *hosts)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < nodes; i++)
        sum += slots_of(place, hosts, i);
    return sum;
}

static uint64_t sum_of_most(uint32_t nodes, const struct hosts *hosts)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < nodes; i++)
        sum += most_of(hosts, i);
    return sum;
}

bool run_place_is_oversubscribed(const struct run_place *place, uint32_t ranks, uint32_t nodes,
                                 const struct hosts *hosts)
{
    return ranks > sum_of_slots(place, nodes, hosts);
}

const char *run_place_error(const struct run_place *place, uint32_t ranks, uint32_t nodes,
                            const struct hosts *hosts, char text[RUN_PLACE_TEXT_MAX])
{
    uint64_t slots = sum_of_slots(place, nodes, hosts), most = sum_of_most(nodes, hosts);
    if (ranks <= slots)
        return NULL;
    if (place->oversubscribe) {
        if (ranks <= most)
            return NULL;
        snprintf(text, RUN_PLACE_TEXT_MAX,
                 "%" PRIu32 " processes do not fit: max_slots of the hosts allow %" PRIu64, ranks,
                 most);
        return text;
    }
    int used = snprintf(text, RUN_PLACE_TEXT_MAX, "%" PRIu32 " processes do not fit: ", ranks);
    if (hosts->count > 0)
        used += snprintf(text + used, RUN_PLACE_TEXT_MAX - (size_t)used,
                         "the hosts have %" PRIu64 " slot%s", slots, slots == 1 ? "" : "s");
    else
        used += snprintf(text + used, RUN_PLACE_TEXT_MAX - (size_t)used,
                         "%" PRIu32 " node%s with --slots %" PRIu32 " take%s %" PRIu64, nodes,
                         nodes == 1 ? "" : "s", place->slots, nodes == 1 ? "s" : "", slots);
    snprintf(text + used, RUN_PLACE_TEXT_MAX - (size_t)used,
             " (to start them anyway: --oversubscribe)");
    return text;
}

/* ---- runs ---- */

uint32_t run_place_runs(const struct run_place *place, uint32_t ranks, uint32_t nodes,
                        const struct hosts *hosts, struct mu_launch_run **runs)
{
    *runs = calloc(place->by_node ? ranks : nodes, sizeof **runs);
    if (*runs == NULL)
        abort();
    if (hosts->count == 0 && !place->by_node && (!place->by_slot || place->slots == 0))
        return map_blocks(ranks, nodes, *runs);
    uint32_t *room = calloc(nodes, sizeof *room), *most = calloc(nodes, sizeof *most);
    if (room == NULL || most == NULL)
        abort();
    for (uint32_t i = 0; i < nodes; i++) {
        room[i] = slots_of(place, hosts, i);
        most[i] = most_of(hosts, i);
    }
    map_widen(ranks, room, most, nodes);
    uint32_t count = place->by_node ? map_by_node(ranks, room, nodes, *runs)
                                    : map_slots(ranks, room, nodes, *runs);
    free(room);
    free(most);
    return count;
}
