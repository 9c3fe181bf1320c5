/* One agreement of a group: what this node contributes, and what a decision means here.
 *
 * Who is gone is told by decisions, in the same order at every node, so it is enough to know of
 * each process how many of the failed it has acknowledged. */
#include "daemon/agree/inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- contributions ---- */

void mu_group_contribute(struct mu_group *group, struct mu_group_local *local, uint64_t bits,
                         uint32_t acked)
{
    local->called = true;
    local->bits = bits;
    local->acked = acked;
    group->to_call--;
    if (group->to_call == 0)
        group->again = true;
}

static const struct mu_group_entry *find_entry(const struct mu_group *group, mu_slot node,
                                               uint32_t process)
{
    for (uint32_t i = 0; i < group->entry_count; i++)
        if (group->entries[i].node == node && group->entries[i].process == process)
            return &group->entries[i];
    return NULL;
}

static uint32_t process_of(const struct mu_group_local *local)
{
    return local->rank | (local->gone == MU_BALLOT_LEFT ? MU_GROUP_LEFT : 0);
}

/* How many of the failed everybody here has acknowledged. */
static uint32_t acked_by_all(const struct mu_group *group)
{
    uint32_t acked = UINT32_MAX; /* where nobody lives nobody has a say */
    for (uint32_t i = 0; i < group->local_count; i++)
        if (group->locals[i].gone == 0 && group->locals[i].acked < acked)
            acked = group->locals[i].acked;
    return acked;
}

static int compare_failed(const void *a, const void *b)
{
    const struct mu_failed *left = a, *right = b;
    if (left->node != right->node)
        return left->node < right->node ? -1 : 1;
    return left->process < right->process ? -1 : left->process > right->process;
}

/* The list of a call: processes of this node that are gone, and what all here have acknowledged. */
static uint32_t make_list(struct mu_agreements *agreements, const struct mu_group *group)
{
    mu_slot self = agreements->config.roll->self;
    uint32_t acked = acked_by_all(group), count = 0;
    uint32_t most = group->local_count + group->entry_count;
    if (most > agreements->list_room) {
        struct mu_failed *list = realloc(agreements->list, most * sizeof *list);
        if (list == NULL)
            abort(); /* a failure would be left out of a decision */
        agreements->list = list;
        agreements->list_room = most;
    }
    for (uint32_t i = 0; i < group->local_count; i++) {
        const struct mu_group_local *local = &group->locals[i];
        if (local->gone != 0 && !local->settled &&
            find_entry(group, self, process_of(local)) == NULL)
            agreements->list[count++] = (struct mu_failed){
                .node = self, .process = process_of(local), .acked = group->living == 0};
    }
    for (uint32_t i = 0; i < group->entry_count; i++) {
        const struct mu_group_entry *entry = &group->entries[i];
        bool is_acked = entry->needs_no_ack || entry->end <= acked;
        if (is_acked || (entry->node == self && entry->process != MU_FAILED_NODE))
            agreements->list[count++] = (struct mu_failed){
                .node = entry->node, .process = entry->process, .acked = is_acked};
    }
    qsort(agreements->list, count, sizeof *agreements->list, compare_failed);
    return count;
}

void mu_group_call(struct mu_agreements *agreements, struct mu_group *group)
{
    if (group->calling || group->over || group->to_call > 0)
        return;
    uint64_t bits = UINT64_MAX;
    uint32_t count = make_list(agreements, group);
    for (uint32_t i = 0; i < group->local_count; i++)
        if (group->locals[i].called)
            bits &= group->locals[i].bits;
    group->calling = true;
    struct mu_agree_event event = {
        .type = MU_AGREE_CALL,
        .call = {group->id, bits, agreements->list, count, .silent = group->living == 0}};
    mu_agreements_step(agreements, &event);
}

/* ---- decisions ---- */

/* What is told to the processes here, a packet at a time. */
struct telling {
    struct mu_group *group;
    struct mu_ballot ballot;
};

static void flush(struct telling *telling)
{
    if (telling->ballot.gone.rows > 0)
        mu_voters_tell(telling->group, &telling->ballot);
    telling->ballot.gone.rows = 0;
}

/* Returns whether it is news. */
static bool mark_gone(struct telling *telling, uint32_t rank, enum mu_ballot_kind kind)
{
    struct mu_group *group = telling->group;
    uint64_t bit = UINT64_C(1) << rank % 64;
    if (rank >= group->job->roll->spec.size || !mu_group_has(group, rank) ||
        (group->gone[rank / 64] & bit) != 0)
        return false;
    group->gone[rank / 64] |= bit;
    group->gone_count++;
    group->failed_told += kind == MU_BALLOT_FAILED;
    uint16_t rows = telling->ballot.gone.rows;
    struct mu_ballot_row *last = rows > 0 ? &telling->ballot.gone.row[rows - 1] : NULL;
    if (last != NULL && last->first + last->count == rank &&
        telling->ballot.gone.kind[rows - 1] == kind) {
        last->count++;
        return true;
    }
    if (rows == MU_BALLOT_ROWS_MAX) {
        flush(telling);
        rows = 0;
    }
    telling->ballot.gone.row[rows] = (struct mu_ballot_row){.first = rank, .count = 1};
    telling->ballot.gone.kind[rows] = (uint8_t)kind;
    telling->ballot.gone.rows = (uint16_t)(rows + 1);
    return true;
}

