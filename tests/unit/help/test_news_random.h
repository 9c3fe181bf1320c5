/* Random news that are good, from one seed: for tests/unit/wire/test_news.c and tests/fuzz. */
#ifndef TEST_NEWS_RANDOM_H
#define TEST_NEWS_RANDOM_H

#include "test_wire_random.h"

#include "core/ring/ring.h"
#include "wire/peer/news.h"

enum { NEWS_RANKS_MAX = 1 << 20 };

static inline void random_ended(struct random *r, struct mu_news *news)
{
    struct mu_evidence *evidence = &news->ended.evidence;
    *evidence = (struct mu_evidence){.verdict = MU_VERDICT_DEAD,
                                     .cause = MU_CAUSE_EXIT,
                                     .seen_by = random_slot(r),
                                     .node = random_slot(r),
                                     .how = {.type = MU_EXIT_SIGNAL, .signal = 9},
                                     .seen_ns = random_between(r, 0, UINT64_MAX),
                                     .clock = random_between(r, 0, UINT64_MAX)};
    if (random_below(r, 2) == 0) {
        evidence->verdict = MU_VERDICT_LEFT;
        evidence->how = (struct mu_exit_kind){.type = MU_EXIT_LEFT};
    }
    news->ended.waited_ns = random_between(r, 0, UINT64_MAX);
    news->ended.rows = (uint32_t)random_between(r, 1, mu_news_ended_rows(evidence));
    for (uint32_t i = 0; i < news->ended.rows; i++) {
        uint32_t first = (uint32_t)random_between(r, 0, NEWS_RANKS_MAX - 1);
        news->ended.row[i].first = first;
        news->ended.row[i].count = (uint32_t)random_between(r, 1, NEWS_RANKS_MAX - first);
        news->ended.row[i].pid = (uint32_t)random_between(r, 0, INT32_MAX - NEWS_RANKS_MAX);
    }
}

static inline struct mu_news random_news(struct random *r, enum mu_news_type type)
{
    struct mu_news news;
    memset(&news, 0, sizeof news);
    news.type = (uint8_t)type;
    if (type != MU_NEWS_TIMES && type != MU_NEWS_GONE)
        news.job = (uint32_t)random_between(r, 0, UINT32_MAX);
    switch (type) {
    case MU_NEWS_ENDED:
        random_ended(r, &news);
        break;
    case MU_NEWS_KILL:
        news.kill.signal = (uint8_t)random_between(r, 1, 64);
        break;
    case MU_NEWS_TIMES:
        news.times.period_ns = random_between(r, MU_PERIOD_NS_MIN, MU_TIMEOUT_NS_MAX / 2);
        news.times.timeout_ns = random_between(r, 2 * news.times.period_ns, MU_TIMEOUT_NS_MAX);
        break;
    case MU_NEWS_QUIET:
        news.quiet.rank = (uint32_t)random_between(r, 0, NEWS_RANKS_MAX - 1);
        news.quiet.node = random_slot(r);
        break;
    case MU_NEWS_GONE:
        news.gone.node = random_slot(r);
        news.gone.incarnation = (uint32_t)random_between(r, 1, UINT32_MAX);
        news.gone.how =
            (struct mu_exit_kind){.type = MU_EXIT_SIGNAL, .signal = (int)random_between(r, 1, 64)};
        break;
    case MU_NEWS_GROUP:
        news.group.instance = (uint32_t)random_between(r, 0, UINT32_MAX);
        news.group.rows = (uint32_t)random_between(r, 0, MU_NEWS_ROWS_MAX);
        for (uint32_t i = 0, at = 0; i < news.group.rows; i++) {
            news.group.row[i].first = at + (uint32_t)random_below(r, 1000);
            news.group.row[i].count = 1 + (uint32_t)random_below(r, 1000);
            at = news.group.row[i].first + news.group.row[i].count + 1;
        }
        break;
    }
    return news;
}

#endif
