#define _GNU_SOURCE
#include "witness/witness.h"

#include "host/clock.h"
#include "host/log.h"
#include "host/orphans.h"
#include "witness/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint64_t patience_ns = 10000000000u; /* for neighbours, and for what hangs */
static const uint64_t hurry_ns = 1000000000u;     /* the same, when the lifeline has ended */
static const uint64_t sweep_ns = 2000000;         /* a process that was killed may take so long */
static const uint64_t words_first_ns = 10000000;  /* before that processes are not looked for */

static struct {
    uint8_t key[MU_SEAL_KEY_BYTES];
    struct mu_hello self;
    const struct mu_witness_page *page;
    pid_t daemon;
    int signals;
    uint64_t ended_ns, until_ns;
    bool hurries;
    bool unwanted; /* somebody wants us to end: only what runs is still to be ended */
    siginfo_t end; /* of the daemon */
    bool silent;   /* nobody needs to be told */
    bool gone;     /* no process is left */
    struct mu_tell tell;
} witness;

/* ---- while the daemon lives ---- */

static bool has_ended(void)
{
    witness.end.si_pid = 0;
    return waitid(P_PID, (id_t)witness.daemon, &witness.end, WEXITED | WNOHANG) == 0 &&
           witness.end.si_pid != 0;
}

/* Whoever wants the daemon to end, and knows only its parent. */
static void pass_on(void)
{
    struct signalfd_siginfo info;
    while (read(witness.signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD)
            kill(witness.daemon, (int)info.ssi_signo); /* not reaped: the number is its own */
}

static void wait_for_end(void)
{
    struct pollfd polls = {.fd = witness.signals, .events = POLLIN};
    while (!has_ended()) {
        poll(&polls, 1, -1);
        pass_on();
    }
    witness.ended_ns = mu_now_ns();
}

/* ---- when it has ended ---- */

static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 || errno != ECHILD;
}

/* All that the daemon left behind came to us.  Killing one may bring its children. */
static void sweep(void)
{
    mu_orphans_sweep(NULL, 0, true);
    witness.gone = !has_children();
    if (witness.gone && !witness.silent)
        mu_tell_gone(&witness.tell, mu_now_ns());
}

/* Most of them die with their daemon, without us.  Whoever is to be told comes first, because it
 * may need the same core. */
static bool is_time_to_sweep(void)
{
    return !witness.gone &&
           (witness.silent || witness.unwanted || mu_tell_is_heard(&witness.tell) ||
            mu_now_ns() >= witness.ended_ns + words_first_ns);
}

static int wait_ms(void)
{
    uint64_t due_ns = witness.until_ns, now = mu_now_ns();
    if (!witness.silent && mu_tell_due_ns(&witness.tell) < due_ns)
        due_ns = mu_tell_due_ns(&witness.tell);
    if (!witness.gone && now + sweep_ns < due_ns)
        due_ns = now + sweep_ns;
    return due_ns > now ? (int)((due_ns - now + 999999) / 1000000) : 0;
}

/* Whoever started the daemon is gone, or does not need it any more: mostly the whole machine ends,
 * and those who are to be told end as well.  But it may be only this node. */
static void hurry(void)
{
    witness.hurries = true;
    if (mu_now_ns() + hurry_ns < witness.until_ns)
        witness.until_ns = mu_now_ns() + hurry_ns;
}

