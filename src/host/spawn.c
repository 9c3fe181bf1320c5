#define _GNU_SOURCE
#include "host/spawn.h"
#include "host/clock.h"
#include "host/spawn_child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The C library has these names only since glibc 2.36. */
#define IDTYPE_PIDFD ((idtype_t)3)

/* ThreadSanitizer takes clone() for a fork that copies memory, and breaks its own books in the
 * memory that is shared here.  It does not know the other name of the same function. */
#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
int __clone(int (*run)(void *), void *stack, int flags, void *arg, ...);
#define clone __clone
#endif

/* For one that was killed and does not go: it hangs in the kernel, and close() must not. */
enum { REAP_TIMEOUT_MS = 2000 };

/* One ring in three parts, each counted from the beginning of time: fetched <= finished <=
 * submitted.  What lies between finished and submitted is the thread's. */
struct mu_spawner {
    pthread_mutex_t lock; /* of the counters and 'closing' */
    pthread_cond_t more;
    pthread_t thread;
    bool closing;
    uint64_t submitted;
    uint64_t finished;
    uint64_t fetched;
    uint32_t capacity;
    struct mu_spawn_result *ring;
    int event_fd;
    int null_fd;
    struct rlimit64 files; /* RLIMIT_NOFILE when it was opened: that of programs */
    uint8_t *stack;        /* of the process that is being made; the lowest page is a guard */
    size_t stack_bytes;
};

static void reap(int pidfd)
{
    siginfo_t info;
    while (waitid(IDTYPE_PIDFD, (id_t)pidfd, &info, WEXITED) != 0 && errno == EINTR)
        ;
}

static void start_process(struct mu_spawner *spawner, struct mu_spawn_result *result)
{
    struct mu_spawn_child child = {
        .spec = result->spec,
        .daemon = getpid(),
        .null_fd = spawner->null_fd,
        .files = &spawner->files,
    };
    int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
    int pidfd = -1;
    pid_t pid =
        clone(mu_spawn_child_run, spawner->stack + spawner->stack_bytes, flags, &child, &pidfd);
    int error = errno;
    result->at_ns = mu_now_ns();
    result->started = pid > 0 && child.error == 0;
    if (result->started) {
        result->pid = pid;
        result->pidfd = pidfd;
        return;
    }
    if (pid < 0) {
        result->failure = mu_exit_kind_not_started(MU_START_CLONE, error);
        return;
    }
    result->failure = mu_exit_kind_not_started(child.step, child.error);
    reap(pidfd); /* it is on its way out of exit_group() */
    close(pidfd);
}

/* Under the lock, so that clearing in mu_spawner_next() cannot swallow a new one. */
static void announce(struct mu_spawner *spawner)
{
    uint64_t one = 1;
    ssize_t written = write(spawner->event_fd, &one, sizeof one);
    assert(written == sizeof one); /* it counts to 2^64 */
}

/* Of a daemon that is killed, the last thread closes the connections, which is how others notice.
 * On a busy host that is this thread, unless it comes first, too. */
static bool come_first(void)
{
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    return sched_setscheduler(0, SCHED_FIFO, &lowest) == 0;
}

/* Comes first while it waits.  Processes inherit the scheduling that it has while it works. */
static void wait_for_more(struct mu_spawner *spawner)
{
    struct sched_param usual;
    int policy = sched_getscheduler(0);
    bool is_first = sched_getparam(0, &usual) == 0 && come_first();
    while (!spawner->closing && spawner->finished == spawner->submitted)
        pthread_cond_wait(&spawner->more, &spawner->lock);
    if (is_first)
        sched_setscheduler(0, policy, &usual);
}

static void *run(void *arg)
{
    struct mu_spawner *spawner = arg;
    /* Who names another thread writes to /proc/self/task, which orphans.c has a reason to avoid. */
    prctl(PR_SET_NAME, "muster-spawn");
    pthread_mutex_lock(&spawner->lock);
    for (;;) {
        if (!spawner->closing && spawner->finished == spawner->submitted)
            wait_for_more(spawner);
        if (spawner->closing)
            break;
        struct mu_spawn_result *result = &spawner->ring[spawner->finished % spawner->capacity];
        pthread_mutex_unlock(&spawner->lock);
        start_process(spawner, result);
        pthread_mutex_lock(&spawner->lock);
        spawner->finished++;
        announce(spawner);
    }
    pthread_mutex_unlock(&spawner->lock);
    return NULL;
}

/* With every signal blocked: the thread handles none, and a new process must not run a handler of
 * the daemon's in the daemon's memory. */
static int start_thread(struct mu_spawner *spawner)
{
    sigset_t all, before;
    sigfillset(&all);
    int error = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (error != 0)
        return error;
    error = pthread_create(&spawner->thread, NULL, run, spawner);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static int map_stack(struct mu_spawner *spawner)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = MU_SPAWN_STACK_BYTES + page;
    void *base =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (base == MAP_FAILED)
        return errno;
    spawner->stack = base;
    spawner->stack_bytes = bytes;
    return mprotect(base, page, PROT_NONE) == 0 ? 0 : errno;
}

