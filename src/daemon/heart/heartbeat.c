#define _GNU_SOURCE
#include "daemon/heart/heartbeat.h"

#include "daemon/heart/loop.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif

/* What sanitizers keep for each thread lies on its stack, too. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) ||                               \
    HAS_FEATURE(thread_sanitizer) || HAS_FEATURE(address_sanitizer)
enum { STACK_BYTES = 4 * 1024 * 1024 };
#else
enum { STACK_BYTES = 64 * 1024 };
#endif

/* Asked for; several hundred datagrams, of which a detector gets a few in each period. */
enum { RECEIVE_BYTES = 256 * 1024 };

/* The region: a page that nobody may touch, the stack, all else. */
struct mu_heartbeat {
    int fd;
    int wait_fd, wake_fd, news_fd; /* as in the loop */
    sa_family_t family;
    uint8_t *region; /* NULL: not started */
    size_t region_bytes;
    size_t guard_bytes;
    struct mu_heartbeat_loop *loop; /* in the region */
    bool running;
    pthread_t thread;
    struct mu_late *late; /* from the first fault that makes datagrams late on */
};

/* ---- the socket ---- */

static socklen_t address_bytes(sa_family_t family)
{
    return family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static int open_socket(const struct sockaddr *address, int *fd, uint16_t *port)
{
    union mu_heartbeat_address bound;
    socklen_t length = address_bytes(address->sa_family);
    int receive = RECEIVE_BYTES;
    *fd = socket(address->sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return errno;
    setsockopt(*fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof receive); /* else the default */
    if (bind(*fd, address, length) != 0 || getsockname(*fd, &bound.any, &length) != 0)
        return errno;
    *port = ntohs(bound.any.sa_family == AF_INET ? bound.v4.sin_port : bound.v6.sin6_port);
    return 0;
}

static int open_eventfd(int *fd)
{
    *fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return *fd >= 0 ? 0 : errno;
}

static int wait_for(int wait_fd, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(wait_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

static int open_wait(struct mu_heartbeat *heartbeat)
{
    heartbeat->wait_fd = epoll_create1(EPOLL_CLOEXEC);
    if (heartbeat->wait_fd < 0)
        return errno;
    int error = wait_for(heartbeat->wait_fd, heartbeat->fd);
    return error != 0 ? error : wait_for(heartbeat->wait_fd, heartbeat->wake_fd);
}

int mu_heartbeat_listen(const struct sockaddr *address, struct mu_heartbeat **heartbeat,
                        uint16_t *port)
{
    if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
        return EAFNOSUPPORT;
    struct mu_heartbeat *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ENOMEM;
    made->fd = made->wait_fd = made->wake_fd = made->news_fd = -1;
    made->family = address->sa_family;
    uint16_t bound = 0;
    int error = open_socket(address, &made->fd, &bound);
    if (error == 0)
        error = open_eventfd(&made->wake_fd);
    if (error == 0)
        error = open_eventfd(&made->news_fd);
    if (error == 0)
        error = open_wait(made);
    if (error != 0) {
        mu_heartbeat_stop(made);
        return error;
    }
    *heartbeat = made;
    *port = bound;
    return 0;
}

/* ---- memory ---- */

/* All that the thread uses besides its stack; what each beat touches comes first. */
struct parts {
    struct mu_heartbeat_loop *loop;
    void *detect;
    struct mu_detect_effect *effects;
    union mu_heartbeat_address *addresses;
    struct mu_heartbeat_order *orders;
    struct mu_heartbeat_news *news;
    struct mu_heartbeat_news *backlog;
};

/* Called once to measure, and once in earnest. */
static struct parts lay_out(const struct mu_heartbeat_config *config, struct mu_arena *arena)
{
    const struct mu_detect_config *detect = &config->detect;
    struct parts parts;
    parts.loop = mu_arena_array_line(arena, 1, sizeof *parts.loop);
    parts.detect = mu_arena_array_line(arena, 1, mu_detect_bytes(detect));
    parts.effects = mu_arena_array_line(arena, MU_DETECT_EFFECTS_MAX, sizeof *parts.effects);
    parts.addresses = mu_arena_array_line(arena, detect->size, sizeof *parts.addresses);
    parts.orders = mu_arena_array_line(arena, config->queue, sizeof *parts.orders);
    parts.news = mu_arena_array_line(arena, config->queue, sizeof *parts.news);
    parts.backlog =
        mu_arena_array_line(arena, mu_backlog_capacity(detect->dead), sizeof *parts.backlog);
    return parts;
}

static struct mu_heartbeat_loop *fill(const struct mu_heartbeat *heartbeat,
                                      const struct mu_heartbeat_config *config,
                                      const struct parts *parts)
{
    const struct mu_detect_config *detect = &config->detect;
    struct mu_heartbeat_loop *loop = parts->loop;
    memcpy(parts->addresses, config->addresses, detect->size * sizeof *parts->addresses);
    loop->datagrams.fd = heartbeat->fd;
    loop->datagrams.self = detect->self;
    loop->datagrams.size = detect->size;
    loop->datagrams.addresses = parts->addresses;
    loop->datagrams.address_bytes = address_bytes(heartbeat->family);
    loop->datagrams.counts = &loop->counts;
    mu_beat_key_derive(&loop->datagrams.key, config->key);
    mu_datagrams_init(&loop->datagrams);

    mu_backlog_init(&loop->backlog, parts->backlog, mu_backlog_capacity(detect->dead));
    mu_spsc_init(&loop->orders, parts->orders, config->queue, sizeof *parts->orders);
    mu_spsc_init(&loop->news, parts->news, config->queue, sizeof *parts->news);
    loop->update.effects = parts->effects;
    loop->update.capacity = MU_DETECT_EFFECTS_MAX;
    loop->detect = mu_detect_init(parts->detect, mu_detect_bytes(detect), detect);
    atomic_init(&loop->depends_on, MU_SLOT_NONE);
    loop->wait_fd = heartbeat->wait_fd;
    loop->wake_fd = heartbeat->wake_fd;
    loop->news_fd = heartbeat->news_fd;
    loop->record = config->record;
    loop->record_context = config->record_context;
    return loop;
}

static int map_region(struct mu_heartbeat *heartbeat, size_t bytes)
{
    void *region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED)
        return errno;
    heartbeat->region = region;
    heartbeat->region_bytes = bytes;
    return mprotect(region, heartbeat->guard_bytes, PROT_NONE) == 0 ? 0 : errno;
}

/* ---- the thread ---- */

static int create_thread(struct mu_heartbeat *heartbeat)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* it handles none */
    error =
        pthread_attr_setstack(&attributes, heartbeat->region + heartbeat->guard_bytes, STACK_BYTES);
    if (error == 0)
        error =
            pthread_create(&heartbeat->thread, &attributes, mu_heartbeat_loop_run, heartbeat->loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    heartbeat->running = error == 0;
    return error;
}

/* Not by the attributes: where it is refused, the thread is to run all the same. */
static int come_first(const struct mu_heartbeat *heartbeat, int priority)
{
    const struct sched_param wanted = {.sched_priority = priority};
    return priority == 0 ? 0 : pthread_setschedparam(heartbeat->thread, SCHED_FIFO, &wanted);
}

static bool addresses_fit(const struct mu_heartbeat *heartbeat,
                          const struct mu_heartbeat_config *config)
{
    for (mu_slot slot = 0; slot < config->detect.size; slot++)
        if (slot != config->detect.self &&
            config->addresses[slot].any.sa_family != heartbeat->family)
            return false;
    return true;
}

int mu_heartbeat_start(struct mu_heartbeat *heartbeat, const struct mu_heartbeat_config *config,
                       struct mu_heartbeat_refused *refused)
{
    assert(heartbeat->region == NULL && mu_detect_config_error(&config->detect) == NULL);
    *refused = (struct mu_heartbeat_refused){0};
    if (!addresses_fit(heartbeat, config))
        return EAFNOSUPPORT;
    struct mu_arena arena;
    mu_arena_init(&arena, NULL, 0);
    lay_out(config, &arena);
    heartbeat->guard_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t before = heartbeat->guard_bytes + STACK_BYTES;
    int error = map_region(heartbeat, before + arena.used);
    if (error != 0)
        return error;
    if (mlock(heartbeat->region + heartbeat->guard_bytes,
              heartbeat->region_bytes - heartbeat->guard_bytes) != 0)
        refused->lock = errno;

    mu_arena_init(&arena, heartbeat->region + before, heartbeat->region_bytes - before);
    struct parts parts = lay_out(config, &arena);
    heartbeat->loop = fill(heartbeat, config, &parts);
    error = create_thread(heartbeat);
    if (error == 0)
        refused->priority = come_first(heartbeat, config->priority);
    return error;
}

static void wake(const struct mu_heartbeat *heartbeat)
{
    uint64_t one = 1;
    ssize_t written = write(heartbeat->wake_fd, &one, sizeof one);
    assert(written == sizeof one); /* it counts to 2^64 */
    (void)written;
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void mu_heartbeat_stop(struct mu_heartbeat *heartbeat)
{
    if (heartbeat == NULL)
        return;
    if (heartbeat->running) {
        atomic_store(&heartbeat->loop->stopping, true);
        wake(heartbeat);
        pthread_join(heartbeat->thread, NULL);
    }
    if (heartbeat->loop != NULL)
        mu_beat_key_wipe(&heartbeat->loop->datagrams.key);
    if (heartbeat->region != NULL)
        munmap(heartbeat->region, heartbeat->region_bytes);
    close_if_open(heartbeat->fd);
    close_if_open(heartbeat->wait_fd);
    close_if_open(heartbeat->wake_fd);
    close_if_open(heartbeat->news_fd);
    free(heartbeat->late);
    free(heartbeat);
}

uint64_t mu_heartbeat_draw_nonce(void)
{
    if (sodium_init() < 0)
        abort(); /* as in seal.c */
    uint64_t nonce;
    randombytes_buf(&nonce, sizeof nonce);
    return nonce >> 1;
}

/* ---- between the threads ---- */

int mu_heartbeat_fd(const struct mu_heartbeat *heartbeat)
{
    return heartbeat->news_fd;
}

/* The main thread has taken all that was there.  The other one mostly looks when it wakes up
 * anyway. As in mu_heartbeat_out(), one of the two sees the other. */
static void answer(struct mu_heartbeat *heartbeat, uint32_t asked)
{
    struct mu_heartbeat_loop *loop = heartbeat->loop;
    if (atomic_load_explicit(&loop->answered, memory_order_relaxed) == asked)
        return;
    atomic_store(&loop->answered_ns, mu_heartbeat_now_ns());
    atomic_store(&loop->answered, asked);
    if (atomic_load(&loop->waits_for_answer))
        wake(heartbeat);
}

/* The thread puts news first and makes the descriptor readable afterwards.  So after that was
 * cleared, and then nothing was found, whatever comes makes it readable again. */
bool mu_heartbeat_next(struct mu_heartbeat *heartbeat, struct mu_heartbeat_news *news)
{
    if (!heartbeat->running)
        return false;
    uint32_t asked = atomic_load(&heartbeat->loop->asked); /* before all that it is about */
    if (mu_spsc_take(&heartbeat->loop->news, news))
        return true;
    uint64_t times;
    ssize_t got = read(heartbeat->news_fd, &times, sizeof times);
    if (got == sizeof times && mu_spsc_take(&heartbeat->loop->news, news))
        return true;
    answer(heartbeat, asked);
    return false;
}

static bool order(struct mu_heartbeat *heartbeat, const struct mu_heartbeat_order *wanted)
{
    assert(heartbeat->running);
    bool put = mu_spsc_put(&heartbeat->loop->orders, wanted);
    wake(heartbeat);
    return put;
}

static bool matters_now(const struct mu_heartbeat_loop *loop, mu_slot slot)
{
    uint32_t size = loop->datagrams.size, self = loop->datagrams.self;
    mu_slot from = atomic_load(&loop->depends_on);
    return from == MU_SLOT_NONE || (self + size - slot) % size <= (self + size - from) % size;
}

/* Of 64 nodes on two cores 63 would wake up for nothing, while others want to tell of the death.
 * The thread reads its orders whenever it wakes up, before all else, so who is out is out for it.
 * It says on whom it depends, and then looks for orders, before it sleeps; here it is the other way
 * round, so that one of the two sees the other. */
bool mu_heartbeat_out(struct mu_heartbeat *heartbeat, mu_slot slot, uint32_t incarnation,
                      bool proven)
{
    assert(heartbeat->running);
    struct mu_heartbeat_order wanted = {.type = MU_ORDER_OUT};
    wanted.out.slot = slot;
    wanted.out.incarnation = incarnation;
    wanted.out.proven = proven;
    bool put = mu_spsc_put(&heartbeat->loop->orders, &wanted);
    if (!put || matters_now(heartbeat->loop, slot))
        wake(heartbeat);
    return put;
}

bool mu_heartbeat_set(struct mu_heartbeat *heartbeat, uint64_t period_ns, uint64_t timeout_ns)
{
    assert(mu_detect_times_error(period_ns, timeout_ns) == NULL);
    struct mu_heartbeat_order wanted = {.type = MU_ORDER_SET};
    wanted.set.period_ns = period_ns;
    wanted.set.timeout_ns = timeout_ns;
    return order(heartbeat, &wanted);
}

bool mu_heartbeat_ready(struct mu_heartbeat *heartbeat)
{
    return order(heartbeat, &(struct mu_heartbeat_order){.type = MU_ORDER_READY});
}

void mu_heartbeat_broke(struct mu_heartbeat *heartbeat, mu_slot slot)
{
    struct mu_heartbeat_order wanted = {.type = MU_ORDER_BROKE, .broke.slot = slot};
    if (__atomic_load_n(&heartbeat->loop->counts.observes, __ATOMIC_RELAXED) == slot)
        order(heartbeat, &wanted);
}

void mu_heartbeat_launcher(struct mu_heartbeat *heartbeat, const struct mu_heartbeat_answer *answer)
{
    order(heartbeat, &(struct mu_heartbeat_order){.type = MU_ORDER_LAUNCHER, .launcher = *answer});
}

bool mu_heartbeat_harm(struct mu_heartbeat *heartbeat, const struct mu_harm *harm)
{
    assert(heartbeat->running);
    struct mu_harm_order *next = &heartbeat->loop->harm;
    if (atomic_load_explicit(&next->waits, memory_order_acquire))
        return false;
    if (harm->chaos.kind == MU_CHAOS_SLOW && heartbeat->late == NULL)
        heartbeat->late = calloc(1, sizeof *heartbeat->late);
    if (harm->chaos.kind == MU_CHAOS_SLOW && heartbeat->late == NULL)
        return false;
    next->harm = *harm;
    next->late = heartbeat->late;
    atomic_store_explicit(&next->waits, true, memory_order_release);
    wake(heartbeat);
    return true;
}

/* ---- counts ---- */

void mu_heartbeat_counts(const struct mu_heartbeat *heartbeat, struct mu_heartbeat_counts *counts)
{
    memset(counts, 0, sizeof *counts);
    if (heartbeat->loop == NULL)
        return;
    const uint64_t *from = (const uint64_t *)&heartbeat->loop->counts;
    uint64_t *to = (uint64_t *)counts;
    for (size_t i = 0; i < sizeof *counts / sizeof *to; i++)
        to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

uint64_t mu_heartbeat_lease_ns(const struct mu_heartbeat *heartbeat)
{
    if (heartbeat->loop == NULL)
        return 0;
    uint64_t until_ns = __atomic_load_n(&heartbeat->loop->counts.lease_until_ns, __ATOMIC_RELAXED);
    uint64_t now_ns = mu_heartbeat_now_ns();
    if (until_ns == MU_NEVER)
        return MU_NEVER;
    return until_ns > now_ns ? until_ns - now_ns : 0;
}

uint64_t mu_heartbeat_lag_ns(const struct mu_heartbeat_counts *counts, unsigned percent)
{
    uint64_t all = 0, so_far = 0;
    for (uint32_t i = 0; i < MU_HEARTBEAT_LAGS; i++)
        all += counts->lags[i];
    for (uint32_t i = 0; i + 1 < MU_HEARTBEAT_LAGS; i++) {
        so_far += counts->lags[i];
        uint64_t below_ns = UINT64_C(1) << i;
        if (so_far * 100 >= all * percent && below_ns < counts->lag_ns_max)
            return below_ns;
    }
    return counts->lag_ns_max;
}

uint64_t mu_heartbeat_cpu_ns(const struct mu_heartbeat *heartbeat)
{
    clockid_t clock;
    struct timespec used;
    if (!heartbeat->running || pthread_getcpuclockid(heartbeat->thread, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return 0;
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}
