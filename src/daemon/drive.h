/* Drives the node of this daemon in real time: gives it events, hands what comes of them to the
 * peers and to news.c, keeps its deadlines, and writes down what went in when that is wanted. */
#ifndef MU_DAEMON_DRIVE_H
#define MU_DAEMON_DRIVE_H

#include "core/base/config.h"
#include "core/base/event.h"

#include <uv.h>

struct mu_daemon;
struct mu_drive;

/* The configuration has passed mu_config_error().  It is recorded if the daemon has a recorder.
 * Returns 0, or an errno with *drive untouched. */
int mu_drive_open(uv_loop_t *loop, const struct mu_config *config, struct mu_daemon *daemon,
                  struct mu_drive **drive);

void mu_drive_close(struct mu_drive *drive);

/* The events of core/base/event.h. */
void mu_drive_start(struct mu_drive *drive);
void mu_drive_cut(struct mu_drive *drive, mu_slot peer); /* LINK_DOWN: we closed it ourselves */

/* Hooks of peers.h, whose owner is the daemon: for handshakes, LINK_UP, LINK_DOWN and RECV. */
uint64_t mu_drive_has(void *owner, mu_slot peer, uint32_t incarnation);
void mu_drive_up(void *owner, mu_slot peer, uint32_t incarnation, uint64_t has);
void mu_drive_down(void *owner, mu_slot peer);
void mu_drive_frame(void *owner, mu_slot peer, uint32_t incarnation, const struct mu_frame *frame);

/* These two return whether it was taken: without room for one more notice it was not, a fault has
 * said so, and nobody will hear of it unless it is tried again. */
bool mu_drive_verdict(struct mu_drive *drive, const struct mu_notice *notice);
bool mu_drive_post(struct mu_drive *drive, const uint8_t *payload, uint16_t length);

/* How much of the room for what is seen here is in use: 0 to 8 eighths. */
uint32_t mu_drive_eighths(const struct mu_drive *drive);

/* Bytes that the node takes; events so far. */
size_t mu_drive_bytes(const struct mu_drive *drive);
uint64_t mu_drive_events(const struct mu_drive *drive);

#endif
