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

/* ---- a near match ---- */

enum { WORD_MAX = 32 };

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* How many letters are to be added, dropped or changed (Levenshtein); both below WORD_MAX. */
static size_t distance(const char *one, const char *other)
{
    size_t row[WORD_MAX + 1], width = strlen(other);
    for (size_t k = 0; k <= width; k++)
        row[k] = k;
    for (size_t i = 1; one[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t k = 1; k <= width; k++) {
            size_t above = row[k];
            row[k] = smallest(above + 1, row[k - 1] + 1, diagonal + (one[i - 1] != other[k - 1]));
            diagonal = above;
        }
    }
    return row[width];
}

const char *args_nearest(const char *text, const char *const *words, size_t count)
{
    size_t length = strlen(text), best = length / 3 + 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < count && length < WORD_MAX; i++) {
        bool begins = length >= 3 && strncmp(words[i], text, length) == 0;
        size_t far = begins ? 0 : strlen(words[i]) < WORD_MAX ? distance(text, words[i]) : best;
        if (far >= best || far >= length)
            continue;
        best = far;
        nearest = words[i];
    }
    return nearest;
}

/* ---- spellings ---- */

enum { OPTION_TEXT_MAX = 64 };

/* How an option is typed: "--nodes", "-n"; for the help all spellings, "-n, -np". */
static const char *spelled(const struct arg *arg, bool all, char text[OPTION_TEXT_MAX])
{
    if (arg->name[0] != '-') {
        snprintf(text, OPTION_TEXT_MAX, "--%s", arg->name);
        return text;
    }
    size_t used = 0;
    for (const char *at = arg->name; *at != '\0' && strncmp(at, "||", 2) != 0; at++) {
        if (*at == '|' && !all)
            break;
        int count = snprintf(text + used, OPTION_TEXT_MAX - used, *at == '|' ? ", " : "%c", *at);
        used += (size_t)count;
        if (used >= OPTION_TEXT_MAX)
            break;
    }
    return text;
}

/* ---- help ---- */

