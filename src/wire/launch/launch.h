/* What a launcher and the daemons say to each other about a job: each message is one frame of a
 * sealed connection of kind MU_SEAL_LAUNCHER.  docs/launch.md has every byte, and their order.
 *
 * One connection from the launcher to each daemon that hosts processes of the job.  A connection
 * that ends without BYE ends the job at that daemon. */
#ifndef MU_WIRE_LAUNCH_LAUNCH_H
#define MU_WIRE_LAUNCH_LAUNCH_H

#include "wire/base/evidence.h"
#include "wire/peer/frame.h"

enum { MU_LAUNCH_VERSION = 5 };

enum {
    MU_LAUNCH_MESSAGE_MAX = 256 * 1024, /* a sealed frame of bulk holds as much */
    MU_LAUNCH_CHUNK_MAX = 64 * 1024,    /* bytes of output or input in one message */
    MU_LAUNCH_RANKS_MAX = 1 << 20,
    MU_LAUNCH_PROGRAMS_MAX = 256,
    MU_LAUNCH_TEXT_MAX = 200,   /* characters of a refusal */
    MU_LAUNCH_BOUND_MAX = 2000, /* of where a process is bound */
    MU_LAUNCH_DATA_FIXED = 11,  /* bytes of INPUT and OUTPUT before what they carry */
};

enum mu_launch_type {
    /* to the daemon */
    MU_LAUNCH_JOB = 1, /* start these processes */
    MU_LAUNCH_SIGNAL,  /* to all processes of the job here */
    MU_LAUNCH_STOP,    /* end it: SIGTERM, and SIGKILL after 'grace_ms' (0: at once).  From now on
                          ends are told to the launcher only: they are no failures */
    MU_LAUNCH_OVER,    /* everything has ended everywhere: forget it */
    MU_LAUNCH_INPUT,   /* bytes for standard input of the input rank, within the credit; none: it
                          ends */
    MU_LAUNCH_CREDIT,  /* so many more bytes of output may come */
    MU_LAUNCH_SPAWNED, /* to a SPAWN: the job that it became, or why not */
    MU_LAUNCH_PING,    /* answer with PONG: another node does not hear this one */
    MU_LAUNCH_REACH,   /* to an ASK: how far the launcher came; twice, when the other one answers */
    /* from the daemon */
    MU_LAUNCH_STARTED = 32,
    MU_LAUNCH_ENDED,        /* of its processes: exactly one per rank, also when it never started */
    MU_LAUNCH_OUTPUT,       /* bytes of a stream of a rank, within the credit */
    MU_LAUNCH_OUTPUT_END,   /* nothing more of this stream: all that the process wrote has come */
    MU_LAUNCH_INPUT_CREDIT, /* so many more bytes of input may come */
    MU_LAUNCH_TOLD,         /* this daemon told its clients of a death: who, and how old it was */
    MU_LAUNCH_REFUSED,      /* the job cannot be started here at all; 'text' says why */
    MU_LAUNCH_BOUND,        /* to which core a process is bound, in words: it was asked for */
    MU_LAUNCH_SPAWN = 40,   /* a process wants a further job; SPAWNED answers */
    MU_LAUNCH_READY,        /* the job has begun here, where no process of it is */
    MU_LAUNCH_ASK,          /* do you reach this node?  Nobody else is left to be asked */
    MU_LAUNCH_PONG,
};

/* Each process on a core of its own, on those of its node, or wherever the kernel likes. */
enum mu_launch_binding {
    MU_LAUNCH_UNBOUND,
    MU_LAUNCH_CORES,        /* a job with more processes than cores is refused */
    MU_LAUNCH_CORES_SHARED, /* then cores are dealt out again from the first */
    MU_LAUNCH_PART,         /* the node's part of the host, as mu_launch_part() has it */
    MU_LAUNCH_BINDINGS,     /* how many there are */
};

/* Where all nodes are on one host each has a part of its processors, as if it were a host of its
 * own: a row of them, counted among those that the daemon may run on.  Where there are more nodes
 * than processors a row of nodes shares one: a heartbeat wakes its observer without an interrupt to
 * another processor, and when the host takes a processor away, observer and observed are late
 * together, so that the one gives its own lag back and does not blame the other. */
struct mu_launch_part {
    uint32_t first, count;
};
struct mu_launch_part mu_launch_part(mu_slot slot, uint32_t nodes, uint32_t processors);

/* A row of ranks on one node. */
struct mu_launch_run {
    mu_slot slot;
    uint32_t first, count;
};

struct mu_launch_program {
    uint32_t first, count; /* ranks that run it */
    const char *directory;
    const char *const *argv; /* NULL-terminated, as are all lists here */
    const char *const *envp; /* besides the job's; the same name wins over it */
};

/* Whose wish a job was. */
struct mu_launch_parent {
    uint32_t root; /* the first job of the run; 0: nobody's, and all is 0 */
    uint32_t job, rank;
};

