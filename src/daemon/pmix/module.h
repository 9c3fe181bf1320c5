/* The contract between the daemon and its PMIx module (src/pmix), which it loads when it starts.
 *
 * libpmix itself is started as late as can be, because that takes as long as all the rest of a
 * short job: when the first process connects, or another node asks.  Until then processes find the
 * daemon in its place, which listens for them.  Where libpmix is not of a version that allows this,
 * it is started when the first job begins.
 *
 * Nothing of libpmix is here.  Its callbacks run on its own thread: the module puts them into a
 * queue and calls 'wake', and the daemon's loop calls turn().  All other functions of the module
 * and of the host are called on the loop's thread, but for open(), which blocks and has a thread of
 * its own.  No function waits. */
#ifndef MU_DAEMON_PMIX_MODULE_H
#define MU_DAEMON_PMIX_MODULE_H

#include "wire/peer/exchange.h"
#include "wire/launch/launch.h"
#include "wire/local/local.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { MU_PMIX_VERSION = 9, MU_PMIX_TEXT_MAX = 256, MU_PMIX_NAME_MAX = 64 };

struct mu_pmix; /* the module's own */

/* What came of an exchange. */
struct mu_pmix_result {
    uint32_t part_count;
    const struct mu_exchange_part *parts; /* by node; valid within the call */
    uint32_t missed;                      /* participants that failed on nodes without a part */
};

/* Somebody in the module who waits for the daemon; part of a larger struct. */
struct mu_pmix_wait {
    void (*done)(struct mu_pmix_wait *wait, const struct mu_pmix_result *result);
    /* bytes NULL: that node is dead, or does not serve this. */
    void (*answered)(struct mu_pmix_wait *wait, const uint8_t *bytes, size_t count);
};

/* What the daemon does for the module. */
struct mu_pmix_host {
    void *owner;
    /* From any thread: turn() is to be called soon. */
    void (*wake)(void *owner);
    /* turn() is to be called in so many ms, and not before unless for another reason. */
    void (*later)(void *owner, uint64_t ms);
    /* What job_begin() began is done: processes may start. */
    void (*ready)(void *owner, uint32_t job);
    /* All processes of 'runs' on this node have come to the n-th collective of this tag: NULL, or
     * why not.  'done' is called once, never within this call, unless the job is over first. */
    const char *(*exchange)(void *owner, uint32_t job, uint64_t tag, const struct mu_rank_run *runs,
                            uint32_t run_count, const uint8_t *bytes, size_t count,
                            struct mu_pmix_wait *wait);
    /* A question to the module of another node, or of this one.  'answered' is called once, unless
     * the job is over first. */
    void (*ask)(void *owner, uint32_t job, mu_slot node, const uint8_t *bytes, size_t count,
                struct mu_pmix_wait *wait);
    /* To a question: exactly once. */
    void (*answer)(void *owner, void *ticket, const uint8_t *bytes, size_t count);
    /* Makes one of these jobs for exchanges: ranks of the second come after those of the first,
     * and so on.  The same number and jobs everywhere; over when one of them is.  Once more is no
     * harm.  NULL, or why not. */
    const char *(*join)(void *owner, uint32_t number, const uint32_t *jobs, uint32_t count);
    /* A process wants a further job, of which only size and programs are said.  NULL, or why not:
     * else spawned() follows with this number, unless the job is over first. */
    const char *(*spawn)(void *owner, uint32_t job, uint32_t rank, uint32_t number,
                         const struct mu_launch_job *wish);
    /* What is known: is a process gone (how, in *event), and is a node dead? */
    bool (*gone)(void *owner, uint32_t job, uint32_t rank, struct mu_local_event *event);
    bool (*is_dead)(void *owner, mu_slot node);
    /* A process of this node has stopped its heartbeats.  Those of its job here have heard it. */
    void (*quiet)(void *owner, uint32_t job, uint32_t rank);
    /* A process wants its whole job to end. */
    void (*abort_job)(void *owner, uint32_t job, uint32_t rank);
};

