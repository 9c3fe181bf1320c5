/* What is behind a struct muster.  For the files of this folder only. */
#ifndef MU_CLIENT_HANDLE_H
#define MU_CLIENT_HANDLE_H

#include "muster.h"
#include "wire/local/board.h"

#include <pthread.h>
#include <sys/types.h>
#include <time.h>

enum {
    MU_CLIENT_FDS = 2,       /* that come with a WELCOME: board and bell */
    MU_CLIENT_MARK_BYTES = 1 /* the kernel makes it a page */
};

/* A view, and while its parts come, what of it has come. */
struct mu_client_view {
    uint64_t number; /* 0: none yet */
    uint32_t total, announced;
    struct mu_local_span *spans;
    uint32_t span_count, room;
};

/* All but what 'lock' guards is written by muster_open() and only read afterwards. */
struct muster {
    int fd;              /* to the daemon: the state, and its last word */
    int poll_fd;         /* an epoll of 'fd' and 'bell': for the program to wait at */
    int bell;            /* of the job: an event for it is on the board */
    pid_t pid;           /* who opened it */
    const uint8_t *mark; /* 1, and 0 in a child of fork(); NULL: ask for the pid each time */
    struct mu_local_welcome who; /* this process, as its daemon knows it */
    struct mu_board_view board;
    size_t board_bytes; /* that are mapped */

    pthread_mutex_t lock; /* of what follows; nobody waits while it has it */
    uint64_t next;        /* serial of the next event on the board; 0: the state comes by packets */
    bool asked;           /* AGAIN: CAUGHT_UP is no news, if no LOST comes before it */
    bool stroke_used;     /* who was woken by it may leave more on the board than it took */
    bool is_ending;       /* 'broken' says how; what is on the board comes first */
    bool is_broken;
    struct muster_error broken;
    struct mu_client_view views[2]; /* that was read last, and the one before or to come */
    int view_now;
    char name[MU_LOCAL_NAME_MAX];

    pthread_mutex_t group_lock; /* of what follows; who has it may wait for the daemon */
    struct muster_group *all;   /* NULL: not used yet */
};

/* Of MUSTER_ALL; NULL is fine. */
void mu_client_group_free(struct muster_group *group);

/* Until when a timeout of muster.h lasts. */
uint64_t mu_client_deadline_ns(int64_t timeout_ns);

/* Returns 0, or -1 with *error filled: in a child of the process that opened it. */
int mu_client_check_owner(const struct muster *m, struct muster_error *error);

/* Fills *error, if there is one.  Control characters become '?', so that what came from outside
 * stays one line.  Returns -1. */
__attribute__((format(printf, 3, 4))) int
mu_client_fail(struct muster_error *error, enum muster_code code, const char *format, ...);

/* "Too many open files".  In English and for any thread, which strerror() is not. */
const char *mu_client_errno_text(int number);

/* Puts the board and the bell to use: fds[0] and fds[1], which are taken in any case.  Returns 0,
 * or -1 with *error filled. */
int mu_client_attach(struct muster *m, const int fds[MU_CLIENT_FDS], struct muster_error *error);
void mu_client_detach(struct muster *m);

/* For the functions that wait: until then, on CLOCK_MONOTONIC. */
struct timespec mu_client_left(uint64_t until_ns);
#define MU_CLIENT_NO_WAIT 0
#define MU_CLIENT_NO_END  UINT64_MAX

/* A socket that is connected to the daemon of that name, and was found to be of this user or of
 * root.  Returns it, or -1 with *error filled. */
int mu_client_connect(const char *name, uint64_t until_ns, struct muster_error *error);

/* Does not wait.  Returns 0, or -1 with *error filled.  That the daemon is gone is no error here:
 * what it said before is still to be read, and then mu_client_receive() says so. */
int mu_client_send(int fd, const struct mu_local_message *message, struct muster_error *error);

/* One packet.  Returns 1, 0 when none came in time, or -1 with *error filled.  Descriptors that
 * come with it are the caller's, -1 for none; where 'fds' is NULL they are closed. */
int mu_client_receive(int fd, const char *name, uint64_t until_ns, struct mu_local_message *message,
                      int *fds, struct muster_error *error);

/* The same descriptor, or another for the same that is not 0, 1 or 2, also when the program has
 * closed them: what it prints must not go to the daemon.  -1 is passed on; or -1 with errno. */
int mu_client_above_standard(int fd);

/* What a packet means to the program.  Returns 1, 0 when it is a part only, or -1 with *error
 * filled when the daemon may not say that to this process. */
int mu_client_event(struct muster *m, const struct mu_local_message *message,
                    struct muster_event *event, struct muster_error *error);

/* The same for an event. */
int mu_client_happened(struct muster *m, const struct mu_local_event *told,
                       struct muster_event *event, struct muster_error *error);

/* A part of a view, whoever has the lock.  Returns 1: it is whole now; 0; or -1 with *error filled.
 */
int mu_client_view_part(struct muster *m, const struct mu_local_view *part,
                        struct muster_error *error);
void mu_client_view_text(const struct muster *m, struct muster_event *event);
void mu_client_view_free(struct muster *m);

/* A refusal, as an error.  Returns -1. */
int mu_client_refused(const struct mu_local_message *message, struct muster_error *error);

#endif
