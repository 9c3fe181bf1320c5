/* musterd: one node of a machine.  'muster run' starts it and tells it what to do
 * (wire/launch/orders.h). */
#define _GNU_SOURCE
#include "core/base/roster.h"
#include "host/cores.h"
#include "daemon/daemon.h"
#include "host/log.h"
#include "daemon/pmix/loader.h"
#include "wire/local/board.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, JOURNAL_EVENTS = 4096, JOURNAL_MAX = MU_BOARD_CAPACITY_MAX };

static const char help[] =
    "usage: musterd [--record DIR] [--journal N] [--fanout N] [--notices N]\n"
    "               [--retain SECONDS] [--no-pmix] [--verbose] < ORDERS\n"
    "\n"
    "One node of a machine: starts and watches processes, and tells everybody who has died.\n"
    "'muster run' starts it, and tells it on standard input who it is (src/wire/launch/orders.h).\n"
    "When that input ends, it ends, and its processes with it.\n"
    "\n"
    "  --record DIR   write what enters the protocols to a new folder, for 'muster sim replay'\n"
    "  --journal N    keep the last N events for local programs; a power of two (4096)\n"
    "  --fanout N     of the trees of agreements; a power of two, the same at all nodes (2)\n"
    "  --notices N    places for what is on its way to all nodes, besides deaths of nodes, from 2\n"
    "                 to 32000 (8192)\n"
    "  --retain SECONDS  keep each of these so long for nodes that become neighbours, up to an "
    "hour;\n"
    "                 longer than it takes to detect a death (60)\n"
    "  --no-pmix      do not serve PMIx, which programs of Open MPI need\n"
    "  --verbose      say what happens, on standard error\n"
    "  --version      print the version\n"
    "  --help         print this\n";

struct flags {
    const char *record;
    uint8_t shift;
    uint32_t journal;
    uint32_t notices, retain_s; /* 0: as usual */
    bool no_pmix;
    bool verbose;
};

static uint32_t parse_number(const char *name, const char *text, unsigned long low,
                             unsigned long high)
{
    char *rest;
    unsigned long number = strtoul(text, &rest, 10);
    if (*rest != '\0' || number < low || number > high) {
        fprintf(stderr, "musterd: --%s '%s' is not a number from %lu to %lu\n", name, text, low,
                high);
        exit(EXIT_USAGE);
    }
    return (uint32_t)number;
}

static void parse(int argc, char **argv, struct flags *flags)
{
    static const struct option options[] = {
        {"record", required_argument, NULL, 'r'}, {"journal", required_argument, NULL, 'j'},
        {"fanout", required_argument, NULL, 'f'}, {"no-pmix", no_argument, NULL, 'p'},
        {"verbose", no_argument, NULL, 'v'},      {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},         {"notices", required_argument, NULL, 'n'},
        {"retain", required_argument, NULL, 't'}, {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (option) {
        case 'r':
            flags->record = optarg;
            break;
        case 'j': {
            char *rest;
            unsigned long events = strtoul(optarg, &rest, 10);
            if (*rest != '\0' || events < 2 || events > JOURNAL_MAX ||
                (events & (events - 1)) != 0) {
                fprintf(stderr, "musterd: --journal '%s' is not a power of two between 2 and %d\n",
                        optarg, (int)JOURNAL_MAX);
                exit(EXIT_USAGE);
            }
            flags->journal = (uint32_t)events;
            break;
        }
        case 'f': {
            char *end;
            unsigned long fanout = strtoul(optarg, &end, 10);
            if (*end != '\0' || fanout < 1 || fanout > 1024 || (fanout & (fanout - 1)) != 0) {
                fprintf(stderr, "musterd: --fanout %s is not a power of two from 1 to 1024\n",
                        optarg);
                exit(EXIT_USAGE);
            }
            for (flags->shift = 0; fanout > 1; fanout /= 2)
                flags->shift++;
            break;
        }
        case 'n':
            flags->notices = parse_number("notices", optarg, 2, 32000);
            break;
        case 't':
            flags->retain_s = parse_number("retain", optarg, 1, 3600);
            break;
        case 'p':
            flags->no_pmix = true;
            break;
        case 'v':
            flags->verbose = true;
            break;
        case 'V':
            printf("musterd %s\n", MUSTER_VERSION);
            exit(0);
        case 'h':
            fputs(help, stdout);
            exit(0);
        default:
            fputs("musterd: see 'musterd --help'\n", stderr);
            exit(EXIT_USAGE);
        }
    }
    if (optind < argc) {
        fprintf(stderr, "musterd: takes no operand, and '%s' is one (see 'musterd --help')\n",
                argv[optind]);
        exit(EXIT_USAGE);
    }
}

/* Told to whoever gave the orders. */
static int fail(const char *text)
{
    printf("failed %s\n", text);
    fflush(stdout);
    return 1;
}

/* A connection for each link and each client, pipes for each process. */
static void want_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Ctrl-C at the terminal is for who started us.  In their session we would be stopped when we write
 * to that terminal (stty tostop), and so would be a process of a job that reads from it: so we have
 * none.  The leader of a session has none anyway. */
static void leave_terminal(void)
{
    setpgid(0, 0);
    int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0)
        return;
    if (getsid(0) != getpid())
        ioctl(terminal, TIOCNOTTY);
    close(terminal);
}

