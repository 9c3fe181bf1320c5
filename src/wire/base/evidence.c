#include "wire/base/evidence.h"

#include "wire/base/words.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CODE_MAX = 255, SIGNAL_MAX = 64, ERRNO_MAX = 4095 }; /* of Linux */

/* ---- rules: the same for what comes in and what goes out ---- */

static const char *code_error(const struct mu_exit_kind *how)
{
    bool has_code = how->type == MU_EXIT_CODE, owes = how->type == MU_EXIT_NO_GOODBYE;
    int high = has_code ? CODE_MAX : owes ? MU_GOODBYE_LAST : 0;
    if (how->code >= (has_code || owes) && how->code <= high)
        return NULL;
    return owes ? "what a process did not call is 1 (PMIx) to 3 (muster_close)"
                : "an exit code is 1 to 255, and 0 when the process did not exit with one";
}

static const char *signal_error(const struct mu_exit_kind *how)
{
    int low = how->type == MU_EXIT_SIGNAL;
    int high = how->type == MU_EXIT_SIGNAL ? SIGNAL_MAX : 0;
    if (how->signal < low || how->signal > high)
        return "a signal that ended a process is 1 to 64, and 0 when none did";
    if (how->core_dumped && how->type != MU_EXIT_SIGNAL)
        return "only a signal dumps core";
    return NULL;
}

static const char *start_error(const struct mu_exit_kind *how)
{
    bool not_started = how->type == MU_EXIT_NOT_STARTED;
    if ((unsigned)how->step > (not_started ? MU_START_INTERPRETER : 0))
        return "the step that failed is 0 to 8, and 0 when the process was started";
    bool has_error = not_started || how->type == MU_EXIT_UNKNOWN;
    if (how->error < 0 || how->error > (has_error ? ERRNO_MAX : 0))
        return "an errno is 0 to 4095, and 0 when nothing went wrong with starting or waiting";
    return NULL;
}

static const char *how_error(const struct mu_exit_kind *how)
{
    if ((unsigned)how->type > MU_EXIT_LAST)
        return "how a process ended is 0 (left) to 5 (no goodbye)";
    const char *error = code_error(how);
    if (error == NULL)
        error = signal_error(how);
    return error != NULL ? error : start_error(how);
}

static const char *verdict_error(const struct mu_evidence *evidence)
{
    const struct mu_exit_kind *how = &evidence->how;
    if (evidence->verdict < MU_VERDICT_DEAD || evidence->verdict > MU_VERDICT_LAST)
        return "a verdict is 1 (dead) to 7 (left)";
    if (evidence->cause < MU_CAUSE_EXIT || evidence->cause > MU_CAUSE_LAST)
        return "a cause is 1 (exit) to 6 (witness)";
    if (evidence->cause == MU_CAUSE_EXIT) {
        int expected = how->type == MU_EXIT_LEFT ? MU_VERDICT_LEFT : MU_VERDICT_DEAD;
        return evidence->verdict == expected ? NULL : "who ended has left or is dead, as it ended";
    }
    if (evidence->verdict == MU_VERDICT_LEFT)
        return "only a process that ended has left";
    if (evidence->cause == MU_CAUSE_WITNESS) {
        if (evidence->verdict != MU_VERDICT_DEAD)
            return "a node whose daemon has ended is dead";
        return how->type != MU_EXIT_NOT_STARTED ? NULL : "a daemon that ended was started";
    }
    if (evidence->cause == MU_CAUSE_SILENCE && evidence->verdict != MU_VERDICT_SILENT)
        return "whom nobody hears is silent";
    if (evidence->cause == MU_CAUSE_UNREACHABLE && evidence->verdict != MU_VERDICT_UNREACHABLE)
        return "whom others hear is unreachable";
    if (evidence->cause == MU_CAUSE_TOLD && evidence->verdict != MU_VERDICT_DEAD &&
        evidence->verdict != MU_VERDICT_SILENT)
        return "of whom others tell is dead, with proof, or silent";
    return how->type == MU_EXIT_LEFT ? NULL : "only a process that ended has a way in which it did";
}

