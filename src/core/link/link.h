/* The reliable link between two nodes: docs/spec/link.md.
 *
 * A connection below it delivers in order, without loss, until it breaks; then an unknown tail is
 * lost in both directions.  Links number their frames, keep them until acknowledged, and after a
 * reconnect send again exactly what the other side has not got. */
#ifndef MU_CORE_LINK_LINK_H
#define MU_CORE_LINK_LINK_H

#include "core/base/arena.h"
#include "core/base/event.h"
#include "core/base/types.h"

/* 32 bytes: two in a cache line, none across. */
struct mu_link {
    mu_slot peer; /* MU_SLOT_NONE: entry not in use */
    uint32_t incarnation;
    uint64_t sent;     /* sequence given out last */
    uint64_t received; /* sequence received last, without a gap */
    uint16_t head;     /* of the ring: the oldest unacknowledged frame */
    uint16_t pending;  /* frames in the ring: sent - pending is acknowledged */
    uint16_t owed;     /* frames received since an acknowledgement went out */
    bool up : 1;
    bool starved : 1;     /* something waits for room in the ring */
    bool asked : 1;       /* the driver was asked to open it */
    bool told_full : 1;   /* the other side knows that there is no room here */
    bool ignores : 1;     /* it was told, and has not answered: its numbers mean nothing yet */
    bool pushed_back : 1; /* the other side has no room but for deaths of nodes */
};

struct mu_links {
    struct mu_link *at;
    mu_body *rings;      /* 'window' entries a link */
    uint64_t ack_due_ns; /* MU_NEVER: nothing is owed */
    uint64_t ack_delay_ns;
    uint64_t repeats; /* frames dropped because they were there already */
    uint16_t count;   /* entries that have ever been in use */
    uint16_t unused;  /* of these, given back */
    uint16_t capacity;
    uint16_t window;
};

void mu_links_init(struct mu_links *links, struct mu_arena *arena, uint16_t capacity,
                   uint16_t window, uint64_t ack_delay_ns);

/* The link to a peer, or NULL. */
struct mu_link *mu_links_find(struct mu_links *links, mu_slot peer);

/* A link to a peer that has none yet; NULL when all entries are in use. */
struct mu_link *mu_links_add(struct mu_links *links, mu_slot peer);

/* The one that is there, or a new one. */
struct mu_link *mu_links_get(struct mu_links *links, mu_slot peer);

/* Gives the entry back, with all that is pending on it. */
void mu_links_remove(struct mu_links *links, struct mu_link *link);

/* Does any link still keep a frame with this body? */
bool mu_links_carry(const struct mu_links *links, mu_body body);

bool mu_link_has_room(const struct mu_links *links, const struct mu_link *link);

/* Numbers one more frame and keeps its body in the ring.  Returns true when the link is up: the
 * caller sends it now, else mu_link_up() will be the time.  The ring must have room. */
bool mu_link_push(struct mu_links *links, struct mu_link *link, mu_body body);

/* The i-th pending frame, oldest first. */
mu_body mu_link_pending_at(const struct mu_links *links, const struct mu_link *link, uint16_t i);

/* Keeps the first 'count' pending frames, each with the body that was put in its place: their
 * numbers follow what is acknowledged.  The rest is taken back as if it had never been sent. */
void mu_link_put_at(struct mu_links *links, const struct mu_link *link, uint16_t i, mu_body body);
void mu_link_shorten(struct mu_link *link, uint16_t count);

/* Emits a frame without a number: it carries the acknowledgement, and what its type says. */
void mu_link_say(struct mu_link *link, enum mu_frame_type type, struct mu_update *update);

/* Fills sequence and ack of the i-th pending frame, which is about to be sent. */
void mu_link_stamp(struct mu_link *link, uint16_t i, struct mu_frame *frame);

/* The peer has everything up to 'ack': takes that off the ring.  Returns how many frames that were;
 * none for an old acknowledgement, and none with *fault set for one of what was never sent. */
uint16_t mu_link_trim(struct mu_links *links, struct mu_link *link, uint64_t ack,
                      enum mu_fault *fault);

/* A numbered frame came in: is it the next one?  False for a repeat; *fault is set for a gap. */
bool mu_link_accept(struct mu_links *links, struct mu_link *link, uint64_t sequence,
                    uint64_t now_ns, enum mu_fault *fault);

void mu_link_up(struct mu_link *link, uint32_t incarnation);
void mu_link_down(struct mu_link *link);

/* Emits an ACK on every link that still owes one. */
void mu_links_send_acks(struct mu_links *links, struct mu_update *update);

#endif
