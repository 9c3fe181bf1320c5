#include "daemon/roll/gone.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool mu_gone_init(struct mu_gone_list *list, uint32_t size)
{
    assert(size > 0);
    *list = (struct mu_gone_list){
        .size = size,
        .room = size,
        .is_gone = calloc((size + (size_t)63) / 64, sizeof *list->is_gone),
        .gone = calloc(size, sizeof *list->gone),
        .proofs = calloc(size, sizeof *list->proofs),
    };
    if (list->is_gone != NULL && list->gone != NULL && list->proofs != NULL)
        return true;
    mu_gone_free(list);
    return false;
}

void mu_gone_free(struct mu_gone_list *list)
{
    for (uint32_t i = 0; i < list->proof_count; i++)
        mu_proof_drop(&list->proofs[i]);
    free(list->proofs);
    free(list->gone);
    free(list->is_gone);
    *list = (struct mu_gone_list){0};
}

bool mu_gone_has(const struct mu_gone_list *list, uint32_t index)
{
    assert(index < list->size);
    return (list->is_gone[index / 64] >> index % 64 & 1) != 0;
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
static uint32_t keep_proof(struct mu_gone_list *list, const struct mu_evidence *evidence)
{
    mu_proof_keep(&list->proofs[list->proof_count++], evidence);
    return list->proof_count;
}

/* More than everybody: some have come back and are gone again. */
static void make_room(struct mu_gone_list *list)
{
    if (list->count < list->room)
        return;
    uint32_t room = 2 * list->room;
    struct mu_gone *gone = realloc(list->gone, room * sizeof *gone);
    struct mu_proof *proofs = realloc(list->proofs, room * sizeof *proofs);
    if (gone == NULL || proofs == NULL)
        abort(); /* a death would stay unknown */
    list->gone = gone;
    list->proofs = proofs;
    list->room = room;
}

void mu_gone_add(struct mu_gone_list *list, uint32_t index, const struct mu_local_event *event)
{
    assert(!mu_gone_has(list, index));
    assert(list->count == 0 || event->serial > list->gone[list->count - 1].serial);
    bool left = event->evidence.verdict == MU_VERDICT_LEFT;
    make_room(list);
    list->is_gone[index / 64] |= UINT64_C(1) << index % 64;
    list->gone[list->count++] = (struct mu_gone){
        .serial = event->serial,
        .learned_ns = event->learned_ns,
        .age_ns = event->age_ns,
        .index = index,
        .proof = left ? 0 : keep_proof(list, &event->evidence),
        .hops = event->hops,
    };
}

uint32_t mu_gone_before(const struct mu_gone_list *list, uint64_t serial)
{
    uint32_t low = 0, high = list->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list->gone[middle].serial < serial)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t mu_gone_serial(const struct mu_gone_list *list, uint32_t i)
{
    return i < list->count ? list->gone[i].serial : UINT64_MAX;
}

void mu_proof_read(const struct mu_proof *proof, struct mu_evidence *evidence)
{
    struct mu_reader reader;
    mu_reader_init(&reader, proof->longer != NULL ? proof->longer : proof->bytes, proof->count);
    mu_read_evidence(&reader, evidence);
    assert(!reader.bad);
}

static uint32_t find(const struct mu_gone_list *list, uint32_t index)
{
    uint32_t i = 0;
    while (i < list->count && (list->gone[i].index != index || list->gone[i].back))
        i++;
    assert(i < list->count);
    return i;
}

uint32_t mu_gone_place(const struct mu_gone_list *list, uint32_t index)
{
    return mu_gone_has(list, index) ? find(list, index) : UINT32_MAX;
}

void mu_gone_back(struct mu_gone_list *list, uint32_t index)
{
    list->gone[find(list, index)].back = true;
    list->is_gone[index / 64] &= ~(UINT64_C(1) << index % 64);
}

uint32_t mu_gone_next(const struct mu_gone_list *list, uint32_t i)
{
    while (i < list->count && list->gone[i].back)
        i++;
    return i;
}

void mu_gone_prove(struct mu_gone_list *list, uint32_t index, const struct mu_evidence *evidence)
{
    uint32_t i = find(list, index);
    assert(list->gone[i].proof != 0);
    struct mu_proof *proof = &list->proofs[list->gone[i].proof - 1];
    struct mu_evidence known;
    mu_proof_read(proof, &known);
    if (mu_evidence_is_proof(&known))
        return;
    free(proof->longer);
    mu_proof_keep(proof, evidence);
}

void mu_gone_event(const struct mu_gone_list *list, uint32_t i, mu_slot node,
                   struct mu_local_event *event)
{
    const struct mu_gone *gone = &list->gone[i];
    event->serial = gone->serial;
    event->learned_ns = gone->learned_ns;
    event->age_ns = gone->age_ns;
    event->hops = gone->hops;
    if (gone->proof != 0)
        mu_proof_read(&list->proofs[gone->proof - 1], &event->evidence);
    else
        event->evidence = (struct mu_evidence){
            .verdict = MU_VERDICT_LEFT, .cause = MU_CAUSE_EXIT, .seen_by = node};
    event->evidence.node = node;
}
