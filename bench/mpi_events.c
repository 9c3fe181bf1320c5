/* An MPI program that hears of a death through PMIx, and who kills one of its processes.
 *
 *     mpi_events member PAGE                 in a job
 *     mpi_events kill PAGE SIZE VICTIM...    outside
 *
 * 'kill' has one job after the other, a victim in each; it makes PAGE, a file, anew for each, and
 * waits for SIZE members.
 *
 * Each member writes into its slot of PAGE when its handler was called, on CLOCK_MONOTONIC, so that
 * nothing is sent while something is measured: all nodes are on one host.  Their main threads
 * sleep: what is measured is libpmix's thread, which calls the handler.
 *
 * 'kill' prints: ms until the last survivor was told, until the first was, and until the victim had
 * ended, as who waits for it sees it; how many were not told within 10 s, how many were told again,
 * and how many heard of somebody else.  An MPI process takes some ms to end, because of its threads
 * and of all that it has mapped, and nobody can know before. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <mpi.h>
#include <pmix.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    START_MS = 60000, /* until all members are there */
    TOLD_MS = 10000,
    SETTLE_MS = 300, /* before the kill; and after it, for what should not come */
    LOOK_MS = 20,
};

struct slot {
    _Atomic uint64_t told_ns; /* 0: not yet */
    _Atomic uint32_t calls, wrong;
    pid_t pid;
    char apart[64 - 24]; /* a line of the cache for each */
};

struct page {
    uint32_t size, victim;
    _Atomic uint32_t ready, told, over;
    struct slot slots[];
};

static struct page *page;
static struct slot *own;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "mpi_events: %s: %s\n", what, why);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pass_ms(uint32_t ms)
{
    struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&span, NULL);
}

static size_t page_bytes(uint32_t size)
{
    return sizeof *page + size * sizeof *page->slots;
}

/* 'size' 0: it is there. */
static struct page *open_page(const char *path, uint32_t size)
{
    struct stat stat;
    int fd = open(path, size > 0 ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, 0600);
    if (fd < 0 || (size > 0 && ftruncate(fd, (off_t)page_bytes(size)) != 0) ||
        fstat(fd, &stat) != 0)
        fail(path, strerror(errno));
    struct page *opened =
        mmap(NULL, (size_t)stat.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (opened == MAP_FAILED)
        fail(path, strerror(errno));
    close(fd);
    return opened;
}

/* ---- a member ---- */

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t count, pmix_info_t *results, size_t result_count,
                     pmix_event_notification_cbfunc_fn_t done, void *data)
{
    uint64_t at_ns = now_ns();
    uint32_t affected = UINT32_MAX;
    (void)id, (void)status, (void)source, (void)results, (void)result_count;
    for (size_t i = 0; i < count; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC))
            affected = info[i].value.data.proc->rank;
    if (affected != page->victim) {
        atomic_fetch_add(&own->wrong, 1);
    } else if (atomic_fetch_add(&own->calls, 1) == 0) {
        atomic_store(&own->told_ns, at_ns);
        atomic_fetch_add(&page->told, 1);
    }
    if (done != NULL)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

