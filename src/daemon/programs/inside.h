/* What notify.c (the news, the jobs, the socket), client.c (one client) and operator.c (what an
 * operator asks) share. */
#ifndef MU_DAEMON_PROGRAMS_INSIDE_H
#define MU_DAEMON_PROGRAMS_INSIDE_H

#include "daemon/programs/notify.h"
#include "daemon/programs/journal.h"

#include <sys/types.h>

struct mu_notify_job {
    struct mu_notify_job *next; /* in the order in which they began */
    const struct mu_roll_job *roll;
    int bell;          /* an eventfd that its members wait at */
    bool to_ring;      /* something on the board is for them */
    uint32_t *handles; /* of libmuster, opened and not closed: by place among its ranks here */
};

/* What a client is to be told next.  A packet that its socket does not take is made again when it
 * does: a step changes only when its packet is gone. */
enum mu_client_step {
    MU_STEP_HELLO,   /* nothing: it has not said who it is */
    MU_STEP_WELCOME, /* then the state, or of an operator nothing */
    MU_STEP_LOST,
    MU_STEP_STATE, /* one after the other, then CAUGHT_UP */
    MU_STEP_GO_ON, /* CAUGHT_UP alone, or LOST: a member has asked again */
    MU_STEP_LIVE,  /* a member: nothing, it reads the board */
    MU_STEP_IDLE,  /* nothing: an operator has all that it asked for */
    MU_STEP_NODE,
    MU_STEP_JOBS,
    MU_STEP_PROCESSES, /* of the last job */
    MU_STEP_COUNTERS,  /* one after the other, */
    MU_STEP_GONE,      /* then the dead nodes of which nothing is left, then DONE */
    MU_STEP_DONE,
    MU_STEP_CANNOT,
};

struct mu_client {
    struct mu_notify *notify;
    uv_poll_t poll;
    int fd; /* -1: closed, and freed when the loop runs next */
    pid_t pid;
    uint64_t since; /* counts clients */
    enum mu_client_step step;
    bool blocked; /* its socket is full: it waits until there is room */
    bool later;   /* its descriptors cannot go now: mu_notify_look_again() */
    uint8_t role; /* enum mu_local_role, from HELLO on */
    bool holds;   /* it has brought a fault of the network */
    bool counted; /* among the handles of its rank */

    /* Its place in the journal: the next event.  An operator's STATE and LIVE; a member's when it
     * asks again. */
    uint64_t cursor;
    /* Its places in the rolls: a member's STATE. */
    uint32_t nodes_told, processes_told;
    uint64_t view_told; /* serial of the last event of the view: all of them, if it is its last */
    struct mu_notify_job *job; /* of a member */
    uint32_t rank, place;      /* its place among the ranks of the job that are here */

    uint64_t job_told;                   /* JOBS: order of the last one */
    uint32_t here_told;                  /* PROCESSES: places of it that were looked at */
    uint32_t counters_told;              /* COUNTERS */
    uint32_t gone_told;                  /* GONE */
    char why_not[MU_LOCAL_TEXT_MAX + 1]; /* CANNOT */
};

struct mu_notify {
    struct mu_notify_config config;
    char name[MU_LOCAL_NAME_MAX];
    struct mu_journal journal;
    struct mu_notify_job *jobs;

    int fd; /* that listens */
    uv_poll_t listener;
    uv_timer_t again;  /* when there was no descriptor for one more, or none could go */
    uint32_t handles;  /* of the loop, that are not closed yet */
    bool closing;      /* and freed with the last handle */
    uint32_t accepted; /* clients that are open; the first ones of 'clients' */
    struct mu_client **clients;
    uint64_t clients_seen;

    uint64_t lost, refused;
    uint8_t packet[MU_LOCAL_PACKET_MAX]; /* that is being made */
};

struct mu_notify_job *mu_notify_find(const struct mu_notify *notify, uint32_t job);

/* Soon, when there may be descriptors again: accepts clients, and tells those that wait 'later'. */
void mu_notify_look_again(struct mu_notify *notify);

/* A handle of the loop is closed: the last one of a closing notify frees it. */
void mu_notify_handle_gone(struct mu_notify *notify);

/* Takes an accepted socket, which is closed in any case.  NULL: no memory. */
struct mu_client *mu_client_open(struct mu_notify *notify, int fd, pid_t pid);

/* Tells it all that there is to tell and that its socket takes.  May close it. */
void mu_client_pump(struct mu_client *client);

/* Takes what it has said until now, but not that it has hung up.  May close it. */
void mu_client_catch_up(struct mu_client *client);

/* Into the packet that is being made; returns its length. */
size_t mu_client_encode(struct mu_client *client, const struct mu_local_message *message);

/* A last word, if its socket takes it, and closes it. */
void mu_client_refuse(struct mu_client *client, enum mu_local_refusal code, const char *text);
void mu_client_close(struct mu_client *client);

/* The last word to one that is no client. */
void mu_client_turn_away(int fd, enum mu_local_refusal code, const char *text);

/* ---- operator.c ---- */

/* An operator's request.  False: that is none. */
bool mu_operator_asks(struct mu_client *client, const struct mu_local_message *message);

/* The next packet of a step from NODE on: 0 when there is none, or the step has changed.  And: it
 * is gone. */
size_t mu_operator_packet(struct mu_client *client);
void mu_operator_sent(struct mu_client *client);

#endif
