/* Spans of time, as people write them: 50ms, 1.5s, 250us, 2m. */
#ifndef MU_COMMAND_SPAN_H
#define MU_COMMAND_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: it is none, or longer than 30 years.  A number needs a unit: us, ms, s, m or h. */
bool span_parse(const char *text, uint64_t *ns);

/* "100 ms", "1.5 s", "250 us": at most six digits.  Returns 'text'. */
enum { SPAN_TEXT_MAX = 32 };
const char *span_text(uint64_t ns, char text[SPAN_TEXT_MAX]);

/* Heartbeats: "PERIOD,TIMEOUT", or "PERIOD" alone with five times that as the timeout.  NULL, or
 * why not: a sentence in 'why'. */
enum { SPAN_WHY_MAX = 160 };
const char *span_heartbeat(const char *text, uint64_t *period_ns, uint64_t *timeout_ns,
                           char why[SPAN_WHY_MAX]);

#endif