static void print_examples(const char *examples)
{
    for (const char *line = examples; line != NULL && *line != '\0';) {
        int length = (int)strcspn(line, "\n");
        printf("  %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
}

enum { LEFT_WIDTH = 28 };

static void print_option(const struct arg *arg)
{
    char option[OPTION_TEXT_MAX], left[128];
    snprintf(left, sizeof left, "%s%s%s", spelled(arg, true, option), arg->value == NULL ? "" : " ",
             arg->value == NULL ? "" : arg->value);
    if (strlen(left) > LEFT_WIDTH)
        printf("  %s\n  %*s  %s\n", left, LEFT_WIDTH, "", arg->about);
    else
        printf("  %-*s  %s\n", LEFT_WIDTH, left, arg->about);
}

/* Each family has a page: of 'muster sim check' it is muster-sim; of 'musterd' musterd. */
static void print_manual(const char *path)
{
    const char *family = strchr(path, ' ');
    if (family == NULL)
        printf("\nSee also: man %s\n", path);
    else
        printf("\nSee also: man muster-%.*s\n", (int)strcspn(family + 1, " "), family + 1);
}

static void print_help(const struct command *command)
{
    printf("%s\n\nusage: %s%s%s%s\n", command->about, command->path,
           command->count > 0 ? " [options]" : "", command->operand == NULL ? "" : " ",
           command->operand == NULL ? "" : command->operand);
    if (command->examples != NULL)
        printf("\n");
    print_examples(command->examples);
    if (command->count > 0)
        printf("\noptions:\n");
    for (size_t i = 0; i < command->count; i++)
        if (command->args[i].about != NULL)
            print_option(&command->args[i]);
    printf("\nexit code:\n");
    print_examples(command->exits != NULL ? command->exits
                                          : "0 success   1 failure   2 usage error");
    print_manual(command->path);
}

/* ---- values ---- */

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
    char option[OPTION_TEXT_MAX];
    if (!args_number(text, &number) || number < arg->low || number > arg->high)
        args_fail(command, "%s is '%s', but must be a whole number from %" PRIu64 " to %" PRIu64,
                  spelled(arg, false, option), text, arg->low, arg->high);
    *(uint64_t *)arg->to = number;
}

static void set_range(const struct command *command, const struct arg *arg, const char *text)
{
    char copy[64], option[OPTION_TEXT_MAX];
    uint64_t *range = arg->to;
    snprintf(copy, sizeof copy, "%s", text);
    char *colon = strchr(copy, ':');
    if (colon != NULL)
        *colon = '\0';
    if (strlen(text) >= sizeof copy || !args_number(copy, &range[0]) ||
        !args_number(colon == NULL ? copy : colon + 1, &range[1]) || range[0] > range[1] ||
        range[0] < arg->low || range[1] > arg->high)
        args_fail(command, "%s is '%s', but must be A:B with %" PRIu64 " <= A <= B <= %" PRIu64,
                  spelled(arg, false, option), text, arg->low, arg->high);
}

static void set_choice(const struct command *command, const struct arg *arg, const char *text)
{
    char option[OPTION_TEXT_MAX];
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
    args_fail(command, "%s is '%s', but must be one of %s", spelled(arg, false, option), text,
              arg->value);
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

/* ---- options ---- */

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

static const struct arg *find_spelled(const struct command *command, const char *text,
                                      size_t length)
{
    for (size_t i = 0; i < command->count; i++) {
        const char *name = command->args[i].name;
        bool is_long = length > 2 && strncmp(text, "--", 2) == 0;
        if (name[0] == '-'
                ? is_spelling(name, text, length)
                : is_long && strlen(name) == length - 2 && strncmp(name, text + 2, length - 2) == 0)
            return &command->args[i];
    }
    return NULL;
}

/* "-wdir", as other launchers have it, for --wdir. */
static const struct arg *find_one_dash(const struct command *command, const char *text,
                                       size_t length)
{
    char two[WORD_MAX];
    if (length < 3 || text[1] == '-' || length + 2 > sizeof two)
        return NULL;
    two[0] = '-';
    memcpy(two + 1, text, length);
    return find_spelled(command, two, length + 1);
}

/* "-n2": an option of one letter that takes a value, and the value. */
static const struct arg *find_attached(const struct command *command, const char *text)
{
    if (text[1] == '-' || strlen(text) < 3)
        return NULL;
    const struct arg *arg = find_spelled(command, text, 2);
    if (arg == NULL || arg->type == ARG_FLAG)
        return NULL;
    bool is_digit = text[2] >= '0' && text[2] <= '9';
    return arg->type != ARG_NUMBER || is_digit ? arg : NULL;
}

/* The option that 'text' names; *value is what follows a '=' in it, or NULL. */
static const struct arg *find(const struct command *command, const char *text, const char **value)
{
    const char *equals = strchr(text, '=');
    size_t length = equals == NULL ? strlen(text) : (size_t)(equals - text);
    *value = equals == NULL ? NULL : equals + 1;
    const struct arg *arg = find_spelled(command, text, length);
    if (arg == NULL)
        arg = find_one_dash(command, text, length);
    if (arg != NULL)
        return arg;
    arg = find_attached(command, text);
    if (arg != NULL)
        *value = text + 2;
    return arg;
}

static const char *advice_of(const struct command *command, const char *text)
{
    size_t length = strcspn(text, "=");
    for (const struct arg_hint *hint = command->hints; hint != NULL && hint->name != NULL; hint++)
        if (is_spelling(hint->name, text, length))
            return hint->advice;
    return NULL;
}

static _Noreturn void fail_unknown(const struct command *command, const char *text)
{
    enum { ARGS_MAX = 64 };
    char copies[ARGS_MAX][OPTION_TEXT_MAX], bare[WORD_MAX];
    const char *words[ARGS_MAX], *advice = advice_of(command, text);
    size_t count = 0;
    if (advice != NULL)
        args_fail(command, "unknown option '%s': %s", text, advice);
    for (size_t i = 0; i < command->count && count < ARGS_MAX; i++)
        if (command->args[i].about != NULL)
            words[count] = spelled(&command->args[i], false, copies[count]), count++;
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(text, "="), text);
    const char *near = args_nearest(bare, words, count);
    if (near != NULL)
        args_fail(command, "unknown option '%s'; did you mean '%s'?", text, near);
    args_fail(command, "unknown option '%s'", text);
}

static bool is_operand(const char *text)
{
    return text[0] != '-' || text[1] == '\0';
}

static bool is_help(const char *text)
{
    return strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0 || strcmp(text, "-help") == 0;
}

/* The option argv[i], and its value when that stands in the next one.  Returns the index of the
 * last one taken. */
static int take_option(const struct command *command, int argc, char **argv, int i)
{
    const char *text = argv[i], *value;
    char option[OPTION_TEXT_MAX];
    if (is_help(text)) {
        print_help(command);
        exit(output_ok() ? 0 : 1);
    }
    const struct arg *arg = find(command, text, &value);
    if (arg == NULL)
        fail_unknown(command, text);
    spelled(arg, false, option);
    if (arg->type == ARG_FLAG && value != NULL)
        args_fail(command, "%s takes no value, but got '%s'", option, value);
    if (arg->type != ARG_FLAG && value == NULL) {
        if (i + 1 == argc)
            args_fail(command, "%s needs a value: %s", option, arg->value);
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
            i = take_option(command, argc, argv, i);
            continue;
        }
        if (command->operand == NULL || operand != NULL)
            args_fail(command, "unexpected operand '%s'", argv[i]);
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
            i = take_option(command, argc, argv, i);
}

int args_parse_front(const struct command *command, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && !is_operand(argv[i]); i++) {
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        i = take_option(command, argc, argv, i);
    }
    return i;
}
