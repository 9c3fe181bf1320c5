/* Options of a subcommand, from one table: parsing, --help, and errors that name value and rule. */
#ifndef MU_COMMAND_ARGS_H
#define MU_COMMAND_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLI_EXIT_USAGE = 2 };

enum arg_type {
    ARG_FLAG,   /* --name          sets the bool at 'to' */
    ARG_NUMBER, /* --name N        a uint64_t between low and high */
    ARG_RANGE,  /* --name A:B      two uint64_t, low <= A <= B <= high; A alone means A:A */
    ARG_TEXT,   /* --name TEXT     a const char * */
    ARG_CHOICE, /* --name WORD     a const char *, one of 'choices', separated by '|' */
    ARG_LIST,   /* --name TEXT     a struct arg_list: may be given again, and each counts */
};

/* Zeroed at first; the items are argv's, the array is freed by the caller. */
struct arg_list {
    const char **items;
    size_t count;
};

struct arg {
    /* Without dashes: "nodes" is given as --nodes.  With dashes it is as it stands, and may have
     * several spellings: "-n|-np".  What follows "||" is accepted and not shown: "-n||--np".  An
     * option with two dashes is understood with one as well, as elsewhere. */
    const char *name;
    enum arg_type type;
    void *to;
    uint64_t low, high;
    const char *value; /* its name in the help; for ARG_CHOICE the choices */
    const char *about; /* a noun phrase; NULL: not shown */
};

/* What users of other launchers type, and what to type here. */
struct arg_hint {
    const char *name;
    const char *advice;
};

struct command {
    const char *path;    /* "muster sim spread" */
    const char *about;   /* one line: "Run a parallel job." */
    const char *operand; /* name of the one operand, or of all of them, or NULL */
    const struct arg *args;
    size_t count;
    const char *examples;         /* at most three lines; NULL: none */
    const char *exits;            /* lines of exit codes; NULL: 0, 1 and 2 as everywhere */
    const struct arg_hint *hints; /* up to a NULL name; NULL: none */
};

/* Fills in what the options say.  Prints help and exits 0, or one clear line and exits 2.  Returns
 * the operand, or NULL when there is none to take. */
const char *args_parse(const struct command *command, int argc, char **argv);

/* The same for a command with any number of operands, which go into 'operands'. */
void args_parse_all(const struct command *command, int argc, char **argv,
                    struct arg_list *operands);

/* The same for a command that ends with somebody else's command line: stops at the first operand,
 * or behind "--".  Returns where that is in argv; argc: nowhere. */
int args_parse_front(const struct command *command, int argc, char **argv);

/* A whole decimal number and nothing else. */
bool args_number(const char *text, uint64_t *number);

/* The one of 'words' that 'text' may be meant for; NULL: none is near. */
const char *args_nearest(const char *text, const char *const *words, size_t count);

/* "PATH: MESSAGE (see 'PATH --help')" on standard error, and exit 2. */
_Noreturn void args_fail(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
