/* The journal of one node: a ring of the last events, each encoded once, as clients are told it, on
 * a board that they can read (wire/local/board.h).
 * For notify.c and client.c only. */
#ifndef MU_DAEMON_PROGRAMS_JOURNAL_H
#define MU_DAEMON_PROGRAMS_JOURNAL_H

#include "wire/local/board.h"

/* What an event is about, apart from its bytes: a search goes through little memory. */
struct mu_journal_key {
    uint32_t job, rank; /* PROCESS */
    uint16_t count;     /* bytes of the packet */
    uint8_t subject;    /* enum mu_subject */
    bool over;          /* the job is over: what begins later under its number is another one */
};

struct mu_journal {
    uint32_t capacity; /* a power of two */
    uint64_t head;     /* serial of the last event; 0: none yet */
    struct mu_journal_key *keys;
    struct mu_board *board;
    int board_fd; /* to be given to readers: it can be mapped, but not for writing */
};

/* Returns 0 or an errno. */
int mu_journal_init(struct mu_journal *journal, uint32_t capacity);
void mu_journal_free(struct mu_journal *journal);

/* Its serial is the one after the head, and the new head. */
void mu_journal_add(struct mu_journal *journal, const struct mu_local_event *event);

/* Serial of the oldest event that is kept; head + 1 when there is none. */
uint64_t mu_journal_oldest(const struct mu_journal *journal);

/* Of an event that is kept. */
const struct mu_journal_key *mu_journal_key(const struct mu_journal *journal, uint64_t serial);
const uint8_t *mu_journal_packet(const struct mu_journal *journal, uint64_t serial);

/* Is it a process of that job, which is not over? */
bool mu_journal_is_of(const struct mu_journal_key *key, uint32_t job);

void mu_journal_job_over(struct mu_journal *journal, uint32_t job);

#endif