static void set_up_process(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);  /* where files are limited (ulimit -f), that is said in words */
    prctl(PR_SET_DUMPABLE, 0); /* the key is in memory: no core file, no look from outside */
    leave_terminal();
}

/* A daemon does little and must do it at once, however busy the node is: a job has a process on
 * every core.  Where this is not permitted it is as everybody else.  Only this thread: the one that
 * starts processes is there already, and they have its priority. */
static void come_first(void)
{
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) != 0)
        mu_tell("no real-time priority (%s): notification may be slow under load (see ulimit -r)",
                strerror(errno));
}

/* Nothing is left to do that somebody waits for.  What sanitizers do at the end takes long, and
 * partly spins, in the way of daemons that are still at work. */
static void come_last(void)
{
    sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){.sched_priority = 0});
}

/* Before there is a second thread, or anything open that it should not have. */
static bool have_witness(struct mu_orders *orders, struct mu_witness *witness)
{
    const struct mu_hello self = {
        .machine = orders->machine,
        .size = orders->size,
        .from = orders->slot,
        .incarnation = MU_INCARNATION_FOUNDER}; /* as the roll will say when it is open */
    int failed = mu_witness_begin(orders->key, &self, witness);
    if (failed != 0)
        mu_warn("no witness (%s): if this daemon fails, other nodes find out by its silence",
                strerror(failed));
    return failed == 0;
}

int main(int argc, char **argv)
{
    struct flags flags = {.journal = JOURNAL_EVENTS, .shift = 1};
    parse(argc, argv, &flags);
    if (isatty(STDIN_FILENO)) {
        fputs("musterd: is started by 'muster run', and takes its orders from a pipe (see 'musterd "
              "--help')\n",
              stderr);
        return EXIT_USAGE;
    }
    set_up_process();

    struct mu_orders_input input = {.fd = STDIN_FILENO};
    struct mu_orders orders;
    char text[MU_ORDERS_TEXT_MAX];
    if (mu_orders_read(&input, &orders, text) != NULL)
        return fail(text);
    if (!flags.no_pmix)
        mu_pmix_environment(orders.shared_host);
    mu_log_open(orders.name, flags.verbose);
    struct mu_witness witness = {.pid = 0};
    bool has_witness = have_witness(&orders, &witness); /* from here on this is its child */

    struct mu_daemon_config config = {.orders = &orders,
                                      .record = flags.record,
                                      .journal = flags.journal,
                                      .notices = (uint16_t)flags.notices,
                                      .retain_s = flags.retain_s,
                                      .shift = flags.shift,
                                      .pmix = !flags.no_pmix,
                                      .lifeline = &input,
                                      .answers = STDOUT_FILENO,
                                      .witness = has_witness ? &witness : NULL};
    struct mu_daemon *daemon = mu_daemon_open(&config, text);
    uint32_t size = orders.size;
    mu_slot slot = orders.slot;
    bool has_part = orders.shared_host && size > 1;
    mu_orders_wipe(&orders);
    if (daemon == NULL)
        return fail(text);
    want_descriptors(); /* for us: programs keep the limit that the spawner has seen */
    come_first();
    /* As if this host were so many: who talks to each other most, a daemon and its processes, wakes
     * nobody on another core.  After those who have to know all processors of this host, and after
     * the thread that starts processes: daemon/jobs/bind.c binds them. */
    if (has_part && mu_cores_keep_to_part(slot, size) != 0)
        mu_warn("cannot keep to a part of this host's processors: %s", strerror(errno));

    struct sockaddr_in here = mu_daemon_address(daemon);
    char address[INET_ADDRSTRLEN];
    printf("listening %s %u %d\n", inet_ntop(AF_INET, &here.sin_addr, address, sizeof address),
           (unsigned)ntohs(here.sin_port), (int)getpid());
    fflush(stdout);

    struct sockaddr_in *addresses = calloc(size, sizeof *addresses);
    if (addresses == NULL)
        return fail("no memory for the addresses of the nodes");
    if (mu_orders_read_nodes(&input, size, addresses, text) != NULL ||
        mu_daemon_start(daemon, addresses, text) != NULL)
        return fail(text);
    int code = mu_daemon_run(daemon);
    free(addresses);
    come_last();
    return code;
}
