#include "command/span.h"

#include "core/ring/ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_RATIO = 5 };

static const struct unit {
    const char *word;
    uint64_t ns;
} units[] = {
    {"us", 1000},
    {"ms", 1000 * 1000},
    {"s", 1000 * 1000 * 1000},
    {"m", UINT64_C(60) * 1000 * 1000 * 1000},
    {"h", UINT64_C(3600) * 1000 * 1000 * 1000},
};

enum { UNITS = sizeof units / sizeof units[0] };

bool span_parse(const char *text, uint64_t *ns)
{
    if (*text < '0' || *text > '9')
        return false;
    char *rest;
    double number = strtod(text, &rest);
    if (rest != text + strspn(text, "0123456789."))
        return false; /* it reads hexadecimal digits and powers, too */
    for (size_t i = 0; i < UNITS; i++)
        if (strcmp(rest, units[i].word) == 0) {
            double all = number * (double)units[i].ns;
            if (!(all < 1e18))
                return false;
            *ns = (uint64_t)(all + 0.5);
            return true;
        }
    return false;
}

const char *span_text(uint64_t ns, char text[SPAN_TEXT_MAX])
{
    const struct unit *unit = &units[0];
    for (size_t i = 1; i < 3 && ns >= units[i].ns; i++)
        unit = &units[i];
    snprintf(text, SPAN_TEXT_MAX, "%.6g %s", (double)ns / (double)unit->ns, unit->word);
    return text;
}

const char *span_heartbeat(const char *text, uint64_t *period_ns, uint64_t *timeout_ns,
                           char why[SPAN_WHY_MAX])
{
    char period[SPAN_TEXT_MAX];
    const char *comma = strchr(text, ',');
    size_t length = comma != NULL ? (size_t)(comma - text) : strlen(text);
    if (length < sizeof period) {
        memcpy(period, text, length);
        period[length] = '\0';
    }
    if (length >= sizeof period || !span_parse(period, period_ns) ||
        (comma != NULL && !span_parse(comma + 1, timeout_ns))) {
        snprintf(why, SPAN_WHY_MAX, "'%.60s' is not PERIOD or PERIOD,TIMEOUT, as in 100ms,500ms",
                 text);
        return why;
    }
    if (comma == NULL)
        *timeout_ns = TIMEOUT_RATIO * *period_ns;
    const char *rule = mu_detect_times_error(*period_ns, *timeout_ns);
    if (rule == NULL)
        return NULL;
    snprintf(why, SPAN_WHY_MAX, "'%.60s': %s", text, rule);
    return why;
}