/* All of the group that ran there and were not gone before.  Whoever left there without a decision
 * that says so counts as failed: nobody is left to know better. */
static bool mark_node(struct telling *telling, mu_slot node)
{
    const struct mu_launch_job *spec = &telling->group->job->roll->spec;
    bool is_news = false;
    for (uint32_t i = 0; i < spec->run_count; i++)
        for (uint32_t k = 0; spec->runs[i].slot == node && k < spec->runs[i].count; k++)
            is_news |= mark_gone(telling, spec->runs[i].first + k, MU_BALLOT_FAILED);
    return is_news;
}

static struct mu_group_entry *add_entry(struct mu_group *group)
{
    if (group->entry_count == group->entry_room) {
        uint32_t room = group->entry_room == 0 ? 16 : 2 * group->entry_room;
        struct mu_group_entry *entries = realloc(group->entries, room * sizeof *entries);
        if (entries == NULL)
            abort(); /* nodes would tell different things of one decision */
        group->entries = entries;
        group->entry_room = room;
    }
    return &group->entries[group->entry_count++];
}

static const struct mu_group_entry *learn(struct telling *telling, const struct mu_failed *failed)
{
    bool is_failure = false;
    if (failed->process == MU_FAILED_NODE)
        is_failure = mark_node(telling, failed->node);
    else if ((failed->process & MU_GROUP_LEFT) == 0)
        is_failure = mark_gone(telling, failed->process, MU_BALLOT_FAILED);
    else
        mark_gone(telling, failed->process & ~MU_GROUP_LEFT, MU_BALLOT_LEFT);
    struct mu_group_entry *entry = add_entry(telling->group);
    *entry = (struct mu_group_entry){.node = failed->node,
                                     .process = failed->process,
                                     .end = telling->group->failed_told,
                                     .needs_no_ack = !is_failure};
    return entry;
}

/* What all have acknowledged takes no room any more: of processes at once, of nodes when the core
 * says so. */
static void drop_settled(struct mu_agreements *agreements, struct mu_group *group,
                         const struct mu_agree_value *value)
{
    for (uint32_t i = 0; i < value->failed_count; i++) {
        const struct mu_failed *failed = &value->failed[i];
        struct mu_group_local *local =
            failed->node == agreements->config.roll->self && failed->process != MU_FAILED_NODE
                ? mu_group_local(group, failed->process & ~MU_GROUP_LEFT)
                : NULL;
        if (failed->acked && local != NULL && process_of(local) == failed->process)
            local->settled = true;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0, at = 0; i < group->entry_count; i++) {
        struct mu_group_entry *entry = &group->entries[i];
        bool drop = false;
        if (entry->process == MU_FAILED_NODE)
            drop = !mu_agree_is_member(agreements->core, group->id, entry->node);
        for (at = 0; !drop && at < value->failed_count; at++)
            drop = entry->process != MU_FAILED_NODE && value->failed[at].acked &&
                   value->failed[at].node == entry->node &&
                   value->failed[at].process == entry->process;
        if (!drop)
            group->entries[kept++] = *entry;
    }
    group->entry_count = kept;
}

void mu_group_decided(struct mu_agreements *agreements, struct mu_group *group, uint64_t round,
                      const struct mu_agree_value *value)
{
    struct telling telling = {.group = group, .ballot.type = MU_BALLOT_GONE};
    bool error = value->more;
    for (uint32_t i = 0; i < value->failed_count; i++) {
        const struct mu_failed *failed = &value->failed[i];
        const struct mu_group_entry *entry = find_entry(group, failed->node, failed->process);
        if (entry == NULL)
            entry = learn(&telling, failed);
        error |= !failed->acked && !entry->needs_no_ack;
    }
    flush(&telling);
    if (value->failed_count > 0 || group->entry_count > 0)
        drop_settled(agreements, group, value);
    struct mu_ballot decided = {
        .type = MU_BALLOT_DECIDED,
        .decided = {.round = round, .bits = value->bits, .error = error, .more = value->more}};
    mu_voters_tell(group, &decided);
    for (uint32_t i = 0; i < group->local_count; i++)
        group->locals[i].called = false;
    group->to_call = group->living;
    group->calling = false;
    group->round = round;
    group->announced = true; /* every node of it has called */
    group->over = group->gone_count == group->size;
    group->again = group->living == 0;
    agreements->counts.decided++;
}
