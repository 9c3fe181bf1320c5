/* Configuration, memory, fingerprint, and what can be looked at. */
#include "core/view/inside.h"

#include <assert.h>
#include <string.h>

/* ---- configuration ---- */

void mu_view_config_default(struct mu_view_config *config, uint32_t ids, mu_slot self)
{
    uint32_t changes = ids < 1024 ? ids : 1024;
    *config = (struct mu_view_config){
        .self = self,
        .incarnation = MU_VIEW_FOUNDER,
        .shift = 1,
        .limits = {.ids = ids, .dead = changes, .odd = changes, .failed = 256, .entries = 64}};
    config->limits.spans = (uint16_t)mu_view_spans_needed(&config->limits);
}

const char *mu_view_config_error(const struct mu_view_config *config)
{
    const struct mu_view_limits *limits = &config->limits;
    if (limits->ids < 1 || limits->ids > MU_SIZE_MAX)
        return "ids are below 2^24, and at least one";
    if (config->self >= limits->ids)
        return "a node's id is below limits.ids";
    if (config->incarnation < MU_VIEW_FOUNDER)
        return "an incarnation is at least 1";
    if (config->shift > MU_TREE_SHIFT_MAX)
        return "the fan-out of the tree is at most 2^24";
    if (limits->dead < 1 || limits->odd < 1 || limits->failed < 1 || limits->entries < 1)
        return "every capacity is at least 1";
    if (limits->spans < mu_view_spans_needed(limits))
        return "limits.spans has room for what limits.dead and limits.odd can tear apart";
    return NULL;
}

void mu_view_agree_config(const struct mu_view *view, uint32_t size, uint32_t self,
                          struct mu_agree_config *config)
{
    const struct mu_view_limits *limits = &view->config.limits;
    *config = (struct mu_agree_config){.size = size,
                                       .self = self,
                                       .shift = view->config.shift,
                                       .rebalance_at = 1,
                                       .limits = {.dead = limits->dead,
                                                  .groups = 1,
                                                  .runs = 1,
                                                  .failed = limits->failed,
                                                  .entries = limits->entries}};
}

/* The agreement of the largest view. */
static void largest(const struct mu_view_config *config, struct mu_agree_config *agree)
{
    const struct mu_view view = {.config = *config};
    mu_view_agree_config(&view, config->limits.ids, 0, agree);
}

/* Members that can be ahead of this node and speak to it: children, and ancestors that ask. */
static uint32_t early_max(const struct mu_view_config *config)
{
    struct mu_agree_config agree;
    largest(config, &agree);
    return mu_agree_peers_max(&agree) + config->limits.dead + 1;
}

/* ---- memory ---- */

static uint32_t lost_max(const struct mu_view_config *config)
{
    return (uint32_t)config->limits.failed + config->limits.entries;
}

/* In a measuring arena 'view' is worth nothing afterwards. */
static void build(struct mu_view *view, struct mu_arena *arena, const struct mu_view_config *config)
{
    const struct mu_view_limits *limits = &config->limits;
    struct mu_agree_config agree;
    view->config = *config;
    largest(config, &agree);
    view->memory_bytes = mu_agree_bytes(&agree);
    for (int i = 0; i < 2; i++) {
        mu_members_init(&view->lists[i].ids, arena, limits->spans);
        view->lists[i].odd = mu_arena_array(arena, limits->odd, sizeof *view->lists[i].odd);
        view->memories[i] = mu_arena_array_line(arena, view->memory_bytes, 1);
    }
    view->lost = mu_arena_array(arena, lost_max(config), sizeof *view->lost);
    view->lost_next = mu_arena_array(arena, lost_max(config), sizeof *view->lost_next);
    view->joined = mu_arena_array(arena, limits->entries, sizeof *view->joined);
    view->joined_next = mu_arena_array(arena, limits->entries, sizeof *view->joined_next);
    mu_roster_init(&view->dead, arena, 0, limits->dead);
    view->pending = mu_arena_array(arena, limits->entries, sizeof *view->pending);
    view->sponsored = mu_arena_array(arena, limits->entries, sizeof *view->sponsored);
    view->early = mu_arena_array(arena, early_max(config), sizeof *view->early);
    view->spans = mu_arena_array(arena, limits->spans, sizeof *view->spans);
}

