/* Faults: signals, packets that the bridge loses (netns_common.sh), a frozen cgroup, load, a clock.
 */
#define _GNU_SOURCE
#include "verdicts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RULES_MAX = 8192, LOADS = 64 };

static pid_t loads[LOADS];
static uint32_t load_count;
static char cgroup[512]; /* "": none was made */

uint64_t span_ns(const struct rig *rig, const struct span *span)
{
    return (uint64_t)(span->timeouts * (double)rig->timeout_ns +
                      span->periods * (double)rig->period_ns);
}

int act_come_first(bool children)
{
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    int policy = children ? SCHED_FIFO : SCHED_FIFO | SCHED_RESET_ON_FORK;
    return sched_setscheduler(0, policy, &lowest) == 0 ? 0 : errno;
}

/* ---- the network ---- */

/* Hands these lines to nft, here: where the bridge is. */
static const char *say_to_nft(const char *rules)
{
    act_come_first(true); /* nft, too: a fault is as long as it is meant to be */
    FILE *nft = popen("exec nft -f -", "we");
    act_come_first(false);
    if (nft == NULL)
        return "nft cannot be started";
    fputs(rules, nft);
    return pclose(nft) == 0 ? NULL : "nft refused the rules";
}

static void add_rule(char *rules, const char *set, const char *element)
{
    size_t used = strlen(rules);
    snprintf(rules + used, RULES_MAX - used, "add element bridge muster %s { %s }\n", set, element);
}

static void add_pair(char *rules, uint32_t from, uint32_t to)
{
    char element[64];
    snprintf(element, sizeof element, "port%u . port%u", from, to);
    add_rule(rules, "pairs", element);
}

/* What is lost from now on, and nothing else. */
static const char *lose(uint32_t nodes, uint32_t peers, bool in, bool out, bool launcher)
{
    char rules[RULES_MAX] = "flush set bridge muster pairs\nflush set bridge muster up\n"
                            "flush set bridge muster down\n",
         port[16];
    for (uint32_t a = 0; a < NODES; a++) {
        if ((nodes & 1u << a) == 0)
            continue;
        for (uint32_t b = 0; b < NODES; b++) {
            if ((peers & 1u << b) == 0)
                continue;
            if (out)
                add_pair(rules, a, b);
            if (in)
                add_pair(rules, b, a);
        }
        snprintf(port, sizeof port, "port%u", a);
        if (launcher && out)
            add_rule(rules, "up", port);
        if (launcher && in)
            add_rule(rules, "down", port);
    }
    return say_to_nft(rules);
}

static const char *heal(void)
{
    return lose(0, 0, false, false, false);
}

static void pause_until(uint64_t ns)
{
    uint64_t now_ns = trial_now_ns();
    if (ns > now_ns)
        trial_pause_us((ns - now_ns) / 1000);
}

/* The end of the first cut is when the fault has begun: it is what a bound counts from. */
static const char *flap(struct rig *rig, const struct step *step)
{
    const char *wrong = NULL;
    uint32_t peers = ((1u << NODES) - 1) & ~step->nodes;
    rig->worst_down_ns = 0;
    for (uint32_t i = 0; i < step->times && wrong == NULL; i++) {
        uint64_t from_ns = trial_now_ns();
        wrong = lose(step->nodes, peers, true, true, true);
        uint64_t begun_ns = trial_now_ns();
        if (i == 0)
            rig->end_ns = begun_ns;
        pause_until(begun_ns + span_ns(rig, &step->down));
        if (wrong == NULL)
            wrong = heal();
        uint64_t over_ns = trial_now_ns();
        if (over_ns - from_ns > rig->worst_down_ns)
            rig->worst_down_ns = over_ns - from_ns;
        pause_until(over_ns + span_ns(rig, &step->up));
    }
    return wrong;
}

/* ---- nodes ---- */

/* To the daemons of these nodes, and to their processes unless it is for daemons alone. */
static const char *signal_nodes(const struct rig *rig, uint32_t nodes, int number, bool processes)
{
    for (uint32_t n = 0; n < NODES; n++) {
        if ((nodes & 1u << n) == 0)
            continue;
        if (kill(rig->daemons[n], number) != 0)
            return "the daemon is not there";
        for (uint32_t k = 0; processes && k < EACH; k++)
            kill(rig->processes[n * EACH + k], number);
    }
    return NULL;
}

/* Where cgroups of the second version are; false: nowhere. */
static bool find_cgroups(char path[400])
{
    char line[1024], type[64];
    bool found = false;
    FILE *mounts = fopen("/proc/self/mounts", "re");
    while (mounts != NULL && !found && fgets(line, sizeof line, mounts) != NULL)
        found = sscanf(line, "%*s %399s %63s", path, type) == 2 && strcmp(type, "cgroup2") == 0;
    if (mounts != NULL)
        fclose(mounts);
    return found;
}

static bool write_file(const char *folder, const char *name, const char *words)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, words, strlen(words)) == (ssize_t)strlen(words);
    if (fd >= 0)
        close(fd);
    return good;
}

