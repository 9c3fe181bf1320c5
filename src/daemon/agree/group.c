/* Groups: who is in one, on which nodes, and who is gone from it. */
#include "daemon/agree/inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- finding ---- */

struct mu_group_job *mu_group_job_find(struct mu_agreements *agreements, uint32_t job)
{
    struct mu_group_job *found = agreements->jobs;
    while (found != NULL && found->number != job)
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

static int compare_slots(const void *a, const void *b)
{
    mu_slot left = *(const mu_slot *)a, right = *(const mu_slot *)b;
    return left < right ? -1 : left > right;
}

/* The nodes of a group, in order; *count of them, each once.  NULL: no memory. */
static mu_slot *slots_of(const struct mu_group *group, uint32_t *count)
{
    const struct mu_group_job *job = group->job;
    mu_slot *slots = calloc(job->run_count, sizeof *slots);
    uint32_t found = 0, kept = 0;
    for (uint32_t i = 0; slots != NULL && i < job->run_count; i++)
        for (uint32_t k = 0; k < job->runs[i].count; k++)
            if (mu_group_has(group, job->runs[i].first + k)) {
                slots[found++] = job->runs[i].slot;
                break;
            }
    if (slots == NULL)
        return NULL;
    qsort(slots, found, sizeof *slots, compare_slots);
    for (uint32_t i = 0; i < found; i++)
        if (kept == 0 || slots[kept - 1] != slots[i])
            slots[kept++] = slots[i];
    *count = kept;
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
        note_place(group, slots, slot_count, agreements->config.self);
    struct mu_span *spans = slots != NULL ? calloc(slot_count, sizeof *spans) : NULL;
    for (uint32_t i = 0; spans != NULL && i < slot_count; i++)
        if (count > 0 && spans[count - 1].first + spans[count - 1].count == slots[i])
            spans[count - 1].count++;
        else
            spans[count++] = (struct mu_span){.first = slots[i], .count = 1};
    bool good = spans != NULL;
    if (good) {
        struct mu_agree_event event = {.type = MU_AGREE_OPEN, .open = {group->id, spans, count}};
        mu_agreements_step(agreements, &event);
        good = mu_agree_is_member(agreements->core, group->id, agreements->config.self);
    }
    free(spans);
    free(slots);
    return good;
}

static bool list_locals(struct mu_group *group, mu_slot self)
{
    const struct mu_group_job *job = group->job;
    uint32_t most = 0;
    for (uint32_t i = 0; i < job->run_count; i++)
        most += job->runs[i].slot == self ? job->runs[i].count : 0;
    group->locals = calloc(most + (size_t)1, sizeof *group->locals);
    if (group->locals == NULL)
        return false;
    for (uint32_t i = 0; i < job->run_count; i++)
        for (uint32_t k = 0; job->runs[i].slot == self && k < job->runs[i].count; k++) {
            uint32_t rank = job->runs[i].first + k;
            if (!mu_group_has(group, rank))
                continue;
            struct mu_group_local *local = &group->locals[group->local_count++];
            local->rank = rank;
            local->gone = job->ended[rank];
            group->living += local->gone == 0;
        }
    group->to_call = group->living;
    return true;
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
                             const struct mu_ballot_row *row, uint32_t rows, mu_slot self)
{
    struct mu_group *group = calloc(1, sizeof *group);
    if (group == NULL)
        return NULL;
    group->job = job;
    group->id = id_of(job->number, instance, row, rows);
    group->instance = instance;
    group->rows = (uint16_t)rows;
    group->size = rows == 0 ? job->size : 0;
    memcpy(group->row, row, rows * sizeof *row);
    for (uint32_t i = 0; i < rows; i++)
        group->size += row[i].count;
    group->gone = calloc(job->size / 64 + (size_t)1, sizeof *group->gone);
    if (group->gone != NULL && list_locals(group, self))
        return group;
    mu_group_free(group);
    return NULL;
}

struct mu_group *mu_group_get(struct mu_agreements *agreements, struct mu_group_job *job,
                              uint32_t instance, const struct mu_ballot_row *row, uint32_t rows,
                              const char **why)
{
    struct mu_group *group = mu_group_find(agreements, id_of(job->number, instance, row, rows));
    if (group != NULL && !is_same(group, row, rows)) {
        *why = "the number of this group is taken by another of the job";
        return NULL;
    }
    if (group != NULL)
        return group;
    if (rows > 0 && row[rows - 1].first + (uint64_t)row[rows - 1].count > job->size) {
        *why = "a rank of the group is not below the size of the job";
        return NULL;
    }
    group = make(job, instance, row, rows, agreements->config.self);
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
    if (rows == 1 && row[0].first == 0 && row[0].count == job->size)
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