/* CLONE_PIDFD is silently nothing in a kernel that does not know it. */
static int check_kernel(void)
{
    int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (pidfd < 0)
        return errno;
    close(pidfd);
    return 0;
}

static int open_parts(struct mu_spawner *spawner)
{
    int error = check_kernel();
    if (error != 0)
        return error;
    spawner->ring = calloc(spawner->capacity, sizeof *spawner->ring);
    if (!spawner->ring)
        return ENOMEM;
    if (getrlimit64(RLIMIT_NOFILE, &spawner->files) != 0)
        return errno;
    spawner->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (spawner->event_fd < 0)
        return errno;
    spawner->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (spawner->null_fd < 0)
        return errno;
    error = map_stack(spawner);
    return error != 0 ? error : start_thread(spawner);
}

static void free_parts(struct mu_spawner *spawner)
{
    if (spawner->stack)
        munmap(spawner->stack, spawner->stack_bytes);
    if (spawner->null_fd >= 0)
        close(spawner->null_fd);
    if (spawner->event_fd >= 0)
        close(spawner->event_fd);
    pthread_cond_destroy(&spawner->more);
    pthread_mutex_destroy(&spawner->lock);
    free(spawner->ring);
    free(spawner);
}

int mu_spawner_open(uint32_t capacity, struct mu_spawner **spawner)
{
    assert(capacity > 0);
    struct mu_spawner *made = calloc(1, sizeof *made);
    if (!made)
        return ENOMEM;
    made->capacity = capacity;
    made->event_fd = -1;
    made->null_fd = -1;
    /* The loop may have real-time priority, and this thread has not: whoever holds the lock while
     * the other one waits is to get on with it. */
    pthread_mutexattr_t inherit;
    pthread_mutexattr_init(&inherit);
    pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&made->lock, &inherit);
    pthread_mutexattr_destroy(&inherit);
    pthread_cond_init(&made->more, NULL);
    int error = open_parts(made);
    if (error != 0) {
        free_parts(made);
        return error;
    }
    *spawner = made;
    return 0;
}

/* The thread is gone, so the kernel has sent it SIGKILL already; unless the program gained
 * privileges by exec. */
static void reap_unfetched(struct mu_spawn_result *result)
{
    struct pollfd ended = {.fd = result->pidfd, .events = POLLIN};
    siginfo_t info;
    if (!result->started)
        return;
    syscall(SYS_pidfd_send_signal, result->pidfd, SIGKILL, NULL, 0);
    while (poll(&ended, 1, REAP_TIMEOUT_MS) < 0 && errno == EINTR)
        ;
    waitid(IDTYPE_PIDFD, (id_t)result->pidfd, &info, WEXITED | WNOHANG);
    close(result->pidfd);
}

void mu_spawner_close(struct mu_spawner *spawner)
{
    if (!spawner)
        return;
    pthread_mutex_lock(&spawner->lock);
    spawner->closing = true;
    pthread_cond_signal(&spawner->more);
    pthread_mutex_unlock(&spawner->lock);
    pthread_join(spawner->thread, NULL);
    for (uint64_t i = spawner->fetched; i < spawner->finished; i++)
        reap_unfetched(&spawner->ring[i % spawner->capacity]);
    free_parts(spawner);
}

bool mu_spawner_submit(struct mu_spawner *spawner, const struct mu_spawn_spec *spec, void *tag)
{
    assert(spec->argv && spec->argv[0] && spec->envp);
    pthread_mutex_lock(&spawner->lock);
    bool room = spawner->submitted - spawner->fetched < spawner->capacity;
    if (room) {
        struct mu_spawn_result *result = &spawner->ring[spawner->submitted % spawner->capacity];
        *result = (struct mu_spawn_result){.spec = spec, .tag = tag, .pidfd = -1};
        spawner->submitted++;
        pthread_cond_signal(&spawner->more);
    }
    pthread_mutex_unlock(&spawner->lock);
    return room;
}

int mu_spawner_fd(const struct mu_spawner *spawner)
{
    return spawner->event_fd;
}

bool mu_spawner_next(struct mu_spawner *spawner, struct mu_spawn_result *result)
{
    pthread_mutex_lock(&spawner->lock);
    bool found = spawner->fetched < spawner->finished;
    if (found)
        *result = spawner->ring[spawner->fetched++ % spawner->capacity];
    if (spawner->fetched == spawner->finished) {
        uint64_t count;
        ssize_t cleared = read(spawner->event_fd, &count, sizeof count);
        (void)cleared; /* nothing to read: cleared already */
    }
    pthread_mutex_unlock(&spawner->lock);
    return found;
}

const char *mu_spawn_path(const struct mu_spawn_spec *spec, enum mu_start_step step)
{
    return step == MU_START_CHDIR ? spec->directory : spec->argv[0];
}
