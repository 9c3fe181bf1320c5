/* The inside of agree.h; for daemon/agree only. */
#ifndef MU_DAEMON_AGREE_INSIDE_H
#define MU_DAEMON_AGREE_INSIDE_H

#include "daemon/agree/agree.h"
#include "wire/peer/agree_frame.h"
#include "wire/local/ballot.h"

/* In lists of the core a process is its rank; with this bit it has not failed, but left. */
#define MU_GROUP_LEFT (1u << 31)

/* One process of this node. */
struct mu_group_local {
    uint32_t rank;
    uint8_t gone; /* 0, or enum mu_ballot_kind */
    bool settled; /* that it is gone was decided, and acknowledged by all */
    bool called;  /* it has contributed to the agreement that is to come */
    uint64_t bits;
    uint32_t acked;
    bool had_voter; /* it has joined once, and does not again */
    struct mu_voter *voter;
};

/* Who failed or left, by a decision, and is not settled. */
struct mu_group_entry {
    mu_slot node;
    uint32_t process; /* rank, with MU_GROUP_LEFT or not; MU_FAILED_NODE */
    uint32_t end; /* ranks that had failed with this one: who has acknowledged so many is fine */
    bool needs_no_ack; /* nobody who failed is told by it */
};

struct mu_group_job;

struct mu_group {
    struct mu_group *next; /* of the job */
    struct mu_group_job *job;
    uint64_t id;
    uint32_t instance;
    uint16_t rows; /* 0: all of the job */
    struct mu_ballot_row row[MU_BALLOT_ROWS_MAX];
    uint32_t size;              /* members */
    uint32_t node_count, place; /* nodes that they are on; which of these this one is, from 0 */

    bool calling; /* this node has called, and there is no decision yet */
    bool over;    /* everybody is gone: */
    bool closed;  /* the core has forgotten it, and only its place among the job's groups is left */
    bool again;   /* look whether this node is to call */
    uint64_t round;

    uint32_t local_count, living, to_call; /* living: not gone; to_call: of these, not called yet */
    struct mu_group_local *locals;         /* in the order of ranks */

    uint64_t *gone;       /* a bit for each rank of the job, by decisions */
    uint32_t gone_count;  /* of these */
    uint32_t failed_told; /* ranks that failed, by decisions */
    struct mu_group_entry *entries;
    uint32_t entry_count, entry_room;

    bool announced; /* by this node or another, or there is no need to */
    uint64_t announce_at_ms;
};

struct mu_group_job {
    struct mu_group_job *next;
    const struct mu_roll_job *roll;
    struct mu_group *groups;
};

/* A socket of one process, for one group. */
struct mu_voter {
    struct mu_agreements *agreements;
    struct mu_voter *next, **place; /* of all voters */
    uv_poll_t poll;
    int fd; /* -1: closed, and freed when the loop runs next */
    uint32_t job, rank;
    struct mu_group *group; /* NULL: not joined yet */
};

/* That peers told of, until the loop passes it on. */
struct mu_agreements_death {
    struct mu_roster_entry death;
    mu_slot by;
};

struct mu_agreements {
    struct mu_agreements_config config;
    struct mu_agree_config core_config;
    void *memory;
    struct mu_agree *core;
    struct mu_record_stream *record;
    struct mu_agree_update update;
    struct mu_group_job *jobs;
    struct mu_voter *voters;
    uv_timer_t announce_timer;
    uv_timer_t lease_timer; /* while it is not held */
    uv_idle_t later;        /* what is told from the loop only: deaths, who was starved */
    struct mu_agreements_death *deaths; /* each node's at most twice: without proof and with it */
    uint32_t death_count;
    bool *starved; /* peers that spoke of a group for which there was no room: by slot */
    bool some_starved;
    bool is_fenced; /* this node itself was declared dead: to be told, too */
    mu_slot fenced_by;
    uint32_t handles; /* of the loop, that are not closed yet */
    bool closing;
    struct mu_agreements_counts counts;
    struct mu_failed *list; /* that is being made for a call */
    uint32_t list_room;
    struct mu_agree_frame_lists lists; /* of a message that comes in */
    uint8_t frame[MU_WIRE_FRAME_MAX];
};

/* ---- agree.c ---- */

/* One event for the core, and all that comes of it. */
void mu_agreements_step(struct mu_agreements *agreements, struct mu_agree_event *event);

/* Calls for every group that waits for it: at the end of whatever comes from outside. */
void mu_agreements_settle(struct mu_agreements *agreements);

/* Others are told of the group, if its first agreement takes long. */
void mu_agreements_announce_late(struct mu_agreements *agreements, struct mu_group *group);
void mu_agreements_handle_gone(struct mu_agreements *agreements);

/* ---- group.c: who is in a group, and who is gone ---- */

struct mu_group_job *mu_group_job_find(struct mu_agreements *agreements, uint32_t job);
struct mu_group *mu_group_find(struct mu_agreements *agreements, uint64_t id);

/* The one that is there, or a new one.  NULL with *why. */
struct mu_group *mu_group_get(struct mu_agreements *agreements, struct mu_group_job *job,
                              uint32_t instance, const struct mu_ballot_row *row, uint32_t rows,
                              const char **why);

/* The first group of these members that this rank has not joined yet, made if need be. */
struct mu_group *mu_group_join(struct mu_agreements *agreements, struct mu_group_job *job,
                               uint32_t rank, const struct mu_ballot_row *row, uint32_t rows,
                               const char **why);
bool mu_group_has(const struct mu_group *group, uint32_t rank);
struct mu_group_local *mu_group_local(const struct mu_group *group, uint32_t rank);
void mu_group_free(struct mu_group *group);
void mu_group_free_lists(struct mu_group *group); /* all but itself */

/* A process of this node is gone from the group. */
void mu_group_lose(struct mu_group *group, struct mu_group_local *local, enum mu_ballot_kind kind);

/* ---- round.c: one agreement of a group ---- */

/* A contribution of a process of this node. */
void mu_group_contribute(struct mu_group *group, struct mu_group_local *local, uint64_t bits,
                         uint32_t acked);

/* Calls for this node, when it is time. */
void mu_group_call(struct mu_agreements *agreements, struct mu_group *group);

void mu_group_decided(struct mu_agreements *agreements, struct mu_group *group, uint64_t round,
                      const struct mu_agree_value *value);

/* ---- voter.c ---- */

/* A packet to each process of this node that waits for the decision. */
void mu_voters_tell(struct mu_group *group, const struct mu_ballot *ballot);
void mu_voter_close(struct mu_voter *voter);

#endif
