#include "chaos/fault.h"

#include "command/span.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

static const char *const verbs[CHAOS_VERBS] = {
    [CHAOS_KILL] = "kill", [CHAOS_STOP] = "stop", [CHAOS_CONT] = "cont", [CHAOS_CUT] = "cut",
    [CHAOS_HEAL] = "heal", [CHAOS_FLAP] = "flap", [CHAOS_SLOW] = "slow",
};

const char *chaos_verb_word(enum chaos_verb verb)
{
    return verbs[verb];
}

static bool is_of_network(enum chaos_verb verb)
{
    return verb == CHAOS_CUT || verb == CHAOS_HEAL || verb == CHAOS_FLAP || verb == CHAOS_SLOW;
}

/* ---- words ---- */

/* Words that are left, one after the other. */
struct words {
    const char *const *at;
    uint32_t left;
};

static bool take_word(struct words *words, const char *word)
{
    if (words->left == 0 || strcmp(*words->at, word) != 0)
        return false;
    words->at++;
    words->left--;
    return true;
}

static const char *take_any(struct words *words)
{
    if (words->left == 0)
        return NULL;
    words->left--;
    return *words->at++;
}

static const char *take_span(struct words *words, const char *name, uint64_t *ns,
                             char why[CHAOS_WHY_MAX])
{
    const char *text = take_any(words);
    if (text == NULL)
        return fail(why, "missing DURATION after '%s', for example 50ms", name);
    if (*ns != 0)
        return fail(why, "'%s %s' is given twice", name, text);
    if (!span_parse(text, ns) || *ns == 0)
        return fail(why, "'%s' is '%s', but must be a duration over 0 like 50ms, 1.5s or 250us",
                    name, text);
    return NULL;
}

static const char *take_number(struct words *words, const char *name, uint64_t *number,
                               char why[CHAOS_WHY_MAX])
{
    const char *text = take_any(words);
    int end = 0;
    if (text == NULL || *text < '0' || *text > '9' ||
        sscanf(text, "%" SCNu64 "%n", number, &end) != 1 || text[end] != '\0')
        return fail(why, "'%s' is '%s', but must be a whole number", name,
                    text == NULL ? "" : text);
    return NULL;
}

static const char *take_peers(struct words *words, struct mu_chaos *net, char why[CHAOS_WHY_MAX])
{
    const char *text = take_any(words);
    struct chaos_list list;
    if (text == NULL)
        return fail(why, "missing list of nodes after 'peers'");
    if (net->range_count != 0)
        return fail(why, "'peers %s' is given twice", text);
    if (chaos_list_parse(text, &list, why) != NULL)
        return why;
    net->range_count = list.count;
    memcpy(net->ranges, list.ranges, list.count * sizeof list.ranges[0]);
    return NULL;
}

/* ---- one fault ---- */

static const char *take_option(struct chaos_fault *fault, struct words *words,
                               char why[CHAOS_WHY_MAX])
{
    enum chaos_verb verb = fault->verb;
    struct mu_chaos *net = &fault->net;
    bool has_way = verb == CHAOS_CUT || verb == CHAOS_FLAP || verb == CHAOS_SLOW;
    if ((has_way || verb == CHAOS_STOP) && take_word(words, "for"))
        return take_span(words, "for", &fault->for_ns, why);
    if (has_way && take_word(words, "in"))
        return net->in = true, NULL;
    if (has_way && take_word(words, "out"))
        return net->out = true, NULL;
    if (has_way && take_word(words, "peers"))
        return take_peers(words, net, why);
    if (verb == CHAOS_FLAP && take_word(words, "down"))
        return take_span(words, "down", &net->down_ns, why);
    if (verb == CHAOS_FLAP && take_word(words, "up"))
        return take_span(words, "up", &net->up_ns, why);
    if (verb == CHAOS_SLOW && take_word(words, "by"))
        return take_span(words, "by", &net->delay_ns, why);
    if (verb == CHAOS_SLOW && take_word(words, "jitter"))
        return take_span(words, "jitter", &net->jitter_ns, why);
    if (verb == CHAOS_SLOW && take_word(words, "seed"))
        return take_number(words, "seed", &net->seed, why);
    return fail(why, "'%s' has no '%s'", verbs[verb], *words->at);
}

