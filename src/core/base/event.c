#include "core/base/event.h"

#include <assert.h>
#include <string.h>

struct mu_effect *mu_update_add(struct mu_update *update, enum mu_effect_type type)
{
    assert(update->count < update->capacity);
    struct mu_effect *effect = &update->effects[update->count++];
    memset(effect, 0, sizeof *effect);
    effect->type = type;
    return effect;
}

void mu_update_fault(struct mu_update *update, enum mu_fault fault, mu_slot peer)
{
    struct mu_effect *effect = mu_update_add(update, MU_DO_FAULT);
    effect->fault = fault;
    effect->peer = peer;
}

void mu_update_close(struct mu_update *update, enum mu_close_reason reason, mu_slot peer)
{
    struct mu_effect *effect = mu_update_add(update, MU_DO_CLOSE);
    effect->reason = reason;
    effect->peer = peer;
}
