/* Lists of numbers, and whom a fault hits. */
#include "chaos/fault.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "7" or "7-9" up to a comma or the end; NULL: it is none. */
static const char *read_range(const char *at, struct mu_chaos_range *range)
{
    uint32_t numbers[2];
    int count = 0;
    do {
        char *end;
        at += count > 0;
        if (*at < '0' || *at > '9')
            return NULL;
        unsigned long number = strtoul(at, &end, 10);
        if (number >= MU_SIZE_MAX || end - at > 8)
            return NULL;
        numbers[count++] = (uint32_t)number;
        at = end;
    } while (*at == '-' && count < 2);
    *range = (struct mu_chaos_range){numbers[0], numbers[count - 1]};
    return range->first <= range->last && (*at == ',' || *at == '\0') ? at : NULL;
}

static int compare(const void *a, const void *b)
{
    const struct mu_chaos_range *one = a, *other = b;
    return (one->first > other->first) - (one->first < other->first);
}

/* Those that touch become one. */
static void join(struct chaos_list *list)
{
    uint8_t kept = 0;
    qsort(list->ranges, list->count, sizeof list->ranges[0], compare);
    for (uint8_t i = 0; i < list->count; i++) {
        struct mu_chaos_range next = list->ranges[i], *last = &list->ranges[kept - (kept > 0)];
        if (kept == 0 || next.first > last->last + 1)
            list->ranges[kept++] = next;
        else if (next.last > last->last)
            last->last = next.last;
    }
    list->count = kept;
}

const char *chaos_list_parse(const char *text, struct chaos_list *list, char why[CHAOS_WHY_MAX])
{
    const char *at = text;
    *list = (struct chaos_list){0};
    for (bool more = true; more;) {
        if (list->count == MU_CHAOS_RANGES_MAX) {
            snprintf(why, CHAOS_WHY_MAX, "'%.60s' has more than %d parts", text,
                     MU_CHAOS_RANGES_MAX);
            return why;
        }
        at = read_range(at, &list->ranges[list->count++]);
        if (at == NULL) {
            snprintf(why, CHAOS_WHY_MAX,
                     "'%.60s' is not a list of numbers like 3 or 0-2,5, each below %u", text,
                     MU_SIZE_MAX);
            return why;
        }
        more = *at == ',';
        at += more;
    }
    join(list);
    return NULL;
}

bool chaos_list_has(const struct chaos_list *list, uint32_t number)
{
    for (uint8_t i = 0; i < list->count; i++)
        if (number >= list->ranges[i].first && number <= list->ranges[i].last)
            return true;
    return false;
}

uint32_t chaos_list_size(const struct chaos_list *list)
{
    uint32_t size = 0;
    for (uint8_t i = 0; i < list->count; i++)
        size += list->ranges[i].last - list->ranges[i].first + 1;
    return size;
}

struct chaos_list chaos_list_of(uint32_t number)
{
    return (struct chaos_list){.count = 1, .ranges = {{number, number}}};
}

const char *chaos_list_text(const struct chaos_list *list, char text[CHAOS_LIST_TEXT_MAX])
{
    enum { PART_MAX = 24 }; /* ",16777215-16777215" */
    size_t used = 0;
    text[0] = '\0';
    for (uint8_t i = 0; i < list->count; i++) {
        const struct mu_chaos_range *range = &list->ranges[i];
        if (used > CHAOS_LIST_TEXT_MAX - PART_MAX) {
            snprintf(text + used, CHAOS_LIST_TEXT_MAX - used, ",...");
            break;
        }
        used += (size_t)snprintf(text + used, CHAOS_LIST_TEXT_MAX - used, "%s%" PRIu32,
                                 i > 0 ? "," : "", range->first);
        if (range->last > range->first)
            used +=
                (size_t)snprintf(text + used, CHAOS_LIST_TEXT_MAX - used, "-%" PRIu32, range->last);
    }
    return text;
}

/* ---- targets ---- */

const char *chaos_target_parse(const char *text, struct chaos_target *target,
                               char why[CHAOS_WHY_MAX])
{
    *target = (struct chaos_target){0};
    if (strncmp(text, "node=", 5) == 0)
        return chaos_list_parse(text + 5, &target->list, why);
    int end = 0;
    if (strncmp(text, "proc=", 5) == 0 && text[5] >= '0' && text[5] <= '9' &&
        sscanf(text + 5, "%9" SCNu32 ".%n", &target->job, &end) == 1 && end > 0) {
        target->is_process = true;
        return chaos_list_parse(text + 5 + end, &target->list, why);
    }
    snprintf(why, CHAOS_WHY_MAX, "'%.60s' is neither node=LIST nor proc=JOB.LIST", text);
    return why;
}

const char *chaos_target_text(const struct chaos_target *target, char text[CHAOS_TEXT_MAX])
{
    char list[CHAOS_LIST_TEXT_MAX];
    chaos_list_text(&target->list, list);
    if (target->is_process)
        snprintf(text, CHAOS_TEXT_MAX, "proc=%" PRIu32 ".%s", target->job, list);
    else
        snprintf(text, CHAOS_TEXT_MAX, "node=%s", list);
    return text;
}
