/* Groups: who is in one, on which nodes, and who is gone from it. */
#include "daemon/agree/inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- finding ---- */

struct mu_group_job *mu_group_job_find(struct mu_agreements *agreements, uint32_t job)
{
    struct mu_group_job *found = agreements->jobs;
    while (found != NULL && found->roll->number != job)
        found = found->next;
    return found;
}

struct mu_group *mu_group_find(struct mu_agreements *agreements, uint64_t id)
{
    struct mu_group_job *job = mu_group_job_find(agreements, (uint32_t)(id >> 32));
    struct mu_group *group = job != NULL ? job->groups : NULL;
    while (group != NULL && group->id != id)
        group = group->next;
    return group;
}

struct mu_group_local *mu_group_local(const struct mu_group *group, uint32_t rank)
{
    uint32_t low = 0, high = group->local_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (group->locals[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < group->local_count && group->locals[low].rank == rank;
    return found ? &group->locals[low] : NULL;
}

static bool rows_have(const struct mu_ballot_row *row, uint32_t rows, uint32_t rank)
{
    uint32_t low = 0, high = rows;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (row[middle].first + (uint64_t)row[middle].count <= rank)
            low = middle + 1;
        else
            high = middle;
    }
    return rows == 0 || (low < rows && row[low].first <= rank);
}

bool mu_group_has(const struct mu_group *group, uint32_t rank)
{
    return rows_have(group->row, group->rows, rank);
}

/* ---- making ---- */

/* The first group of all of a job is 0.  Others are told apart by a hash of who is in them; two of
 * one job with the same would be refused here, and that is as likely as 1 in 2^32 for each pair. */
static uint64_t id_of(uint32_t job, uint32_t instance, const struct mu_ballot_row *row,
                      uint32_t rows)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const uint64_t prime = UINT64_C(0x100000001b3);
    for (uint32_t i = 0; i < rows; i++) {
        hash = (hash ^ row[i].first) * prime;
        hash = (hash ^ row[i].count) * prime;
    }
    hash = (hash ^ instance) * prime;
    hash ^= hash >> 32;
    uint32_t low = rows == 0 && instance == 0 ? 0 : (uint32_t)hash | 1;
    return (uint64_t)job << 32 | low;
}

static bool is_same(const struct mu_group *group, const struct mu_ballot_row *row, uint32_t rows)
{
    return group->rows == rows && memcmp(group->row, row, rows * sizeof *row) == 0;
}

static bool has_some(const struct mu_group *group, const struct mu_launch_run *run)
{
    for (uint32_t k = 0; k < run->count; k++)
        if (mu_group_has(group, run->first + k))
            return true;
    return false;
}

/* The nodes of a group, in order; *count of them, each once.  NULL: no memory. */
static mu_slot *slots_of(const struct mu_group *group, uint32_t *count)
{
    const struct mu_launch_job *spec = &group->job->roll->spec;
    mu_slot *slots = calloc(spec->run_count, sizeof *slots);
    uint32_t found = 0;
    for (uint32_t i = 0; slots != NULL && i < spec->run_count; i++)
        if (has_some(group, &spec->runs[i]))
            slots[found++] = spec->runs[i].slot;
    if (slots != NULL)
        *count = mu_roll_slots(slots, found);
    return slots;
}

static void note_place(struct mu_group *group, const mu_slot *slots, uint32_t count, mu_slot self)
{
    group->node_count = count;
    while (group->place < count && slots[group->place] != self)
        group->place++;
}

/* Tells the core.  False: no memory, or the core has no room. */
static bool open_in_core(struct mu_agreements *agreements, struct mu_group *group)
{
    uint32_t slot_count = 0, count = 0;
    mu_slot *slots = slots_of(group, &slot_count);
    if (slots != NULL)
        note_place(group, slots, slot_count, agreements->config.roll->self);
    struct mu_span *spans = slots != NULL ? calloc(slot_count, sizeof *spans) : NULL;
    if (spans != NULL)
        count = mu_roll_spans(slots, slot_count, spans);
    bool good = spans != NULL;
    if (good) {
        struct mu_agree_event event = {.type = MU_AGREE_OPEN, .open = {group->id, spans, count}};
        mu_agreements_step(agreements, &event);
        good = mu_agree_is_member(agreements->core, group->id, agreements->config.roll->self);
    }
    free(spans);
    free(slots);
    return good;
}

