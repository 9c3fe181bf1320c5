#include "daemon/notify_journal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool mu_journal_init(struct mu_journal *journal, uint32_t capacity)
{
    assert(capacity > 0 && (capacity & (capacity - 1)) == 0);
    *journal = (struct mu_journal){
        .capacity = capacity,
        .keys = calloc(capacity, sizeof *journal->keys),
        .packets = calloc(capacity, sizeof *journal->packets),
    };
    if (journal->keys != NULL && journal->packets != NULL)
        return true;
    mu_journal_free(journal);
    return false;
}

void mu_journal_free(struct mu_journal *journal)
{
    free(journal->keys);
    free(journal->packets);
    *journal = (struct mu_journal){0};
}

static size_t place(const struct mu_journal *journal, uint64_t serial)
{
    return (size_t)(serial & (journal->capacity - 1));
}

void mu_journal_add(struct mu_journal *journal, struct mu_local_event *event)
{
    event->serial = ++journal->head;
    struct mu_local_message message = {.type = MU_LOCAL_EVENT, .event = *event};
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    size_t count = mu_local_encode(&message, bytes);
    assert(count <= MU_LOCAL_EVENT_MAX);
    memcpy(journal->packets[place(journal, event->serial)], bytes, count);
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
    return journal->packets[place(journal, serial)];
}

bool mu_journal_is_of(const struct mu_journal_key *key, uint32_t job)
{
    return key->subject == MU_SUBJECT_PROCESS && key->job == job && !key->over;
}

bool mu_journal_has(const struct mu_journal *journal, uint32_t job, uint32_t rank)
{
    for (uint64_t serial = mu_journal_oldest(journal); serial <= journal->head; serial++) {
        const struct mu_journal_key *key = mu_journal_key(journal, serial);
        if (key->rank == rank && mu_journal_is_of(key, job))
            return true;
    }
    return false;
}

void mu_journal_job_over(struct mu_journal *journal, uint32_t job)
{
    for (uint64_t serial = mu_journal_oldest(journal); serial <= journal->head; serial++) {
        struct mu_journal_key *key = &journal->keys[place(journal, serial)];
        key->over = key->over || mu_journal_is_of(key, job);
    }
}