static bool make_cgroup(void)
{
    char root[400];
    if (cgroup[0] != '\0')
        return true;
    if (!find_cgroups(root))
        return false;
    snprintf(cgroup, sizeof cgroup, "%s/muster-verdicts-%d", root, (int)getpid());
    if (mkdir(cgroup, 0700) == 0 && write_file(cgroup, "cgroup.freeze", "0"))
        return true;
    rmdir(cgroup);
    cgroup[0] = '\0';
    return false;
}

static bool move_to_cgroup(pid_t pid)
{
    char number[16];
    snprintf(number, sizeof number, "%d", (int)pid);
    return write_file(cgroup, "cgroup.procs", number);
}

static const char *freeze(const struct rig *rig, uint32_t nodes)
{
    bool good = make_cgroup();
    for (uint32_t n = 0; good && n < NODES; n++) {
        if ((nodes & 1u << n) == 0)
            continue;
        good = move_to_cgroup(rig->daemons[n]);
        for (uint32_t k = 0; good && k < EACH; k++)
            good = move_to_cgroup(rig->processes[n * EACH + k]);
    }
    return good && write_file(cgroup, "cgroup.freeze", "1") ? NULL : "nothing can be frozen";
}

/* ---- the host ---- */

static const char *load(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    for (long i = 0; i < 2 * cores && load_count < LOADS; i++) {
        pid_t pid = fork();
        if (pid == 0)
            for (volatile unsigned turns = 0;; turns++)
                ;
        if (pid < 0)
            return "no process for the load";
        loads[load_count++] = pid;
    }
    return NULL;
}

/* The daemons have a library before libc that adds what stands in that file to their wall clock. */
static const char *step_clock(const struct rig *rig)
{
    for (uint32_t n = 0; n < NODES; n++) {
        char maps[64];
        snprintf(maps, sizeof maps, "/proc/%d/maps", (int)rig->daemons[n]);
        if (!trial_file_has(maps, "libfaketime"))
            return "a daemon has its usual clock";
    }
    int fd = open(rig->clock, O_WRONLY | O_TRUNC | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, "+1h\n", 4) == 4;
    if (fd >= 0)
        close(fd);
    return good ? NULL : "the clock's file cannot be written";
}

/* ---- all of them ---- */

const char *act_needs_error(const char *needs)
{
    if (strcmp(needs, "cgroup") == 0 && !make_cgroup())
        return "there are no cgroups of version 2 that can be frozen here";
    if (strcmp(needs, "faketime") == 0 && getenv("VERDICTS_FAKETIME") == NULL)
        return "there is no libfaketime for these daemons";
    return NULL;
}

static const char *act(struct rig *rig, const struct step *step)
{
    switch (step->act) {
    case ACT_KILL_PROCESS:
        return kill(rig->processes[step->rank], SIGKILL) == 0 ? NULL : "no such process";
    case ACT_EXIT_PROCESS:
        return kill(rig->processes[step->rank], SIGUSR1) == 0 ? NULL : "no such process";
    case ACT_KILL:
        return signal_nodes(rig, step->nodes, SIGKILL, false);
    case ACT_STOP:
        return signal_nodes(rig, step->nodes, SIGSTOP, true);
    case ACT_RESUME:
        if (cgroup[0] != '\0')
            write_file(cgroup, "cgroup.freeze", "0");
        return signal_nodes(rig, step->nodes, SIGCONT, true);
    case ACT_FREEZE:
        return freeze(rig, step->nodes);
    case ACT_CUT:
        return lose(step->nodes, step->peers, step->in, step->out, step->all);
    case ACT_SPLIT:
        /* The launcher is with the first ones: the others are cut off from it, too. */
        return lose(((1u << NODES) - 1) & ~step->nodes, step->nodes, true, true, true);
    case ACT_HEAL:
        return heal();
    case ACT_FLAP:
        return flap(rig, step);
    case ACT_LOAD:
        return load();
    case ACT_CLOCK:
        return step_clock(rig);
    }
    abort();
}

const char *act_do(struct rig *rig, const struct step *step)
{
    rig->begin_ns = trial_now_ns();
    rig->end_ns = 0;
    const char *wrong = act(rig, step);
    if (rig->end_ns == 0)
        rig->end_ns = trial_now_ns();
    return wrong;
}

void act_undo(struct rig *rig)
{
    if (cgroup[0] != '\0')
        write_file(cgroup, "cgroup.freeze", "0");
    signal_nodes(rig, (1u << NODES) - 1, SIGCONT, true);
    for (; load_count > 0; load_count--) {
        kill(loads[load_count - 1], SIGKILL);
        waitpid(loads[load_count - 1], NULL, 0);
    }
    heal();
}

void act_close(void)
{
    for (int i = 0; cgroup[0] != '\0' && rmdir(cgroup) != 0 && errno == EBUSY && i < 1000; i++)
        trial_pause_us(1000);
    cgroup[0] = '\0';
}
