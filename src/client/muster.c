#include "client/handle.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t deadline_ns(int64_t timeout_ns)
{
    if (timeout_ns <= MUSTER_NOW)
        return MU_CLIENT_NO_WAIT;
    if (timeout_ns == MUSTER_FOREVER)
        return MU_CLIENT_NO_END;
    return mu_client_now_ns() + (uint64_t)timeout_ns;
}

static int fail_again(struct muster *m, struct muster_error *error)
{
    pthread_mutex_lock(&m->lock);
    if (error != NULL)
        *error = m->broken;
    pthread_mutex_unlock(&m->lock);
    return -1;
}

/* The first failure is the handle's for good.  The shutdown wakes all who wait for a packet, in
 * here or with poll(), and they find it. */
static int break_off(struct muster *m, const struct muster_error *why, struct muster_error *error)
{
    pthread_mutex_lock(&m->lock);
    if (!atomic_load(&m->is_broken)) {
        m->broken = *why;
        atomic_store(&m->is_broken, true);
    }
    pthread_mutex_unlock(&m->lock);
    shutdown(m->fd, SHUT_RDWR);
    return fail_again(m, error);
}

static int next(struct muster *m, struct muster_event *event, int64_t timeout_ns,
                struct muster_error *error)
{
    pid_t self = getpid();
    if (self != m->pid)
        return mu_client_fail(error, MUSTER_E_FORKED,
                              "process %d opened this handle, and this is process %d: "
                              "open one after fork()",
                              (int)m->pid, (int)self);
    if (atomic_load(&m->is_broken))
        return fail_again(m, error);
    struct mu_local_message message;
    struct muster_error why;
    int got = mu_client_receive(m->fd, m->name, deadline_ns(timeout_ns), &message, &why);
    if (got == 1)
        got = mu_client_event(m, &message, event, &why);
    return got >= 0 ? got : break_off(m, &why, error);
}

int muster_next(struct muster *m, struct muster_event *event, int64_t timeout_ns,
                struct muster_error *error)
{
    int errno_before = errno;
    int result = next(m, event, timeout_ns, error);
    errno = errno_before;
    return result;
}

void muster_close(struct muster *m)
{
    if (m == NULL)
        return;
    int errno_before = errno;
    close(m->fd);
    /* In a child of fork() another thread may have held the lock: it is left as it is. */
    if (m->pid == getpid())
        pthread_mutex_destroy(&m->lock);
    free(m);
    errno = errno_before;
}

int muster_fd(const struct muster *m)
{
    return m->pid == getpid() ? m->fd : -1;
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

const char *muster_verdict_word(uint32_t verdict)
{
    bool known = verdict >= MU_VERDICT_DEAD && verdict <= MU_VERDICT_LAST;
    return known ? mu_verdict_word((enum mu_verdict)verdict) : "unknown";
}

const char *muster_version(void)
{
    return MUSTER_VERSION;
}
