/* What is known of a death: the payload of its notice, and part of what clients and launchers are
 * told.  docs/local.md has every byte. */
#ifndef MU_WIRE_BASE_EVIDENCE_H
#define MU_WIRE_BASE_EVIDENCE_H

#include "core/base/types.h"
#include "wire/base/bytes.h"
#include "wire/base/exit_kind.h"
#include "wire/base/ring_proof.h"

enum mu_verdict {
    MU_VERDICT_DEAD = 1,     /* gone, proven */
    MU_VERDICT_SILENT,       /* a node that nobody hears */
    MU_VERDICT_UNREACHABLE,  /* a node that others still hear */
    MU_VERDICT_HUNG,         /* a process that lives and makes no progress */
    MU_VERDICT_SLOW,         /* not recommended */
    MU_VERDICT_FAILED_CHECK, /* the program said so */
    MU_VERDICT_LEFT,         /* said goodbye: not a failure */
    MU_VERDICT_LAST = MU_VERDICT_LEFT,
};

/* How it came to light. */
enum mu_cause {
    MU_CAUSE_EXIT = 1,  /* a process: its daemon saw it end; 'how' says how */
    MU_CAUSE_NODE_LOST, /* a process: the node that it ran on is dead */
    MU_CAUSE_TOLD, /* a node: another one says so, and whether that is proven; no more is known */
    MU_CAUSE_SILENCE,     /* a node: nobody hears it any more; 'ring' says how that was found */
    MU_CAUSE_UNREACHABLE, /* a node: others hear it, its observer does not, and that did not mend */
    MU_CAUSE_WITNESS,     /* a node: the witness of its daemon saw that end; 'how' says how */
    MU_CAUSE_LAST = MU_CAUSE_WITNESS,
};

enum {
    MU_EVIDENCE_PATH_MAX = 120, /* of a program or folder; a longer one keeps its end */
    MU_EVIDENCE_BYTES_MAX = 40 + MU_EVIDENCE_PATH_MAX, /* a proof of the ring is shorter */
};

struct mu_evidence {
    uint8_t verdict;         /* enum mu_verdict */
    uint8_t cause;           /* enum mu_cause */
    mu_slot seen_by;         /* who saw it first; TOLD: who said so */
    mu_slot node;            /* where the process ran; of a node: itself */
    uint32_t pid;            /* of the process there; 0: none */
    struct mu_exit_kind how; /* EXIT; WITNESS: of its daemon; else zeroed */
    /* When it was seen, on the clock of whoever saw it.  Daemons on one host share a clock, which
     * its number says (a hash of the kernel's boot id; 0: unknown), so there ages are exact. */
    uint64_t seen_ns;
    uint64_t clock;
    char path[MU_EVIDENCE_PATH_MAX + 1]; /* what could not be started; "" otherwise */
    struct mu_ring_proof ring;           /* SILENCE, UNREACHABLE; else zeroed */
};

/* What breaks a rule of an evidence, or NULL.  Writing asserts it, reading refuses it. */
const char *mu_evidence_error(const struct mu_evidence *evidence);

/* Of a node: does it prove that the node is dead?  What is only silent may live. */
bool mu_evidence_is_proof(const struct mu_evidence *evidence);

void mu_write_evidence(struct mu_writer *writer, const struct mu_evidence *evidence);

/* On a broken rule the reader is bad. */
void mu_read_evidence(struct mu_reader *reader, struct mu_evidence *evidence);

/* Copies a path, with "..." and its end when it is too long; bytes that are not printable ASCII
 * become '?'.  NULL is none. */
void mu_evidence_path(struct mu_evidence *evidence, const char *path);

/* "killed by SIGKILL", "exit code 3", "its node failed", "daemon killed by SIGKILL": one clause
 * without a subject.  Cut off at 'room'.  Returns 'text'. */
enum { MU_EVIDENCE_TEXT_MAX = 256 };
const char *mu_evidence_text(const struct mu_evidence *evidence, char *text, size_t room);

/* "dead", "silent", ... "left". */
const char *mu_verdict_word(enum mu_verdict verdict);

#endif
