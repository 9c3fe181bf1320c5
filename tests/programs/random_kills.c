/* Runs a job many times and kills what it is made of at random moments: processes, daemons, the
 * launcher; while it starts, runs and ends.
 *
 *     random_kills MUSTER ROLL FOLDER SEED RUNS [CLEAN_MS]
 *
 * After each run: the launcher has ended in time; nothing is left of it (a process that has this
 * run's mark in its environment, an abstract socket); nobody was told of one death twice; and every
 * survivor that lived to the end was told of each death that came before that end.
 *
 * The same seed draws the same plans; when a kill lands inside a run is the machine's. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    RANKS_MAX = 64,
    NODES_MAX = 8,
    KILLS_MAX = 4,
    CHILDREN_MAX = 4096,
    END_MS = 10000,  /* for a run to end once it is told to */
    TOLD_MS = 10000, /* for the last survivor to have heard */
};

enum target { TARGET_PROCESS, TARGET_DAEMON, TARGET_LAUNCHER, TARGETS };

struct plan {
    uint32_t nodes, ranks, kills;
    struct {
        enum target target;
        uint32_t after_us; /* the kill before, or the start */
        uint32_t which;
        bool at_end; /* after the processes were told to end */
    } kill[KILLS_MAX];
};

struct run {
    const char *muster, *roll;
    char folder[2048], mark[64];
    struct plan plan;
    pid_t launcher;
    int status;
    bool ended; /* the launcher */
    bool launcher_killed, late_kill;
    uint32_t daemons_killed;
    pid_t daemon[KILLS_MAX]; /* those */
    bool killed[RANKS_MAX];  /* this process was killed by us */
    bool told_over;
};

static uint64_t random_state;
static uint64_t clean_ms = 2000; /* for everything to be gone after the launcher is */

static uint32_t draw(uint32_t below)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = random_state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ z >> 31) % below);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void pause_us(uint32_t us)
{
    struct timespec wait = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&wait, NULL);
}

/* ---- what the kernel knows ---- */

static uint32_t children_of(pid_t pid, pid_t *children)
{
    char path[64], text[16384];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    uint32_t count = 0;
    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        if (!isdigit((unsigned char)task->d_name[0]))
            continue;
        char list[512];
        snprintf(list, sizeof list, "/proc/%d/task/%s/children", (int)pid, task->d_name);
        int fd = open(list, O_RDONLY | O_CLOEXEC);
        ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
        if (fd >= 0)
            close(fd);
        text[length > 0 ? length : 0] = '\0';
        for (char *rest, *word = strtok_r(text, " ", &rest); word != NULL && count < CHILDREN_MAX;
             word = strtok_r(NULL, " ", &rest))
            children[count++] = (pid_t)atoi(word);
    }
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

/* Does a file of /proc have these bytes? */
static bool file_has(const char *path, const char *bytes)
{
    static char text[1 << 20];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t used = 0;
    ssize_t count;
    while (used < sizeof text && (count = read(fd, text + used, sizeof text - used)) > 0)
        used += (size_t)count;
    close(fd);
    return memmem(text, used, bytes, strlen(bytes)) != NULL;
}

/* A process with this run's mark, that has not ended; 0: none. */
static pid_t find_left(const struct run *run)
{
    DIR *processes = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *entry; found == 0 && (entry = readdir(processes)) != NULL;) {
        if (!isdigit((unsigned char)entry->d_name[0]) || atoi(entry->d_name) == getpid())
            continue;
        char path[512];
        snprintf(path, sizeof path, "/proc/%s/environ", entry->d_name);
        if (file_has(path, run->mark))
            found = (pid_t)atoi(entry->d_name);
    }
    closedir(processes);
    return found;
}

/* ---- what the processes have written ---- */

struct notes {
    bool there, over, broken;
    pid_t pid;
    uint32_t node;
    char socket[128];
    uint32_t dead[RANKS_MAX], left[RANKS_MAX], nodes[NODES_MAX];
};