/* Somebody wants us to end: no more words, but nothing is left behind. */
static void hear_signals(void)
{
    struct signalfd_siginfo info;
    while (read(witness.signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD) {
            witness.unwanted = true;
            hurry();
        }
}

static void look_around(void)
{
    struct pollfd polls[2 + MU_TELL_WANTED] = {
        {.fd = witness.signals, .events = POLLIN},
        {.fd = witness.hurries ? -1 : STDIN_FILENO, .events = 0}};
    for (uint32_t i = 0; i < MU_TELL_WANTED; i++)
        polls[2 + i].fd = -1;
    if (!witness.silent)
        mu_tell_polls(&witness.tell, polls + 2);
    poll(polls, 2 + MU_TELL_WANTED, wait_ms());
    hear_signals();
    if (polls[1].revents != 0) /* with no events asked for: it has ended */
        hurry();
    if (!witness.silent)
        mu_tell_step(&witness.tell, polls + 2, mu_now_ns());
}

static bool is_done(void)
{
    return witness.gone && (witness.silent || witness.unwanted || mu_tell_is_over(&witness.tell));
}

static void settle(void)
{
    struct mu_witness_list list = mu_witness_page_read(witness.page);
    struct mu_exit_kind how = mu_exit_kind_of(&witness.end);
    witness.until_ns = witness.ended_ns + patience_ns;
    witness.silent = list.leaving;
    if (!witness.silent)
        mu_tell_begin(&witness.tell, witness.key, &witness.self, &list, &how, witness.ended_ns);
    for (;;) {
        if (is_time_to_sweep())
            sweep();
        if (is_done() || mu_now_ns() >= witness.until_ns)
            break;
        look_around();
    }
    if (!witness.gone)
        mu_warn("witness: processes of this node do not end, though they were killed");
    if (!witness.silent)
        mu_tell_end(&witness.tell);
}

static _Noreturn void end_like_daemon(void)
{
    int number = witness.end.si_status;
    sodium_memzero(witness.key, sizeof witness.key);
    if (witness.end.si_code == CLD_EXITED)
        _exit(number);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    kill(getpid(), number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    _exit(128 + number);
}

/* ---- beginning ---- */

/* Where a host runs out of memory, somebody should be left who can say so.  Mostly not permitted.
 */
static void ask_to_be_spared(void)
{
    static const char score[] = "-1000\n";
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t written = write(fd, score, sizeof score - 1);
    (void)written; /* as everybody else, then */
    close(fd);
}

/* It does little, once, and others wait for it. */
static void come_first(void)
{
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest);
}

/* The daemon says on the standard output what is to be said, and its end is the daemon's end. */
static void give_up_output(void)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null_fd < 0)
        return;
    dup2(null_fd, STDOUT_FILENO);
    close(null_fd);
}

static _Noreturn void be_witness(pid_t daemon, int signals)
{
    witness.daemon = daemon;
    witness.signals = signals;
    prctl(PR_SET_NAME, "muster-witness");
    prctl(PR_SET_DUMPABLE, 0);
    sodium_mlock(witness.key, sizeof witness.key);
    give_up_output();
    ask_to_be_spared();
    come_first();
    wait_for_end();
    settle();
    end_like_daemon();
}

static void watched_signals(sigset_t *set)
{
    static const int numbers[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaddset(set, numbers[i]);
}

/* The daemon's part: who the witness is. */
static int look_up(pid_t parent, struct mu_witness_page *page, struct mu_witness *out)
{
    out->pid = parent;
    out->page = page;
    out->pidfd = (int)syscall(SYS_pidfd_open, parent, 0);
    if (out->pidfd < 0)
        return errno;
    if (getppid() == parent)
        return 0;
    close(out->pidfd); /* it was killed already, and its number may be somebody else's by now */
    return ESRCH;
}

int mu_witness_begin(uint8_t key[MU_SEAL_KEY_BYTES], const struct mu_hello *self,
                     struct mu_witness *out)
{
    sigset_t watched, before;
    pid_t parent = getpid();
    struct mu_witness_page *page = mu_witness_page_make();
    if (page == NULL)
        return errno;
    watched_signals(&watched);
    signal(SIGCHLD, SIG_DFL);
    int signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    int adopted = signals < 0 ? errno : mu_orphans_adopt();
    if (adopted != 0)
        return adopted;
    sigprocmask(SIG_BLOCK, &watched, &before);
    pid_t daemon = fork();
    int error = errno;
    if (daemon > 0) {
        memcpy(witness.key, key, sizeof witness.key);
        sodium_memzero(key, sizeof witness.key);
        witness.self = *self;
        witness.page = page;
        be_witness(daemon, signals);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(signals);
    return daemon < 0 ? error : look_up(parent, page, out);
}
