/* The inside of an agreement, and what its parts offer each other. */
#ifndef MU_CORE_AGREE_INSIDE_H
#define MU_CORE_AGREE_INSIDE_H

#include "core/agree/agree.h"
#include "core/base/tree.h"

enum mu_agree_status {
    MU_AGREE_IDLE = 0,  /* not called here yet; others may have begun */
    MU_AGREE_GATHERING, /* called; not all children have contributed */
    MU_AGREE_WAITING,   /* the contributions have gone up, or the decision is there */
};

/* Somebody that this node has heard from in one agreement. */
struct mu_agree_peer {
    uint32_t slot : 30;
    uint32_t got : 1;  /* its contribution is in; it stays a child of this node while both live */
    uint32_t asks : 1; /* it is to be told the decision */
};

struct mu_round {
    struct mu_gather value;      /* gathered so far; once decided: the decision */
    struct mu_agree_peer *peers; /* by slot */
    uint32_t peer_count;
    uint8_t status; /* enum mu_agree_status */
    bool decided;
    bool delivered; /* to the driver */
    bool told;      /* to children and all who asked */
};

/* Rounds that can matter at a time: the last one decided, the one after it, and one more, which
 * those may have begun who decided before this node. */
enum { MU_ROUNDS = 3 };

struct mu_agree_group {
    uint64_t id;
    uint64_t decided; /* number of the round decided last; 0: none yet */
    bool used;
    bool open;           /* else only messages have come yet, and its members are not known */
    bool was_par;        /* while a death is learned: the dead node was the parent here, */
    bool was_kid;        /* or a child of this node */
    bool stale;          /* the round before the one decided last is still to be cleared */
    bool learns;         /* the decision tells of deaths that are still to be learned */
    mu_slot learns_from; /* whoever sent it; this node: it has made it */
    uint16_t settled_count;
    mu_slot *settled; /* dead, decided and acknowledged by all, but still in the tree */
    struct mu_members members;
    struct mu_round rounds[MU_ROUNDS]; /* number modulo MU_ROUNDS */
};

struct mu_agree {
    struct mu_agree_config config;
    struct mu_roster dead;
    struct mu_agree_group *groups;
    struct mu_gather notes; /* only entries: what goes into every contribution */
    bool held;              /* the lease */
    bool fenced;
    bool crowded;         /* several deaths are learned in one step: what is sent may repeat */
    uint64_t told_by_ask; /* bit s: an ASK told that slot s is dead; for a broken rule only */
};

static inline bool mu_agree_is_broken(const struct mu_agree *agree, uint32_t rule)
{
    return (agree->config.broken_rules & rule) != 0;
}

/* Is it still to be decided?  By the printed rules one that is decided can begin anew. */
static inline bool mu_agree_is_undecided(const struct mu_agree *agree, const struct mu_round *round)
{
    return !round->decided || (mu_agree_is_broken(agree, MU_AGREE_BROKEN_AGAIN) &&
                               round->status == MU_AGREE_GATHERING);
}

static inline struct mu_round *mu_agree_round(struct mu_agree_group *group, uint64_t number)
{
    return &group->rounds[number % MU_ROUNDS];
}

static inline struct mu_tree mu_agree_tree(const struct mu_agree *agree,
                                           const struct mu_agree_group *group)
{
    return (struct mu_tree){&group->members, &agree->dead, agree->config.shift};
}

/* ---- group.c: groups, rounds and who was heard from ---- */

/* The most children that one node can have: the tree's, and those of the dead. */
uint32_t mu_agree_peers_max(const struct mu_agree_config *config);

struct mu_agree_group *mu_agree_find(const struct mu_agree *agree, uint64_t id);

/* The one that is there, or a new one; NULL when all are in use. */
struct mu_agree_group *mu_agree_find_or_add(struct mu_agree *agree, uint64_t id);

enum mu_fault mu_agree_open(struct mu_agree *agree, uint64_t id, const struct mu_span *spans,
                            uint32_t count);
void mu_agree_close(struct mu_agree *agree, uint64_t id);
void mu_agree_round_clear(struct mu_round *round);

/* Clears the rounds that decisions of the step before have made worthless. */
void mu_agree_collect(struct mu_agree *agree);

/* The entry of a peer, made if need be; NULL when there is no room. */
struct mu_agree_peer *mu_agree_peer_add(const struct mu_agree *agree, struct mu_round *round,
                                        mu_slot slot);
bool mu_agree_peer_got(const struct mu_round *round, mu_slot slot);
void mu_agree_peer_remove(struct mu_round *round, mu_slot slot);
void mu_agree_peers_clear(struct mu_round *round);

bool mu_agree_is_settled(const struct mu_agree_group *group, mu_slot slot);

/* Adds all dead members that are not settled to what was gathered. */
void mu_agree_add_dead(const struct mu_agree *agree, const struct mu_agree_group *group,
                       struct mu_round *round);

/* Before a round begins: what the last decision settles, and a new tree when there is enough of it.
 * A fault when there is no room for its runs: then it stays as it is. */
enum mu_fault mu_agree_settle(const struct mu_agree *agree, struct mu_agree_group *group);

/* ---- agree.c ---- */

struct mu_agree_effect *mu_agree_add(struct mu_agree_update *update,
                                     enum mu_agree_effect_type type);
void mu_agree_send(struct mu_agree *agree, const struct mu_agree_group *group, uint64_t number,
                   enum mu_agree_message_type type, mu_slot peer, struct mu_agree_update *update);

/* R2: this round is complete, when nothing is missing. */
void mu_agree_complete(struct mu_agree *agree, struct mu_agree_group *group, uint64_t number,
                       struct mu_agree_update *update);

/* Sends and delivers a decision, as far as the lease allows. */
void mu_agree_tell(struct mu_agree *agree, struct mu_agree_group *group, uint64_t number,
                   struct mu_agree_update *update);

/* ---- learn.c: deaths, and what is said again ---- */

/* The one door for deaths, and for proof of them.  'by': who said so; MU_SLOT_NONE: the driver. */
void mu_agree_learn(struct mu_agree *agree, struct mu_roster_entry death, mu_slot by,
                    struct mu_agree_update *update);

/* Deaths that decisions tell of. */
void mu_agree_learn_decided(struct mu_agree *agree, struct mu_agree_update *update);

/* R5: all that an ASK tells.  False: that includes this node's own death. */
bool mu_agree_learn_asked(struct mu_agree *agree, const struct mu_agree_group *group, mu_slot from,
                          const struct mu_agree_message *ask, struct mu_agree_update *update);

/* R8, R9: whatever waits for an answer from 'peer' (MU_SLOT_NONE: from anybody) is said again. */
void mu_agree_say_again(struct mu_agree *agree, mu_slot peer, struct mu_agree_update *update);

#endif
