/* What a daemon and the programs on its own host say to each other, over a Unix socket of packets
 * (SOCK_SEQPACKET): one message, one packet.  docs/local.md has every byte.
 *
 * Both ends are of the same user on the same host, which the kernel says (SO_PEERCRED); still,
 * every length and number is checked before it is used. */
#ifndef MU_WIRE_LOCAL_LOCAL_H
#define MU_WIRE_LOCAL_LOCAL_H

#include "wire/local/chaos.h"
#include "wire/base/evidence.h"

enum { MU_LOCAL_VERSION = 5 };

/* The daemon's socket lives in the abstract namespace, so that nothing is left in a file system
 * whatever dies: "@muster/UID/MACHINE/SLOT", MACHINE as 16 hexadecimal digits.  Without the '@'. */
enum { MU_LOCAL_NAME_MAX = 64 };

enum {
    MU_LOCAL_PACKET_MAX = 512,
    MU_LOCAL_TEXT_MAX = 200, /* of a refusal or a counter's name; printable ASCII */
    MU_LOCAL_EVENT_MAX = 37 + MU_EVIDENCE_BYTES_MAX,
    MU_LOCAL_STATE_AT = 1, /* byte of an EVENT that has is_state: encoded once, told both ways */
};

enum mu_local_type {
    /* to the daemon */
    MU_LOCAL_HELLO = 1, /* first, and once */
    MU_LOCAL_STATUS,    /* an operator: NODE, JOBs each with PROCESSes, COUNTERs, DONE come back */
    MU_LOCAL_KILL,      /* an operator: end a job on every node; DONE or REFUSED comes back */
    MU_LOCAL_WATCH,     /* an operator: EVENTs from the first that is still kept on */
    MU_LOCAL_AGAIN,     /* a member whose event is gone from the board: LOST and the state follow */
    MU_LOCAL_SET,       /* an operator: new period and timeout for the ring of every node */
    MU_LOCAL_CHAOS,     /* an operator: a fault of this node's network, or the end of one */
    MU_LOCAL_LEAVE, /* a member closes on purpose.  Who closes without it has failed, even with exit
                       code 0 */
    /* from the daemon */
    MU_LOCAL_WELCOME = 32, /* the answer to HELLO; a member's brings the board and the bell */
    MU_LOCAL_REFUSED,      /* the same, or to a request: why not.  Only after KILL is there more */
    MU_LOCAL_EVENT,
    MU_LOCAL_CAUGHT_UP, /* the state is told; what comes from here on is news, 'serial' + 1 first */
    MU_LOCAL_LOST, /* 'count' events were not read in time; the state follows, then CAUGHT_UP */
    MU_LOCAL_NODE,
    MU_LOCAL_JOB,
    MU_LOCAL_COUNTER,
    MU_LOCAL_DONE,
    MU_LOCAL_PROCESS, /* one of the job before it, that runs on this node */
    MU_LOCAL_GONE,    /* a dead node: its witness says that no process of it is left */
};

enum mu_local_role {
    MU_LOCAL_MEMBER = 1, /* a process of a job: after WELCOME it hears of its job and of nodes */
    MU_LOCAL_OPERATOR,   /* asks, and hears only what it asks for */
    MU_LOCAL_VOTER,      /* a process of a job, for agreements of one group: wire/local/ballot.h */
};

/* Why not.  The text says it to people; this is for programs, which may meet others, too. */
enum mu_local_refusal {
    MU_LOCAL_OTHER_VERSION = 1, /* HELLO is of a version that is not spoken here */
    MU_LOCAL_OTHER_USER,        /* the socket is of another user */
    MU_LOCAL_NOT_KNOWN,         /* not a process of that job and rank */
    MU_LOCAL_NO_PLACE,          /* too many clients at once */
    MU_LOCAL_BAD_PACKET,        /* it breaks a rule, or is not what can come now */
    MU_LOCAL_CANNOT,            /* what KILL, SET or CHAOS asks for cannot be; it may go on */
    MU_LOCAL_ENDING,            /* the daemon ends, or forgets the job of this client */
    MU_LOCAL_REFUSAL_LAST = MU_LOCAL_ENDING,
};

enum mu_subject { MU_SUBJECT_PROCESS = 1, MU_SUBJECT_NODE, MU_SUBJECT_VIEW };

/* A view, or a part of one that has more spans: then the parts follow each other. */
enum { MU_LOCAL_SPANS_MAX = 16 };

struct mu_local_span {
    uint32_t first, count;
};

