#include "wire/peer/beat.h"

#include "core/ring/ring.h"
#include "wire/base/bytes.h"

#include <assert.h>
#include <string.h>

/* ---- rules: the same for what comes in and what goes out ---- */

enum field {
    NONCE = 1 << 0,
    STAMP = 1 << 1,
    ACKED = 1 << 2,
    TIMES = 1 << 3, /* period and timeout */
    SUBJECT = 1 << 4,
    SUBJECT_INCARNATION = 1 << 5,
    REACH = 1 << 6,
    ABOUT = SUBJECT | SUBJECT_INCARNATION,
};

/* The fields of each type, besides who speaks to whom. */
static const uint8_t fields_of[MU_BEAT_LAST + 1] = {
    [MU_BEAT_WATCH] = NONCE | SUBJECT | TIMES,
    [MU_BEAT_BEAT] = NONCE | STAMP | ACKED,
    [MU_BEAT_ACK] = NONCE | STAMP,
    [MU_BEAT_RELEASE] = NONCE | SUBJECT,
    [MU_BEAT_PROBE] = NONCE | STAMP | ABOUT,
    [MU_BEAT_ANSWER] = NONCE | STAMP | ACKED | ABOUT,
    [MU_BEAT_ASK] = NONCE | STAMP | ABOUT,
    [MU_BEAT_REPLY] = NONCE | STAMP | ACKED | ABOUT | REACH,
    [MU_BEAT_TAKE] = NONCE | STAMP | ABOUT | TIMES,
    [MU_BEAT_DEAD] = ABOUT,
};

static const char *check_ends(const struct mu_beat *beat)
{
    if (beat->from >= MU_SIZE_MAX || beat->to >= MU_SIZE_MAX)
        return "a slot is below 2^24";
    if (beat->from == beat->to)
        return "nobody beats to itself";
    if (beat->from_incarnation == 0)
        return "who speaks has an incarnation, from 1";
    return NULL;
}

static const char *check_subject(const struct mu_beat *beat)
{
    if (beat->subject >= MU_SIZE_MAX)
        return "the subject's slot is below 2^24";
    if (beat->type == MU_BEAT_DEAD && (beat->subject != beat->to || beat->subject_incarnation == 0))
        return "DEAD goes to the dead, and says which incarnation";
    return NULL;
}

static const char *check_unused(const struct mu_beat *beat, unsigned fields)
{
    bool clean = (fields & NONCE || beat->nonce == 0) && (fields & STAMP || beat->stamp_ns == 0) &&
                 (fields & ACKED || beat->acked_ns == 0) &&
                 (fields & TIMES || (beat->period_ns == 0 && beat->timeout_ns == 0)) &&
                 (fields & SUBJECT || beat->subject == 0) &&
                 (fields & SUBJECT_INCARNATION || beat->subject_incarnation == 0) &&
                 (fields & REACH || beat->reach == 0);
    return clean ? NULL : "what a type does not use is zero";
}

const char *mu_beat_error(const struct mu_beat *beat)
{
    if (beat->type < MU_BEAT_WATCH || beat->type > MU_BEAT_LAST)
        return "the type is one of 1 (WATCH) to 10 (DEAD)";
    unsigned fields = fields_of[beat->type];
    const char *error = check_ends(beat);
    if (error == NULL)
        error = check_unused(beat, fields);
    if (error == NULL && beat->nonce == UINT64_MAX)
        error = "a nonce is below 2^64 - 1";
    if (error == NULL && fields & REACH && (beat->reach < 1 || beat->reach > MU_REACH_LAST))
        error = "a helper's reach is one of 1 (trying) to 4 (taken)";
    if (error == NULL && fields & SUBJECT)
        error = check_subject(beat);
    if (error == NULL && fields & TIMES)
        error = mu_detect_times_error(beat->period_ns, beat->timeout_ns);
    return error;
}

/* ---- bytes ---- */

void mu_beat_encode(const struct mu_beat *beat, uint8_t bytes[MU_BEAT_BYTES])
{
    assert(mu_beat_error(beat) == NULL);
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, MU_BEAT_BYTES);
    mu_write_u8(&writer, MU_BEAT_VERSION);
    mu_write_u8(&writer, beat->type);
    mu_write_u8(&writer, beat->reach);
    mu_write_u32(&writer, beat->from);
    mu_write_u32(&writer, beat->to);
    mu_write_u32(&writer, beat->from_incarnation);
    mu_write_u32(&writer, beat->to_incarnation);
    mu_write_u64(&writer, beat->nonce);
    mu_write_u64(&writer, beat->stamp_ns);
    mu_write_u64(&writer, beat->acked_ns);
    mu_write_u64(&writer, beat->period_ns);
    mu_write_u64(&writer, beat->timeout_ns);
    mu_write_u32(&writer, beat->subject);
    mu_write_u32(&writer, beat->subject_incarnation);
    assert(!writer.full && writer.used == MU_BEAT_BYTES);
}

const char *mu_beat_decode(const uint8_t *bytes, size_t count, struct mu_beat *beat)
{
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, count);
    memset(beat, 0, sizeof *beat);
    if (count != MU_BEAT_BYTES)
        return "a beat has 67 bytes";
    if (mu_read_u8(&reader) != MU_BEAT_VERSION)
        return "the version of a beat is 1";
    beat->type = mu_read_u8(&reader);
    beat->reach = mu_read_u8(&reader);
    beat->from = mu_read_u32(&reader);
    beat->to = mu_read_u32(&reader);
    beat->from_incarnation = mu_read_u32(&reader);
    beat->to_incarnation = mu_read_u32(&reader);
    beat->nonce = mu_read_u64(&reader);
    beat->stamp_ns = mu_read_u64(&reader);
    beat->acked_ns = mu_read_u64(&reader);
    beat->period_ns = mu_read_u64(&reader);
    beat->timeout_ns = mu_read_u64(&reader);
    beat->subject = mu_read_u32(&reader);
    beat->subject_incarnation = mu_read_u32(&reader);
    assert(!reader.bad && mu_reader_left(&reader) == 0);
    return mu_beat_error(beat);
}