static void read_notes(const struct run *run, uint32_t rank, struct notes *notes)
{
    memset(notes, 0, sizeof *notes);
    char path[4096], line[512], word[32];
    snprintf(path, sizeof path, "%s/rank-%u", run->folder, rank);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        int pid;
        unsigned number;
        if (sscanf(line, "pid %d node %u socket %127s", &pid, &number, notes->socket) == 3) {
            notes->there = true;
            notes->pid = (pid_t)pid;
            notes->node = number;
        } else if (sscanf(line, "process %u %31s", &number, word) == 2 && number < RANKS_MAX) {
            if (strcmp(word, "dead") == 0)
                notes->dead[number]++;
            else
                notes->left[number]++;
        } else if (sscanf(line, "node %u dead", &number) == 1 && number < NODES_MAX) {
            notes->nodes[number]++;
        } else if (strcmp(line, "over\n") == 0) {
            notes->over = true;
        } else if (strncmp(line, "broken", 6) == 0) {
            notes->broken = true;
        }
    }
    fclose(file);
}

/* ---- one run ---- */

static void make_plan(struct plan *plan)
{
    plan->nodes = 1 + draw(6);
    plan->ranks = plan->nodes + draw(3 * plan->nodes + 1);
    plan->kills = draw(KILLS_MAX + 1);
    for (uint32_t i = 0; i < plan->kills; i++) {
        uint32_t kind = draw(10);
        plan->kill[i].target = kind < 6   ? TARGET_PROCESS
                               : kind < 9 ? TARGET_DAEMON
                                          : TARGET_LAUNCHER;
        /* Half of them early, where a machine and a job begin. */
        plan->kill[i].after_us = draw(2) == 0 ? draw(40000) : draw(300000);
        plan->kill[i].which = draw(1 << 30);
        plan->kill[i].at_end = draw(5) == 0;
    }
}

static void start(struct run *run)
{
    run->launcher = fork();
    if (run->launcher > 0)
        return;
    char nodes[16], ranks[16], log[4096];
    snprintf(nodes, sizeof nodes, "%u", run->plan.nodes);
    snprintf(ranks, sizeof ranks, "%u", run->plan.ranks);
    snprintf(log, sizeof log, "%s/log", run->folder);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(fd, 1);
    dup2(fd, 2);
    putenv(run->mark);
    execl(run->muster, run->muster, "run", "--nodes", nodes, "-n", ranks, "--on-failure",
          "continue", run->roll, run->folder, (char *)NULL);
    _exit(127);
}

static void look_for_end(struct run *run)
{
    if (!run->ended && waitpid(run->launcher, &run->status, WNOHANG) == run->launcher)
        run->ended = true;
}

/* Kills one process of the job; which, its notes say. */
static void kill_process(struct run *run, uint32_t which)
{
    uint32_t rank = which % run->plan.ranks;
    struct notes notes;
    read_notes(run, rank, &notes);
    if (!notes.there || notes.over || run->killed[rank])
        return;
    /* The number could be another's by now: it must still be of this run. */
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)notes.pid);
    if (!file_has(path, run->mark) || kill(notes.pid, SIGKILL) != 0)
        return;
    run->killed[rank] = true;
}

/* Kills one daemon that was not killed yet: the launcher's children are daemons, and for a moment
 * what a killed one left behind. */
static void kill_daemon(struct run *run, uint32_t which)
{
    static pid_t children[CHILDREN_MAX];
    uint32_t count = children_of(run->launcher, children), daemons = 0;
    for (uint32_t i = 0; i < count; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/comm", (int)children[i]);
        bool good = file_has(path, "musterd\n");
        for (uint32_t k = 0; k < run->daemons_killed; k++)
            good &= run->daemon[k] != children[i];
        if (good)
            children[daemons++] = children[i];
    }
    int number = (which >> 16) % 4 == 0 ? SIGTERM : SIGKILL; /* the others must see no difference */
    if (daemons == 0 || kill(children[which % daemons], number) != 0)
        return;
    run->daemon[run->daemons_killed++] = children[which % daemons];
}

