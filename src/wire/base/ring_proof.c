#include "wire/base/ring_proof.h"

#include <assert.h>
#include <string.h>

struct mu_ring_proof mu_ring_proof_of(const struct mu_detect_evidence *evidence)
{
    struct mu_ring_proof proof = {
        .period_ns = evidence->period_ns,
        .timeout_ns = evidence->timeout_ns,
        .silent_ns = evidence->silent_ns,
        .suspect_ns = evidence->suspect_ns,
        .lag_ns = evidence->lag_ns,
        .probes = evidence->probes,
        .vouched_by = evidence->vouched_by,
        .helper_count = evidence->helpers,
    };
    for (uint32_t i = 0; i < evidence->helpers; i++) {
        proof.helpers[i].slot = evidence->helper[i].slot;
        proof.helpers[i].reach = evidence->helper[i].reach;
    }
    return proof;
}

const char *mu_ring_proof_error(const struct mu_ring_proof *proof)
{
    const char *error = mu_detect_times_error(proof->period_ns, proof->timeout_ns);
    if (error != NULL)
        return error;
    if (proof->vouched_by >= MU_SIZE_MAX && proof->vouched_by != MU_SLOT_NONE)
        return "who vouched is a slot below 2^24, or nobody";
    if (proof->helper_count > MU_DETECT_HELPERS)
        return "at most three helpers are asked";
    for (uint32_t i = 0; i < MU_DETECT_HELPERS; i++) {
        bool asked = i < proof->helper_count;
        if (asked && proof->helpers[i].slot >= MU_SIZE_MAX)
            return "a helper is a slot below 2^24";
        if (proof->helpers[i].reach > MU_REACH_DEAD) /* TAKEN answers another question */
            return "how far a helper came is 0 (no reply) to 3 (dead)";
        if (!asked && (proof->helpers[i].slot != 0 || proof->helpers[i].reach != 0))
            return "nobody else was asked";
    }
    return NULL;
}

void mu_write_ring_proof(struct mu_writer *writer, const struct mu_ring_proof *proof)
{
    assert(mu_ring_proof_error(proof) == NULL);
    mu_write_u64(writer, proof->period_ns);
    mu_write_u64(writer, proof->timeout_ns);
    mu_write_u64(writer, proof->silent_ns);
    mu_write_u64(writer, proof->suspect_ns);
    mu_write_u64(writer, proof->lag_ns);
    mu_write_u32(writer, proof->probes);
    mu_write_u32(writer, proof->vouched_by);
    mu_write_u8(writer, proof->helper_count);
    for (uint32_t i = 0; i < proof->helper_count; i++) {
        mu_write_u32(writer, proof->helpers[i].slot);
        mu_write_u8(writer, proof->helpers[i].reach);
    }
}

void mu_read_ring_proof(struct mu_reader *reader, struct mu_ring_proof *proof)
{
    memset(proof, 0, sizeof *proof);
    proof->period_ns = mu_read_u64(reader);
    proof->timeout_ns = mu_read_u64(reader);
    proof->silent_ns = mu_read_u64(reader);
    proof->suspect_ns = mu_read_u64(reader);
    proof->lag_ns = mu_read_u64(reader);
    proof->probes = mu_read_u32(reader);
    proof->vouched_by = mu_read_u32(reader);
    uint8_t count = mu_read_u8(reader);
    if (count > MU_DETECT_HELPERS) {
        reader->bad = true;
        return;
    }
    proof->helper_count = count;
    for (uint32_t i = 0; i < count; i++) {
        proof->helpers[i].slot = mu_read_u32(reader);
        proof->helpers[i].reach = mu_read_u8(reader);
    }
    if (!reader->bad && mu_ring_proof_error(proof) != NULL)
        reader->bad = true;
}
