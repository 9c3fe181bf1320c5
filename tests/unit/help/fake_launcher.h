/* A daemon's jobs and a launcher in one process, over loopback: a test says what the launcher says,
 * and looks at what came back. */
#ifndef TEST_FAKE_LAUNCHER_H
#define TEST_FAKE_LAUNCHER_H

#include "daemon/peers/door.h"
#include "daemon/jobs/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum {
    FAKE_SLOT = 1, /* the daemon's, of FAKE_SIZE */
    FAKE_SIZE = 3,
    FAKE_RANKS_MAX = 256,
    FAKE_PROCESSES = 300, /* that the daemon takes at once */
};

#define FAKE_SOCKET "muster/0/00000000000000aa/1"

/* What came of one stream. */
struct fake_stream {
    uint8_t *bytes;
    size_t count;
    uint32_t ends; /* OUTPUT_ENDs */
};

struct fake_rank {
    uint32_t pid;    /* STARTED */
    uint32_t starts; /* how many STARTEDs */
    uint32_t ends;   /* how many ENDEDs */
    struct mu_evidence evidence;
    struct fake_stream streams[3]; /* 1 and 2 */
};

/* One connection of a launcher, with its job. */
struct fake_launcher {
    struct mu_conn *conn; /* NULL: it ended, or was ended */
    uint32_t job;
    bool open;
    uint32_t ended_with;              /* enum mu_conn_ending */
    char reason[256];                 /* why it ended */
    char refused[256];                /* REFUSED, or "" */
    uint32_t ready;                   /* how many READYs */
    uint32_t wish, wisher, wish_size; /* the last SPAWN: its number, rank and size */
    uint32_t bound;                   /* how many BOUNDs, and the last one */
    uint32_t bound_rank;
    char bound_text[256];
    struct fake_rank ranks[FAKE_RANKS_MAX];
    uint32_t started, ended, stream_ends; /* of all ranks */
    uint64_t credit;       /* given and not used; more output than that is a failure */
    bool gives_back;       /* credit, for each OUTPUT */
    uint64_t input_credit; /* that the daemon gave and was not used */
    uint32_t told_count;
    struct mu_launch_message told[64];
    uint32_t ends_when_told; /* how many ranks had ended when the first TOLD came */
};

/* What the daemon's owner heard. */
struct fake_host {
    uv_loop_t loop;
    struct mu_net net, launcher_net;
    struct mu_door door;
    struct mu_jobs *jobs;
    const char *begin_refusal; /* what 'begin' answers */
    uint32_t begun, started, ended, stopping, over;
    enum mu_goodbye owes; /* what 'owes' answers */
    uint32_t asked;       /* how often it was called */
    uint32_t all_over;
    uint32_t spawned, made;              /* the last answer to a SPAWN: its number, and the job */
    uint32_t ended_rank[FAKE_RANKS_MAX]; /* how often */
    uint64_t turns;                      /* of the loop */
    uv_timer_t watchdog;
    bool barked;
};

extern struct fake_host fake;

/* For cmocka's setup and teardown: opens and closes all.  Afterwards there is no child, no open
 * connection, and no descriptor more than before. */
int fake_begin(void **state);
int fake_end(void **state);

/* A connection that is open. */
struct fake_launcher *fake_connect(void);
void fake_launcher_free(
    struct fake_launcher *launcher); /* drops the connection when there is one */

void fake_send(struct fake_launcher *launcher, const struct mu_launch_message *message);

/* A job of 'here' ranks on this node and none elsewhere: sh -c SCRIPT.  With lots of credit that is
 * given back, unless 'launcher' was given other values before; input for rank 0 when 'input'. */
void fake_start(struct fake_launcher *launcher, uint32_t here, const char *script, bool input);
void fake_start_argv(struct fake_launcher *launcher, uint32_t here, const char *const *argv,
                     bool input);
struct mu_launch_message fake_job(uint32_t number, uint32_t here, const char *const *argv);

void fake_stop(struct fake_launcher *launcher, uint32_t grace_ms);
void fake_signal(struct fake_launcher *launcher, int number);
void fake_credit(struct fake_launcher *launcher, uint64_t bytes);
void fake_input(struct fake_launcher *launcher, const void *bytes, uint32_t count);
void fake_over(struct fake_launcher *launcher);

/* Runs the loop until it is so, or fails after a long time. */
#define FAKE_UNTIL(condition)                                                                      \
    do {                                                                                           \
        fake_watchdog(#condition);                                                                 \
        while (!(condition))                                                                       \
            fake_turn(#condition);                                                                 \
        uv_timer_stop(&fake.watchdog);                                                             \
    } while (0)
void fake_watchdog(const char *condition);
void fake_turn(const char *condition);

/* Everything that a job owes its launcher has come. */
bool fake_complete(const struct fake_launcher *launcher);

/* What a stream brought is this text. */
void fake_expect_text(const struct fake_launcher *launcher, uint32_t rank, int stream,
                      const char *text);

bool fake_alive(int pid);

#endif
