#include "command/args.h"
#include "command/commands.h"

#include <stdio.h>
#include <string.h>

static void print_list(FILE *to, const char *path, const char *about,
                       const struct subcommand *commands, size_t count)
{
    fprintf(to, "%s\n\nusage: %s COMMAND [options]\n\ncommands:\n", about, path);
    for (size_t i = 0; i < count; i++)
        fprintf(to, "  %-12s  %s\n", commands[i].name, commands[i].about);
    fprintf(to, "\n'%s COMMAND --help' describes a command.\n", path);
}

static bool is_any(const char *text, const char *one, const char *other, const char *third)
{
    return strcmp(text, one) == 0 || strcmp(text, other) == 0 || strcmp(text, third) == 0;
}

/* "help run" is "run --help". */
static int dispatch_help(const char *path, const char *about, const struct subcommand *commands,
                         size_t count, int argc, char **argv)
{
    enum { WORDS_MAX = 8 };
    char *words[WORDS_MAX + 2], help[] = "--help";
    int used = 0;
    words[used++] = argv[0];
    for (int i = 2; i < argc && used < WORDS_MAX; i++)
        words[used++] = argv[i];
    words[used++] = help;
    words[used] = NULL;
    return cli_dispatch(path, about, commands, count, used, words);
}

static int fail_unknown(const char *path, const struct subcommand *commands, size_t count,
                        const char *text)
{
    enum { COMMANDS_MAX = 32 };
    const char *words[COMMANDS_MAX];
    for (size_t i = 0; i < count && i < COMMANDS_MAX; i++)
        words[i] = commands[i].name;
    const char *near = args_nearest(text, words, count < COMMANDS_MAX ? count : COMMANDS_MAX);
    const char *what = text[0] == '-' ? "option" : "command";
    if (near != NULL)
        fprintf(stderr, "%s: unknown %s '%s'; did you mean '%s %s'? (see '%s --help')\n", path,
                what, text, path, near, path);
    else if (strcmp(path, "muster") == 0)
        fprintf(stderr, "%s: unknown %s '%s' (to run a program: 'muster run'; see '%s --help')\n",
                path, what, text, path);
    else
        fprintf(stderr, "%s: unknown %s '%s' (see '%s --help')\n", path, what, text, path);
    return CLI_EXIT_USAGE;
}

int cli_dispatch(const char *path, const char *about, const struct subcommand *commands,
                 size_t count, int argc, char **argv)
{
    if (argc < 2) {
        print_list(stderr, path, about, commands, count);
        return CLI_EXIT_USAGE;
    }
    if (is_any(argv[1], "--help", "-h", "-help")) {
        print_list(stdout, path, about, commands, count);
        return 0;
    }
    if (strcmp(argv[1], "help") == 0)
        return dispatch_help(path, about, commands, count, argc, argv);
    for (size_t i = 0; i < count; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    return fail_unknown(path, commands, count, argv[1]);
}