struct mu_launch_job {
    uint32_t size; /* ranks of the whole job */
    bool ignore_sigpipe;
    uint8_t binding; /* enum mu_launch_binding */
    bool report_bindings;
    bool pmi;            /* processes are to find each other by PMI-1 */
    uint32_t input_rank; /* who gets standard input; MU_RANK_NONE: nobody */
    uint32_t run_count;
    const struct mu_launch_run *runs; /* every rank once, in the order of ranks */
    uint32_t program_count;
    const struct mu_launch_program *programs; /* every rank once, in the order of ranks */
    const char *const *envp;                  /* of every process */
    uint64_t credit;                          /* bytes of output that may come at first */
    struct mu_launch_parent parent;
};

#define MU_RANK_NONE UINT32_MAX

/* How far a launcher came: the numbers of enum mu_launcher_reach. */
enum mu_launch_how_far {
    MU_LAUNCH_TRYING = 1,
    MU_LAUNCH_UNREACHED,
    MU_LAUNCH_HEARD,
    MU_LAUNCH_CHOSE
};

/* A question of one daemon about another, on its way to there and back.  The launcher keeps nothing
 * of it. */
struct mu_launch_reach {
    mu_slot other;            /* ASK, REACH: the node in question.  PING, PONG: who wants to know */
    uint64_t nonce, stamp_ns; /* of who wants to know; they come back as they were */
    uint64_t clock_ns; /* PONG, and a REACH that comes of it: what its detector had on its clock */
    uint8_t reach;     /* REACH: enum mu_launch_how_far.  Else 0 */
};

struct mu_launch_message {
    uint8_t type; /* enum mu_launch_type */
    uint32_t job; /* number of the job: every message is about one */
    union {
        struct mu_launch_job spec; /* JOB */
        struct {
            uint8_t number;
        } signal;
        struct {
            uint32_t grace_ms;
        } stop;
        struct {
            uint64_t bytes;
        } credit; /* CREDIT, INPUT_CREDIT */
        struct {
            uint32_t rank;
            uint8_t stream; /* OUTPUT: 1 or 2.  INPUT: 0 */
            uint32_t count;
            const uint8_t *bytes;
        } data; /* INPUT, OUTPUT, OUTPUT_END (count 0) */
        struct {
            uint32_t rank;
            uint32_t pid;
        } started;
        struct {
            uint32_t rank;
            struct mu_evidence evidence; /* verdict LEFT or DEAD */
        } ended;
        struct {
            bool is_node; /* else a process of the job */
            uint32_t rank;
            mu_slot node; /* of the node, or where the process ran */
            uint16_t hops;
            uint64_t age_ns; /* when this daemon told its clients */
            struct mu_evidence evidence;
        } told;
        struct {
            const char *text; /* printable ASCII */
        } refused;
        struct {
            uint32_t rank;
            const char *text; /* printable ASCII: "core 1: [./B]" */
        } bound;
        struct {
            uint32_t number;           /* that the daemon gave it, for the answer */
            uint32_t rank;             /* who wants it */
            struct mu_launch_job spec; /* its size and programs, nothing else */
        } spawn;
        struct {
            uint32_t number;
            uint32_t job;     /* 0: it is none */
            const char *text; /* printable ASCII: why not; else empty */
        } spawned;
        struct mu_launch_reach reach; /* ASK, PING, PONG, REACH */
    };
};

/* Lists of a decoded JOB or SPAWN: at most nine times as many bytes as the message.  Zeroed at
 * first; freed by the caller after every decode, also a failed one. */
struct mu_launch_lists {
    void *memory;
};
void mu_launch_lists_free(struct mu_launch_lists *lists);

/* The rule that a message breaks, as a sentence in 'text' (MU_WIRE_TEXT_MAX of the caller's), or
 * NULL.  How long it is, is not looked at. */
const char *mu_launch_error(const struct mu_launch_message *message, char *text);

/* On failure the writer is full; a broken rule is an assert.  With a writer that only counts, says
 * how long the message is: over MU_LAUNCH_MESSAGE_MAX it cannot be sent.
 *
 * Bytes of INPUT and OUTPUT may stand already where they are to be, MU_LAUNCH_DATA_FIXED after the
 * place where the writer is: then they are not copied. */
void mu_launch_encode(struct mu_writer *writer, const struct mu_launch_message *message);

/* NULL, or the rule that the bytes break, with the value ('text', MU_WIRE_TEXT_MAX of the
 * caller's).  Bytes and strings of *message point into 'bytes' or 'lists'. */
const char *mu_launch_decode(const uint8_t *bytes, size_t count, struct mu_launch_message *message,
                             struct mu_launch_lists *lists, char *text);

/* The run that a rank is in; NULL when there is none.  The same for its program. */
const struct mu_launch_run *mu_launch_run_of(const struct mu_launch_job *spec, uint32_t rank);
const struct mu_launch_program *mu_launch_program_of(const struct mu_launch_job *spec,
                                                     uint32_t rank);

#endif
