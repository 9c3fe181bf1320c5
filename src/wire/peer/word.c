#include "wire/peer/word.h"

#include <assert.h>
#include <string.h>

enum { CODE_MAX = 255, SIGNAL_MAX = 64 };

static const char *how_error(const struct mu_exit_kind *how)
{
    bool code = how->type == MU_EXIT_CODE, signal = how->type == MU_EXIT_SIGNAL;
    if (how->type != MU_EXIT_LEFT && how->type != MU_EXIT_UNKNOWN && !code && !signal)
        return "a daemon ended by itself (0, 1), by a signal (2) or nobody knows how (4)";
    if (how->code < code || how->code > (code ? CODE_MAX : 0))
        return "an exit code is 1 to 255, and 0 when there was no other";
    if (how->signal < signal || how->signal > (signal ? SIGNAL_MAX : 0))
        return "a signal is 1 to 64, and 0 when none ended it";
    return how->core_dumped && !signal ? "only a signal dumps core" : NULL;
}

static const char *word_error(const struct mu_word *word)
{
    if (word->type < MU_WORD_DEAD || word->type > MU_WORD_LAST)
        return "a word is 1 (dead), 2 (gone) or 3 (heard)";
    if (word->type != MU_WORD_HEARD)
        return how_error(&word->how);
    bool good = word->heard == MU_WORD_DEAD || word->heard == MU_WORD_GONE;
    return good ? NULL : "what was heard is 1 (dead) or 2 (gone)";
}

void mu_word_write_how(struct mu_writer *writer, const struct mu_exit_kind *how)
{
    assert(how_error(how) == NULL);
    mu_write_u8(writer, (uint8_t)how->type);
    mu_write_u8(writer, (uint8_t)how->code);
    mu_write_u8(writer, (uint8_t)how->signal);
    mu_write_u8(writer, how->core_dumped);
}

size_t mu_word_encode(const struct mu_word *word, uint8_t bytes[MU_WORD_BYTES_MAX])
{
    assert(word_error(word) == NULL);
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, MU_WORD_BYTES_MAX);
    mu_write_u8(&writer, word->type);
    if (word->type == MU_WORD_HEARD) {
        mu_write_u8(&writer, word->heard);
        return writer.used;
    }
    mu_word_write_how(&writer, &word->how);
    mu_write_u64(&writer, word->age_ns);
    assert(!writer.full);
    return writer.used;
}

void mu_word_read_how(struct mu_reader *reader, struct mu_exit_kind *how)
{
    memset(how, 0, sizeof *how);
    how->type = (enum mu_exit_type)mu_read_u8(reader);
    how->code = mu_read_u8(reader);
    how->signal = mu_read_u8(reader);
    uint8_t core_dumped = mu_read_u8(reader);
    how->core_dumped = core_dumped == 1;
    if (core_dumped > 1 || how_error(how) != NULL)
        reader->bad = true;
}

const char *mu_word_decode(const uint8_t *bytes, size_t count, struct mu_word *word)
{
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, count);
    memset(word, 0, sizeof *word);
    word->type = mu_read_u8(&reader);
    if (word->type == MU_WORD_HEARD) {
        word->heard = mu_read_u8(&reader);
    } else {
        mu_word_read_how(&reader, &word->how);
        word->age_ns = mu_read_u64(&reader);
    }
    const char *error = word_error(word);
    if (error == NULL && (reader.bad || mu_reader_left(&reader) > 0))
        error = "a word is 13 bytes, and one that was heard 2";
    return error;
}
