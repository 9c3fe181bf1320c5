/* What a person or a script reads. */
#ifndef MU_COMMAND_OUTPUT_H
#define MU_COMMAND_OUTPUT_H

#include "core/base/fingerprint.h"

#include <jansson.h>
#include <stdio.h>

/* Where a trace goes: standard output, or beside it when that is for JSON; NULL: not wanted. */
FILE *output_trace(bool wanted, bool json);

/* Has all of standard output been written?  Says so when not. */
bool output_ok(void);

/* One JSON object on one line; takes it over. */
void output_json(json_t *object);

/* "0123...": 32 hexadecimal digits, in the caller's 33 bytes. */
const char *output_digest(char text[33], const struct mu_fingerprint *digest);

/* Colours, for terminals only and not with NO_COLOR in the environment: "" elsewhere.  What begins
 * with one ends with OUTPUT_PLAIN. */
enum output_colour { OUTPUT_RED = 31, OUTPUT_GREEN = 32, OUTPUT_YELLOW = 33 };
#define OUTPUT_PLAIN "\033[0m"
const char *output_colour(FILE *to, enum output_colour colour);

/* A line that the next one overwrites, on standard error, when that is a terminal. */
void output_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void output_progress_end(void);

#endif
