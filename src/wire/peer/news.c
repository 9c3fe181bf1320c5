#include "wire/peer/news.h"

#include "core/ring/ring.h"
#include "wire/peer/word.h"

#include <assert.h>
#include <string.h>

enum {
    SIGNAL_MAX = 64,
    RANKS_MAX = 1 << 20, /* of a job: what one payload makes a daemon do is bounded */
    ENDED_ROW_BYTES = 12,
    ENDED_FIXED = 14 + MU_EVIDENCE_BYTES_MAX - MU_EVIDENCE_PATH_MAX, /* without rows and path */
};

_Static_assert((MU_NEWS_BYTES_MAX - ENDED_FIXED) / ENDED_ROW_BYTES == MU_NEWS_ENDED_ROWS_MAX, "");

uint32_t mu_news_ended_rows(const struct mu_evidence *evidence)
{
    size_t left = MU_NEWS_BYTES_MAX - ENDED_FIXED - strlen(evidence->path);
    return (uint32_t)(left / ENDED_ROW_BYTES);
}

static void write_ended(struct mu_writer *writer, const struct mu_news *news)
{
    const struct mu_evidence *evidence = &news->ended.evidence;
    assert(news->ended.rows >= 1 && news->ended.rows <= mu_news_ended_rows(evidence));
    assert(evidence->cause == MU_CAUSE_EXIT && evidence->pid == 0);
    mu_write_u64(writer, news->ended.waited_ns);
    mu_write_u8(writer, (uint8_t)news->ended.rows);
    for (uint32_t i = 0; i < news->ended.rows; i++) {
        mu_write_u32(writer, news->ended.row[i].first);
        mu_write_u32(writer, news->ended.row[i].count);
        mu_write_u32(writer, news->ended.row[i].pid);
    }
    mu_write_evidence(writer, evidence);
}

size_t mu_news_encode(const struct mu_news *news, uint8_t bytes[MU_NEWS_BYTES_MAX])
{
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, MU_NEWS_BYTES_MAX);
    mu_write_u8(&writer, news->type);
    mu_write_u32(&writer, news->job);
    switch ((enum mu_news_type)news->type) {
    case MU_NEWS_ENDED:
        write_ended(&writer, news);
        break;
    case MU_NEWS_KILL:
        assert(news->kill.signal >= 1 && news->kill.signal <= SIGNAL_MAX);
        mu_write_u8(&writer, news->kill.signal);
        break;
    case MU_NEWS_TIMES:
        assert(news->job == 0);
        assert(mu_detect_times_error(news->times.period_ns, news->times.timeout_ns) == NULL);
        mu_write_u64(&writer, news->times.period_ns);
        mu_write_u64(&writer, news->times.timeout_ns);
        break;
    case MU_NEWS_GROUP:
        assert(news->group.rows <= MU_NEWS_ROWS_MAX);
        mu_write_u32(&writer, news->group.instance);
        mu_write_u8(&writer, (uint8_t)news->group.rows);
        for (uint32_t i = 0; i < news->group.rows; i++) {
            mu_write_u32(&writer, news->group.row[i].first);
            mu_write_u32(&writer, news->group.row[i].count);
        }
        break;
    case MU_NEWS_QUIET:
        mu_write_u32(&writer, news->quiet.rank);
        mu_write_u32(&writer, news->quiet.node);
        break;
    case MU_NEWS_GONE:
        assert(news->job == 0);
        mu_write_u32(&writer, news->gone.node);
        mu_write_u32(&writer, news->gone.incarnation);
        mu_word_write_how(&writer, &news->gone.how);
        break;
    }
    assert(!writer.full);
    return writer.used;
}

static bool read_ended(struct mu_reader *reader, struct mu_news *news)
{
    struct mu_evidence *evidence = &news->ended.evidence;
    news->ended.waited_ns = mu_read_u64(reader);
    news->ended.rows = mu_read_u8(reader);
    if (news->ended.rows < 1 || news->ended.rows > MU_NEWS_ENDED_ROWS_MAX)
        return false;
    for (uint32_t i = 0; i < news->ended.rows; i++) {
        uint32_t first = mu_read_u32(reader), count = mu_read_u32(reader);
        uint32_t pid = mu_read_u32(reader);
        if (count < 1 || first >= RANKS_MAX || count > RANKS_MAX - first || pid > INT32_MAX ||
            (pid != 0 && count - 1 > INT32_MAX - pid))
            return false;
        news->ended.row[i].first = first;
        news->ended.row[i].count = count;
        news->ended.row[i].pid = pid;
    }
    mu_read_evidence(reader, evidence);
    return !reader->bad && evidence->cause == MU_CAUSE_EXIT && evidence->pid == 0 &&
           news->ended.rows <= mu_news_ended_rows(evidence);
}

static bool read_group(struct mu_reader *reader, struct mu_news *news)
{
    uint32_t end = 0; /* of the row before */
    news->group.instance = mu_read_u32(reader);
    news->group.rows = mu_read_u8(reader);
    if (news->group.rows > MU_NEWS_ROWS_MAX)
        return false;
    for (uint32_t i = 0; i < news->group.rows; i++) {
        uint32_t first = mu_read_u32(reader), count = mu_read_u32(reader);
        if (count < 1 || first >= RANKS_MAX || count > RANKS_MAX - first || (i > 0 && first <= end))
            return false;
        news->group.row[i].first = first;
        news->group.row[i].count = count;
        end = first + count;
    }
    return true;
}

bool mu_news_decode(const uint8_t *bytes, size_t count, struct mu_news *news)
{
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, count);
    memset(news, 0, sizeof *news);
    news->type = mu_read_u8(&reader);
    news->job = mu_read_u32(&reader);
    bool good = false;
    switch (news->type) { /* any byte may have come in */
    case MU_NEWS_ENDED:
        good = read_ended(&reader, news);
        break;
    case MU_NEWS_KILL:
        news->kill.signal = mu_read_u8(&reader);
        good = news->kill.signal >= 1 && news->kill.signal <= SIGNAL_MAX;
        break;
    case MU_NEWS_TIMES:
        news->times.period_ns = mu_read_u64(&reader);
        news->times.timeout_ns = mu_read_u64(&reader);
        good = news->job == 0 &&
               mu_detect_times_error(news->times.period_ns, news->times.timeout_ns) == NULL;
        break;
    case MU_NEWS_GROUP:
        good = read_group(&reader, news);
        break;
    case MU_NEWS_QUIET:
        news->quiet.rank = mu_read_u32(&reader);
        news->quiet.node = mu_read_u32(&reader);
        good = news->quiet.rank < RANKS_MAX && news->quiet.node < MU_SIZE_MAX;
        break;
    case MU_NEWS_GONE:
        news->gone.node = mu_read_u32(&reader);
        news->gone.incarnation = mu_read_u32(&reader);
        mu_word_read_how(&reader, &news->gone.how);
        good = news->job == 0 && news->gone.node < MU_SIZE_MAX && news->gone.incarnation >= 1;
        break;
    }
    return good && !reader.bad && mu_reader_left(&reader) == 0;
}