struct mu_pmix_config {
    struct mu_pmix_host host;
    uint64_t machine;
    mu_slot self;
    uint32_t size;                         /* nodes */
    uint32_t processors;                   /* of this host, that its daemons may use */
    const char (*names)[MU_PMIX_NAME_MAX]; /* of all nodes; as long as the module is open */
    const char *folder;                    /* for files; whoever opens removes it */
};

struct mu_pmix_job {
    uint32_t number;
    uint32_t size; /* ranks */
    uint32_t run_count;
    const struct mu_launch_run *runs; /* where they are; valid until job_over() */
    const char *folder;               /* of the job, on this node; valid within the call */
    uint32_t on_host;                 /* its processes on this host, of all nodes that are here */
    struct mu_launch_parent parent;
};

/* What the module exports, as the symbol MU_PMIX_SYMBOL. */
struct mu_pmix_module {
    uint32_t version;
    /* Can libpmix be started after the processes of a job?  Then they get the environment of
     * early_env() and early_usual_env() in the place of env() and usual_env(); 'port' is where the
     * daemon listens at 127.0.0.1, and what it accepts there goes to take(). */
    bool (*can_wait)(void);
    char **(*early_env)(const struct mu_pmix_config *config, uint32_t job, uint32_t rank,
                        uint16_t port);
    char **(*early_usual_env)(const struct mu_pmix_config *config, const struct mu_pmix_job *job);
    /* Blocks for some ms.  NULL, with a sentence in 'text'. */
    struct mu_pmix *(*open)(const struct mu_pmix_config *config, char text[MU_PMIX_TEXT_MAX]);
    /* Blocks for a ms; no hook is called but 'answer', for questions that are open. */
    void (*close)(struct mu_pmix *pmix);
    /* A connection of a process, whose job has begun.  The module closes it.  Where can_wait(). */
    void (*take)(struct mu_pmix *pmix, int connection);
    /* After 'wake' and 'later'. */
    void (*turn)(struct mu_pmix *pmix);
    /* The hook 'ready' follows.  NULL, or why not. */
    const char *(*job_begin)(struct mu_pmix *pmix, const struct mu_pmix_job *job);
    void (*job_over)(struct mu_pmix *pmix, uint32_t job);
    /* "NAME=VALUE" of one process, ended with NULL, for env_free(): over what the user has set, and
     * under that.  NULL: no memory. */
    char **(*env)(struct mu_pmix *pmix, uint32_t job, uint32_t rank);
    char **(*usual_env)(struct mu_pmix *pmix, uint32_t job);
    void (*env_free)(char **env);
    /* What everybody hears; each once. */
    void (*told)(struct mu_pmix *pmix, const struct mu_local_event *event);
    /* A process of this node has ended, whether that is news or not. */
    void (*ended)(struct mu_pmix *pmix, uint32_t job, uint32_t rank);
    /* Is it inside: has this process of this node connected, and not called PMIx_Finalize since? */
    bool (*inside)(struct mu_pmix *pmix, uint32_t job, uint32_t rank);
    /* The same of another node: those of its job here are to hear it. */
    void (*quiet)(struct mu_pmix *pmix, uint32_t job, uint32_t rank, mu_slot node);
    /* A question: host.answer() follows, within the call or later. */
    void (*asked)(struct mu_pmix *pmix, uint32_t job, const uint8_t *bytes, size_t count,
                  void *ticket);
    /* What came of spawn(): the new job, or 0 and why not. */
    void (*spawned)(struct mu_pmix *pmix, uint32_t job, uint32_t number, uint32_t made,
                    const char *text);
};

#define MU_PMIX_SYMBOL "mu_pmix_module"

/* A file of ours: of PREFIX/bin/musterd, which runs both, 'rest' below PREFIX. */
static inline void mu_pmix_find(char path[PATH_MAX], const char *rest)
{
    size_t bytes = strlen(rest) + 1;
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - bytes);
    for (int up = 0; up < 2; up++) /* the executable, and its folder */
        do
            length--;
        while (length > 0 && path[length] != '/');
    memcpy(path + (length > 0 ? length : 0), rest, bytes);
}

#endif
