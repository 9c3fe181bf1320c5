#include "cli/args.h"

#include "cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void args_fail(const struct command *command, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "%s: ", command->path);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, " (see '%s --help')\n", command->path);
    exit(CLI_EXIT_USAGE);
}

static void print_help(const struct command *command)
{
    printf("usage: %s%s%s%s\n\n%s\n", command->path, command->count > 0 ? " [flags]" : "",
           command->operand == NULL ? "" : " ", command->operand == NULL ? "" : command->operand,
           command->about);
    if (command->count > 0)
        printf("\nflags:\n");
    for (size_t i = 0; i < command->count; i++) {
        const struct arg *arg = &command->args[i];
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", arg->name, arg->value == NULL ? "" : " ",
                 arg->value == NULL ? "" : arg->value);
        printf("  %-26s %s\n", left, arg->about);
    }
}

/* A whole decimal number and nothing else. */
static bool read_number(const char *text, uint64_t *number)
{
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

static void set_number(const struct command *command, const struct arg *arg, const char *text)
{
    uint64_t number;
    if (!read_number(text, &number) || number < arg->low || number > arg->high)
        args_fail(command, "--%s is '%s', but must be a whole number from %" PRIu64 " to %" PRIu64,
                  arg->name, text, arg->low, arg->high);
    *(uint64_t *)arg->to = number;
}

static void set_range(const struct command *command, const struct arg *arg, const char *text)
{
    char copy[64];
    uint64_t *range = arg->to;
    snprintf(copy, sizeof copy, "%s", text);
    char *colon = strchr(copy, ':');
    if (colon != NULL)
        *colon = '\0';
    if (strlen(text) >= sizeof copy || !read_number(copy, &range[0]) ||
        !read_number(colon == NULL ? copy : colon + 1, &range[1]) || range[0] > range[1] ||
        range[0] < arg->low || range[1] > arg->high)
        args_fail(command, "--%s is '%s', but must be A:B with %" PRIu64 " <= A <= B <= %" PRIu64,
                  arg->name, text, arg->low, arg->high);
}

static void set_choice(const struct command *command, const struct arg *arg, const char *text)
{
    size_t length = strlen(text);
    for (const char *at = arg->value; at != NULL;) {
        const char *bar = strchr(at, '|');
        size_t word = bar == NULL ? strlen(at) : (size_t)(bar - at);
        if (word == length && strncmp(at, text, length) == 0) {
            *(const char **)arg->to = text;
            return;
        }
        at = bar == NULL ? NULL : bar + 1;
    }
    args_fail(command, "--%s is '%s', but must be one of %s", arg->name, text, arg->value);
}

static void set(const struct command *command, const struct arg *arg, const char *text)
{
    switch (arg->type) {
    case ARG_FLAG:
        *(bool *)arg->to = true;
        return;
    case ARG_NUMBER:
        set_number(command, arg, text);
        return;
    case ARG_RANGE:
        set_range(command, arg, text);
        return;
    case ARG_TEXT:
        *(const char **)arg->to = text;
        return;
    case ARG_CHOICE:
        set_choice(command, arg, text);
        return;
    }
    abort();
}

/* The flag that 'text' (without dashes) names; *value is what follows a '=' in it, or NULL. */
static const struct arg *find(const struct command *command, const char *text, const char **value)
{
    const char *equals = strchr(text, '=');
    size_t length = equals == NULL ? strlen(text) : (size_t)(equals - text);
    *value = equals == NULL ? NULL : equals + 1;
    for (size_t i = 0; i < command->count; i++)
        if (strlen(command->args[i].name) == length &&
            strncmp(command->args[i].name, text, length) == 0)
            return &command->args[i];
    return NULL;
}

const char *args_parse(const struct command *command, int argc, char **argv)
{
    const char *operand = NULL;
    for (int i = 1; i < argc; i++) {
        const char *text = argv[i];
        if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
            print_help(command);
            exit(output_ok() ? 0 : 1);
        }
        if (text[0] != '-' || text[1] == '\0') {
            if (command->operand == NULL || operand != NULL)
                args_fail(command, "'%s' is not expected here", text);
            operand = text;
            continue;
        }
        const char *value;
        const struct arg *arg =
            strncmp(text, "--", 2) == 0 ? find(command, text + 2, &value) : NULL;
        if (arg == NULL)
            args_fail(command, "unknown flag '%s'", text);
        if (arg->type == ARG_FLAG && value != NULL)
            args_fail(command, "--%s takes no value, but got '%s'", arg->name, value);
        if (arg->type != ARG_FLAG && value == NULL) {
            if (i + 1 == argc)
                args_fail(command, "--%s needs a value: %s", arg->name, arg->value);
            value = argv[++i];
        }
        set(command, arg, value);
    }
    return operand;
}