uint32_t mu_view_early_max(const struct mu_view *view)
{
    return early_max(&view->config);
}

size_t mu_view_bytes(const struct mu_view_config *config)
{
    struct mu_arena arena;
    struct mu_view measured = {0};
    mu_arena_init(&arena, NULL, 0);
    mu_arena_array(&arena, 1, sizeof measured);
    build(&measured, &arena, config);
    return (arena.used + 63) / 64 * 64;
}

struct mu_view *mu_view_init(void *memory, size_t bytes, const struct mu_view_config *config)
{
    assert(mu_view_config_error(config) == NULL);
    struct mu_arena arena;
    mu_arena_init(&arena, memory, bytes);
    struct mu_view *view = mu_arena_array(&arena, 1, sizeof *view);
    build(view, &arena, config);
    return view;
}

uint32_t mu_view_effects_max(const struct mu_view_config *config)
{
    /* The event, the call after it, and what was withheld; besides, a few words to each who is
     * ahead or wants to join; and room for the effects of an agreement itself. */
    enum { STEPS = 4, REST = 16 };
    struct mu_agree_config agree;
    largest(config, &agree);
    return (STEPS + 1) * mu_agree_effects_max(&agree) + early_max(config) + lost_max(config) + REST;
}

/* ---- fingerprint ---- */

static void print_list(const struct mu_view_list *list, struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, list->number);
    mu_fingerprint_add(print, list->hash);
    mu_fingerprint_add(print, (uint64_t)list->ids.count << 32 | list->ids.total);
    for (uint32_t i = 0; i < list->ids.count; i++)
        mu_fingerprint_add(print,
                           (uint64_t)list->ids.runs[i].first << 32 | list->ids.runs[i].position);
    for (uint32_t i = 0; i < list->odd_count; i++)
        mu_fingerprint_add(print, mu_view_key(list->odd[i].id, list->odd[i].incarnation));
}

static void print_change(const struct mu_view *view, struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, (uint64_t)view->lost_count << 32 | view->joined_count);
    for (uint32_t i = 0; i < view->lost_count; i++) {
        const struct mu_view_lost *lost = &view->lost[i];
        mu_fingerprint_add(print, mu_view_key(lost->id, lost->incarnation));
        mu_fingerprint_add(print, (uint64_t)lost->proven << 2 | (uint64_t)lost->counts << 1 |
                                      (uint64_t)lost->clean);
    }
    for (uint32_t i = 0; i < view->joined_count; i++)
        mu_fingerprint_add(print, view->joined[i]);
}

static void print_waiting(const struct mu_view *view, struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, (uint64_t)view->pending_count << 40 |
                                  (uint64_t)view->sponsored_count << 20 | view->early_count);
    for (uint32_t i = 0; i < view->pending_count; i++) {
        mu_fingerprint_add(print, view->pending[i].key);
        mu_fingerprint_add(print, (uint64_t)view->pending[i].kind << 8 | view->pending[i].length);
        for (uint32_t at = 0; at < view->pending[i].length; at++)
            mu_fingerprint_add(print, view->pending[i].bytes[at]);
    }
    struct mu_fingerprint sets = {0, 0};
    for (uint32_t i = 0; i < view->sponsored_count; i++) {
        struct mu_fingerprint one = {
            1, mu_view_key(view->sponsored[i].id, view->sponsored[i].incarnation)};
        mu_fingerprint_add_member(&sets, &one);
    }
    for (uint32_t i = 0; i < view->early_count; i++) {
        const struct mu_view_early *early = &view->early[i];
        struct mu_fingerprint one;
        mu_fingerprint_init(&one);
        mu_fingerprint_add(&one, mu_view_key(early->member.id, early->member.incarnation));
        mu_fingerprint_add(&one, early->number);
        mu_fingerprint_add(&one, early->hash);
        mu_fingerprint_add_member(&sets, &one);
    }
    mu_fingerprint_add(print, sets.a);
    mu_fingerprint_add(print, sets.b);
}

