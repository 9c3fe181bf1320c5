/* A process of a job that lives until it is told to stop, and says what it hears of the others.
 *
 *     here RANK PID SOCKET    at first; SOCKET: of its daemon, with the machine's number in it
 *     RANK told OTHER         each time that it hears of the death of another one
 *
 * Rank 0 stops when its standard input ends, the others when they hear that rank 0 has left. */
#include "muster.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct muster *m;

/* False: rank 0 has left. */
static bool hear(void)
{
    struct muster_event event;
    struct muster_error error;
    int got;
    while ((got = muster_next(m, &event, MUSTER_NOW, &error)) == 1) {
        if (event.type != MUSTER_EVENT_PROCESS)
            continue;
        if (event.verdict == MUSTER_LEFT && event.rank == 0)
            return false;
        if (event.verdict == MUSTER_DEAD)
            printf("%u told %u\n", muster_rank(m), event.rank);
        fflush(stdout);
    }
    if (got < 0) {
        fprintf(stderr, "survivor %u: %s\n", muster_rank(m), error.text);
        exit(1);
    }
    return true;
}

int main(void)
{
    struct muster_error error;
    if (muster_open(&m, &error) != 0) {
        fprintf(stderr, "survivor: %s\n", error.text);
        return 1;
    }
    printf("here %u %d %s\n", muster_rank(m), (int)getpid(), getenv("MUSTER_SOCKET"));
    fflush(stdout);
    struct pollfd ready[] = {{.fd = muster_fd(m), .events = POLLIN},
                             {.fd = muster_rank(m) == 0 ? 0 : -1, .events = POLLIN}};
    while (hear()) {
        char bytes[256];
        poll(ready, 2, -1);
        if (ready[1].revents != 0 && read(0, bytes, sizeof bytes) <= 0)
            break;
    }
    muster_close(m);
    return 0;
}
