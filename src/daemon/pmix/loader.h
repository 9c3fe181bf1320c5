/* Loads the PMIx module when the first job begins, on a thread of its own, and passes on what
 * happens.  Where there is no module, or no libpmix, jobs run without. */
#ifndef MU_DAEMON_PMIX_LOADER_H
#define MU_DAEMON_PMIX_LOADER_H

#include "daemon/pmix/module.h"
#include "daemon/roll/roll.h"

#include <netinet/in.h>
#include <uv.h>

/* libpmix finds its settings in the environment.  Once for a process, before it has a second
 * thread: nobody may look at the environment while it changes.  Jobs have environments of their
 * own.  'shared_host': all nodes of the machine are on this one. */
void mu_pmix_environment(bool shared_host);

struct mu_pmix_loader;

struct mu_pmix_loader_config {
    uv_loop_t *loop;
    uint64_t machine;
    mu_slot self;
    uint32_t size;
    bool shared_host; /* all nodes are on one host */
    /* 'wake' and 'later' lead to the two functions below; 'ready' means that a job which was held
     * can go on, with PMIx or without. */
    struct mu_pmix_host host;
    const struct mu_roll *roll; /* open for longer than this */
};

/* NULL: no memory.  Begins to load the module. */
struct mu_pmix_loader *mu_pmix_loader_open(const struct mu_pmix_loader_config *config);

/* Where the nodes are; before the first job. */
void mu_pmix_loader_nodes(struct mu_pmix_loader *loader, const struct sockaddr_in *addresses);

/* What the module wants of the loop; the first one from any thread. */
void mu_pmix_loader_wake(struct mu_pmix_loader *loader);
void mu_pmix_loader_later(struct mu_pmix_loader *loader, uint64_t ms);

/* Frees it; handles of the loop are closed when it runs next.  NULL is none, as everywhere here. */
void mu_pmix_loader_close(struct mu_pmix_loader *loader);

/* A job of the roll.  True: its processes have to wait for the hook 'ready'. */
bool mu_pmix_loader_job(struct mu_pmix_loader *loader, uint32_t job,
                        const struct mu_launch_job *spec);
void mu_pmix_loader_over(struct mu_pmix_loader *loader, uint32_t job);

/* As in struct mu_pmix_module; NULL also when there is none. */
char **mu_pmix_loader_env(struct mu_pmix_loader *loader, uint32_t job, uint32_t rank);
char **mu_pmix_loader_usual_env(struct mu_pmix_loader *loader, uint32_t job);
void mu_pmix_loader_env_free(struct mu_pmix_loader *loader, char **env);
void mu_pmix_loader_told(struct mu_pmix_loader *loader, const struct mu_local_event *event);
void mu_pmix_loader_ended(struct mu_pmix_loader *loader, uint32_t job, uint32_t rank);
bool mu_pmix_loader_inside(struct mu_pmix_loader *loader, uint32_t job, uint32_t rank);
void mu_pmix_loader_quiet(struct mu_pmix_loader *loader, uint32_t job, uint32_t rank, mu_slot node);
/* A loader that is there. */
void mu_pmix_loader_asked(struct mu_pmix_loader *loader, uint32_t job, const uint8_t *bytes,
                          size_t count, void *ticket);
void mu_pmix_loader_spawned(struct mu_pmix_loader *loader, uint32_t job, uint32_t number,
                            uint32_t made, const char *text);

#endif
