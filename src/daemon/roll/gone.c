#include "daemon/roll/gone.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool mu_roll_init(struct mu_roll *roll, uint32_t size)
{
    assert(size > 0);
    *roll = (struct mu_roll){
        .size = size,
        .is_gone = calloc((size + (size_t)63) / 64, sizeof *roll->is_gone),
        .gone = calloc(size, sizeof *roll->gone),
        .proofs = calloc(size, sizeof *roll->proofs),
    };
    if (roll->is_gone != NULL && roll->gone != NULL && roll->proofs != NULL)
        return true;
    mu_roll_free(roll);
    return false;
}

void mu_roll_free(struct mu_roll *roll)
{
    for (uint32_t i = 0; i < roll->proof_count; i++)
        mu_proof_drop(&roll->proofs[i]);
    free(roll->proofs);
    free(roll->gone);
    free(roll->is_gone);
    *roll = (struct mu_roll){0};
}

bool mu_roll_has(const struct mu_roll *roll, uint32_t index)
{
    assert(index < roll->size);
    return (roll->is_gone[index / 64] >> index % 64 & 1) != 0;
}

void mu_proof_keep(struct mu_proof *proof, const struct mu_evidence *evidence)
{
    uint8_t bytes[MU_EVIDENCE_BYTES_MAX];
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, sizeof bytes);
    mu_write_evidence(&writer, evidence);
    assert(!writer.full);
    proof->count = (uint16_t)writer.used;
    bool is_short = writer.used <= sizeof proof->bytes;
    proof->longer = is_short ? NULL : malloc(writer.used);
    if (!is_short && proof->longer == NULL)
        abort(); /* a death would be told without its proof */
    memcpy(is_short ? proof->bytes : proof->longer, bytes, writer.used);
}

void mu_proof_drop(struct mu_proof *proof)
{
    free(proof->longer);
    proof->longer = NULL;
}

/* Returns its place, plus 1. */
static uint32_t keep_proof(struct mu_roll *roll, const struct mu_evidence *evidence)
{
    mu_proof_keep(&roll->proofs[roll->proof_count++], evidence);
    return roll->proof_count;
}

void mu_roll_add(struct mu_roll *roll, uint32_t index, const struct mu_local_event *event)
{
    assert(!mu_roll_has(roll, index));
    assert(roll->count == 0 || event->serial > roll->gone[roll->count - 1].serial);
    bool left = event->evidence.verdict == MU_VERDICT_LEFT;
    roll->is_gone[index / 64] |= UINT64_C(1) << index % 64;
    roll->gone[roll->count++] = (struct mu_gone){
        .serial = event->serial,
        .learned_ns = event->learned_ns,
        .age_ns = event->age_ns,
        .index = index,
        .proof = left ? 0 : keep_proof(roll, &event->evidence),
        .hops = event->hops,
    };
}

uint32_t mu_roll_before(const struct mu_roll *roll, uint64_t serial)
{
    uint32_t low = 0, high = roll->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (roll->gone[middle].serial < serial)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t mu_roll_serial(const struct mu_roll *roll, uint32_t i)
{
    return i < roll->count ? roll->gone[i].serial : UINT64_MAX;
}

void mu_proof_read(const struct mu_proof *proof, struct mu_evidence *evidence)
{
    struct mu_reader reader;
    mu_reader_init(&reader, proof->longer != NULL ? proof->longer : proof->bytes, proof->count);
    mu_read_evidence(&reader, evidence);
    assert(!reader.bad);
}

void mu_roll_prove(struct mu_roll *roll, uint32_t index, const struct mu_evidence *evidence)
{
    uint32_t i = 0;
    while (i < roll->count && roll->gone[i].index != index)
        i++;
    assert(i < roll->count && roll->gone[i].proof != 0);
    struct mu_proof *proof = &roll->proofs[roll->gone[i].proof - 1];
    struct mu_evidence known;
    mu_proof_read(proof, &known);
    if (mu_evidence_is_proof(&known))
        return;
    free(proof->longer);
    mu_proof_keep(proof, evidence);
}

void mu_roll_event(const struct mu_roll *roll, uint32_t i, mu_slot node,
                   struct mu_local_event *event)
{
    const struct mu_gone *gone = &roll->gone[i];
    event->serial = gone->serial;
    event->learned_ns = gone->learned_ns;
    event->age_ns = gone->age_ns;
    event->hops = gone->hops;
    if (gone->proof != 0)
        mu_proof_read(&roll->proofs[gone->proof - 1], &event->evidence);
    else
        event->evidence = (struct mu_evidence){
            .verdict = MU_VERDICT_LEFT, .cause = MU_CAUSE_EXIT, .seen_by = node};
    event->evidence.node = node;
}
