#include "launch/agent.h"

#include <string.h>

const char *agent_split(struct agent *agent, const char *command)
{
    *agent = (struct agent){.count = 0};
    if (strlen(command) >= sizeof agent->bytes)
        return "it must be shorter than 1024 characters";
    strcpy(agent->bytes, command);
    char *rest = NULL;
    for (char *word = strtok_r(agent->bytes, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        if (agent->count == AGENT_WORDS_MAX)
            return "it must have at most 32 words";
        agent->words[agent->count++] = word;
    }
    return agent->count == 0 ? "it must have at least one word" : NULL;
}

const char *agent_path_error(const char *path)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789/._+,:@-";
    return path[0] == '/' && path[strspn(path, allowed)] == '\0'
               ? NULL
               : "a path on other hosts must begin with '/', and have only letters, digits and "
                 "/._+,:@-";
}