static void carry_out(struct run *run, uint32_t i)
{
    look_for_end(run);
    if (run->ended)
        return;
    run->late_kill |= run->told_over;
    switch (run->plan.kill[i].target) {
    case TARGET_PROCESS:
        kill_process(run, run->plan.kill[i].which);
        return;
    case TARGET_DAEMON:
        kill_daemon(run, run->plan.kill[i].which);
        return;
    case TARGET_LAUNCHER:
        run->launcher_killed = kill(run->launcher, SIGKILL) == 0;
        return;
    case TARGETS:
        break;
    }
    abort();
}

static int fail(const struct run *run, const char *what, long number)
{
    fprintf(stderr, "FAILED: %s (%ld): %u nodes, %u ranks, see %s\n", what, number, run->plan.nodes,
            run->plan.ranks, run->folder);
    for (uint32_t i = 0; i < run->plan.kills; i++)
        fprintf(stderr, "  kill %u: target %d after %u us%s\n", i, run->plan.kill[i].target,
                run->plan.kill[i].after_us, run->plan.kill[i].at_end ? ", at the end" : "");
    return 1;
}

/* Who is dead, by what those who live have heard: those that we killed, and all of lost nodes. */
static bool all_told(const struct run *run)
{
    struct notes notes[RANKS_MAX];
    bool node_lost[NODES_MAX] = {false};
    for (uint32_t r = 0; r < run->plan.ranks; r++) {
        read_notes(run, r, &notes[r]);
        for (uint32_t n = 0; n < NODES_MAX; n++)
            node_lost[n] |= notes[r].nodes[n] > 0;
    }
    uint32_t lost = 0;
    for (uint32_t n = 0; n < NODES_MAX; n++)
        lost += node_lost[n];
    bool anybody = false;
    for (uint32_t r = 0; r < run->plan.ranks; r++) {
        uint32_t home = (uint32_t)((uint64_t)r * run->plan.nodes / run->plan.ranks);
        if (run->killed[r] || node_lost[home])
            continue;
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/environ", (int)notes[r].pid);
        if (!notes[r].there || !file_has(path, run->mark))
            continue; /* not up yet, or of a node whose loss nobody has noted yet */
        anybody = true;
        for (uint32_t q = 0; q < run->plan.ranks; q++) {
            uint32_t its = (uint32_t)((uint64_t)q * run->plan.nodes / run->plan.ranks);
            if ((run->killed[q] || node_lost[its]) && notes[r].dead[q] == 0)
                return false;
        }
        for (uint32_t n = 0; n < NODES_MAX; n++)
            if (node_lost[n] && notes[r].nodes[n] == 0)
                return false;
    }
    return !anybody || lost == run->daemons_killed;
}

/* Is somebody there that has noted nothing yet?  Then the run has not begun. */
static bool has_begun(const struct run *run)
{
    for (uint32_t r = 0; r < run->plan.ranks; r++) {
        struct notes notes;
        read_notes(run, r, &notes);
        if (notes.there)
            return true;
    }
    return false;
}

static void say_over(struct run *run)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/over", run->folder);
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    run->told_over = true;
}

static int check_notes(const struct run *run)
{
    for (uint32_t r = 0; r < run->plan.ranks; r++) {
        struct notes notes;
        read_notes(run, r, &notes);
        for (uint32_t q = 0; q < run->plan.ranks; q++)
            if (notes.dead[q] + notes.left[q] > 1)
                return fail(run, "told twice of one process: rank", q);
        for (uint32_t n = 0; n < NODES_MAX; n++)
            if (notes.nodes[n] > 1)
                return fail(run, "told twice of one node:", n);
        if (notes.dead[r] > 0 && notes.over)
            return fail(run, "a survivor was told of its own death: rank", r);
        if (!notes.broken)
            continue;
        bool may = run->launcher_killed || run->daemons_killed > 0 || run->late_kill;
        if (!may)
            return fail(run, "a process lost its daemon, which nobody killed: rank", r);
    }
    return 0;
}

