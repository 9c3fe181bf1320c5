/* Datagrams between detectors: late, lost, repeated, recorded and sent again, or cut off. */
#ifndef MU_SIM_RING_NET_H
#define MU_SIM_RING_NET_H

#include "core/ring/beat.h"
#include "sim/base/random.h"

struct ring_world;
struct ring_fault;

/* Which datagrams of a node a cut takes. */
enum ring_ways {
    RING_OUTWARD = 1, /* those that it sends */
    RING_INWARD = 2,  /* those that are sent to it */
    RING_BOTH_WAYS = RING_OUTWARD | RING_INWARD,
};

struct ring_net_plan {
    uint64_t delay_ns_min, delay_ns_max; /* of a datagram, drawn each time */
    uint32_t loss_ppm;
    /* Not 0: between losses that touch one node there is this much time at least.  Few enough to
     * excuse nothing. */
    uint64_t loss_apart_ns;
    uint32_t late_ppm;          /* comes later than delay_ns_max ... */
    uint64_t late_ns_max;       /* ... by up to this: to the laws it is lost */
    uint32_t repeat_ppm;        /* arrives twice */
    uint32_t replay_ppm;        /* after a datagram, some recorded one is sent again ... */
    uint64_t replay_ns_max;     /* ... after so long at most */
    uint32_t haunt_percent;     /* last beats of so many of the crashed are sent again and again */
    uint32_t echo_percent;      /* so many watches are answered at once with a beat that was
                                   recorded under another one */
    uint64_t from_ns, until_ns; /* all of this happens between the two */
};

enum ring_copy { RING_GENUINE, RING_REPEATED, RING_REPLAYED };

struct ring_datagram {
    struct mu_beat beat;
    uint32_t next; /* in a socket that waits */
    uint8_t copy;  /* enum ring_copy */
};

enum { RING_CUTS_MAX = 64, RING_RECORD = 2048, RING_NO_DATAGRAM = UINT32_MAX };

struct ring_cut {
    uint64_t until_ns;
    mu_slot node, peer;
    uint32_t ways;
    uint64_t side; /* not 0: between those that it draws and the others */
};

/* Does this slot belong to the side? */
bool ring_net_is_inside(uint64_t side, mu_slot slot);

struct ring_net {
    struct ring_net_plan plan;
    struct ring_datagram *datagrams; /* on their way */
    uint32_t *unused;
    uint32_t count, capacity, unused_count;
    struct ring_cut cuts[RING_CUTS_MAX];
    uint32_t cut_count;
    uint64_t *lost_ns;      /* by node: the last loss that touched it; NULL: not needed */
    struct mu_beat *record; /* the last RING_RECORD that were sent; NULL: no replays */
    uint64_t recorded;
};

void ring_net_init(struct ring_net *net, const struct ring_net_plan *plan, uint32_t size);
void ring_net_free(struct ring_net *net);

/* A detector sends: draws what becomes of it, and puts its arrivals into the queue. */
void ring_net_send(struct ring_world *world, const struct mu_beat *beat);

/* Puts a datagram on its way that was recorded long ago. */
void ring_net_replay(struct ring_world *world, const struct mu_beat *beat, uint64_t after_ns);

/* The node has crashed: somebody may go on sending its last beats. */
void ring_net_haunt(struct ring_world *world, mu_slot node);

/* Keeps a datagram that nobody sends; ring_net_release() ends it. */
uint32_t ring_net_keep(struct ring_net *net, const struct ring_datagram *datagram);
void ring_net_release(struct ring_net *net, uint32_t ref);

/* A cut begins now. */
void ring_net_cut(struct ring_world *world, const struct ring_fault *fault);

/* Is everything between them cut, from 'from' to 'to'? */
bool ring_net_is_cut(const struct ring_net *net, mu_slot from, mu_slot to, uint64_t now_ns);

/* When a node that is cut off from everybody in one of these ways can be reached again; 0: it is
 * not cut off. */
uint64_t ring_net_cut_off_until_ns(const struct ring_net *net, mu_slot node, uint32_t ways,
                                   uint64_t now_ns);

/* Until when two nodes are on different sides of a cut; 0: they are not. */
uint64_t ring_net_apart_until_ns(const struct ring_net *net, mu_slot a, mu_slot b, uint64_t now_ns);

#endif
