#include "client/handle.h"
#include "host/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

uint64_t mu_client_deadline_ns(int64_t timeout_ns)
{
    if (timeout_ns <= MUSTER_NOW)
        return MU_CLIENT_NO_WAIT;
    if (timeout_ns == MUSTER_FOREVER)
        return MU_CLIENT_NO_END;
    return mu_now_ns() + (uint64_t)timeout_ns;
}

/* getpid() is a system call, for each event that is read. */
static bool is_owner(const struct muster *m)
{
    return m->mark != NULL ? *m->mark != 0 : m->pid == getpid();
}

int mu_client_check_owner(const struct muster *m, struct muster_error *error)
{
    if (is_owner(m))
        return 0;
    return mu_client_fail(error, MUSTER_E_FORKED,
                          "process %d opened this handle, and this is process %d: "
                          "open one after fork()",
                          (int)m->pid, (int)getpid());
}

/* Without a goodbye an exit code of 0 is a failure: others may wait for this process. */
static void say_goodbye(const struct muster *m)
{
    struct muster_error error;
    struct mu_local_message leave = {.type = MU_LOCAL_LEAVE};
    if (!m->is_broken)
        mu_client_send(m->fd, &leave, &error);
}

void muster_close(struct muster *m)
{
    if (m == NULL)
        return;
    int errno_before = errno;
    mu_client_group_free(m->all);
    /* In a child of fork() another thread may have held the lock: it is left as it is. */
    if (is_owner(m)) {
        say_goodbye(m);
        pthread_mutex_destroy(&m->lock);
        pthread_mutex_destroy(&m->group_lock);
    }
    if (m->mark != NULL)
        munmap((void *)(uintptr_t)m->mark, MU_CLIENT_MARK_BYTES);
    mu_client_view_free(m);
    mu_client_detach(m);
    close(m->fd);
    free(m);
    errno = errno_before;
}

int muster_fd(const struct muster *m)
{
    return is_owner(m) ? m->poll_fd : -1;
}

uint32_t muster_rank(const struct muster *m)
{
    return m->who.rank;
}

uint32_t muster_size(const struct muster *m)
{
    return m->who.size;
}

uint32_t muster_job(const struct muster *m)
{
    return m->who.job;
}

uint32_t muster_node(const struct muster *m)
{
    return m->who.slot;
}

uint32_t muster_nodes(const struct muster *m)
{
    return m->who.nodes;
}

const char *muster_verdict_name(uint32_t verdict)
{
    bool known = verdict >= MU_VERDICT_DEAD && verdict <= MU_VERDICT_LAST;
    return known ? mu_verdict_word((enum mu_verdict)verdict) : "unknown";
}

const char *muster_version(void)
{
    return MUSTER_VERSION;
}
