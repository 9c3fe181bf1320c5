#define _GNU_SOURCE
#include "pmix/inside.h"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

/* The daemon reaps what is of no job. */
static void send_stand_in(struct mu_pmix *pmix, const struct mu_space *space, uint32_t rank)
{
    char path[PATH_MAX];
    char *argv[] = {path, NULL};
    char **env = mu_space_env(pmix, space->number, rank);
    posix_spawn_file_actions_t actions;
    pid_t pid;
    if (env == NULL || posix_spawn_file_actions_init(&actions) != 0) {
        mu_space_env_free(env);
        return;
    }
    mu_pmix_find(path, "/" MUSTER_LIBEXEC "/muster-pmix-stand-in");
    for (int fd = 0; fd < 3; fd++) /* else words of a library would go to whatever it opens first */
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawn(&pid, path, &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    mu_space_env_free(env);
}

/* Where nobody uses PMIx, nobody waits. */
void mu_stand_in_look(struct mu_pmix *pmix, struct mu_space *space)
{
    if (!space->is_used)
        return;
    for (uint32_t i = 0; i < space->here_count; i++) {
        struct mu_client_here *client = &space->here[i];
        if (!client->ended || client->state != MU_CLIENT_NEW || client->stood_in)
            continue;
        client->stood_in = true;
        send_stand_in(pmix, space, client->rank);
    }
}