/* Without looking now and then: 63 processes that do would disturb what is measured. */
static void wait_for_end(void)
{
    while (atomic_load(&page->over) == 0)
        syscall(SYS_futex, &page->over, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static void end_all(void)
{
    atomic_store(&page->over, 1);
    syscall(SYS_futex, &page->over, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static int member(const char *path)
{
    /* What programs ask for: the code that says how, those that are more general, and the one of
     * old programs.  One death is to be one call all the same. */
    pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED_BY_SIG, PMIX_ERR_PROC_TERM_WO_SYNC,
                             PMIX_EVENT_PROC_TERMINATED, PMIX_ERR_PROC_ABORTED};
    int rank;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    page = open_page(path, 0);
    if ((uint32_t)rank >= page->size)
        fail("the rank of this process", "not below the size of the page");
    own = &page->slots[rank];
    own->pid = getpid();
    pmix_status_t id = PMIx_Register_event_handler(codes, sizeof codes / sizeof *codes, NULL, 0,
                                                   on_event, NULL, NULL);
    if (id < 0)
        fail("PMIx_Register_event_handler", PMIx_Error_string(id));
    atomic_fetch_add(&page->ready, 1);
    wait_for_end();
    _exit(0); /* MPI_Finalize would wait for the dead */
}

/* ---- who kills ---- */

static int wait_for(_Atomic uint32_t *count, uint32_t wanted, uint32_t ms)
{
    uint64_t until_ns = now_ns() + (uint64_t)ms * 1000000;
    while (atomic_load(count) < wanted && now_ns() < until_ns)
        pass_ms(LOOK_MS);
    return atomic_load(count) >= wanted;
}

static double ms_after(uint64_t killed_ns, uint64_t at_ns)
{
    return at_ns > killed_ns ? (double)(at_ns - killed_ns) / 1e6 : 0;
}

static void print(uint64_t killed_ns, uint64_t died_ns)
{
    uint64_t last_ns = killed_ns, first_ns = UINT64_MAX;
    uint32_t missed = 0, again = 0, wrong = 0;
    for (uint32_t i = 0; i < page->size; i++) {
        struct slot *slot = &page->slots[i];
        uint64_t told_ns = atomic_load(&slot->told_ns);
        uint32_t calls = atomic_load(&slot->calls);
        wrong += atomic_load(&slot->wrong);
        again += calls > 1 ? calls - 1 : 0;
        missed += calls == 0 && i != page->victim;
        last_ns = told_ns > last_ns ? told_ns : last_ns;
        first_ns = told_ns != 0 && told_ns < first_ns ? told_ns : first_ns;
    }
    printf("%.3f %.3f %.3f %u %u %u\n", ms_after(killed_ns, last_ns),
           first_ns == UINT64_MAX ? 0 : ms_after(killed_ns, first_ns), ms_after(killed_ns, died_ns),
           missed, again, wrong);
}

/* A member finds the whole page or none; those of the job before have theirs mapped. */
static struct page *make_page(const char *path, uint32_t size, uint32_t victim)
{
    char partly[4096];
    snprintf(partly, sizeof partly, "%s.partly", path);
    struct page *made = open_page(partly, size);
    made->size = size;
    made->victim = victim;
    if (rename(partly, path) != 0)
        fail(path, strerror(errno));
    return made;
}

static void kill_one(void)
{
    uint32_t size = page->size;
    if (!wait_for(&page->ready, size, START_MS)) {
        end_all();
        fail("members", "not all came within 60 s");
    }
    pass_ms(SETTLE_MS);
    pid_t victim = page->slots[page->victim].pid;
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, victim, 0), .events = POLLIN};
    if (end.fd < 0) {
        end_all();
        fail("pidfd_open", strerror(errno));
    }
    uint64_t killed_ns = now_ns();
    kill(victim, SIGKILL);
    poll(&end, 1, TOLD_MS);
    uint64_t died_ns = now_ns();
    close(end.fd);
    wait_for(&page->told, size - 1, TOLD_MS);
    pass_ms(SETTLE_MS);
    print(killed_ns, died_ns);
}

static int kill_all(const char *path, uint32_t size, int count, char **victims)
{
    page = make_page(path, size, (uint32_t)atoi(victims[0]));
    for (int i = 0; i < count; i++) {
        kill_one();
        struct page *next =
            i + 1 < count ? make_page(path, size, (uint32_t)atoi(victims[i + 1])) : NULL;
        end_all();
        munmap(page, page_bytes(size));
        page = next;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "member") == 0)
        return member(argv[2]);
    if (argc >= 5 && strcmp(argv[1], "kill") == 0)
        return kill_all(argv[2], (uint32_t)atoi(argv[3]), argc - 4, argv + 4);
    fail("arguments", "member PAGE, or kill PAGE SIZE VICTIM...");
}
