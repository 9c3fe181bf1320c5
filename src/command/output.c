#define _POSIX_C_SOURCE 200809L /* fileno() */
#include "command/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

FILE *output_trace(bool wanted, bool json)
{
    if (!wanted)
        return NULL;
    return json ? stderr : stdout;
}

bool output_ok(void)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return true;
    fprintf(stderr, "muster: cannot write to standard output: %s\n", strerror(errno));
    return false;
}

void output_json(json_t *object)
{
    json_dumpf(object, stdout, JSON_PRESERVE_ORDER | JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    fflush(stdout);
    json_decref(object);
}

const char *output_digest(char text[33], const struct mu_fingerprint *digest)
{
    snprintf(text, 33, "%016" PRIx64 "%016" PRIx64, digest->a, digest->b);
    return text;
}

const char *output_colour(FILE *to, enum output_colour colour)
{
    const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");
    bool is_wanted = none == NULL || none[0] == '\0';
    bool is_able = terminal != NULL && strcmp(terminal, "dumb") != 0;
    if (!is_wanted || !is_able || isatty(fileno(to)) == 0)
        return "";
    return colour == OUTPUT_RED ? "\033[31m" : colour == OUTPUT_GREEN ? "\033[32m" : "\033[33m";
}

static bool progress_shown;

void output_progress(const char *format, ...)
{
    if (isatty(STDERR_FILENO) == 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "\r\033[K");
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fflush(stderr);
    progress_shown = true;
}

void output_progress_end(void)
{
    if (progress_shown)
        fprintf(stderr, "\r\033[K");
    progress_shown = false;
}
