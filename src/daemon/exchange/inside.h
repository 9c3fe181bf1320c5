/* The inside of exchange.h; for daemon/exchange only. */
#ifndef MU_DAEMON_EXCHANGE_INSIDE_H
#define MU_DAEMON_EXCHANGE_INSIDE_H

#include "core/gather/gather.h"
#include "daemon/exchange/exchange.h"

enum {
    MU_JOINED_PAST = 256,
    MU_EXCHANGES_RESTING_MAX = 1024 * 1024, /* bytes of series that are done, for each job */
    MU_SERIES_ID_BYTES = 16,
    MU_SETTLE_JOB = 0, /* no job has this number: a question of the exchanges themselves */
};

/* A node's part, inside of a message that came, or of one that was made for it. */
struct mu_piece {
    struct mu_bulk_message *holder; /* NULL: there is no part */
    const uint8_t *bytes;
    size_t count;
};

/* An operation that processes of this node have come to. */
struct mu_exchange_call {
    struct mu_exchange_call *next;
    struct mu_piece piece;
    mu_exchange_done *done; /* NULL: abandoned */
    void *arg;
};

/* Exchanges of the same ranks and tag. */
struct mu_series {
    struct mu_series *next; /* of the job */
    struct mu_exchange_job *job;
    uint64_t tag;
    uint32_t run_count;
    struct mu_rank_run *runs;
    void *memory; /* of the core */
    struct mu_allgather *core;
    struct mu_record_stream *record;
    uint32_t *living;        /* participants, by position of their node */
    struct mu_piece *pieces; /* by round modulo MU_ALLGATHER_ROUNDS, and position */
    uint64_t *set;           /* of members: that is being made */
    struct mu_exchange_call *calls, **calls_end; /* the first is the core's, if 'calling' */
    bool calling;
    bool ready; /* the first has its result, which its 'done' is to be told */
    uint64_t ready_round;
    uint64_t told_turn;             /* when somebody was last told, by mu_exchanges.turn */
    uint8_t id[MU_SERIES_ID_BYTES]; /* of tag and ranks */
};

/* A series that all members are done with: what stays of it. */
struct mu_settled {
    uint8_t id[MU_SERIES_ID_BYTES];
    uint64_t done; /* 0: this place is free */
};

/* A job of the roll, and which ranks it has here. */
struct mu_exchange_share {
    const struct mu_roll_job *roll;
    uint32_t first;
};

/* A job of the roll; or several as one (mu_exchanges_join()). */
struct mu_exchange_job {
    struct mu_exchange_job *next;
    uint32_t number;
    uint32_t size;
    uint32_t run_count;
    uint32_t share_count; /* more than one, or 'joined': several as one */
    struct mu_exchange_share *shares;
    bool joined;
    struct mu_series *series;
    bool outs_wait;             /* somebody may be out, and the core does not know */
    struct mu_settled *settled; /* by id */
    uint32_t settled_count, settled_room;
    struct mu_sweep *sweep; /* others are being asked; NULL: not now */
    size_t resting_max;     /* of this job, if that is more */
};

/* A message of a job that has not begun here. */
struct mu_early {
    struct mu_early *next;
    mu_slot from;
    uint32_t job;
    struct mu_bulk_message *message;
};

enum mu_question_state {
    MU_QUESTION_ASKED,    /* its answer is to come */
    MU_QUESTION_HERE,     /* of this node to itself: the hook is to be called */
    MU_QUESTION_ANSWERED, /* and its answer is to be told */
    MU_QUESTION_LOST,     /* the node is dead */
};

struct mu_question {
    struct mu_question *next;
    uint32_t job;
    mu_slot node;
    uint64_t number;
    enum mu_question_state state;
    struct mu_piece piece;          /* HERE: the question; ANSWERED: the answer */
    mu_exchange_answered *answered; /* NULL: abandoned */
    void *arg;
};

struct mu_exchanges {
    struct mu_exchanges_config config;
    mu_slot self;
    struct mu_bulk *bulk;
    struct mu_exchange_job *jobs;
    uint32_t past[MU_JOINED_PAST]; /* several as one that are over; 0: none */
    uint32_t past_next;
    struct mu_early *early, **early_end;            /* the oldest first */
    struct mu_question *questions, **questions_end; /* the oldest first */
    uint64_t numbers;                               /* of questions, given out */
    uv_idle_t later;                                /* what is called from the loop only */
    uv_timer_t lease;                               /* looks whether it is held again */
    uint32_t handles;                               /* of the loop, that are not closed yet */
    struct mu_allgather_update update;
    struct mu_bulk_message **made; /* messages that carry the result which is being told */
    uint32_t made_count, made_room;
    uint64_t turn; /* counts on_later() */
    size_t resting_max;
    bool left;
    struct mu_exchanges_counts counts;
};

