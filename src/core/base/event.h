/* What enters the core and what leaves it, as data. */
#ifndef MU_CORE_BASE_EVENT_H
#define MU_CORE_BASE_EVENT_H

#include "core/base/notice.h"
#include "core/base/roster.h"
#include "core/base/types.h"

/* ---- frames: what one link carries ---- */

/* 3 to 6 are taken by what drivers say to each other (wire/peer). */
enum mu_frame_type {
    MU_FRAME_NOTICE = 1, /* numbered, resent until acknowledged */
    MU_FRAME_ACK = 2,    /* nothing but the acknowledgement that every frame carries */
    MU_FRAME_FULL = 7,   /* no room here: what follows 'ack' was not taken, but deaths of nodes */
    MU_FRAME_ROOM = 8,   /* there is room again */
    MU_FRAME_AGAIN = 9,  /* the answer to FULL: from here on numbers follow what it acknowledged */
};

struct mu_frame {
    uint8_t type;
    uint64_t sequence; /* of this frame on its link, from 1; 0 in all but a NOTICE */
    uint64_t ack;      /* the last sequence received without a gap from the other side */
    struct mu_notice notice;
};

/* ---- events ---- */

enum mu_event_type {
    MU_EVENT_START = 1, /* once, before everything else */
    MU_EVENT_TIMEOUT,   /* one of the deadlines of the last update has passed */
    MU_EVENT_RECV,
    MU_EVENT_LINK_UP,
    MU_EVENT_LINK_DOWN,
    MU_EVENT_VERDICT, /* a death seen here: by the detector, the watcher of processes, an operator
                       */
    MU_EVENT_POST,    /* somebody here has a payload for everybody */
    MU_EVENT_FORGET,  /* a stream of notices is over: no more news of it will come */
    MU_EVENT_MEMBER,  /* a view has admitted a member; before START: what the first view says */
};

/* The deadlines of a node.  The driver fires each by its own; a firing handles one item. */
enum mu_timer {
    MU_TIMER_ACK = 0, /* acknowledgements that found no frame to ride on */
    MU_TIMER_ONWARD,  /* redundant edges onward of a notice */
    MU_TIMER_BACK,    /* redundant edges back */
    MU_TIMER_RETAIN,  /* a notice that everybody has may be dropped */
    MU_TIMERS,
};

struct mu_event {
    enum mu_event_type type;
    uint64_t now_ns; /* monotonic, of this host, never less than in the event before */
    union {
        struct {
            /* The driver has connected every edge of the graph already; large simulations. */
            bool links_up;
        } start;
        struct {
            enum mu_timer timer;
        } timeout;
        struct {
            mu_slot from;
            uint32_t incarnation; /* of who sent it: that of the connection it came over */
            uint64_t transit_ns;  /* the driver's estimate of the time on the wire; 0: unknown */
            const struct mu_frame *frame;
        } recv;
        /* A fresh connection, authenticated.  Frames of the one before are lost: whoever composes
         * a handshake has reported LINK_DOWN first, asks mu_node_link_has(), and tells the peer. */
        struct {
            mu_slot peer;
            uint32_t incarnation;
            uint64_t peer_has; /* the last sequence that the peer has received from here */
        } link_up;
        struct {
            mu_slot peer;
        } link_down;
        struct {
            const struct mu_notice *notice; /* hops and age zero; payload: the evidence */
        } verdict;
        struct {
            const uint8_t *payload;
            uint16_t length;
        } post;
        /* What is known of it takes no more memory.  To be said longer than retain_ns after the
         * last notice of the stream: a copy that comes later still would count as news.
         *
         * Of a node's death: everybody who is in, and everybody who will come, knows it without
         * this notice, which is dropped.  To be said when the view after the one that holds the
         * death is installed.  The roster keeps the death. */
        struct {
            uint8_t kind;    /* enum mu_notice_kind */
            uint64_t stream; /* of NODE_DEAD: the incarnation */
            mu_slot slot;    /* of NODE_DEAD */
        } forget;
        /* Once started: somebody is in.  That proves the death of whoever was there before.
         *
         * Before START, for one that comes to nodes that run: what its first view says of each slot
         * that is not as at the founders' start, whether in or out.  Nothing is sent or delivered.
         */
        struct {
            struct mu_roster_entry entry;
        } member;
    };
};

/* ---- updates ---- */

enum mu_effect_type {
    MU_DO_SEND = 1, /* this frame, on the link to 'peer', in this order */
    MU_DO_DELIVER,  /* tell the local clients; order against sends matters */
    MU_DO_OPEN,     /* a link to 'peer' is wanted: connect, and go on trying while both live */
    MU_DO_CLOSE,    /* drop the connection to 'peer': it is fenced, or broke a rule of the link.
                       LINK_DOWN follows, as after any other end of a connection */
    MU_DO_FENCED,   /* this node itself was declared dead: stop its processes; it sends no more */
    MU_DO_FAULT,
};

/* Why a connection is dropped: what the driver tells the other side. */
enum mu_close_reason {
    MU_CLOSE_DEAD = 1, /* that incarnation was declared dead: should it live, it must know */
    MU_CLOSE_RULE,     /* it broke a rule of the link; the fault before says which */
    MU_CLOSE_FULL,     /* no room here, neither for the link nor for what it carries */
    MU_CLOSE_RETURNED, /* an incarnation that no view has admitted, as far as is known here */
};

/* Pointers inside an effect are valid until the next step of the same node. */
struct mu_effect {
    enum mu_effect_type type;
    mu_slot peer;
    enum mu_fault fault;         /* FAULT */
    enum mu_close_reason reason; /* CLOSE */
    union {
        struct mu_frame frame;   /* SEND */
        struct mu_notice notice; /* DELIVER, FENCED */
    };
};

struct mu_update {
    struct mu_effect *effects; /* of the caller, with room for mu_node_effects_max() */
    uint32_t count;
    uint32_t capacity;
    uint64_t deadline_ns[MU_TIMERS]; /* MU_NEVER: not armed */
};

/* One more effect, zeroed but for its type. */
struct mu_effect *mu_update_add(struct mu_update *update, enum mu_effect_type type);

void mu_update_fault(struct mu_update *update, enum mu_fault fault, mu_slot peer);
void mu_update_close(struct mu_update *update, enum mu_close_reason reason, mu_slot peer);

#endif
