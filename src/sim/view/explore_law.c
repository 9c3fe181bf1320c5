#include "sim/view/explore_inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void view_break(struct view_model *model, const char *law, const char *format, ...)
{
    const char *only = model->options->law;
    if (model->law != NULL || (only != NULL && strcmp(only, law) != 0))
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(model->message, sizeof model->message, format, arguments);
    va_end(arguments);
    model->law = law;
}

static unsigned tail(uint64_t hash)
{
    return (unsigned)(hash & 0xffff);
}

/* ---- one effect ---- */

/* No two tell different views of one number, and nobody one twice or backwards. */
static void on_tell(struct view_model *model, uint32_t process, const struct mu_view_mark *mark)
{
    struct view_state *state = model->state;
    uint32_t number = (uint32_t)mark->number;
    if (number >= VIEW_NUMBERS) {
        view_break(model, "room", "view %u is told, and the model has room for %u", number,
                   (unsigned)VIEW_NUMBERS);
        return;
    }
    for (uint32_t later = number; later < VIEW_NUMBERS; later++)
        if (state->told[process][later] != 0)
            view_break(model, "V2", "node %u tells view %u after view %u", process, number, later);
    for (uint32_t other = 0; other < model->starts; other++)
        if (state->told[other][number] != 0 && state->told[other][number] != mark->hash)
            view_break(model, "told", "view %u is %04x to node %u, and to node %u it is %04x",
                       number, tail(mark->hash), process, other, tail(state->told[other][number]));
    state->told[process][number] = mark->hash;
}

/* Where nothing is cut, and nobody comes or goes, only the declared stop, and the few: of those
 * that are left after silent deaths. */
static void on_stop(struct view_model *model, uint32_t process, enum mu_view_stop stop)
{
    const struct view_state *state = model->state;
    const struct explore_view *options = model->options;
    view_mask well = state->alive & (view_mask)~state->declared;
    if (options->cuts + options->joiners + options->returns + options->leaves > 0 ||
        view_in(state->declared, process))
        return;
    bool all_proven = (state->born & (view_mask)~state->alive & (view_mask)~state->proven) == 0;
    if (stop != MU_VIEW_STOP_QUORUM || (all_proven && state->declared == 0) ||
        2 * (uint32_t)__builtin_popcount(well) > options->nodes)
        view_break(model, "halt", "node %u stops, and need not", process);
}

void view_law_on_effect(struct view_model *model, uint32_t process,
                        const struct mu_view_effect *effect)
{
    const struct mu_view *view = view_at(model, process);
    bool lapsed = view_in(model->state->lapsed, process);
    switch (effect->type) {
    case MU_VIEW_SEND:
        if (lapsed && effect->message.type != MU_VIEW_JOIN)
            view_break(model, "lease", "node %u has no lease and sends", process);
        return;
    case MU_VIEW_DEATH:
    case MU_VIEW_JOINING:
        return;
    case MU_VIEW_INSTALL:
        if (lapsed && !effect->install.mark.provisional)
            view_break(model, "lease", "node %u has no lease and decides", process);
        if (view->status != MU_VIEW_ENDED &&
            mu_view_position(view, view_member(model, process)) == UINT32_MAX)
            view_break(model, "V1", "node %u has a view without itself", process);
        return;
    case MU_VIEW_TELL:
        if (lapsed)
            view_break(model, "lease", "node %u has no lease and tells", process);
        on_tell(model, process, &effect->told);
        return;
    case MU_VIEW_STOPPED:
        on_stop(model, process, effect->stop);
        return;
    case MU_VIEW_FAULT:
        view_break(model, "no-fault", "node %u: %s", process, mu_fault_text(effect->fault));
        return;
    }
}

/* ---- states ---- */

static bool is_well(const struct view_model *model, uint32_t process)
{
    const struct view_state *state = model->state;
    return view_in(state->alive & (view_mask)~state->declared, process) &&
           view_at(model, process)->status == MU_VIEW_MEMBER;
}

/* V4: whoever has had a view of the same number has had the same. */
static void check_same(struct view_model *model, uint32_t a, uint32_t b)
{
    for (int i = 0; i < 4; i++) {
        const struct mu_view_list *mine = &view_at(model, a)->lists[i / 2];
        const struct mu_view_list *theirs = &view_at(model, b)->lists[i % 2];
        if (mine->number != 0 && mine->number == theirs->number && mine->hash != theirs->hash)
            view_break(model, "V4", "view %llu is %04x at node %u, and %04x at node %u",
                       (unsigned long long)mine->number, tail(mine->hash), a, tail(theirs->hash),
                       b);
    }
}

/* At a quiet end no two go on in different views. */
static void check_split(struct view_model *model, uint32_t a, uint32_t b)
{
    struct mu_view_mark mine = mu_view_mark(view_at(model, a));
    struct mu_view_mark theirs = mu_view_mark(view_at(model, b));
    if (view_has_lease(model, a) && view_has_lease(model, b) &&
        (mine.number != theirs.number || mine.hash != theirs.hash))
        view_break(model, "split", "node %u goes on in view %llu/%04x, node %u in %llu/%04x", a,
                   (unsigned long long)mine.number, tail(mine.hash), b,
                   (unsigned long long)theirs.number, tail(theirs.hash));
}

/* At a quiet end without a cut everybody is in a view of exactly those that run, and was told. */
static void check_stuck(struct view_model *model, uint32_t process, bool any_member)
{
    const struct mu_view *view = view_at(model, process);
    if (view->status != MU_VIEW_MEMBER) {
        if (any_member)
            view_break(model, "stuck", "node %u is never confirmed", process);
        return;
    }
    if (!any_member && !view_has_lease(model, process))
        return; /* nobody is left to be heard by */
    if (!view_has_lease(model, process))
        view_break(model, "stuck", "node %u never has its lease again", process);
    if (view->untold)
        view_break(model, "stuck", "node %u never tells view %llu", process,
                   (unsigned long long)mu_view_mark(view).number);
    for (uint32_t position = 0; position < mu_view_total(view); position++) {
        uint32_t other = view_process(model, mu_view_at(view, position));
        if (other == model->starts || !view_in(model->state->alive, other))
            view_break(model, "stuck", "node %u keeps node %u in its view, which is dead", process,
                       mu_view_at(view, position).id);
    }
    for (uint32_t other = 0; other < model->starts; other++)
        if (view_in(model->state->alive, other) &&
            mu_view_position(view, view_member(model, other)) == UINT32_MAX)
            view_break(model, "stuck", "node %u never has node %u in its view", process, other);
}

void view_law_check(struct view_model *model, bool still)
{
    const struct view_state *state = model->state;
    bool any_member = false;
    for (uint32_t a = 0; a < model->starts; a++) {
        bool member = view_in(state->alive, a) && view_at(model, a)->status == MU_VIEW_MEMBER;
        any_member = any_member || (member && view_has_lease(model, a));
        for (uint32_t b = 0; b < a; b++) {
            if (!is_well(model, a) || !is_well(model, b))
                continue;
            if (!state->was_cut)
                check_same(model, a, b);
            if (still)
                check_split(model, a, b);
        }
    }
    for (uint32_t a = 0; still && state->side == 0 && a < model->starts; a++)
        if (view_in(state->alive, a))
            check_stuck(model, a, any_member);
}
