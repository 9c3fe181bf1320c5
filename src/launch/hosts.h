/* The hosts that a machine is to be on, in the order of its nodes.  Written in one of two ways:
 *
 *     h1,h2:4                       --hosts: names, each with the number of its slots (1)
 *
 *     # a comment                   --hostfile: a host on each line
 *     h1
 *     h2 slots=4 max_slots=8 address=10.0.0.2
 *
 * A host that is named again has so many slots more. */
#ifndef MU_LAUNCH_HOSTS_H
#define MU_LAUNCH_HOSTS_H

#include "wire/launch/orders.h"

enum {
    HOSTS_TEXT_MAX = 512, /* every sentence of this header, cut off there */
    HOSTS_LINE_MAX = 512, /* of a file */
};

struct host {
    char name[MU_ORDERS_NAME_MAX + 1];
    uint32_t slots;
    uint32_t max_slots;         /* that --oversubscribe may fill; 0: any number */
    bool has_address;           /* it was said, or hosts_resolve() found it */
    struct sockaddr_in address; /* port 0 */
};

struct hosts {
    struct host *items;
    uint32_t count; /* 0: none were named */
};

/* Both add to 'hosts', which is zeroed at first.  NULL, or a sentence in 'text' with the value and
 * the rule; hosts_free() is due in either case. */
const char *hosts_from_list(struct hosts *hosts, const char *list, char text[HOSTS_TEXT_MAX]);
const char *hosts_from_file(struct hosts *hosts, const char *path, char text[HOSTS_TEXT_MAX]);

/* Finds the address of each host that came without one.  Nodes listen there and call each other, so
 * a loopback address is refused, unless all have one.  NULL, or a sentence in 'text'. */
const char *hosts_resolve(struct hosts *hosts, char text[HOSTS_TEXT_MAX]);

/* All are loopback addresses, and so this host.  Resolved before. */
bool hosts_share(const struct hosts *hosts);

uint64_t hosts_slots(const struct hosts *hosts); /* of all */
void hosts_free(struct hosts *hosts);

#endif
