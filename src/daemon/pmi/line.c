#include "daemon/pmi/line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static const char *say(char *text, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(text, MU_PMI1_TEXT_MAX, format, values);
    va_end(values);
    return text;
}

bool mu_pmi1_is(struct mu_pmi1_text text, const char *word)
{
    return strlen(word) == text.count && memcmp(text.at, word, text.count) == 0;
}

/* ---- words ---- */

struct words {
    const char *at, *end;
};

/* The next NAME=VALUE; false at the end of the line.  A word without '=' has no value, at NULL. */
static bool next_word(struct words *words, struct mu_pmi1_text *name, struct mu_pmi1_text *value)
{
    while (words->at < words->end && *words->at == ' ')
        words->at++;
    const char *first = words->at;
    while (words->at < words->end && *words->at != ' ')
        words->at++;
    size_t count = (size_t)(words->at - first);
    const char *equals = count > 0 ? memchr(first, '=', count) : NULL;
    *name = (struct mu_pmi1_text){first, equals != NULL ? (size_t)(equals - first) : count};
    *value = (struct mu_pmi1_text){equals != NULL ? equals + 1 : NULL,
                                   equals != NULL ? count - name->count - 1 : 0};
    return count > 0;
}

static const char *bytes_error(const char *bytes, size_t count, char *text)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] < 0x20 || bytes[i] > 0x7e)
            return say(text, "byte %u is not printable ASCII", (unsigned char)bytes[i]);
    return NULL;
}

/* ---- commands ---- */

static const struct {
    const char *word;
    enum mu_pmi1_command command;
} commands[] = {
    {"init", MU_PMI1_INIT},
    {"get_maxes", MU_PMI1_GET_MAXES},
    {"get_appnum", MU_PMI1_GET_APPNUM},
    {"get_my_kvsname", MU_PMI1_GET_MY_KVSNAME},
    {"get_universe_size", MU_PMI1_GET_UNIVERSE_SIZE},
    {"put", MU_PMI1_PUT},
    {"get", MU_PMI1_GET},
    {"barrier_in", MU_PMI1_BARRIER_IN},
    {"finalize", MU_PMI1_FINALIZE},
    {"abort", MU_PMI1_ABORT},
    {"publish_name", MU_PMI1_PUBLISH},
    {"unpublish_name", MU_PMI1_UNPUBLISH},
    {"lookup_name", MU_PMI1_LOOKUP},
};

static const char *read_command(struct words *words, struct mu_pmi1_line *line, char *text)
{
    struct mu_pmi1_text name, value;
    if (!next_word(words, &name, &value) || value.at == NULL)
        return say(text, "a line does not begin with cmd=");
    if (mu_pmi1_is(name, "mcmd") && mu_pmi1_is(value, "spawn")) {
        line->command = MU_PMI1_SPAWN;
        return NULL;
    }
    if (!mu_pmi1_is(name, "cmd"))
        return say(text, "a line does not begin with cmd=");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (mu_pmi1_is(value, commands[i].word)) {
            line->command = commands[i].command;
            return NULL;
        }
    return say(text, "cmd=%.*s is no command of PMI-1", (int)(value.count < 32 ? value.count : 32),
               value.at);
}

/* ---- fields ---- */

struct field {
    const char *name;
    struct mu_pmi1_text *to;
    size_t least, most;
};

static const char *take_field(const struct field *field, struct mu_pmi1_text value, char *text)
{
    if (field->to->at != NULL)
        return say(text, "%s is there twice", field->name);
    if (value.count < field->least || value.count > field->most)
        return say(text, "length %zu of %s is not between %zu and %zu", value.count, field->name,
                   field->least, field->most);
    *field->to = value;
    return NULL;
}

static const char *read_fields(struct words *words, const struct field *fields, size_t count,
                               char *text)
{
    struct mu_pmi1_text name, value;
    const char *error = NULL;
    while (error == NULL && next_word(words, &name, &value)) {
        if (value.at == NULL)
            return say(text, "a word without '='");
        for (size_t i = 0; i < count && error == NULL; i++)
            if (mu_pmi1_is(name, fields[i].name))
                error = take_field(&fields[i], value, text);
    }
    for (size_t i = 0; i < count && error == NULL; i++)
        if (fields[i].to->at == NULL)
            error = say(text, "%s is missing", fields[i].name);
    return error;
}

static const char *read_version(struct mu_pmi1_line *line, struct mu_pmi1_text digits, char *text)
{
    line->version = 0;
    for (size_t i = 0; i < digits.count; i++) {
        if (digits.at[i] < '0' || digits.at[i] > '9')
            return say(text, "pmi_version is not a number");
        line->version = line->version * 10 + (uint32_t)(digits.at[i] - '0');
    }
    return NULL;
}

/* Of "exitcode=7", as the kernel keeps it; 1 where there is none.  Other words may be anything. */
static uint8_t read_exit_code(struct words *words)
{
    struct mu_pmi1_text name, value;
    uint32_t code = 0;
    while (next_word(words, &name, &value))
        for (size_t i = 0; mu_pmi1_is(name, "exitcode") && i < value.count; i++)
            if (value.at[i] >= '0' && value.at[i] <= '9')
                code = code * 10 + (uint32_t)(value.at[i] - '0');
    return code % 256 != 0 ? (uint8_t)code : 1;
}

const char *mu_pmi1_parse(const char *bytes, size_t count, struct mu_pmi1_line *line,
                          char text[MU_PMI1_TEXT_MAX])
{
    enum { VERSION_DIGITS_MAX = 4 };
    struct words words = {bytes, bytes + count};
    struct mu_pmi1_text version = {0};
    *line = (struct mu_pmi1_line){0};
    const char *error = bytes_error(bytes, count, text);
    if (error == NULL)
        error = read_command(&words, line, text);
    if (error != NULL)
        return error;
    const struct field init[] = {{"pmi_version", &version, 1, VERSION_DIGITS_MAX}};
    const struct field pair[] = {{"kvsname", &line->kvsname, 1, MU_PMI1_NAME_MAX - 1},
                                 {"key", &line->key, 1, MU_PMI1_KEY_MAX - 1},
                                 {"value", &line->value, 0, MU_PMI1_VALUE_MAX - 1}};
    switch (line->command) {
    case MU_PMI1_INIT:
        error = read_fields(&words, init, 1, text);
        return error != NULL ? error : read_version(line, version, text);
    case MU_PMI1_GET:
        return read_fields(&words, pair, 2, text);
    case MU_PMI1_PUT:
        return read_fields(&words, pair, 3, text);
    case MU_PMI1_ABORT:
        line->exit_code = read_exit_code(&words);
        return NULL;
    default:
        return NULL; /* what else they say is not for us */
    }
}
