/* A client of a rig, and the roles that it can have: what it does with libmuster, as any program
 * would, and what it writes into the page.  A role is done when the rig is over; but most clients
 * are killed before that, or end with their daemon. */
#ifndef MU_RIG_ROLE_H
#define MU_RIG_ROLE_H

#include "rig/page.h"
#include "muster.h"

struct client {
    struct muster *muster; /* NULL: it was started without muster */
    uint32_t rig;          /* its process id */
    uint32_t rank, node;
    struct rig_page *page;
    struct rig_slot *slot;
};

/* Of 'muster bench procfail' and 'floor': when it read of the victim's death, and when the message
 * of its relay.  It knows what is measured in which order, so it waits for each in the one call
 * that reads it, as a program would: muster_next() and recv(). */
void role_read(struct client *client);

/* Of 'muster bench nodefail' and 'muster chaos random': how often it was told of which node and of
 * which process.  Where there are victims, each is to be told once, then each of its processes
 * once; everything else is unexpected: about somebody who lives, told again, a process before its
 * node. What is told as state after this client was too slow may be a repetition. */
void role_count(struct client *client);

/* One event of that, in note.c: it calls nothing of libmuster. */
void role_count_note(struct client *client, const struct muster_event *event, uint64_t now_ns);

/* Of 'muster bench agree' and 'agree-stress': agrees again and again, and logs how long each took,
 * or a digest of what was decided, from the first entry on again when the log is full. */
void role_agree(struct client *client);

/* ---- for roles ---- */

_Noreturn void client_fail(const char *what, const char *why);

/* When the daemon is gone, or the rig is over, that is no surprise. */
_Noreturn void client_end(const struct client *client, const struct muster_error *error);

/* The next event; and when it was read. */
uint64_t client_next(struct client *client, struct muster_event *event);

/* Counts it in the page. */
void client_is_ready(struct client *client);

#endif
