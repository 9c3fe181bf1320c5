#include "wire/local/ballot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- rules: the same for what comes in and what goes out ---- */

static const char *row_error(const struct mu_ballot_row *row)
{
    bool good = row->count > 0 && row->first <= UINT32_MAX - (row->count - 1);
    return good ? NULL : "a row has at least one rank, and ranks are below 2^32";
}

const char *mu_ballot_rows_error(const struct mu_ballot_row *row, uint32_t rows)
{
    if (rows > MU_BALLOT_ROWS_MAX)
        return "a group has at most 28 runs of neighbouring ranks";
    for (uint32_t i = 0; i < rows; i++) {
        const char *error = row_error(&row[i]);
        if (error != NULL)
            return error;
        if (i > 0 && row[i].first <= (uint64_t)row[i - 1].first + row[i - 1].count)
            return "the rows of a group are in order, with gaps between them";
    }
    return NULL;
}

static const char *gone_error(const struct mu_ballot *ballot)
{
    if (ballot->gone.rows < 1 || ballot->gone.rows > MU_BALLOT_ROWS_MAX)
        return "1 to 28 rows tell who is gone";
    for (uint16_t i = 0; i < ballot->gone.rows; i++) {
        const char *error = row_error(&ballot->gone.row[i]);
        if (error != NULL)
            return error;
        if (ballot->gone.kind[i] != MU_BALLOT_FAILED && ballot->gone.kind[i] != MU_BALLOT_LEFT)
            return "who is gone has failed (1) or left (2)";
    }
    return NULL;
}

static const char *ballot_error(const struct mu_ballot *ballot)
{
    switch ((enum mu_ballot_type)ballot->type) {
    case MU_BALLOT_JOIN:
        return mu_ballot_rows_error(ballot->join.row, ballot->join.rows);
    case MU_BALLOT_CALL:
        return NULL;
    case MU_BALLOT_JOINED:
        return ballot->joined.size > 0 ? NULL : "a group has a member";
    case MU_BALLOT_GONE:
        return gone_error(ballot);
    case MU_BALLOT_DECIDED:
        return ballot->decided.round > 0 ? NULL : "agreements of a group count from 1";
    }
    return "no such type of message about an agreement";
}

/* ---- out ---- */

static void write_row(struct mu_writer *writer, const struct mu_ballot_row *row)
{
    mu_write_u32(writer, row->first);
    mu_write_u32(writer, row->count);
}

static void write_body(struct mu_writer *writer, const struct mu_ballot *ballot)
{
    switch ((enum mu_ballot_type)ballot->type) {
    case MU_BALLOT_JOIN:
        mu_write_u16(writer, ballot->join.rows);
        for (uint16_t i = 0; i < ballot->join.rows; i++)
            write_row(writer, &ballot->join.row[i]);
        return;
    case MU_BALLOT_CALL:
        mu_write_u64(writer, ballot->call.bits);
        mu_write_u32(writer, ballot->call.acked);
        return;
    case MU_BALLOT_JOINED:
        mu_write_u64(writer, ballot->joined.group);
        mu_write_u32(writer, ballot->joined.size);
        return;
    case MU_BALLOT_GONE:
        mu_write_u16(writer, ballot->gone.rows);
        for (uint16_t i = 0; i < ballot->gone.rows; i++) {
            write_row(writer, &ballot->gone.row[i]);
            mu_write_u8(writer, ballot->gone.kind[i]);
        }
        return;
    case MU_BALLOT_DECIDED:
        mu_write_u64(writer, ballot->decided.round);
        mu_write_u64(writer, ballot->decided.bits);
        mu_write_u8(writer, ballot->decided.error);
        mu_write_u8(writer, ballot->decided.more);
        return;
    }
    abort();
}

size_t mu_ballot_encode(const struct mu_ballot *ballot, uint8_t bytes[MU_BALLOT_BYTES_MAX])
{
    assert(ballot_error(ballot) == NULL);
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, MU_BALLOT_BYTES_MAX);
    mu_write_u8(&writer, ballot->type);
    write_body(&writer, ballot);
    assert(!writer.full);
    return writer.used;
}

/* ---- in ---- */

static bool read_flag(struct mu_reader *reader)
{
    uint8_t flag = mu_read_u8(reader);
    if (flag > 1)
        reader->bad = true;
    return flag == 1;
}

static struct mu_ballot_row read_row(struct mu_reader *reader)
{
    struct mu_ballot_row row;
    row.first = mu_read_u32(reader);
    row.count = mu_read_u32(reader);
    return row;
}

/* Any byte may be the type: those that are none are refused by ballot_error(). */
static void read_body(struct mu_reader *reader, struct mu_ballot *ballot)
{
    switch ((enum mu_ballot_type)ballot->type) {
    case MU_BALLOT_JOIN:
        ballot->join.rows = mu_read_u16(reader);
        for (uint16_t i = 0; i < ballot->join.rows && i < MU_BALLOT_ROWS_MAX; i++)
            ballot->join.row[i] = read_row(reader);
        return;
    case MU_BALLOT_CALL:
        ballot->call.bits = mu_read_u64(reader);
        ballot->call.acked = mu_read_u32(reader);
        return;
    case MU_BALLOT_JOINED:
        ballot->joined.group = mu_read_u64(reader);
        ballot->joined.size = mu_read_u32(reader);
        return;
    case MU_BALLOT_GONE:
        ballot->gone.rows = mu_read_u16(reader);
        for (uint16_t i = 0; i < ballot->gone.rows && i < MU_BALLOT_ROWS_MAX; i++) {
            ballot->gone.row[i] = read_row(reader);
            ballot->gone.kind[i] = mu_read_u8(reader);
        }
        return;
    case MU_BALLOT_DECIDED:
        ballot->decided.round = mu_read_u64(reader);
        ballot->decided.bits = mu_read_u64(reader);
        ballot->decided.error = read_flag(reader);
        ballot->decided.more = read_flag(reader);
        return;
    }
}

const char *mu_ballot_decode(const uint8_t *bytes, size_t count, struct mu_ballot *ballot)
{
    if (count < 1 || count > MU_BALLOT_BYTES_MAX)
        return "a message about an agreement has 1 to 255 bytes";
    memset(ballot, 0, sizeof *ballot);
    ballot->type = bytes[0];
    struct mu_reader reader;
    mu_reader_init(&reader, bytes + 1, count - 1);
    read_body(&reader, ballot);
    if (reader.ended)
        return "the packet ends before its last field";
    if (reader.bad)
        return "a flag is 0 or 1";
    const char *error = ballot_error(ballot);
    if (error == NULL && mu_reader_left(&reader) > 0)
        error = "bytes follow the last field of the packet";
    return error;
}
