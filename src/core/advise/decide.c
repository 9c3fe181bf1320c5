#include "core/advise/decide.h"

#include "core/advise/advise.h"

enum { EXITS_MAX = 5 }; /* beyond it the passes that are needed do not double again */

struct deciding {
    const struct mu_decide_rules *rules;
    const struct mu_advise_group *from;
    const struct mu_advise_decision *decision;
    struct mu_advise_group *to;
    uint32_t *tally; /* by the first word that accuses one: how many do */
    bool full;
};

static bool is_broken(const struct deciding *d, uint32_t rule)
{
    return (d->rules->broken_rules & rule) != 0;
}

static void put(struct deciding *d, struct mu_advise_entry entry)
{
    d->full = !mu_advise_group_put(d->to, entry) || d->full;
}

uint32_t mu_advise_need(uint32_t zeta, uint32_t count)
{
    uint32_t earlier = count / 2; /* each exit and each return before this one counted one */
    return zeta << (earlier < EXITS_MAX ? earlier : EXITS_MAX);
}

bool mu_advise_decision_is_void(const struct mu_decide_rules *rules,
                                const struct mu_advise_decision *decision)
{
    return decision->value.count > 0 &&
           mu_advise_says_of(decision->value.words[0]) == MU_ADVISE_VOID &&
           (rules->broken_rules & MU_ADVISE_BROKEN_FULL) == 0;
}

/* ---- who failed ---- */

static void begin(struct deciding *d)
{
    d->full = !mu_advise_group_copy(d->to, d->from);
    d->to->round++;
    for (uint32_t i = 0; i < d->to->count; i++) {
        struct mu_advise_entry *entry = &d->to->entries[i];
        d->to->members += entry->comes && !entry->gone;
        entry->comes = entry->leaves = 0;
    }
    for (uint32_t i = 0; i < d->decision->failed_count; i++) {
        struct mu_advise_entry entry = mu_advise_group_get(d->to, d->decision->failed[i]);
        entry.gone = 1;
        put(d, entry);
    }
}

/* ---- who leaves ---- */

/* Counts the accusers of each accused whose word is not void.  Words are in order: those about one
 * stand together. */
static void count_accusers(struct deciding *d)
{
    const struct mu_advise_value *value = &d->decision->value;
    uint32_t first = 0;
    for (uint32_t i = 0; i < value->count; i++) {
        mu_advise_word word = value->words[i];
        if (i == 0 || word >> 24 != value->words[first] >> 24)
            first = i;
        d->tally[i] = 0;
        bool counts = mu_advise_says_of(word) == MU_ADVISE_ACCUSE &&
                      mu_advise_is_member(d->to, mu_advise_subject_of(word)) &&
                      (mu_advise_is_member(d->from, mu_advise_by_of(word)) ||
                       is_broken(d, MU_ADVISE_BROKEN_STRANGERS));
        d->tally[first] += counts ? 1 : 0;
    }
}

/* Of those with most accusers the highest; MU_SLOT_NONE: nobody is accused. */
static mu_slot most_accused(const struct deciding *d)
{
    const struct mu_advise_value *value = &d->decision->value;
    mu_slot worst = MU_SLOT_NONE;
    uint32_t most = 1;
    for (uint32_t i = 0; i < value->count; i++)
        if (d->tally[i] >= most) {
            most = d->tally[i];
            worst = mu_advise_subject_of(value->words[i]);
        }
    return worst;
}

/* It is accused no more, and its own accusations are void. */
static void discount(struct deciding *d, mu_slot left)
{
    const struct mu_advise_value *value = &d->decision->value;
    uint32_t first = 0;
    for (uint32_t i = 0; i < value->count; i++) {
        mu_advise_word word = value->words[i];
        if (word >> 24 != value->words[first] >> 24)
            first = i;
        if (mu_advise_says_of(word) != MU_ADVISE_ACCUSE)
            continue;
        if (mu_advise_subject_of(word) == left)
            d->tally[first] = 0;
        else if (mu_advise_by_of(word) == left && d->tally[first] > 0 &&
                 !is_broken(d, MU_ADVISE_BROKEN_OWN_WORD))
            d->tally[first]--;
    }
}

