#define _GNU_SOURCE /* pipe2() */
#include "chaos/nft.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- rules ---- */

const char *chaos_nft_peers_error(const char *text, char why[CHAOS_WHY_MAX])
{
    const char *at = text;
    for (;;) {
        char one[64] = "", *rest;
        size_t length = strcspn(at, ",");
        struct in_addr address;
        unsigned long bits = 0;
        if (length < sizeof one)
            memcpy(one, at, length);
        char *slash = strchr(one, '/');
        bool good = true;
        if (slash != NULL) {
            *slash = '\0';
            bits = strtoul(slash + 1, &rest, 10);
            good = slash[1] >= '0' && slash[1] <= '9' && *rest == '\0' && bits <= 32;
        }
        if (!good || inet_pton(AF_INET, one, &address) != 1) {
            snprintf(why, CHAOS_WHY_MAX,
                     "--peers is '%.60s', but with --with nft must be addresses like "
                     "10.0.0.4,10.1.0.0/16",
                     text);
            return why;
        }
        if (at[length] == '\0')
            return NULL;
        at += length + 1;
    }
}

static void print_chain(FILE *to, const char *table, const struct if_nameindex *device,
                        const char *hook, const char *field, const char *peers)
{
    fprintf(to, "add chain netdev %s %s_%u { type filter hook %s device \"%s\" priority -500; }\n",
            table, hook, device->if_index, hook, device->if_name);
    fprintf(to, "add rule netdev %s %s_%u ", table, hook, device->if_index);
    if (peers != NULL)
        fprintf(to, "ip %s { %s } drop\n", field, peers);
    else
        fprintf(to, "meta protocol { ip, ip6 } drop\n");
}

static void print_rules(FILE *to, const char *table, const struct if_nameindex *device,
                        const struct chaos_fault *fault, const char *peers)
{
    if (fault->net.in)
        print_chain(to, table, device, "ingress", "saddr", peers);
    if (fault->net.out)
        print_chain(to, table, device, "egress", "daddr", peers);
}

/* ---- the filter ---- */

static bool run_nft(const char *table, const struct chaos_fault *fault, const char *peers,
                    char why[OPERATOR_TEXT_MAX])
{
    struct if_nameindex *devices = if_nameindex();
    FILE *nft = devices == NULL ? NULL : popen("nft -f -", "we");
    if (nft == NULL) {
        snprintf(why, OPERATOR_TEXT_MAX, "nft: %s", strerror(errno));
        if (devices != NULL)
            if_freenameindex(devices);
        return false;
    }
    fprintf(nft, "add table netdev %s\n", table);
    for (struct if_nameindex *device = devices; device->if_index != 0; device++)
        if (strcmp(device->if_name, "lo") != 0)
            print_rules(nft, table, device, fault, peers);
    if_freenameindex(devices);
    if (pclose(nft) == 0)
        return true;
    snprintf(why, OPERATOR_TEXT_MAX, "'nft -f -' failed: see its message above");
    return false;
}

/* It removes the rules also in the end that everybody hopes for, so that there is one way only. */
static _Noreturn void be_guard(int fd, const char *table)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    char word;
    setsid(); /* a SIGKILL for the process group is not for it */
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        signal(numbers[i], SIG_IGN); /* they are for whom it guards; nft ignores them, too */
    while (read(fd, &word, 1) < 0 && errno == EINTR)
        ;
    execlp("nft", "nft", "delete", "table", "netdev", table, (char *)NULL);
    _exit(1);
}

static bool start_guard(struct chaos_nft *nft, char why[OPERATOR_TEXT_MAX])
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        snprintf(why, OPERATOR_TEXT_MAX, "pipe: %s", strerror(errno));
        return false;
    }
    nft->guard = fork();
    if (nft->guard == 0) {
        close(ends[1]);
        be_guard(ends[0], nft->table);
    }
    close(ends[0]);
    nft->fd = ends[1];
    if (nft->guard > 0)
        return true;
    snprintf(why, OPERATOR_TEXT_MAX, "fork: %s", strerror(errno));
    nft->guard = 0;
    close(ends[1]);
    return false;
}

/* ---- which node ---- */

static void take_address(void *owner, const struct mu_local_message *message)
{
    char *address = owner;
    if (message->type == MU_LOCAL_NODE)
        memcpy(address, message->node.address, sizeof message->node.address);
}

/* The rules are for the host: so the node has one of its own. */
static bool check_node(const struct operator_found *found, const struct chaos_list *nodes,
                       char why[OPERATOR_TEXT_MAX])
{
    mu_slot slot = nodes->ranges[0].first;
    char address[sizeof((struct mu_local_node *)NULL)->address] = "";
    struct operator_link link = {.fd = -1, .why = "is not on this host"};
    bool good = false;
    for (size_t i = 0; i < found->count; i++)
        if (found->daemons[i].slot == slot)
            good = operator_open(&link, &found->daemons[i]) &&
                   operator_status(&link, take_address, address);
    operator_close(&link);
    if (!good)
        snprintf(why, OPERATOR_TEXT_MAX, "node %u %.400s", slot, link.why);
    else if (chaos_list_size(nodes) != 1)
        snprintf(why, OPERATOR_TEXT_MAX, "--with nft disconnects one node at a time");
    else if (strncmp(address, "127.", 4) == 0)
        snprintf(why, OPERATOR_TEXT_MAX,
                 "node %u listens at %s, but --with nft needs a node with an address of its own",
                 slot, address);
    else
        return true;
    return false;
}

bool chaos_nft_begin(struct chaos_nft *nft, const struct operator_found *found,
                     const struct chaos_fault *fault, const char *peers,
                     char why[OPERATOR_TEXT_MAX])
{
    char ignored[OPERATOR_TEXT_MAX];
    *nft = (struct chaos_nft){.fd = -1};
    if (!check_node(found, &fault->target.list, why))
        return false;
    /* With the number of this process: two cuts of one host end each by itself. */
    snprintf(nft->table, sizeof nft->table, "muster_chaos_%u_%d",
             fault->target.list.ranges[0].first, (int)getpid());
    if (!start_guard(nft, why))
        return false;
    if (run_nft(nft->table, fault, peers, why))
        return true;
    chaos_nft_end(nft, ignored); /* there is no table: nft does all of it or nothing */
    return false;
}

bool chaos_nft_end(struct chaos_nft *nft, char why[OPERATOR_TEXT_MAX])
{
    int status = -1;
    close(nft->fd);
    while (waitpid(nft->guard, &status, 0) < 0 && errno == EINTR)
        ;
    nft->guard = 0;
    if (status != 0)
        snprintf(why, OPERATOR_TEXT_MAX,
                 "cannot remove the nft table 'netdev %s' ('nft list ruleset' shows it)",
                 nft->table);
    return status == 0;
}
