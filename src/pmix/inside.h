/* What the files of the module share.
 *
 * Two threads: libpmix's, on which its upcalls run (upcall.c), and the daemon's loop, on which all
 * the rest does.  The queue is the only thing that both touch. */
#ifndef MU_PMIX_INSIDE_H
#define MU_PMIX_INSIDE_H

#include "daemon/pmix/module.h"

#include <strings.h> /* pmix_common.h needs it */

#include <pmix.h>
#include <pmix_server.h>
#include <stdatomic.h>

/* Something that libpmix's thread has handed over. */
struct mu_upcall {
    struct mu_upcall *next;
    /* On the loop.  Frees it. */
    void (*run)(struct mu_pmix *pmix, struct mu_upcall *upcall);
};

/* Something that libpmix waits for and the daemon has not done yet: when the job is over, it never
 * will.  Part of a larger struct. */
struct mu_pending {
    struct mu_pending *next, **link; /* link NULL: in no list */
    /* Answers libpmix, and frees itself. */
    void (*give_up)(struct mu_pending *pending);
};

enum mu_client_state { MU_CLIENT_NEW, MU_CLIENT_CONNECTED, MU_CLIENT_FINALIZED, MU_CLIENT_LOST };

/* A process of this node. */
struct mu_client_here {
    uint32_t rank;
    enum mu_client_state state;
    bool inside; /* it has connected, and not finalized since */
    bool ended;  /* the process */
    bool stood_in;
};

/* A connection that is lost is no goodbye. */
static inline bool mu_client_inside(bool inside, enum mu_client_state state)
{
    return state == MU_CLIENT_CONNECTED || (inside && state != MU_CLIENT_FINALIZED);
}

/* A job: a namespace of PMIx. */
struct mu_space {
    struct mu_space *next;
    uint32_t number;
    pmix_nspace_t name;
    uint32_t size;
    uint32_t run_count;
    const struct mu_launch_run *runs; /* of the host */
    bool is_used;                     /* a process here has connected */
    uint32_t here_count;
    struct mu_client_here *here; /* in the order of ranks */
    uint32_t to_register;        /* what libpmix has not confirmed yet */
    char *folder;
    uint32_t on_host; /* its processes on this host */
    bool crowded;     /* this host has fewer cores than processes of all jobs, when it began */
    struct mu_pending *pending;
    struct mu_launch_parent parent;
    uint32_t linked_count;
    uint32_t *linked; /* jobs that its processes have connected with */
};

struct mu_pmix {
    struct mu_pmix_config config;
    char hostname[MU_PMIX_NAME_MAX];
    struct mu_upcall *_Atomic newest; /* of the queue; each knows the one before it */
    struct mu_space *spaces;
    struct mu_modex *modex;         /* requests that wait for a process of this node */
    struct mu_published *published; /* what is kept at this node */
    struct mu_pending *joint;       /* collectives of several jobs */
};

/* ---- queue.c ---- */

/* From any thread.  The module must be open. */
void mu_upcall_put(struct mu_upcall *upcall);
void mu_upcall_turn(struct mu_pmix *pmix);

/* Around what the loop gives to libpmix, before, and where libpmix's thread takes it, first. */
void mu_pmix_gives(void);
void mu_pmix_takes(void);

/* The module that is open: libpmix is one for a process, and its upcalls carry no context. */
extern struct mu_pmix *mu_pmix_open_one;

/* ---- module.c ---- */

/* Then libpmix's thread calls no function of libpmix that may take a lock, and what libpmix calls
 * hands nothing over: it would be answered when libpmix is no more. */
bool mu_pmix_is_closing(void);

/* ---- space.c: jobs ---- */

const char *mu_space_begin(struct mu_pmix *pmix, const struct mu_pmix_job *job);
void mu_space_over(struct mu_pmix *pmix, uint32_t job);
struct mu_space *mu_space_find(const struct mu_pmix *pmix, uint32_t job);
struct mu_space *mu_space_named(const struct mu_pmix *pmix, const char *name);
struct mu_client_here *mu_space_client(const struct mu_space *space, uint32_t rank);
/* Where keys of its run are kept: the first job of it.  NULL: that is over. */
struct mu_space *mu_space_root(const struct mu_pmix *pmix, const struct mu_space *space);
void mu_space_name(const struct mu_pmix *pmix, uint32_t job, pmix_nspace_t name);
void mu_space_server(const struct mu_pmix_config *config, pmix_nspace_t name); /* our own */
mu_slot mu_space_node(const struct mu_space *space, uint32_t rank);
char **mu_space_env(struct mu_pmix *pmix, uint32_t job, uint32_t rank);
char **mu_space_usual_env(struct mu_pmix *pmix, uint32_t job);
char **mu_space_early_env(const struct mu_pmix_config *config, uint32_t job, uint32_t rank,
                          uint16_t port);
char **mu_space_early_usual_env(const struct mu_pmix_config *config, const struct mu_pmix_job *job);
void mu_space_env_free(char **env);
void mu_space_ended(struct mu_pmix *pmix, uint32_t job, uint32_t rank);
void mu_space_connected(struct mu_pmix *pmix, const pmix_proc_t *proc, enum mu_client_state state);
bool mu_space_inside(struct mu_pmix *pmix, uint32_t job, uint32_t rank);

/* Processes of the two have connected, or disconnected: each hears of deaths of the other. */
void mu_space_link(struct mu_space *space, uint32_t job, bool linked);

