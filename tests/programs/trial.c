#define _GNU_SOURCE
#include "trial.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 32, LOOK_US = 2000 };

/* ---- chance and time ---- */

static uint64_t random_state;

void trial_seed(uint64_t seed, uint32_t number)
{
    random_state = seed * 1000003 + number;
}

uint32_t trial_draw(uint32_t below)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = random_state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ z >> 31) % below);
}

uint64_t trial_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void trial_pause_us(uint64_t us)
{
    struct timespec wait = {.tv_sec = (time_t)(us / 1000000), .tv_nsec = us % 1000000 * 1000};
    nanosleep(&wait, NULL);
}

/* ---- what the kernel knows ---- */

static uint32_t add_children(const char *list, pid_t *children, uint32_t count)
{
    char text[16384];
    int fd = open(list, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    char *rest;
    for (char *word = strtok_r(text, " ", &rest); word != NULL && count < TRIAL_CHILDREN_MAX;
         word = strtok_r(NULL, " ", &rest))
        children[count++] = (pid_t)atoi(word);
    return count;
}

uint32_t trial_children(pid_t pid, pid_t children[TRIAL_CHILDREN_MAX])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    uint32_t count = 0;
    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        if (!isdigit((unsigned char)task->d_name[0]))
            continue;
        char list[512];
        snprintf(list, sizeof list, "/proc/%d/task/%s/children", (int)pid, task->d_name);
        count = add_children(list, children, count);
    }
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

uint32_t trial_daemons(pid_t launcher, pid_t daemons[TRIAL_CHILDREN_MAX])
{
    static pid_t witnesses[TRIAL_CHILDREN_MAX], below[TRIAL_CHILDREN_MAX];
    uint32_t witness_count = trial_children(launcher, witnesses), count = 0;
    for (uint32_t i = 0; i < witness_count; i++) {
        char path[64];
        if (trial_children(witnesses[i], below) == 0)
            continue;
        snprintf(path, sizeof path, "/proc/%d/comm", (int)below[0]);
        if (trial_file_has(path, "musterd\n"))
            daemons[count++] = below[0];
    }
    return count;
}

bool trial_file_has(const char *path, const char *bytes)
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

bool trial_has_process(const struct trial *trial, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid); /* empty, once it has ended */
    return trial_file_has(path, trial->mark);
}

/* A process with this trial's mark, that has not ended; 0: none. */
static pid_t find_left(const struct trial *trial)
{
    DIR *processes = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *entry; found == 0 && (entry = readdir(processes)) != NULL;) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (isdigit((unsigned char)entry->d_name[0]) && pid != getpid() &&
            trial_has_process(trial, pid))
            found = pid;
    }
    closedir(processes);
    return found;
}

/* ---- the job ---- */

static void be_launcher(struct trial *trial, const char *const *flags)
{
    char ranks[16], nodes[16], log[4096];
    const char *argv[ARGUMENTS_MAX] = {trial->muster, "run", "--nodes", nodes, "-n", ranks};
    if (trial->hostfile != NULL) {
        argv[2] = "--hostfile";
        argv[3] = trial->hostfile;
    }
    size_t count = 6;
    snprintf(nodes, sizeof nodes, "%u", trial->nodes);
    snprintf(ranks, sizeof ranks, "%u", trial->ranks);
    while (*flags != NULL && count < ARGUMENTS_MAX - 3)
        argv[count++] = *flags++;
    argv[count++] = trial->roll;
    argv[count++] = trial->folder;
    argv[count] = NULL;
    snprintf(log, sizeof log, "%s/log", trial->folder);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(fd, 1);
    dup2(fd, 2);
    putenv(trial->mark);
    execv(trial->muster, (char *const *)argv);
    _exit(127);
}

int trial_start(struct trial *trial, const char *const *flags)
{
    if (mkdir(trial->folder, 0700) != 0)
        return errno;
    trial->launcher = fork();
    if (trial->launcher == 0)
        be_launcher(trial, flags);
    return trial->launcher < 0 ? errno : 0;
}

bool trial_has_ended(struct trial *trial)
{
    if (!trial->ended && waitpid(trial->launcher, &trial->status, WNOHANG) == trial->launcher)
        trial->ended = true;
    return trial->ended;
}

void trial_say_over(struct trial *trial)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/over", trial->folder);
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    trial->told_over = true;
}

bool trial_wait_for_end(struct trial *trial, uint64_t limit_ms)
{
    uint64_t until_ns = trial_now_ns() + limit_ms * 1000000;
    while (!trial_has_ended(trial) && trial_now_ns() < until_ns)
        trial_pause_us(LOOK_US);
    return trial->ended;
}

