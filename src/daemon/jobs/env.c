#include "daemon/jobs/env.h"

#include "daemon/pmi/pmi1.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OWN = 7,          /* variables */
    OWN_OF_PMI = 3,   /* more, where it is wanted */
    NUMBER_MAX = 40,  /* bytes of one that is a number, with its name and NUL */
    SOCKET_NAME = 15, /* of "MUSTER_SOCKET=" and NUL */
};

static size_t count_of(const char *const *list)
{
    size_t count = 0;
    while (list[count] != NULL)
        count++;
    return count;
}

static bool same_name(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");
    return strcspn(b, "=") == length && memcmp(a, b, length) == 0;
}

static bool has_name(const char *const *list, size_t count, const char *variable)
{
    for (size_t i = 0; i < count; i++)
        if (same_name(list[i], variable))
            return true;
    return false;
}

static size_t own_count(const struct mu_jobs_env *env)
{
    return OWN + (env->pmi ? OWN_OF_PMI : 0);
}

/* Writes our own variables to 'text', and where they are to 'list'. */
static void write_own(const char **list, char *text, size_t room, const struct mu_jobs_env *env)
{
    const struct {
        const char *name;
        uint32_t value;
    } numbers[OWN + OWN_OF_PMI - 1] = {
        {"MUSTER_JOB", env->job},     {"MUSTER_RANK", env->rank},
        {"MUSTER_SIZE", env->size},   {"MUSTER_NODE", env->node},
        {"MUSTER_NODES", env->nodes}, {"MUSTER_LOCAL_RANK", env->local_rank},
        {"PMI_FD", MU_PMI1_FD},       {"PMI_RANK", env->rank},
        {"PMI_SIZE", env->size},
    };
    for (size_t i = 0; i < own_count(env); i++) {
        int length =
            i == 0 ? snprintf(text, room, "MUSTER_SOCKET=%s", env->socket)
                   : snprintf(text, room, "%s=%" PRIu32, numbers[i - 1].name, numbers[i - 1].value);
        assert(length > 0 && (size_t)length < room);
        list[i] = text;
        text += length + 1;
        room -= (size_t)length + 1;
    }
}

/* Of a list whose strings go away: how much room copies take. */
static size_t bytes_of(const char *const *list)
{
    size_t bytes = 0;
    for (; *list != NULL; list++)
        bytes += strlen(*list) + 1;
    return bytes;
}

static const char *copy(char **text, const char *variable)
{
    size_t bytes = strlen(variable) + 1;
    const char *made = memcpy(*text, variable, bytes);
    *text += bytes;
    return made;
}

const char *const *mu_jobs_env_make(const char *const *job, const char *const *program,
                                    const struct mu_jobs_env *env)
{
    static const char *const none[] = {NULL};
    const char *const *given = env->given != NULL ? env->given : none;
    const char *const *usual = env->usual != NULL ? env->usual : none;
    size_t all = count_of(job) + count_of(program) + count_of(given) + count_of(usual);
    size_t own = own_count(env), pointers = (own + all + 1) * sizeof(char *);
    size_t own_texts = SOCKET_NAME + strlen(env->socket) + (own - 1) * NUMBER_MAX;
    const char **list = malloc(pointers + own_texts + bytes_of(given) + bytes_of(usual));
    if (list == NULL)
        return NULL;
    char *text = (char *)list + pointers;
    write_own(list, text, own_texts, env);
    text += own_texts;
    size_t used = own;
    for (; *given != NULL; given++)
        if (!has_name(list, used, *given))
            list[used++] = copy(&text, *given);
    size_t fixed = used, program_count = count_of(program);
    for (size_t i = 0; i < program_count; i++)
        if (!has_name(list, fixed, program[i]))
            list[used++] = program[i];
    for (; *job != NULL; job++)
        if (!has_name(list, fixed, *job) && !has_name(program, program_count, *job))
            list[used++] = *job;
    for (; *usual != NULL; usual++)
        if (!has_name(list, used, *usual))
            list[used++] = copy(&text, *usual);
    list[used] = NULL;
    return list;
}