/* What the words mean together. */
static const char *finish(struct chaos_fault *fault, char why[CHAOS_WHY_MAX])
{
    static const uint8_t kinds[CHAOS_VERBS] = {
        [CHAOS_CUT] = MU_CHAOS_CUT, [CHAOS_FLAP] = MU_CHAOS_FLAP, [CHAOS_SLOW] = MU_CHAOS_SLOW};
    struct mu_chaos *net = &fault->net;
    if (!is_of_network(fault->verb))
        return NULL;
    if (fault->target.is_process)
        return fail(why, "'%s' takes nodes only: a process has no network of its own",
                    verbs[fault->verb]);
    if (fault->verb == CHAOS_FLAP && (net->down_ns == 0 || net->up_ns == 0))
        return fail(
            why,
            "flap needs 'down' and 'up' DURATION (--down, --up), for example down 50ms up 200ms");
    if (fault->verb == CHAOS_SLOW && net->delay_ns == 0)
        return fail(why, "slow needs 'by' DURATION (--by), for example by 20ms");
    net->kind = kinds[fault->verb];
    net->for_ns = fault->for_ns;
    if (net->kind != MU_CHAOS_NONE && !net->in && !net->out)
        net->in = net->out = true;
    const char *rule = mu_chaos_error(net);
    return rule == NULL ? NULL : fail(why, "'%s': %s", verbs[fault->verb], rule);
}

const char *chaos_fault_parse(const char *const *words, uint32_t count, struct chaos_fault *fault,
                              char why[CHAOS_WHY_MAX])
{
    struct words rest = {words, count};
    const char *verb = take_any(&rest), *target = take_any(&rest);
    *fault = (struct chaos_fault){.verb = CHAOS_VERBS};
    for (int i = 0; verb != NULL && i < CHAOS_VERBS; i++)
        if (strcmp(verb, verbs[i]) == 0)
            fault->verb = (enum chaos_verb)i;
    if (fault->verb == CHAOS_VERBS)
        return fail(why, "unknown fault '%s' (known: kill, stop, cont, cut, heal, flap, slow)",
                    verb == NULL ? "" : verb);
    if (target == NULL)
        return fail(why, "missing node=LIST%s after '%s'",
                    is_of_network(fault->verb) ? "" : " or proc=JOB.LIST", verb);
    const char *error = chaos_target_parse(target, &fault->target, why);
    while (error == NULL && rest.left > 0)
        error = take_option(fault, &rest, why);
    return error != NULL ? error : finish(fault, why);
}

/* ---- and back ---- */

static void add(char *text, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(char *text, size_t room, const char *format, ...)
{
    va_list arguments;
    size_t used = strlen(text);
    va_start(arguments, format);
    vsnprintf(text + used, room - used, format, arguments);
    va_end(arguments);
}

static void add_span(char *text, const char *name, uint64_t ns)
{
    uint64_t us = ns / 1000;
    if (ns == 0)
        return;
    if (us % 1000 == 0)
        add(text, CHAOS_FAULT_TEXT_MAX, " %s %" PRIu64 "ms", name, us / 1000);
    else
        add(text, CHAOS_FAULT_TEXT_MAX, " %s %" PRIu64 "us", name, us);
}

const char *chaos_fault_text(const struct chaos_fault *fault, char text[CHAOS_FAULT_TEXT_MAX])
{
    char target[CHAOS_TEXT_MAX], list[CHAOS_LIST_TEXT_MAX];
    const struct mu_chaos *net = &fault->net;
    snprintf(text, CHAOS_FAULT_TEXT_MAX, "%s %s", verbs[fault->verb],
             chaos_target_text(&fault->target, target));
    add_span(text, "down", net->down_ns);
    add_span(text, "up", net->up_ns);
    add_span(text, "by", net->delay_ns);
    add_span(text, "jitter", net->jitter_ns);
    if (net->in != net->out)
        add(text, CHAOS_FAULT_TEXT_MAX, net->in ? " in" : " out");
    if (net->range_count > 0) {
        struct chaos_list peers = {.count = net->range_count};
        memcpy(peers.ranges, net->ranges, sizeof peers.ranges);
        add(text, CHAOS_FAULT_TEXT_MAX, " peers %s", chaos_list_text(&peers, list));
    }
    add_span(text, "for", fault->for_ns);
    return text;
}
