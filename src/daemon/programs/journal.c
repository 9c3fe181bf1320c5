#define _GNU_SOURCE
#include "daemon/programs/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file without a name, which only this mapping can write: whoever gets the descriptor can map it
 * for reading, and can rely on its length. */
static int make_board(struct mu_journal *journal, uint32_t capacity)
{
    size_t bytes = mu_board_bytes(capacity);
    journal->board_fd = memfd_create("muster-board", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (journal->board_fd < 0 || ftruncate(journal->board_fd, (off_t)bytes) != 0)
        return errno;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, journal->board_fd, 0);
    if (memory == MAP_FAILED)
        return errno;
    journal->board = memory;
    mu_board_init(journal->board, capacity);
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
    return fcntl(journal->board_fd, F_ADD_SEALS, seals) == 0 ? 0 : errno;
}

int mu_journal_init(struct mu_journal *journal, uint32_t capacity)
{
    *journal = (struct mu_journal){
        .capacity = capacity,
        .keys = calloc(capacity, sizeof *journal->keys),
        .board_fd = -1,
    };
    int error = journal->keys == NULL ? ENOMEM : make_board(journal, capacity);
    if (error != 0)
        mu_journal_free(journal);
    return error;
}

void mu_journal_free(struct mu_journal *journal)
{
    if (journal->board != NULL)
        munmap(journal->board, mu_board_bytes(journal->capacity));
    if (journal->board_fd >= 0)
        close(journal->board_fd);
    free(journal->keys);
    *journal = (struct mu_journal){.board_fd = -1};
}

static size_t place(const struct mu_journal *journal, uint64_t serial)
{
    return (size_t)(serial & (journal->capacity - 1));
}

void mu_journal_add(struct mu_journal *journal, const struct mu_local_event *event)
{
    assert(event->serial == journal->head + 1);
    journal->head = event->serial;
    uint64_t words[MU_BOARD_WORDS] = {0}; /* whoever reads the board reads the last word whole */
    size_t count = mu_local_encode_event(event, (uint8_t *)words);
    mu_board_put(journal->board, words, count);
    journal->keys[place(journal, event->serial)] = (struct mu_journal_key){
        .job = event->job,
        .rank = event->rank,
        .count = (uint16_t)count,
        .subject = event->subject,
    };
}

uint64_t mu_journal_oldest(const struct mu_journal *journal)
{
    return journal->head < journal->capacity ? 1 : journal->head - journal->capacity + 1;
}

const struct mu_journal_key *mu_journal_key(const struct mu_journal *journal, uint64_t serial)
{
    assert(serial >= mu_journal_oldest(journal) && serial <= journal->head);
    return &journal->keys[place(journal, serial)];
}

const uint8_t *mu_journal_packet(const struct mu_journal *journal, uint64_t serial)
{
    assert(serial >= mu_journal_oldest(journal) && serial <= journal->head);
    return mu_board_bytes_of(journal->board, serial);
}

bool mu_journal_is_of(const struct mu_journal_key *key, uint32_t job)
{
    return key->subject == MU_SUBJECT_PROCESS && key->job == job && !key->over;
}

void mu_journal_job_over(struct mu_journal *journal, uint32_t job)
{
    for (uint64_t serial = mu_journal_oldest(journal); serial <= journal->head; serial++) {
        struct mu_journal_key *key = &journal->keys[place(journal, serial)];
        key->over = key->over || mu_journal_is_of(key, job);
    }
}
