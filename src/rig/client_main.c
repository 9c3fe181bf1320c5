/* muster-rig-client, which 'muster bench' and 'muster chaos' start on every node.
 *
 *     muster-rig-client ROLE RIG               in a job; RIG is the process id of the command
 *     muster-rig-client ROLE RIG RANK NODE     without muster: 'muster bench floor' */
#include "rig/role.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void role_wait(struct client *client)
{
    client_is_ready(client);
    for (;;)
        pause();
}

static const struct {
    const char *name;
    void (*play)(struct client *client);
} roles[] = {
    {"wait", role_wait}, {"read", role_read}, {"count", role_count}, {"agree", role_agree}};

static void join(struct client *client)
{
    struct muster_error error;
    if (muster_open(&client->muster, &error) != 0)
        client_fail("muster_open", error.text);
    client->rank = muster_rank(client->muster);
    client->node = muster_node(client->muster);
}

static uint32_t number(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 10);
}

static void begin(struct client *client, int argc, char **argv)
{
    client->rig = number(argv[2]);
    if (argc == 3) {
        join(client);
    } else {
        client->rank = number(argv[3]);
        client->node = number(argv[4]);
    }
    client->page = rig_page_get(client->rig);
    if (client->page == NULL)
        client_fail("the page of the rig", strerror(errno));
    if (client->rank >= client->page->size)
        client_fail("the rank of this process", "not below the size of the page");
    client->slot = &client->page->slots[client->rank];
}

int main(int argc, char **argv)
{
    static struct client client;
    if (argc != 3 && argc != 5)
        client_fail("it takes ROLE and RIG", "'muster bench' and 'muster chaos' start it");
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (strcmp(roles[i].name, argv[1]) == 0) {
            begin(&client, argc, argv);
            roles[i].play(&client);
            muster_close(client.muster);
            return 0;
        }
    client_fail(argv[1], "no such role");
}
