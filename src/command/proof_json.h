/* Causes and proofs of deaths in words for scripts: what 'events --json', 'why --json' and the
 * lines of 'run --report' have in common. */
#ifndef MU_COMMAND_PROOF_JSON_H
#define MU_COMMAND_PROOF_JSON_H

#include "wire/base/evidence.h"

#include <jansson.h>

/* "exit", "node-lost", "refused", "silence", "unreachable". */
const char *cause_word(enum mu_cause cause);

/* The cause or verdict of that word; 0: there is none. */
uint8_t cause_of_word(const char *word);
uint8_t verdict_of_word(const char *word);

/* Whether a cause comes with a proof of the ring. */
bool cause_has_proof(uint8_t cause);

/* Spans are real numbers in ms. */
json_t *json_ms(uint64_t ns);
bool json_ms_get(const json_t *value, uint64_t *ns); /* false: not a number from 0 to 10^12 */

/* A slot, or null for MU_SLOT_NONE. */
json_t *json_slot(mu_slot slot);
bool json_slot_get(const json_t *value, mu_slot *slot);

/* period_ms, timeout_ms, silent_ms, suspect_ms, lag_ms, probes, vouched_by (null: nobody), helpers:
 * [{node, reach}], reach being "none", "trying", "heard" or "dead". */
void proof_json_set(json_t *object, const struct mu_ring_proof *proof);

/* The same fields read back.  False: one is missing, or cannot be. */
bool proof_json_get(const json_t *object, struct mu_ring_proof *proof);

#endif
