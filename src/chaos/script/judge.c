#include "chaos/script/judge.h"

#include "wire/base/evidence.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum { SAID_MAX = 4 }; /* deviations that are named; of others only the number is said */

/* ---- words ---- */

struct words {
    char *text;
    uint32_t count; /* of deviations */
};

static void say(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct words *words, const char *format, ...)
{
    size_t used = strlen(words->text);
    if (words->count++ >= SAID_MAX)
        return;
    if (used > 0)
        used += (size_t)snprintf(words->text + used, CHAOS_SEEN_MAX - used, "; ");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words->text + used, CHAOS_SEEN_MAX - used, format, arguments);
    va_end(arguments);
}

static bool finish(struct words *words)
{
    size_t used = strlen(words->text);
    if (words->count > SAID_MAX)
        snprintf(words->text + used, CHAOS_SEEN_MAX - used, "; and %u more",
                 words->count - SAID_MAX);
    return words->count == 0;
}

static const char *subject_text(const struct chaos_told *told, char text[64])
{
    if (told->is_process)
        snprintf(text, 64, "proc=%" PRIu32 ".%" PRIu32, told->job, told->rank);
    else
        snprintf(text, 64, "node=%" PRIu32, told->node);
    return text;
}

static double ms(uint64_t from_ns, uint64_t to_ns)
{
    return ((double)to_ns - (double)from_ns) / 1e6;
}

/* ---- who and what ---- */

static bool is_about(const struct chaos_told *told, const struct chaos_target *target)
{
    if (told->is_process != target->is_process)
        return false;
    if (told->is_process)
        return told->job == target->job && chaos_list_has(&target->list, told->rank);
    return chaos_list_has(&target->list, told->node);
}

/* The processes of a node are named with it. */
static bool is_named(const struct chaos_told *told, const struct chaos_target *target)
{
    return is_about(told, target) ||
           (told->is_process && !target->is_process && chaos_list_has(&target->list, told->node));
}

/* By the time of this expectation: named by it or by one before, killed, or allowed to be gone. */
static bool is_out(const struct chaos_script *script, uint32_t expect, mu_slot node)
{
    for (uint32_t i = 0; i < script->expect_count; i++) {
        const struct chaos_expect *other = &script->expects[i];
        bool before = other->step <= script->expects[expect].step;
        if (before && other->kind == CHAOS_TOLD && !other->target.is_process &&
            chaos_list_has(&other->target.list, node))
            return true;
    }
    for (uint32_t i = 0; i <= script->expects[expect].step; i++) {
        const struct chaos_fault *fault = &script->steps[i].fault;
        if (fault->verb == CHAOS_KILL && !fault->target.is_process &&
            chaos_list_has(&fault->target.list, node))
            return true;
    }
    for (uint32_t i = 0; i < script->allow_count; i++) {
        const struct chaos_allow *allow = &script->allows[i];
        if (!allow->any && !allow->target.is_process && chaos_list_has(&allow->target.list, node))
            return true;
    }
    return false;
}

static bool listens(const struct chaos_script *script, uint32_t expect, mu_slot node)
{
    const struct chaos_expect *of = &script->expects[expect];
    if (of->has_at)
        return chaos_list_has(&of->at, node);
    return of->kind != CHAOS_TOLD || !is_out(script, expect, node);
}

/* ---- one expectation ---- */

/* What this node was told of one node or process. */
static void judge_one(const struct chaos_expect *expect, const struct chaos_story *story,
                      mu_slot by, uint32_t number, struct words *words)
{
    struct chaos_target one = expect->target;
    one.list = chaos_list_of(number);
    uint32_t times = 0;
    char text[64], target[CHAOS_TEXT_MAX];
    uint64_t from_ns = story->step_ns[expect->step];
    for (uint32_t i = 0; i < story->told_count; i++) {
        const struct chaos_told *told = &story->told[i];
        if (told->by != by || !is_about(told, &one))
            continue;
        subject_text(told, text);
        if (++times > 1)
            say(words, "node %u was notified of %s more than once", by, text);
        else if (told->at_ns < from_ns)
            say(words, "node %u was notified of %s %.1f ms before", by, text,
                ms(told->at_ns, from_ns));
        else if (expect->verdict != 0 && told->verdict != expect->verdict)
            say(words, "node %u was notified that %s is %s, after %.1f ms", by, text,
                mu_verdict_word(told->verdict), ms(from_ns, told->at_ns));
        else if (told->at_ns - from_ns > expect->span_ns)
            say(words, "node %u was notified of %s after %.1f ms", by, text,
                ms(from_ns, told->at_ns));
    }
    if (times == 0)
        say(words, "node %u was not notified of %s", by, chaos_target_text(&one, target));
}

/* Who of several was it?  The first that anybody was told of; if nobody was, the first of all. */
static uint32_t find_one(const struct chaos_expect *of, const struct chaos_story *story)
{
    for (uint32_t i = 0; i < story->told_count; i++)
        if (is_about(&story->told[i], &of->target))
            return of->target.is_process ? story->told[i].rank : story->told[i].node;
    return of->target.list.ranges[0].first;
}

