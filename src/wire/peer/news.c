#include "wire/peer/news.h"

#include "core/ring/ring.h"
#include "wire/peer/word.h"

#include <assert.h>
#include <string.h>

enum {
    SIGNAL_MAX = 64,
    RANKS_MAX = 1 << 20, /* of a job: what one payload makes a daemon do is bounded */
};

size_t mu_news_encode(const struct mu_news *news, uint8_t bytes[MU_NEWS_BYTES_MAX])
{
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, MU_NEWS_BYTES_MAX);
    mu_write_u8(&writer, news->type);
    mu_write_u32(&writer, news->job);
    switch ((enum mu_news_type)news->type) {
    case MU_NEWS_LEFT:
        assert(news->left.rows >= 1 && news->left.rows <= MU_NEWS_ROWS_MAX);
        mu_write_u32(&writer, news->left.node);
        mu_write_u64(&writer, news->left.seen_ns);
        mu_write_u64(&writer, news->left.clock);
        mu_write_u8(&writer, (uint8_t)news->left.rows);
        for (uint32_t i = 0; i < news->left.rows; i++) {
            mu_write_u32(&writer, news->left.row[i].first);
            mu_write_u32(&writer, news->left.row[i].count);
        }
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

static bool read_left(struct mu_reader *reader, struct mu_news *news)
{
    news->left.node = mu_read_u32(reader);
    news->left.seen_ns = mu_read_u64(reader);
    news->left.clock = mu_read_u64(reader);
    news->left.rows = mu_read_u8(reader);
    if (news->left.node >= MU_SIZE_MAX || news->left.rows < 1 || news->left.rows > MU_NEWS_ROWS_MAX)
        return false;
    for (uint32_t i = 0; i < news->left.rows; i++) {
        uint32_t first = mu_read_u32(reader), count = mu_read_u32(reader);
        if (count < 1 || first >= RANKS_MAX || count > RANKS_MAX - first)
            return false;
        news->left.row[i].first = first;
        news->left.row[i].count = count;
    }
    return true;
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
    case MU_NEWS_LEFT:
        good = read_left(&reader, news);
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