/* ---- exchange.c ---- */

struct mu_exchange_job *mu_exchanges_find(const struct mu_exchanges *exchanges, uint32_t job);
bool mu_exchanges_is_past(const struct mu_exchanges *exchanges, uint32_t job);

/* With room for so many shares.  NULL: no memory. */
struct mu_exchange_job *mu_exchanges_make_job(uint32_t number, uint32_t shares);
void mu_exchanges_add_share(struct mu_exchange_job *job, const struct mu_roll_job *roll);

/* Takes what is in it.  NULL is fine. */
void mu_exchanges_free_job(struct mu_exchange_job *job);
void mu_exchanges_add_job(struct mu_exchanges *exchanges, struct mu_exchange_job *job);
void mu_exchanges_end_job(struct mu_exchanges *exchanges, uint32_t job);

/* Does another node live, as far as is known here?  This one does. */
bool mu_exchanges_is_dead(const struct mu_exchanges *exchanges, mu_slot node);

/* The i-th run of ranks, as they are numbered in this job; what is known of such a rank. */
struct mu_launch_run mu_exchange_run(const struct mu_exchange_job *job, uint32_t i);
mu_slot mu_exchange_node(const struct mu_exchange_job *job, uint32_t rank);
enum mu_rank_state mu_exchange_state(const struct mu_exchange_job *job, uint32_t rank);

/* Something is to be called from the loop. */
void mu_exchanges_later(struct mu_exchanges *exchanges);

/* May results be told now?  If not, the loop looks again soon. */
bool mu_exchanges_has_lease(struct mu_exchanges *exchanges);

/* A copy of bytes.  False: no memory. */
bool mu_piece_copy(struct mu_piece *piece, const uint8_t *bytes, size_t count);
void mu_piece_drop(struct mu_piece *piece);

/* ---- series.c ---- */

/* The one that is there, or a new one.  NULL with *why: the rule that the ranks break, or no
 * memory.  Runs are in order, with gaps between them. */
struct mu_series *mu_series_get(struct mu_exchanges *exchanges, struct mu_exchange_job *job,
                                uint64_t tag, const struct mu_rank_run *runs, uint32_t run_count,
                                const char **why);
void mu_series_free(struct mu_series *series);

/* The first call goes to the core, when the one before it is done. */
void mu_series_call(struct mu_exchanges *exchanges, struct mu_series *series);

/* NULL, or the rule that the message breaks.  It is kept as long as parts of it are needed. */
const char *mu_series_message(struct mu_exchanges *exchanges, struct mu_series *series,
                              mu_slot from, const struct mu_exchange_message *message,
                              struct mu_bulk_message *holder);

/* A participant is gone; the core is told by mu_series_outs(). */
void mu_series_ended(struct mu_series *series, uint32_t rank);
void mu_series_outs(struct mu_exchanges *exchanges, struct mu_series *series);

/* Is somebody to be told a result?  Tells the first one. */
bool mu_series_is_ready(const struct mu_series *series);
void mu_series_tell(struct mu_exchanges *exchanges, struct mu_series *series);

/* ---- settle.c ---- */

void mu_series_name(struct mu_series *series);

/* The last round of a series that is settled; 0: it is not. */
uint64_t mu_settled_round(const struct mu_exchange_job *job, const uint8_t id[MU_SERIES_ID_BYTES]);

/* From the loop: frees what nobody needs, and asks others if that is not enough. */
void mu_settle(struct mu_exchanges *exchanges);
void mu_settle_over(struct mu_exchange_job *job);

/* Another node asks. */
void mu_settle_asked(struct mu_exchanges *exchanges, const struct mu_exchange_ticket *ticket,
                     const uint8_t *bytes, size_t count);

/* ---- join.c: several jobs as one ---- */

/* One of its jobs is over, and so is it. */
void mu_joined_over(struct mu_exchanges *exchanges, const struct mu_roll_job *roll);

/* ---- ask.c ---- */

void mu_question_came(struct mu_exchanges *exchanges, mu_slot from,
                      const struct mu_exchange_message *message);
void mu_answer_came(struct mu_exchanges *exchanges, mu_slot from,
                    const struct mu_exchange_message *message);
void mu_questions_dead(struct mu_exchanges *exchanges, mu_slot node);

/* Of one job; or of all. */
void mu_questions_drop(struct mu_exchanges *exchanges, uint32_t job, bool all);

/* What is to be called from the loop; what comes of that, the next time. */
void mu_questions_tell(struct mu_exchanges *exchanges);

#endif