struct mu_local_view {
    uint64_t number, hash;
    uint32_t total; /* members, of all parts */
    bool is_first, is_last;
    uint8_t span_count; /* at least 1 */
    struct mu_local_span spans[MU_LOCAL_SPANS_MAX];
};

struct mu_local_hello {
    uint8_t version;
    uint8_t role; /* enum mu_local_role */
    uint32_t job; /* MEMBER: as its environment says; what the kernel says decides */
    uint32_t rank;
};

struct mu_local_welcome {
    uint64_t machine;
    uint32_t nodes; /* of the machine */
    mu_slot slot;   /* of the daemon */
    uint32_t job;   /* MEMBER */
    uint32_t rank;
    uint32_t size; /* processes of the job */
};

struct mu_local_event {
    uint64_t serial;     /* counts at this daemon, from 1 */
    uint8_t subject;     /* enum mu_subject */
    bool is_state;       /* part of the state: told before CAUGHT_UP, after HELLO, WATCH or LOST */
    uint16_t hops;       /* the news came over so many daemons */
    uint32_t job;        /* PROCESS */
    uint32_t rank;       /* PROCESS */
    uint32_t node;       /* NODE: it; PROCESS: where it ran */
    uint64_t learned_ns; /* CLOCK_MONOTONIC of this host, when the daemon learned it */
    uint64_t age_ns;     /* at learned_ns: since it was first seen, wherever that was */
    union {
        struct mu_evidence evidence; /* PROCESS, NODE */
        struct mu_local_view view;   /* VIEW */
    };
};

struct mu_local_node {
    mu_slot slot;
    uint32_t size, incarnation;
    uint32_t pid;
    uint32_t links_up, links_wanted;
    uint32_t dead;            /* nodes known to be dead */
    uint32_t jobs, processes; /* that run here */
    uint64_t up_ns;           /* since it started */
    char host[65];
    char address[65]; /* where it listens */
};

struct mu_local_job {
    uint32_t job, size;
    uint32_t here;         /* its processes on this node that run */
    uint32_t failed, left; /* of all its processes, as far as is known here */
};

struct mu_local_gone {
    mu_slot node;
    uint64_t gone_ns; /* CLOCK_MONOTONIC of this host, when the witness said so */
};

struct mu_local_message {
    uint8_t type; /* enum mu_local_type */
    union {
        struct mu_local_hello hello;
        struct {
            uint32_t job;
            uint8_t signal; /* 1 .. 64 */
        } kill;
        struct {
            uint64_t period_ns, timeout_ns;
        } set;
        struct mu_chaos chaos;
        struct mu_local_welcome welcome;
        struct mu_local_event event;
        struct {
            uint64_t serial; /* of the event that it wants next */
        } again;
        struct {
            uint64_t serial; /* of the last event that is told */
        } caught_up;
        struct {
            uint64_t count;
        } lost;
        struct mu_local_node node;
        struct mu_local_job job;
        struct mu_local_gone gone;
        struct {
            uint32_t rank, pid;
        } process;
        struct {
            char name[MU_LOCAL_TEXT_MAX + 1];
            uint64_t value;
        } counter;
        struct {
            uint8_t code; /* enum mu_local_refusal */
            char text[MU_LOCAL_TEXT_MAX + 1];
        } refused;
    };
};

/* Returns how many bytes, at most MU_LOCAL_PACKET_MAX; asserts what breaks a rule. */
size_t mu_local_encode(const struct mu_local_message *message, uint8_t bytes[MU_LOCAL_PACKET_MAX]);

/* NULL, or the rule that the packet breaks; then *message is worth nothing.  Of a HELLO of another
 * version only that version is looked at; the rest is zeroed. */
const char *mu_local_decode(const uint8_t *bytes, size_t count, struct mu_local_message *message);

/* The same of an EVENT alone, without a copy: it is told while everybody waits for it. */
size_t mu_local_encode_event(const struct mu_local_event *event, uint8_t bytes[MU_LOCAL_EVENT_MAX]);

/* NULL, or the rule that a packet breaks that should be an EVENT. */
const char *mu_local_decode_event(const uint8_t *bytes, size_t count, struct mu_local_event *event);

/* "muster/1000/0123456789abcdef/3", into 'name'. */
void mu_local_name(char name[MU_LOCAL_NAME_MAX], uint32_t uid, uint64_t machine, mu_slot slot);

/* The parts of such a name; false when it is none. */
bool mu_local_name_parse(const char *name, uint32_t *uid, uint64_t *machine, mu_slot *slot);

#endif
