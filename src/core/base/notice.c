#include "core/base/notice.h"

struct mu_notice_id mu_notice_node(mu_slot slot, uint32_t incarnation)
{
    return (struct mu_notice_id){.kind = MU_NOTICE_NODE_DEAD, .stream = incarnation, .index = slot};
}

#define PROVEN (UINT64_C(1) << 32)

struct mu_notice_id mu_notice_proof(mu_slot slot, uint32_t incarnation)
{
    return (struct mu_notice_id){
        .kind = MU_NOTICE_NODE_DEAD, .stream = incarnation | PROVEN, .index = slot};
}

bool mu_notice_is_proof(const struct mu_notice_id *id)
{
    return id->kind == MU_NOTICE_NODE_DEAD && (id->stream & PROVEN) != 0;
}

struct mu_notice_id mu_notice_process(uint32_t job, uint32_t incarnation, uint32_t rank)
{
    return (struct mu_notice_id){
        .kind = MU_NOTICE_PROC_DEAD, .stream = (uint64_t)job << 32 | incarnation, .index = rank};
}

struct mu_notice_id mu_notice_payload(mu_slot origin, uint32_t incarnation, uint64_t sequence)
{
    return (struct mu_notice_id){.kind = MU_NOTICE_PAYLOAD,
                                 .stream = (uint64_t)origin << 32 | incarnation,
                                 .index = sequence};
}

int mu_notice_compare(const struct mu_notice_id *a, const struct mu_notice_id *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    return 0;
}