void mu_view_fingerprint(const struct mu_view *view, struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, (uint64_t)view->status << 8 | (uint64_t)view->held << 4 |
                                  (uint64_t)view->decided << 3 | (uint64_t)view->follows << 2 |
                                  (uint64_t)view->untold << 1);
    if (view->status == MU_VIEW_ENDED)
        return;
    mu_fingerprint_add(print, view->dead.count);
    for (uint32_t i = 0; i < view->dead.count; i++)
        mu_fingerprint_add(print, (uint64_t)view->dead.entries[i].slot << 33 |
                                      (uint64_t)view->dead.entries[i].proven << 32 |
                                      view->dead.entries[i].incarnation);
    print_change(view, print);
    print_waiting(view, print);
    for (int i = 0; i < 2; i++) {
        print_list(&view->lists[i], print);
        if (view->lists[i].number != 0)
            mu_agree_fingerprint(view->agrees[i], print);
    }
}

/* ---- to look ---- */

struct mu_view_mark mu_view_mark(const struct mu_view *view)
{
    const struct mu_view_list *list = &view->lists[MU_VIEW_NOW];
    return (struct mu_view_mark){list->number, list->hash, view->status == MU_VIEW_PROVISIONAL};
}

uint32_t mu_view_total(const struct mu_view *view)
{
    return view->lists[MU_VIEW_NOW].number == 0 ? 0 : view->lists[MU_VIEW_NOW].ids.total;
}

struct mu_view_member mu_view_at(const struct mu_view *view, uint32_t position)
{
    return mu_view_list_at(&view->lists[MU_VIEW_NOW], position);
}

uint32_t mu_view_position(const struct mu_view *view, struct mu_view_member member)
{
    return mu_view_list_position(&view->lists[MU_VIEW_NOW], member);
}

bool mu_view_is_dead(const struct mu_view *view, struct mu_view_member member)
{
    return mu_roster_is_out(&view->dead, member.id, member.incarnation);
}

bool mu_view_is_due(const struct mu_view *view)
{
    return view->decided && view->held;
}

static const struct mu_view_list *told(const struct mu_view *view, uint64_t number)
{
    bool now = view->lists[MU_VIEW_NOW].number == number;
    return &view->lists[now ? MU_VIEW_NOW : MU_VIEW_LATE];
}

uint32_t mu_view_told_total(const struct mu_view *view, uint64_t number)
{
    const struct mu_view_list *list = told(view, number);
    return number == 0 || list->number != number ? 0 : list->ids.total;
}

struct mu_view_member mu_view_told_at(const struct mu_view *view, uint64_t number,
                                      uint32_t position)
{
    return mu_view_list_at(told(view, number), position);
}

void mu_view_word(const struct mu_view *view, struct mu_view_word *word)
{
    memset(word, 0, sizeof *word);
    word->mark = mu_view_mark(view);
    if (word->mark.number == 0)
        return;
    word->contributed = mu_view_has_begun(view);
    for (uint32_t i = 0; i < view->dead.count; i++) {
        mu_slot id = view->dead.entries[i].slot;
        struct mu_view_member member = mu_view_list_find(&view->lists[MU_VIEW_NOW], id);
        if (member.id == MU_SLOT_NONE || !mu_view_is_dead(view, member))
            continue;
        if (word->held_count == MU_VIEW_HELD)
            word->held_more = true;
        else
            word->held[word->held_count++] = id;
    }
}
