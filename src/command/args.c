#include "command/args.h"

#include "command/output.h"

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

enum { FLAG_TEXT_MAX = 64 };

/* How a flag is typed: "--nodes", "-n"; for the help all spellings, "-n, -np". */
static const char *spelled(const struct arg *arg, bool all, char text[FLAG_TEXT_MAX])
{
    if (arg->name[0] != '-') {
        snprintf(text, FLAG_TEXT_MAX, "--%s", arg->name);
        return text;
    }
    size_t used = 0;
    for (const char *at = arg->name; *at != '\0' && (all || *at != '|'); at++) {
        int count = snprintf(text + used, FLAG_TEXT_MAX - used, *at == '|' ? ", " : "%c", *at);
        used += (size_t)count;
        if (used >= FLAG_TEXT_MAX)
            break;
    }
    return text;
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
        char flag[FLAG_TEXT_MAX], left[128];
        snprintf(left, sizeof left, "%s%s%s", spelled(arg, true, flag),
                 arg->value == NULL ? "" : " ", arg->value == NULL ? "" : arg->value);
        printf("  %-26s %s\n", left, arg->about);
    }
}

bool args_number(const char *text, uint64_t *number)
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
    char flag[FLAG_TEXT_MAX];
    if (!args_number(text, &number) || number < arg->low || number > arg->high)
        args_fail(command, "%s is '%s', but must be a whole number from %" PRIu64 " to %" PRIu64,
                  spelled(arg, false, flag), text, arg->low, arg->high);
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
    if (strlen(text) >= sizeof copy || !args_number(copy, &range[0]) ||
        !args_number(colon == NULL ? copy : colon + 1, &range[1]) || range[0] > range[1] ||
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

static void add(const struct command *command, struct arg_list *list, const char *text)
{
    const char **items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (items == NULL)
        args_fail(command, "no memory for '%s'", text);
    items[list->count++] = text;
    list->items = items;
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
    case ARG_LIST:
        add(command, arg->to, text);
        return;
    }
    abort();
}

/* Is it one of the spellings of a name with dashes? */
static bool is_spelling(const char *name, const char *text, size_t length)
{
    for (const char *at = name; at != NULL;) {
        const char *bar = strchr(at, '|');
        size_t word = bar == NULL ? strlen(at) : (size_t)(bar - at);
        if (word == length && strncmp(at, text, length) == 0)
            return true;
        at = bar == NULL ? NULL : bar + 1;
    }
    return false;
}

/* The flag that 'text' names; *value is what follows a '=' in it, or NULL. */
static const struct arg *find(const struct command *command, const char *text, const char **value)
{
    const char *equals = strchr(text, '=');
    size_t length = equals == NULL ? strlen(text) : (size_t)(equals - text);
    bool is_long = strncmp(text, "--", 2) == 0;
    *value = equals == NULL ? NULL : equals + 1;
    for (size_t i = 0; i < command->count; i++) {
        const char *name = command->args[i].name;
        if (name[0] == '-'
                ? is_spelling(name, text, length)
                : is_long && strlen(name) == length - 2 && strncmp(name, text + 2, length - 2) == 0)
            return &command->args[i];
    }
    return NULL;
}

static bool is_operand(const char *text)
{
    return text[0] != '-' || text[1] == '\0';
}

/* The flag argv[i], and its value when that stands in the next one.  Returns the index of the last
 * one taken. */
static int take_flag(const struct command *command, int argc, char **argv, int i)
{
    const char *text = argv[i], *value;
    char flag[FLAG_TEXT_MAX];
    if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
        print_help(command);
        exit(output_ok() ? 0 : 1);
    }
    const struct arg *arg = find(command, text, &value);
    if (arg == NULL)
        args_fail(command, "unknown flag '%s'", text);
    spelled(arg, false, flag);
    if (arg->type == ARG_FLAG && value != NULL)
        args_fail(command, "%s takes no value, but got '%s'", flag, value);
    if (arg->type != ARG_FLAG && value == NULL) {
        if (i + 1 == argc)
            args_fail(command, "%s needs a value: %s", flag, arg->value);
        value = argv[++i];
    }
    set(command, arg, value);
    return i;
}

const char *args_parse(const struct command *command, int argc, char **argv)
{
    const char *operand = NULL;
    for (int i = 1; i < argc; i++) {
        if (!is_operand(argv[i])) {
            i = take_flag(command, argc, argv, i);
            continue;
        }
        if (command->operand == NULL || operand != NULL)
            args_fail(command, "'%s' is not expected here", argv[i]);
        operand = argv[i];
    }
    return operand;
}

void args_parse_all(const struct command *command, int argc, char **argv, struct arg_list *operands)
{
    for (int i = 1; i < argc; i++)
        if (is_operand(argv[i]))
            add(command, operands, argv[i]);
        else
            i = take_flag(command, argc, argv, i);
}

int args_parse_front(const struct command *command, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && !is_operand(argv[i]); i++) {
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        i = take_flag(command, argc, argv, i);
    }
    return i;
}
