/* Where clients connect: to the rig, which gives them the page, and to the relay of their node.
 *
 * Names of doors have the process id of the rig, and are in the abstract namespace, so that nothing
 * is left in a file system whatever dies.  Anybody may take such a name, or connect to it, so both
 * ends look whether the other is of the same user. */
#ifndef MU_RIG_DOOR_H
#define MU_RIG_DOOR_H

#include <stdint.h>

#define RIG_DOOR_PAGE UINT32_MAX /* in place of a node: that of the rig itself */

/* A socket that listens, of packets, close-on-exec; or -1 with errno.  This process is the rig. */
int rig_door_open(uint32_t node);

/* Whoever is next, or -1: nobody, or nobody of this user. */
int rig_door_accept(int door);

/* In a client: connected, or -1 with errno. */
int rig_door_connect(uint32_t rig, uint32_t node);

#endif