void mu_pending_add(struct mu_pending **list, struct mu_pending *pending,
                    void (*give_up)(struct mu_pending *pending));
void mu_pending_remove(struct mu_pending *pending); /* or nothing */

/* ---- stand_in.c: for processes that died before they connected ---- */

void mu_stand_in_look(struct mu_pmix *pmix, struct mu_space *space);

/* ---- upcall.c: what libpmix calls ---- */

extern pmix_server_module_t mu_pmix_upcalls;
void mu_upcall_watch(void); /* connections, and heartbeats of clients */

/* Contacts of this process that are in the queue: says what they would make of 'inside'. */
bool mu_upcall_inside(const struct mu_pmix *pmix, const pmix_proc_t *proc, bool inside);

/* ---- collective.c: fence, connect, disconnect, group ---- */

enum mu_collective_kind {
    MU_COLLECTIVE_FENCE = 1,
    MU_COLLECTIVE_CONNECT,
    MU_COLLECTIVE_DISCONNECT,
    MU_COLLECTIVE_GROUP,
    MU_COLLECTIVE_UNGROUP,
};

/* The same name has the same number at all nodes. */
uint64_t mu_name_hash(const char *name);

/* Copies all of it.  On libpmix's thread.  'came': so many of this node; UINT32_MAX: as many as are
 * left. */
struct mu_collective *mu_collective_make(enum mu_collective_kind kind, const char *name,
                                         const pmix_proc_t *procs, size_t proc_count,
                                         const char *bytes, size_t count, bool all_came,
                                         uint32_t came);
pmix_status_t mu_collective_fence(struct mu_collective *made, pmix_modex_cbfunc_t done, void *data);
pmix_status_t mu_collective_op(struct mu_collective *made, pmix_op_cbfunc_t done, void *data);
pmix_status_t mu_collective_group(struct mu_collective *made, pmix_info_cbfunc_t done, void *data);

/* A job is over: nobody waits for it. */
void mu_collective_over(struct mu_pmix *pmix, const struct mu_space *space);

/* ---- spawn.c ---- */

/* On libpmix's thread. */
pmix_status_t mu_spawn(const pmix_proc_t *proc, const pmix_info_t info[], size_t info_count,
                       const pmix_app_t apps[], size_t app_count, pmix_spawn_cbfunc_t done,
                       void *data);
void mu_spawn_spawned(struct mu_pmix *pmix, uint32_t job, uint32_t number, uint32_t made,
                      const char *text);

/* ---- modex.c: what a process of another node has put ---- */

pmix_status_t mu_modex_want(const pmix_proc_t *proc, pmix_modex_cbfunc_t done, void *data);
void mu_modex_asked(struct mu_pmix *pmix, struct mu_space *space, struct mu_reader *reader,
                    void *ticket);
void mu_modex_ended(struct mu_pmix *pmix, uint32_t job, uint32_t rank);
void mu_modex_over(struct mu_pmix *pmix, uint32_t job);
void mu_modex_free(struct mu_pmix *pmix); /* when libpmix will answer no more */

/* ---- events.c ---- */

void mu_events_told(struct mu_pmix *pmix, const struct mu_local_event *event);
/* How it has ended, in the words of PMIx; and as a shell has it. */
pmix_proc_state_t mu_events_state(const struct mu_evidence *evidence);
int mu_events_exit_code(const struct mu_exit_kind *how);

/* Is this rank gone, and how? */
bool mu_space_gone(const struct mu_space *space, uint32_t rank, struct mu_local_event *event);
void mu_events_quiet(struct mu_pmix *pmix, uint32_t job, uint32_t rank, mu_slot node);

/* ---- ask.c: questions between modules ---- */

enum mu_ask_kind { MU_ASK_MODEX = 1, MU_ASK_PUBLISH, MU_ASK_LOOKUP, MU_ASK_UNPUBLISH };

void mu_ask_asked(struct mu_pmix *pmix, uint32_t job, const uint8_t *bytes, size_t count,
                  void *ticket);

/* ---- publish.c, keep.c: keys that processes of a job show each other ---- */

/* On libpmix's thread. */
pmix_status_t mu_publish(const pmix_proc_t *proc, const pmix_info_t info[], size_t count,
                         pmix_op_cbfunc_t done, void *data);
pmix_status_t mu_lookup(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                        size_t count, pmix_lookup_cbfunc_t done, void *data);
pmix_status_t mu_unpublish(const pmix_proc_t *proc, char **keys, pmix_op_cbfunc_t done, void *data);

struct mu_kept_question {
    uint32_t job;      /* the first one of the run, which has all its keys */
    bool flag;         /* PUBLISH: for one reader only; LOOKUP: waits for it */
    uint32_t by, rank; /* who asks: its job */
    uint32_t wait_s;   /* LOOKUP: for at most so long; 0: as long as it takes */
    const char *key;
    const uint8_t *bytes; /* PUBLISH: the value, as libpmix packs it */
    size_t count;
};

void mu_keep_asked(struct mu_pmix *pmix, enum mu_ask_kind kind,
                   const struct mu_kept_question *question, void *ticket);
void mu_keep_over(struct mu_pmix *pmix, uint32_t job);
void mu_keep_turn(struct mu_pmix *pmix); /* who has waited for long enough is answered */

/* ---- query.c ---- */

/* On libpmix's thread. */
pmix_status_t mu_query(const pmix_proc_t *proc, const pmix_query_t *queries, size_t count,
                       pmix_info_cbfunc_t done, void *data);

#endif