static int check_nothing_left(const struct run *run)
{
    uint64_t until = now_ms() + clean_ms;
    pid_t left;
    while ((left = find_left(run)) != 0 && now_ms() < until)
        pause_us(5000);
    if (left != 0)
        return fail(run, "a process is left:", left);
    for (uint32_t r = 0; r < run->plan.ranks; r++) {
        struct notes notes;
        read_notes(run, r, &notes);
        char machine[sizeof notes.socket + 1];
        snprintf(machine, sizeof machine, "@%s", notes.socket);
        char *slot = strrchr(machine, '/');
        if (!notes.there || slot == NULL)
            continue;
        slot[1] = '\0'; /* that of any daemon of the machine */
        return file_has("/proc/net/unix", machine) ? fail(run, "a socket is left:", r) : 0;
    }
    return 0;
}

static int do_run(struct run *run)
{
    make_plan(&run->plan);
    if (mkdir(run->folder, 0700) != 0)
        return fail(run, strerror(errno), errno);
    start(run);
    for (uint32_t i = 0; i < run->plan.kills; i++)
        if (!run->plan.kill[i].at_end) {
            pause_us(run->plan.kill[i].after_us);
            carry_out(run, i);
        }
    uint64_t until = now_ms() + TOLD_MS;
    bool done = false;
    while (!done && now_ms() < until) {
        look_for_end(run);
        done = run->ended || run->launcher_killed || (has_begun(run) && all_told(run));
        if (!done)
            pause_us(5000);
    }
    if (!done)
        return fail(run, "not everybody was told in time, ms:", TOLD_MS);
    say_over(run);
    for (uint32_t i = 0; i < run->plan.kills; i++)
        if (run->plan.kill[i].at_end) {
            pause_us(run->plan.kill[i].after_us % 5000);
            carry_out(run, i);
        }
    until = now_ms() + END_MS;
    while (!run->ended && now_ms() < until) {
        look_for_end(run);
        pause_us(2000);
    }
    if (!run->ended)
        return fail(run, "the launcher has not ended, ms:", END_MS);
    return check_nothing_left(run) || check_notes(run);
}

static void remove_folder(const char *folder)
{
    DIR *files = opendir(folder);
    for (struct dirent *entry; files != NULL && (entry = readdir(files)) != NULL;)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(files), entry->d_name, 0);
    if (files != NULL)
        closedir(files);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    if (argc != 6 && argc != 7) {
        fprintf(stderr, "usage: random_kills MUSTER ROLL FOLDER SEED RUNS [CLEAN_MS]\n");
        return 2;
    }
    uint64_t seed = strtoull(argv[4], NULL, 10);
    uint32_t runs = (uint32_t)atoi(argv[5]);
    if (argc == 7)
        clean_ms = strtoull(argv[6], NULL, 10);
    uint32_t processes = 0, daemons = 0, launchers = 0;
    printf("seed %llu, %u runs\n", (unsigned long long)seed, runs);
    for (uint32_t i = 0; i < runs; i++) {
        static struct run run;
        memset(&run, 0, sizeof run);
        run.muster = argv[1];
        run.roll = argv[2];
        random_state = seed * 1000003 + i;
        snprintf(run.folder, sizeof run.folder, "%s/run-%u", argv[3], i);
        snprintf(run.mark, sizeof run.mark, "MUSTER_TEST_RUN=%d-%u.", (int)getpid(), i);
        int failed = do_run(&run);
        if (failed) {
            fprintf(stderr, "run %u of seed %llu\n", i, (unsigned long long)seed);
            if (!run.ended) {
                kill(run.launcher, SIGKILL);
                waitpid(run.launcher, NULL, 0);
            }
            return failed;
        }
        for (uint32_t r = 0; r < run.plan.ranks; r++)
            processes += run.killed[r];
        daemons += run.daemons_killed;
        launchers += run.launcher_killed;
        remove_folder(run.folder);
    }
    printf("%u runs, killed: %u processes, %u daemons, %u launchers: none hung, nothing left, "
           "everybody told once\n",
           runs, processes, daemons, launchers);
    return 0;
}