static uint8_t gone_kind(const struct mu_roll_job *job, uint32_t rank)
{
    enum mu_rank_state state = mu_roll_state(job, rank);
    return state == MU_RANK_FAILED ? MU_BALLOT_FAILED : state == MU_RANK_LEFT ? MU_BALLOT_LEFT : 0;
}

static bool list_locals(struct mu_group *group)
{
    const struct mu_roll_job *job = group->job->roll;
    group->locals = calloc(job->here_count + (size_t)1, sizeof *group->locals);
    for (uint32_t i = 0; group->locals != NULL && i < job->here_count; i++) {
        uint32_t rank = job->here[i].rank;
        if (!mu_group_has(group, rank))
            continue;
        struct mu_group_local *local = &group->locals[group->local_count++];
        local->rank = rank;
        local->gone = gone_kind(job, rank);
        group->living += local->gone == 0;
    }
    group->to_call = group->living;
    return group->locals != NULL;
}

void mu_group_free_lists(struct mu_group *group)
{
    free(group->locals);
    free(group->gone);
    free(group->entries);
    group->locals = NULL;
    group->gone = NULL;
    group->entries = NULL;
    group->local_count = group->entry_count = group->entry_room = 0;
}

void mu_group_free(struct mu_group *group)
{
    mu_group_free_lists(group);
    free(group);
}

static struct mu_group *make(struct mu_group_job *job, uint32_t instance,
                             const struct mu_ballot_row *row, uint32_t rows)
{
    struct mu_group *group = calloc(1, sizeof *group);
    if (group == NULL)
        return NULL;
    group->job = job;
    group->id = id_of(job->roll->number, instance, row, rows);
    group->instance = instance;
    group->rows = (uint16_t)rows;
    group->size = rows == 0 ? job->roll->spec.size : 0;
    memcpy(group->row, row, rows * sizeof *row);
    for (uint32_t i = 0; i < rows; i++)
        group->size += row[i].count;
    group->gone = calloc(job->roll->spec.size / 64 + (size_t)1, sizeof *group->gone);
    if (group->gone != NULL && list_locals(group))
        return group;
    mu_group_free(group);
    return NULL;
}

struct mu_group *mu_group_get(struct mu_agreements *agreements, struct mu_group_job *job,
                              uint32_t instance, const struct mu_ballot_row *row, uint32_t rows,
                              const char **why)
{
    struct mu_group *group =
        mu_group_find(agreements, id_of(job->roll->number, instance, row, rows));
    if (group != NULL && !is_same(group, row, rows)) {
        *why = "the number of this group is taken by another of the job";
        return NULL;
    }
    if (group != NULL)
        return group;
    if (rows > 0 && row[rows - 1].first + (uint64_t)row[rows - 1].count > job->roll->spec.size) {
        *why = "a rank of the group is not below the size of the job";
        return NULL;
    }
    group = make(job, instance, row, rows);
    if (group == NULL || group->local_count == 0) {
        *why = group == NULL ? "no memory for one more group" : "nobody of the group is here";
        if (group != NULL)
            mu_group_free(group);
        return NULL;
    }
    group->next = job->groups;
    job->groups = group;
    if (!open_in_core(agreements, group)) {
        *why = "too many groups are open on this node";
        job->groups = group->next;
        mu_group_free(group);
        return NULL;
    }
    agreements->counts.groups++;
    group->again = true;
    return group;
}

struct mu_group *mu_group_join(struct mu_agreements *agreements, struct mu_group_job *job,
                               uint32_t rank, const struct mu_ballot_row *row, uint32_t rows,
                               const char **why)
{
    if (rows == 1 && row[0].first == 0 && row[0].count == job->roll->spec.size)
        rows = 0; /* all, in another spelling */
    if (!rows_have(row, rows, rank)) {
        *why = "this process is not in the group that it wants to join";
        return NULL;
    }
    for (uint32_t instance = 0;; instance++) {
        struct mu_group *group = mu_group_get(agreements, job, instance, row, rows, why);
        if (group != NULL && group->closed)
            continue;
        struct mu_group_local *local = group != NULL ? mu_group_local(group, rank) : NULL;
        if (local == NULL)
            return NULL;
        if (!local->had_voter && local->gone == 0)
            return group;
    }
}

/* ---- who is gone ---- */

void mu_group_lose(struct mu_group *group, struct mu_group_local *local, enum mu_ballot_kind kind)
{
    if (local->gone != 0)
        return;
    local->gone = (uint8_t)kind;
    group->living--;
    if (!local->called)
        group->to_call--;
    group->again = true;
}
