#include "command/proof_json.h"

#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

const char *cause_word(enum mu_cause cause)
{
    switch (cause) {
    case MU_CAUSE_EXIT:
        return "exit";
    case MU_CAUSE_NODE_LOST:
        return "node-lost";
    case MU_CAUSE_TOLD:
        return "told";
    case MU_CAUSE_WITNESS:
        return "witness";
    case MU_CAUSE_SILENCE:
        return "silence";
    case MU_CAUSE_UNREACHABLE:
        return "unreachable";
    }
    abort();
}

uint8_t cause_of_word(const char *word)
{
    for (int cause = MU_CAUSE_EXIT; cause <= MU_CAUSE_LAST; cause++)
        if (strcmp(cause_word((enum mu_cause)cause), word) == 0)
            return (uint8_t)cause;
    return 0;
}

uint8_t verdict_of_word(const char *word)
{
    for (int verdict = MU_VERDICT_DEAD; verdict <= MU_VERDICT_LAST; verdict++)
        if (strcmp(mu_verdict_word((enum mu_verdict)verdict), word) == 0)
            return (uint8_t)verdict;
    return 0;
}

bool cause_has_proof(uint8_t cause)
{
    return cause == MU_CAUSE_SILENCE || cause == MU_CAUSE_UNREACHABLE;
}

static const char *const reach_words[] = {
    [MU_REACH_NONE] = "none",
    [MU_REACH_TRYING] = "trying",
    [MU_REACH_HEARD] = "heard",
    [MU_REACH_DEAD] = "dead",
};
enum { REACH_WORDS = sizeof reach_words / sizeof reach_words[0] };

/* ---- numbers ---- */

json_t *json_ms(uint64_t ns)
{
    return json_real((double)ns / 1e6);
}

bool json_ms_get(const json_t *value, uint64_t *ns)
{
    double ms = json_is_number(value) ? json_number_value(value) : -1;
    if (!(ms >= 0 && ms <= 1e12))
        return false;
    *ns = (uint64_t)(ms * 1e6 + 0.5);
    return true;
}

json_t *json_slot(mu_slot slot)
{
    return slot == MU_SLOT_NONE ? json_null() : json_integer(slot);
}

bool json_slot_get(const json_t *value, mu_slot *slot)
{
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    bool is_slot = number >= 0 && number < MU_SIZE_MAX;
    *slot = is_slot ? (mu_slot)number : MU_SLOT_NONE;
    return is_slot || json_is_null(value);
}

/* ---- the proof of the ring ---- */

void proof_json_set(json_t *object, const struct mu_ring_proof *proof)
{
    json_t *helpers = json_array();
    json_object_set_new(object, "period_ms", json_ms(proof->period_ns));
    json_object_set_new(object, "timeout_ms", json_ms(proof->timeout_ns));
    json_object_set_new(object, "silent_ms", json_ms(proof->silent_ns));
    json_object_set_new(object, "suspect_ms", json_ms(proof->suspect_ns));
    json_object_set_new(object, "lag_ms", json_ms(proof->lag_ns));
    json_object_set_new(object, "probes", json_integer(proof->probes));
    json_object_set_new(object, "vouched_by", json_slot(proof->vouched_by));
    for (uint32_t i = 0; i < proof->helper_count; i++) {
        json_t *helper = json_object();
        json_object_set_new(helper, "node", json_integer(proof->helpers[i].slot));
        json_object_set_new(helper, "reach", json_string(reach_words[proof->helpers[i].reach]));
        json_array_append_new(helpers, helper);
    }
    json_object_set_new(object, "helpers", helpers);
}

static bool get_helper(const json_t *value, struct mu_ring_proof *proof)
{
    mu_slot slot;
    const char *reach = json_string_value(json_object_get(value, "reach"));
    if (!json_slot_get(json_object_get(value, "node"), &slot) || slot == MU_SLOT_NONE ||
        reach == NULL)
        return false;
    for (uint8_t i = 0; i < REACH_WORDS; i++)
        if (strcmp(reach_words[i], reach) == 0) {
            proof->helpers[proof->helper_count].slot = slot;
            proof->helpers[proof->helper_count++].reach = i;
            return true;
        }
    return false;
}

bool proof_json_get(const json_t *object, struct mu_ring_proof *proof)
{
    const json_t *helpers = json_object_get(object, "helpers");
    const json_t *probes = json_object_get(object, "probes");
    json_int_t sent = json_is_integer(probes) ? json_integer_value(probes) : -1;
    memset(proof, 0, sizeof *proof);
    bool good = json_ms_get(json_object_get(object, "period_ms"), &proof->period_ns) &&
                json_ms_get(json_object_get(object, "timeout_ms"), &proof->timeout_ns) &&
                json_ms_get(json_object_get(object, "silent_ms"), &proof->silent_ns) &&
                json_ms_get(json_object_get(object, "suspect_ms"), &proof->suspect_ns) &&
                json_ms_get(json_object_get(object, "lag_ms"), &proof->lag_ns) &&
                json_slot_get(json_object_get(object, "vouched_by"), &proof->vouched_by) &&
                sent >= 0 && sent <= UINT32_MAX && json_is_array(helpers) &&
                json_array_size(helpers) <= MU_DETECT_HELPERS;
    proof->probes = (uint32_t)sent;
    for (size_t i = 0; good && i < json_array_size(helpers); i++)
        good = get_helper(json_array_get(helpers, i), proof);
    return good;
}
