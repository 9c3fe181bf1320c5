/* What is behind a struct muster.  For the files of this folder only. */
#ifndef MU_CLIENT_HANDLE_H
#define MU_CLIENT_HANDLE_H

#include "muster.h"
#include "wire/local.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/* All but the last three is written by muster_open() and only read afterwards.  Packets need no
 * lock: the kernel gives each of them, whole, to one of those who wait. */
struct muster {
    int fd;
    pid_t pid;                   /* who opened it */
    struct mu_local_welcome who; /* this process, as its daemon knows it */
    char name[MU_LOCAL_NAME_MAX];
    atomic_bool is_broken;
    pthread_mutex_t lock; /* of 'broken' */
    struct muster_error broken;
};

/* Fills *error, if there is one.  Control characters become '?', so that what came from outside
 * stays one line.  Returns -1. */
__attribute__((format(printf, 3, 4))) int
mu_client_fail(struct muster_error *error, enum muster_code code, const char *format, ...);

/* "Too many open files".  In English and for any thread, which strerror() is not. */
const char *mu_client_errno_text(int number);

uint64_t mu_client_now_ns(void); /* CLOCK_MONOTONIC */

/* For the functions that wait: until then, on CLOCK_MONOTONIC. */
#define MU_CLIENT_NO_WAIT 0
#define MU_CLIENT_NO_END  UINT64_MAX

/* A socket that is connected to the daemon of that name, and was found to be of this user or of
 * root.  Returns it, or -1 with *error filled. */
int mu_client_connect(const char *name, uint64_t until_ns, struct muster_error *error);

/* Returns 0, or -1 with *error filled.  That the daemon is gone is no error here: what it said
 * before is still to be read, and then mu_client_receive() says so. */
int mu_client_send(int fd, const struct mu_local_message *message, struct muster_error *error);

/* One packet.  Returns 1, 0 when none came in time, or -1 with *error filled. */
int mu_client_receive(int fd, const char *name, uint64_t until_ns, struct mu_local_message *message,
                      struct muster_error *error);

/* What a packet means to the program.  Returns 1, or -1 with *error filled when the daemon may not
 * say that to this process. */
int mu_client_event(const struct muster *m, const struct mu_local_message *message,
                    struct muster_event *event, struct muster_error *error);

/* A refusal, as an error.  Returns -1. */
int mu_client_refused(const struct mu_local_message *message, struct muster_error *error);

#endif