static const char *path_error(const struct mu_evidence *evidence)
{
    size_t length = strnlen(evidence->path, sizeof evidence->path);
    if (length > MU_EVIDENCE_PATH_MAX)
        return "a path has at most 120 bytes";
    if (length > 0 && evidence->how.type != MU_EXIT_NOT_STARTED)
        return "only what could not be started has a path";
    for (size_t i = 0; i < length; i++)
        if (evidence->path[i] < 0x20 || evidence->path[i] > 0x7e)
            return "a path is printable ASCII";
    return NULL;
}

static bool has_ring(const struct mu_evidence *evidence)
{
    return evidence->cause == MU_CAUSE_SILENCE || evidence->cause == MU_CAUSE_UNREACHABLE;
}

static const char *ring_error(const struct mu_evidence *evidence)
{
    if (has_ring(evidence))
        return mu_ring_proof_error(&evidence->ring);
    return evidence->ring.timeout_ns == 0 ? NULL : "only the ring finds silence";
}

const char *mu_evidence_error(const struct mu_evidence *evidence)
{
    const char *error = how_error(&evidence->how);
    if (error == NULL)
        error = verdict_error(evidence);
    if (error == NULL)
        error = path_error(evidence);
    if (error == NULL)
        error = ring_error(evidence);
    if (error != NULL)
        return error;
    if (evidence->seen_by >= MU_SIZE_MAX || evidence->node >= MU_SIZE_MAX)
        return "a slot is below 2^24";
    return evidence->pid <= INT32_MAX ? NULL : "a process id is below 2^31";
}

bool mu_evidence_is_proof(const struct mu_evidence *evidence)
{
    return evidence->verdict == MU_VERDICT_DEAD;
}

/* ---- bytes ---- */

void mu_write_evidence(struct mu_writer *writer, const struct mu_evidence *evidence)
{
    assert(mu_evidence_error(evidence) == NULL);
    const struct mu_exit_kind *how = &evidence->how;
    size_t length = strlen(evidence->path);
    mu_write_u8(writer, evidence->verdict);
    mu_write_u8(writer, evidence->cause);
    mu_write_u32(writer, evidence->seen_by);
    mu_write_u32(writer, evidence->node);
    mu_write_u32(writer, evidence->pid);
    mu_write_u8(writer, (uint8_t)how->type);
    mu_write_u8(writer, (uint8_t)how->code);
    mu_write_u8(writer, (uint8_t)how->signal);
    mu_write_u8(writer, how->core_dumped);
    mu_write_u8(writer, (uint8_t)how->step);
    mu_write_u32(writer, (uint32_t)how->error);
    mu_write_u64(writer, evidence->seen_ns);
    mu_write_u64(writer, evidence->clock);
    mu_write_u8(writer, (uint8_t)length);
    mu_write_bytes(writer, evidence->path, length);
    if (has_ring(evidence))
        mu_write_ring_proof(writer, &evidence->ring);
}

static void read_how(struct mu_reader *reader, struct mu_exit_kind *how)
{
    how->type = (enum mu_exit_type)mu_read_u8(reader);
    how->code = mu_read_u8(reader);
    how->signal = mu_read_u8(reader);
    uint8_t core_dumped = mu_read_u8(reader);
    how->core_dumped = core_dumped == 1;
    how->step = (enum mu_start_step)mu_read_u8(reader);
    uint32_t error = mu_read_u32(reader);
    how->error = error <= ERRNO_MAX ? (int)error : -1;
    if (core_dumped > 1)
        reader->bad = true;
}

static void read_path(struct mu_reader *reader, char path[MU_EVIDENCE_PATH_MAX + 1])
{
    uint8_t length = mu_read_u8(reader);
    if (length > MU_EVIDENCE_PATH_MAX) {
        reader->bad = true;
        return;
    }
    const uint8_t *bytes = mu_read_bytes(reader, length);
    if (bytes == NULL)
        return;
    memcpy(path, bytes, length);
    if (strlen(path) != length) /* a NUL would end it early, and it would encode differently */
        reader->bad = true;
}

