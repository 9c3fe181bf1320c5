#include "command/args.h"
#include "command/commands.h"

#include <stdio.h>
#include <string.h>

static void print_list(FILE *to, const char *path, const char *about,
                       const struct subcommand *commands, size_t count)
{
    fprintf(to, "usage: %s COMMAND [flags]\n\n%s\n\ncommands:\n", path, about);
    for (size_t i = 0; i < count; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].about);
    fprintf(to, "\n'%s COMMAND --help' says more about each.\n", path);
}

int cli_dispatch(const char *path, const char *about, const struct subcommand *commands,
                 size_t count, int argc, char **argv)
{
    if (argc < 2) {
        print_list(stderr, path, about, commands, count);
        return CLI_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_list(stdout, path, about, commands, count);
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "%s: unknown command '%s' (see '%s --help')\n", path, argv[1], path);
    return CLI_EXIT_USAGE;
}
