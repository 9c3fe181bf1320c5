/* A daemon of one client, played by a test: it says whatever the test wants it to say. */
#ifndef FAKE_DAEMON_H
#define FAKE_DAEMON_H

#include "daemon/programs/journal.h"

#include <pthread.h>

enum { FAKE_JOB = 3, FAKE_RANK = 5, FAKE_SIZE = 32, FAKE_SLOT = 1, FAKE_NODES = 8 };

enum { FAKE_PLACES = 1 << 15 }; /* on the board: more than any test fills */

struct fake_daemon {
    char name[MU_LOCAL_NAME_MAX];
    int listener;
    int fd;                    /* of the last client; -1: none */
    struct mu_journal journal; /* with the board */
    int bell;
    int gifts[2]; /* what comes with a WELCOME: board and bell, unless a test says otherwise; -1: no
                     more */
    struct mu_local_message hello;
    pthread_t greeter;
    uint8_t answer[MU_LOCAL_PACKET_MAX + 1];
    size_t answer_count;
};

/* Listens, and puts its name into the environment, as the daemon does for its processes. */
void fake_daemon_open(struct fake_daemon *daemon);
void fake_daemon_close(struct fake_daemon *daemon);

/* Another board, for whoever joins from now on. */
void fake_daemon_board(struct fake_daemon *daemon, uint32_t places);

/* Takes the next client and reads its HELLO. */
void fake_daemon_accept(struct fake_daemon *daemon);

void fake_daemon_say(struct fake_daemon *daemon, const struct mu_local_message *message);
void fake_daemon_say_bytes(struct fake_daemon *daemon, const void *bytes, size_t count);
void fake_daemon_hang_up(struct fake_daemon *daemon);

/* Waits for the next packet of the client.  False: it has hung up. */
bool fake_daemon_hear(struct fake_daemon *daemon, struct mu_local_message *message);

/* Onto the board, with the next serial; then a stroke of the bell. */
void fake_daemon_put(struct fake_daemon *daemon, const struct mu_local_message *event);
void fake_daemon_put_bytes(struct fake_daemon *daemon, const void *bytes, size_t count);
void fake_daemon_strike(struct fake_daemon *daemon);
void fake_daemon_publish(struct fake_daemon *daemon, const struct mu_local_message *event);

/* On a thread, because muster_open() waits: takes the next client, reads HELLO, and answers; or,
 * with no bytes, hangs up.  Ended by fake_daemon_greeted(). */
void fake_daemon_greet(struct fake_daemon *daemon, const struct mu_local_message *answer);
void fake_daemon_greet_bytes(struct fake_daemon *daemon, const void *bytes, size_t count);
void fake_daemon_greeted(struct fake_daemon *daemon);

struct mu_local_message fake_welcome(void);
struct mu_local_message fake_refusal(enum mu_local_refusal code, const char *text);

/* All that is on the board is told. */
struct mu_local_message fake_caught_up(const struct fake_daemon *daemon);

/* Rank 'rank' of the job was killed on node 2; learned just now, 500 us old. */
struct mu_local_message fake_death(uint64_t serial, uint32_t rank);

uint64_t fake_now_ns(void); /* CLOCK_MONOTONIC */

#endif