void trial_end(struct trial *trial)
{
    if (trial->launcher > 0 && !trial->ended) {
        kill(trial->launcher, SIGKILL);
        waitpid(trial->launcher, &trial->status, 0);
        trial->ended = true;
    }
    uint64_t until_ns = trial_now_ns() + trial->clean_ms * 1000000;
    for (pid_t pid; (pid = find_left(trial)) != 0 && trial_now_ns() < until_ns;) {
        kill(pid, SIGKILL);
        trial_pause_us(LOOK_US);
    }
}

/* The name that sockets of this machine's daemons begin with; false: no process knew it. */
static bool read_socket(const struct trial *trial, char name[TRIAL_SOCKET_MAX + 1])
{
    for (uint32_t r = 0; r < trial->ranks; r++) {
        struct trial_notes notes;
        trial_read_notes(trial, r, &notes);
        snprintf(name, TRIAL_SOCKET_MAX + 1, "@%s", notes.socket);
        char *slot = strrchr(name, '/');
        if (!notes.there || slot == NULL)
            continue;
        slot[1] = '\0'; /* that of any daemon */
        return true;
    }
    return false;
}

const char *trial_left(const struct trial *trial, long *number)
{
    uint64_t until_ns = trial_now_ns() + trial->clean_ms * 1000000;
    char name[TRIAL_SOCKET_MAX + 1];
    bool has_name = read_socket(trial, name), socket;
    pid_t left;
    /* Daemons hide their environment from all but root; their sockets can be seen. */
    for (;;) {
        bool late = trial_now_ns() >= until_ns;
        left = find_left(trial);
        socket = has_name && trial_file_has("/proc/net/unix", name);
        if ((left == 0 && !socket) || late)
            break;
        trial_pause_us(LOOK_US);
    }
    *number = left;
    return left != 0 ? "a process is left:" : socket ? "a socket is left, processes:" : NULL;
}

void trial_remove_folder(const struct trial *trial)
{
    DIR *files = opendir(trial->folder);
    for (struct dirent *entry; files != NULL && (entry = readdir(files)) != NULL;)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(files), entry->d_name, 0);
    if (files != NULL)
        closedir(files);
    rmdir(trial->folder);
}

/* ---- what a process has noted ---- */

static bool is_death(const char *verdict)
{
    return strcmp(verdict, "dead") == 0 || strcmp(verdict, "silent") == 0 ||
           strcmp(verdict, "unreachable") == 0;
}

static void read_line(const char *line, struct trial_notes *notes)
{
    int pid;
    unsigned number;
    char word[32];
    if (sscanf(line, "pid %d node %u socket %127s", &pid, &number, notes->socket) == 3) {
        notes->there = true;
        notes->pid = (pid_t)pid;
        notes->node = number;
    } else if (sscanf(line, "process %u %31s", &number, word) == 2 && number < TRIAL_RANKS_MAX) {
        notes->dead[number] += is_death(word);
        notes->left[number] += strcmp(word, "left") == 0;
    } else if (sscanf(line, "node %u %31s", &number, word) == 2 && number < TRIAL_NODES_MAX) {
        notes->nodes[number] += is_death(word);
    } else if (strcmp(line, "over\n") == 0) {
        notes->over = true;
    } else if (strncmp(line, "broken", 6) == 0) {
        notes->broken = true;
    }
}

void trial_read_notes(const struct trial *trial, uint32_t rank, struct trial_notes *notes)
{
    memset(notes, 0, sizeof *notes);
    char path[4096], line[512];
    snprintf(path, sizeof path, "%s/rank-%u", trial->folder, rank);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL)
        read_line(line, notes);
    fclose(file);
}

uint32_t trial_home(const struct trial *trial, uint32_t rank)
{
    return (uint32_t)((uint64_t)rank * trial->nodes / trial->ranks);
}

const char *trial_notes_error(const struct trial *trial, const struct trial_notes *notes,
                              uint32_t rank, long *number)
{
    for (uint32_t q = 0; q < trial->ranks; q++) {
        *number = q;
        if (notes->dead[q] + notes->left[q] > 1)
            return "told twice of one process: rank";
    }
    for (uint32_t n = 0; n < TRIAL_NODES_MAX; n++) {
        *number = n;
        if (notes->nodes[n] > 1)
            return "told twice of one node:";
    }
    *number = rank;
    if (notes->dead[rank] > 0 && notes->over)
        return "a survivor was told of its own death: rank";
    return NULL;
}