static void let_leave(struct deciding *d)
{
    uint32_t least = is_broken(d, MU_ADVISE_BROKEN_MINIMUM) ? 1 : d->rules->members_min;
    count_accusers(d);
    for (mu_slot worst; d->to->members > least && (worst = most_accused(d)) != MU_SLOT_NONE;) {
        struct mu_advise_entry entry = mu_advise_group_get(d->to, worst);
        entry.count++;
        entry.leaves = is_broken(d, MU_ADVISE_BROKEN_LEAVER) ? 0 : 1;
        if (!mu_advise_group_put(d->to, entry)) {
            d->full = true;
            return;
        }
        discount(d, worst);
    }
}

/* ---- who comes back ---- */

/* So many of those that test it are left. */
static uint32_t count_testers(const struct deciding *d, mu_slot subject)
{
    if (d->rules->assignment == MU_ADVISE_ALL_PAIRS || is_broken(d, MU_ADVISE_BROKEN_TESTERS)) {
        uint32_t left = 0;
        for (uint32_t i = 0; i < d->to->count; i++) /* comers work now, and did not test */
            left += mu_advise_entry_works(d->to->entries[i]) &&
                    mu_advise_group_get(d->from, d->to->entries[i].slot).comes;
        return d->to->members - left;
    }
    uint32_t testers = 0;
    for (uint32_t s = 1; s <= mu_cluster_dimension(d->from->size); s++) {
        mu_slot tester = mu_cluster_tester(d->from, subject, s);
        testers += tester != MU_SLOT_NONE && mu_advise_is_member(d->to, tester);
    }
    return testers;
}

/* Is this the vote of one that tests the subject, and is left? */
static bool is_vote(const struct deciding *d, mu_advise_word word)
{
    mu_slot by = mu_advise_by_of(word);
    return mu_advise_is_member(d->to, by) &&
           mu_advise_tests(d->from, d->rules->assignment, by, mu_advise_subject_of(word));
}

/* The first word that is not lower. */
static uint32_t first_of(const struct mu_advise_value *value, mu_advise_word word)
{
    uint32_t low = 0, high = value->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (value->words[middle] < word)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t count_votes(const struct deciding *d, enum mu_advise_says says, mu_slot subject)
{
    const struct mu_advise_value *value = &d->decision->value;
    mu_advise_word first = mu_advise_say(says, subject, 0);
    uint32_t votes = 0;
    for (uint32_t i = first_of(value, first);
         i < value->count && value->words[i] >> 24 == first >> 24; i++)
        votes += is_vote(d, value->words[i]);
    return votes;
}

static bool is_voted_in(const struct deciding *d, mu_slot subject)
{
    uint32_t proposals = count_votes(d, MU_ADVISE_PROPOSE, subject);
    if (proposals == 0)
        return false;
    uint32_t votes = proposals + count_votes(d, MU_ADVISE_AGREE, subject);
    return 2 * votes > count_testers(d, subject) || is_broken(d, MU_ADVISE_BROKEN_MAJORITY);
}

static bool is_out(struct mu_advise_entry entry)
{
    return entry.count % 2 == 1 && !entry.gone && !entry.leaves;
}

static void let_come(struct mu_advise_entry *entry)
{
    entry->count++;
    entry->comes = 1;
    entry->leaves = 0;
}

/* Returns how many do. */
static uint32_t let_return(struct deciding *d)
{
    uint32_t come = 0;
    for (uint32_t i = 0; i < d->to->count; i++) {
        struct mu_advise_entry *entry = &d->to->entries[i];
        if (!is_out(*entry) || !is_voted_in(d, entry->slot))
            continue;
        let_come(entry);
        come++;
    }
    return come;
}

/* Deaths have left too few: who is out comes without a vote.  With no member left nobody could take
 * it back. */
static void recall(struct deciding *d, uint32_t come)
{
    if (d->to->members == 0 || is_broken(d, MU_ADVISE_BROKEN_RECALL))
        return;
    for (uint32_t i = 0; i < d->to->count && d->to->members + come < d->rules->members_min; i++)
        if (is_out(d->to->entries[i])) {
            let_come(&d->to->entries[i]);
            come++;
        }
}

bool mu_advise_decide(const struct mu_decide_rules *rules, const struct mu_advise_group *from,
                      const struct mu_advise_decision *decision, uint32_t *tally,
                      struct mu_advise_group *to)
{
    struct deciding d = {rules, from, decision, to, tally, false};
    begin(&d);
    let_leave(&d);
    recall(&d, let_return(&d));
    return !d.full;
}
