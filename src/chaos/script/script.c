#include "chaos/script/script.h"

#include "command/span.h"
#include "wire/base/evidence.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 32 };

static const char *fail(char why[CHAOS_WHY_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *fail(char why[CHAOS_WHY_MAX], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, CHAOS_WHY_MAX, format, arguments);
    va_end(arguments);
    return why;
}

/* One more of an array, zeroed. */
static void *add(void **items, uint32_t *count, size_t size)
{
    void *more = realloc(*items, (*count + 1) * size);
    if (more == NULL)
        abort();
    *items = more;
    void *item = (char *)more + *count * size;
    memset(item, 0, size);
    ++*count;
    return item;
}

static const char *read_span(const char *after, const char *text, uint64_t *ns,
                             char why[CHAOS_WHY_MAX])
{
    if (text == NULL)
        return fail(why, "missing DURATION after '%s', for example 50ms", after);
    if (!span_parse(text, ns))
        return fail(why, "'%s %.60s': expected a duration like 50ms, 1.5s or 0s", after, text);
    return NULL;
}

/* ---- steps ---- */

static const char *take_step(struct chaos_script *script, const char *const *words, uint32_t count,
                             uint32_t line, char why[CHAOS_WHY_MAX])
{
    uint64_t span_ns;
    struct chaos_fault fault;
    uint64_t last_ns = script->step_count > 0 ? script->steps[script->step_count - 1].at_ns : 0;
    bool is_then = strcmp(words[0], "then") == 0;
    if (read_span(words[0], count > 1 ? words[1] : NULL, &span_ns, why) != NULL)
        return why;
    if (chaos_fault_parse(words + 2, count - 2, &fault, why) != NULL)
        return why;
    uint64_t at_ns = is_then ? last_ns + span_ns : span_ns;
    if (at_ns < last_ns)
        return fail(why, "'at %s' is earlier than the step before it", words[1]);
    struct chaos_step *step =
        add((void **)&script->steps, &script->step_count, sizeof *script->steps);
    *step = (struct chaos_step){.line = line, .at_ns = at_ns, .fault = fault};
    return NULL;
}

/* ---- expectations ---- */

static const struct {
    const char *word;
    uint8_t verdict;
} verdicts[] = {
    {"gone", 0},
    {"dead", MU_VERDICT_DEAD},
    {"silent", MU_VERDICT_SILENT},
    {"unreachable", MU_VERDICT_UNREACHABLE},
    {"left", MU_VERDICT_LEFT},
};

static const char *read_verdict(const char *text, uint8_t *verdict, char why[CHAOS_WHY_MAX])
{
    for (size_t i = 0; text != NULL && i < sizeof verdicts / sizeof verdicts[0]; i++)
        if (strcmp(text, verdicts[i].word) == 0) {
            *verdict = verdicts[i].verdict;
            return NULL;
        }
    return fail(why, "unknown verdict '%.60s' (known: dead, silent, unreachable, left, gone)",
                text == NULL ? "" : text);
}

/* What follows whom and what it is about: within T, or for T; [at LIST]. */
static const char *take_rest(struct chaos_expect *expect, const char *const *words, uint32_t count,
                             char why[CHAOS_WHY_MAX])
{
    const char *word = expect->kind == CHAOS_TOLD ? "within" : "for";
    if (count < 1 || strcmp(words[0], word) != 0)
        return fail(why, "'%.60s': expected '%s' DURATION", count < 1 ? "" : words[0], word);
    if (read_span(word, count > 1 ? words[1] : NULL, &expect->span_ns, why) != NULL)
        return why;
    if (count == 2)
        return NULL;
    if (strcmp(words[2], "at") != 0 || count > 4)
        return fail(why, "unexpected '%.60s'", words[count > 4 ? 4 : 2]);
    if (count == 3)
        return fail(why, "missing list of nodes after 'at'");
    expect->has_at = true;
    return chaos_list_parse(words[3], &expect->at, why);
}

static const char *take_expect(struct chaos_script *script, const char *const *words,
                               uint32_t count, uint32_t line, char why[CHAOS_WHY_MAX])
{
    struct chaos_expect expect = {.line = line};
    const char *error = NULL;
    if (script->step_count == 0)
        return fail(why, "an expectation needs a step before it");
    expect.step = script->step_count - 1;
    words++;
    count--;
    if (count > 0 && strcmp(words[0], "none") == 0) {
        expect.kind = CHAOS_NONE;
        error = take_rest(&expect, words + 1, count - 1, why);
    } else if (count > 0 && strcmp(words[0], "no") == 0) {
        expect.kind = CHAOS_NO;
        error = chaos_target_parse(count > 1 ? words[1] : "", &expect.target, why);
        if (error == NULL)
            error = take_rest(&expect, words + 2, count - 2, why);
    } else {
        expect.kind = CHAOS_TOLD;
        expect.one = count > 0 && strcmp(words[0], "one") == 0;
        words += expect.one;
        count -= expect.one;
        error = chaos_target_parse(count > 0 ? words[0] : "", &expect.target, why);
        if (error == NULL)
            error = read_verdict(count > 1 ? words[1] : NULL, &expect.verdict, why);
        if (error == NULL)
            error = take_rest(&expect, words + 2, count - 2, why);
    }
    if (error != NULL)
        return error;
    *(struct chaos_expect *)add((void **)&script->expects, &script->expect_count,
                                sizeof *script->expects) = expect;
    return NULL;
}

static const char *take_allow(struct chaos_script *script, const char *const *words, uint32_t count,
                              char why[CHAOS_WHY_MAX])
{
    struct chaos_allow allow = {0};
    if (count != 2)
        return fail(why, "'allow' needs 'any', node=LIST or proc=JOB.LIST");
    allow.any = strcmp(words[1], "any") == 0;
    if (!allow.any && chaos_target_parse(words[1], &allow.target, why) != NULL)
        return why;
    *(struct chaos_allow *)add((void **)&script->allows, &script->allow_count,
                               sizeof *script->allows) = allow;
    return NULL;
}

/* ---- lines ---- */

const char *chaos_script_line(struct chaos_script *script, char *text, uint32_t line,
                              char why[CHAOS_WHY_MAX])
{
    const char *words[WORDS_MAX];
    uint32_t count = 0;
    char *rest;
    text[strcspn(text, "#")] = '\0';
    for (char *word = strtok_r(text, " \t\r\n", &rest); word != NULL;
         word = strtok_r(NULL, " \t\r\n", &rest)) {
        if (count == WORDS_MAX)
            return fail(why, "more than %d words in a line", WORDS_MAX);
        words[count++] = word;
    }
    if (count == 0)
        return NULL;
    if (strcmp(words[0], "at") == 0 || strcmp(words[0], "then") == 0) {
        if (count < 3)
            return fail(why, "'%s' needs a duration and a fault", words[0]);
        return take_step(script, words, count, line, why);
    }
    if (strcmp(words[0], "expect") == 0)
        return take_expect(script, words, count, line, why);
    if (strcmp(words[0], "allow") == 0)
        return take_allow(script, words, count, why);
    return fail(why, "unknown word '%.60s' (known: at, then, expect, allow)", words[0]);
}

const char *chaos_script_read(struct chaos_script *script, FILE *file, char why[CHAOS_WHY_MAX])
{
    char *text = NULL, reason[CHAOS_WHY_MAX];
    size_t room = 0;
    const char *error = NULL;
    for (uint32_t line = 1; error == NULL && getline(&text, &room, file) >= 0; line++)
        if (chaos_script_line(script, text, line, reason) != NULL)
            error = fail(why, "line %u: %.220s", line, reason);
    free(text);
    if (error == NULL && ferror(file))
        error = fail(why, "cannot be read");
    if (error == NULL && script->step_count == 0)
        error = fail(why, "contains no step");
    return error;
}

void chaos_script_free(struct chaos_script *script)
{
    free(script->steps);
    free(script->expects);
    free(script->allows);
    *script = (struct chaos_script){0};
}

/* ---- and back ---- */

const char *chaos_expect_text(const struct chaos_expect *expect, char text[CHAOS_FAULT_TEXT_MAX])
{
    char target[CHAOS_TEXT_MAX], list[CHAOS_LIST_TEXT_MAX], span[SPAN_TEXT_MAX];
    const char *verdict = "";
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++)
        if (verdicts[i].verdict == expect->verdict)
            verdict = verdicts[i].word;
    chaos_target_text(&expect->target, target);
    span_text(expect->span_ns, span);
    int used = 0;
    switch (expect->kind) {
    case CHAOS_TOLD:
        used = snprintf(text, CHAOS_FAULT_TEXT_MAX, "%s%s %s within %s", expect->one ? "one " : "",
                        target, verdict, span);
        break;
    case CHAOS_NO:
        used = snprintf(text, CHAOS_FAULT_TEXT_MAX, "no %s for %s", target, span);
        break;
    case CHAOS_NONE:
        used = snprintf(text, CHAOS_FAULT_TEXT_MAX, "none for %s", span);
        break;
    }
    if (expect->has_at)
        snprintf(text + used, (size_t)(CHAOS_FAULT_TEXT_MAX - used), " at %s",
                 chaos_list_text(&expect->at, list));
    return text;
}