void mu_read_evidence(struct mu_reader *reader, struct mu_evidence *evidence)
{
    memset(evidence, 0, sizeof *evidence);
    evidence->verdict = mu_read_u8(reader);
    evidence->cause = mu_read_u8(reader);
    evidence->seen_by = mu_read_u32(reader);
    evidence->node = mu_read_u32(reader);
    evidence->pid = mu_read_u32(reader);
    read_how(reader, &evidence->how);
    evidence->seen_ns = mu_read_u64(reader);
    evidence->clock = mu_read_u64(reader);
    read_path(reader, evidence->path);
    if (has_ring(evidence))
        mu_read_ring_proof(reader, &evidence->ring);
    if (!reader->bad && mu_evidence_error(evidence) != NULL)
        reader->bad = true;
}

/* ---- words ---- */

void mu_evidence_path(struct mu_evidence *evidence, const char *path)
{
    memset(evidence->path, 0, sizeof evidence->path);
    if (path == NULL)
        return;
    static const char dots[] = "...";
    size_t length = strlen(path);
    size_t kept = MU_EVIDENCE_PATH_MAX - (sizeof dots - 1);
    bool cut = length > MU_EVIDENCE_PATH_MAX;
    snprintf(evidence->path, sizeof evidence->path, "%s%s", cut ? dots : "",
             cut ? path + (length - kept) : path);
    for (char *at = evidence->path; *at != '\0'; at++)
        if (*at < 0x20 || *at > 0x7e)
            *at = '?';
}

static void put_ms(struct mu_words *words, uint64_t ns)
{
    mu_words_number(words, (int64_t)(ns / 1000000));
    mu_words_put(words, " ms");
}

/* "daemon killed by SIGKILL", "daemon exited with code 3" */
static void put_daemon_end(struct mu_words *words, const struct mu_exit_kind *how)
{
    char end[128];
    bool exited = how->type == MU_EXIT_LEFT || how->type == MU_EXIT_CODE;
    mu_words_put(words, exited ? "daemon ended with " : "daemon ");
    mu_words_put(words, mu_exit_kind_text(how, NULL, end, sizeof end));
}

const char *mu_evidence_text(const struct mu_evidence *evidence, char *text, size_t room)
{
    struct mu_words words = mu_words_in(text, room);
    switch ((enum mu_cause)evidence->cause) {
    case MU_CAUSE_EXIT:
        return mu_exit_kind_text(&evidence->how, evidence->path[0] != '\0' ? evidence->path : NULL,
                                 text, room);
    case MU_CAUSE_NODE_LOST:
        mu_words_put(&words, "its node failed");
        return text;
    case MU_CAUSE_TOLD:
        mu_words_put(&words, "reported by node ");
        mu_words_number(&words, evidence->seen_by);
        return text;
    case MU_CAUSE_WITNESS:
        put_daemon_end(&words, &evidence->how);
        return text;
    case MU_CAUSE_SILENCE:
        mu_words_put(&words, "no heartbeat for ");
        put_ms(&words, evidence->ring.silent_ns);
        return text;
    case MU_CAUSE_UNREACHABLE:
        mu_words_put(&words, "no heartbeat at node ");
        mu_words_number(&words, evidence->seen_by);
        mu_words_put(&words, " for ");
        put_ms(&words, evidence->ring.silent_ns);
        mu_words_put(&words, ", though other nodes receive them");
        return text;
    }
    abort();
}

const char *mu_verdict_word(enum mu_verdict verdict)
{
    switch (verdict) {
    case MU_VERDICT_DEAD:
        return "dead";
    case MU_VERDICT_SILENT:
        return "silent";
    case MU_VERDICT_UNREACHABLE:
        return "unreachable";
    case MU_VERDICT_HUNG:
        return "hung";
    case MU_VERDICT_SLOW:
        return "slow";
    case MU_VERDICT_FAILED_CHECK:
        return "failed-check";
    case MU_VERDICT_LEFT:
        return "left";
    }
    abort();
}
