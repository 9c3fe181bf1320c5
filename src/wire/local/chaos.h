/* A fault of the network that a daemon is to do to itself, for tests: the body of CHAOS, of which
 * docs/local.md has every byte.  docs/operate/fault-injection.md says what it is for. */
#ifndef MU_WIRE_LOCAL_CHAOS_H
#define MU_WIRE_LOCAL_CHAOS_H

#include "core/base/types.h"
#include "wire/base/bytes.h"

enum mu_chaos_kind {
    MU_CHAOS_NONE = 0, /* whatever there was is over */
    MU_CHAOS_CUT,      /* nothing comes through */
    MU_CHAOS_FLAP,     /* a cut that comes and goes */
    MU_CHAOS_SLOW,     /* everything is late */
};

enum { MU_CHAOS_RANGES_MAX = 48 };

#define MU_CHAOS_SPAN_MIN_NS  UINT64_C(1000000)                   /* of a flap: 1 ms */
#define MU_CHAOS_SPAN_MAX_NS  (UINT64_C(24) * 3600 * 1000000000u) /* of anything but */
#define MU_CHAOS_DELAY_MAX_NS (UINT64_C(10) * 1000000000u)        /* a delay and its jitter */

struct mu_chaos_range {
    mu_slot first, last;
};

/* What is not of its kind is 0. */
struct mu_chaos {
    uint8_t kind;                 /* enum mu_chaos_kind */
    bool in, out;                 /* what this node hears, what it says: at least one */
    bool held;                    /* over when the connection is that brought it */
    uint64_t for_ns;              /* over after that; 0: not by itself */
    uint64_t down_ns, up_ns;      /* FLAP: first down, then up, and so on */
    uint64_t delay_ns, jitter_ns; /* SLOW: by the first, and up to the second more */
    uint64_t seed;                /* SLOW: of the jitter */
    uint8_t range_count;          /* peers that it is about; 0: everybody, launchers as well */
    struct mu_chaos_range ranges[MU_CHAOS_RANGES_MAX]; /* in order, apart from each other */
};

/* NULL, or the rule that it breaks. */
const char *mu_chaos_error(const struct mu_chaos *chaos);

/* Is it about this peer?  MU_SLOT_NONE: somebody without a slot, or nobody knows yet who. */
bool mu_chaos_concerns(const struct mu_chaos *chaos, mu_slot peer);

void mu_write_chaos(struct mu_writer *writer, const struct mu_chaos *chaos);
void mu_read_chaos(struct mu_reader *reader, struct mu_chaos *chaos);

#endif