static void judge_others(const struct chaos_expect *of, const struct chaos_story *story, mu_slot by,
                         uint32_t one, struct words *words)
{
    char text[64];
    for (uint32_t i = 0; i < story->told_count; i++) {
        const struct chaos_told *told = &story->told[i];
        if (told->by == by && is_about(told, &of->target) &&
            (told->is_process ? told->rank : told->node) != one)
            say(words, "node %u was notified of %s as well", by, subject_text(told, text));
    }
}

static bool judge_told(const struct chaos_script *script, const struct chaos_story *story,
                       uint32_t expect, char seen[CHAOS_SEEN_MAX])
{
    const struct chaos_expect *of = &script->expects[expect];
    const struct chaos_list *list = &of->target.list;
    struct words words = {.text = seen};
    uint32_t asked = 0, one = find_one(of, story);
    for (uint32_t i = 0; i < story->watched_count; i++) {
        mu_slot by = story->watched[i];
        if (!listens(script, expect, by))
            continue;
        asked++;
        for (uint8_t r = 0; !of->one && r < list->count; r++)
            for (uint32_t n = list->ranges[r].first; n <= list->ranges[r].last; n++)
                judge_one(of, story, by, n, &words);
        if (of->one) {
            judge_one(of, story, by, one, &words);
            judge_others(of, story, by, one, &words);
        }
    }
    if (asked == 0)
        say(&words, "no process was running to be notified");
    return finish(&words);
}

static bool judge_silence(const struct chaos_script *script, const struct chaos_story *story,
                          uint32_t expect, char seen[CHAOS_SEEN_MAX])
{
    const struct chaos_expect *of = &script->expects[expect];
    struct words words = {.text = seen};
    uint64_t from_ns = of->kind == CHAOS_NO ? story->began_ns : story->step_ns[of->step];
    uint64_t to_ns = story->step_ns[of->step] + of->span_ns;
    char text[64];
    for (uint32_t i = 0; i < story->told_count; i++) {
        const struct chaos_told *told = &story->told[i];
        if (told->at_ns < from_ns || told->at_ns > to_ns || !listens(script, expect, told->by) ||
            (of->kind == CHAOS_NO && !is_about(told, &of->target)))
            continue;
        say(&words, "node %u was notified that %s is %s, after %.1f ms", told->by,
            subject_text(told, text), mu_verdict_word(told->verdict),
            ms(story->step_ns[of->step], told->at_ns));
    }
    return finish(&words);
}

bool chaos_judge_expect(const struct chaos_script *script, const struct chaos_story *story,
                        uint32_t expect, char seen[CHAOS_SEEN_MAX])
{
    seen[0] = '\0';
    return script->expects[expect].kind == CHAOS_TOLD ? judge_told(script, story, expect, seen)
                                                      : judge_silence(script, story, expect, seen);
}

/* ---- all of them ---- */

bool chaos_judge_is_met_early(const struct chaos_script *script, const struct chaos_story *story,
                              uint32_t expect)
{
    char seen[CHAOS_SEEN_MAX];
    return script->expects[expect].kind == CHAOS_TOLD &&
           chaos_judge_expect(script, story, expect, seen);
}

uint64_t chaos_judge_until_ns(const struct chaos_script *script, const struct chaos_story *story)
{
    uint64_t until_ns = 0;
    for (uint32_t i = 0; i < script->expect_count; i++) {
        const struct chaos_expect *expect = &script->expects[i];
        uint64_t end_ns = story->step_ns[expect->step] + expect->span_ns;
        if (end_ns > until_ns && !chaos_judge_is_met_early(script, story, i))
            until_ns = end_ns;
    }
    return until_ns;
}

static bool is_expected(const struct chaos_script *script, const struct chaos_told *told)
{
    for (uint32_t i = 0; i < script->expect_count; i++)
        if (script->expects[i].kind == CHAOS_TOLD && is_named(told, &script->expects[i].target))
            return true;
    for (uint32_t i = 0; i < script->allow_count; i++)
        if (script->allows[i].any || is_named(told, &script->allows[i].target))
            return true;
    return false;
}

static bool is_same(const struct chaos_told *one, const struct chaos_told *other)
{
    return one->is_process == other->is_process && one->job == other->job &&
           one->rank == other->rank && one->node == other->node;
}

/* How often this was told from here on; 0: it was told before, so it was said before. */
static uint32_t count_same(const struct chaos_story *story, uint32_t at)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < story->told_count; i++) {
        bool same = is_same(&story->told[at], &story->told[i]);
        if (same && i < at)
            return 0;
        count += same;
    }
    return count;
}

bool chaos_judge_surprise(const struct chaos_script *script, const struct chaos_story *story,
                          uint32_t *from, char seen[CHAOS_SEEN_MAX])
{
    char text[64];
    for (uint32_t i = *from; i < story->told_count; i++) {
        const struct chaos_told *told = &story->told[i];
        uint32_t count = is_expected(script, told) ? 0 : count_same(story, i);
        if (count == 0)
            continue;
        snprintf(seen, CHAOS_SEEN_MAX,
                 "%u node%s notified that %s is %s, node %u %.1f ms after the start", count,
                 count == 1 ? " was" : "s were", subject_text(told, text),
                 mu_verdict_word(told->verdict), told->by, ms(story->began_ns, told->at_ns));
        *from = i + 1;
        return true;
    }
    return false;
}
