#include "cli/bench_nodefail_rig.h"

#include "cli/bench_page.h"
#include "cli/operator.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static const char command[] = "muster bench nodefail";

/* ---- the reader ---- */

/* It is no command for anybody, so it is not next to this executable: of PREFIX/bin/muster it is in
 * PREFIX/libexec/muster, or where the build was told to install such programs. */
static int find_reader(char path[PATH_MAX])
{
    static const char rest[] = "/" MUSTER_LIBEXEC "/muster-bench-reader";
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof rest);
    for (int up = 0; up < 2; up++) /* the executable, and its folder */
        do
            length--;
        while (length > 0 && path[length] != '/');
    memcpy(path + (length > 0 ? length : 0), rest, sizeof rest);
    return access(path, X_OK) == 0 ? 0 : errno;
}

bool nodefail_rig_open(struct nodefail_rig *rig)
{
    int error = find_reader(rig->reader);
    if (error != 0) {
        fprintf(stderr, "%s: %s: %s\n", command, rig->reader, strerror(error));
        return false;
    }
    if (nodefail_door_open(&rig->door, rig->nodes, rig->procs) != 0) {
        fprintf(stderr, "%s: memory for %u processes: %s\n", command, rig->nodes * rig->procs,
                strerror(errno));
        nodefail_door_close(&rig->door);
        return false;
    }
    return true;
}

void nodefail_rig_close(struct nodefail_rig *rig)
{
    nodefail_door_close(&rig->door);
}

/* ---- hooks ---- */

/* The survivors count what is told of it; a person wants to know why. */
static void on_lost(void *owner, mu_slot node, const char *text)
{
    struct nodefail_rig *rig = owner;
    if (!rig->door.page->is_victim[node] && !rig->door.page->is_over)
        fprintf(stderr, "%s: node %u, which is no victim: %s\n", command, node, text);
}

static void on_ended(void *owner, uint32_t rank, const struct mu_evidence *evidence)
{
    struct nodefail_rig *rig = owner;
    char text[MU_EVIDENCE_TEXT_MAX];
    if (evidence->cause == MU_CAUSE_EXIT && !rig->door.page->is_victim[rank / rig->procs])
        fprintf(stderr, "%s: process %u, which nobody killed: %s\n", command, rank,
                mu_evidence_text(evidence, text, sizeof text));
}

static bool on_output(void *owner, uint32_t rank, uint8_t stream, const uint8_t *bytes,
                      uint32_t count)
{
    (void)owner, (void)rank, (void)stream;
    fwrite(bytes, 1, count, stderr);
    return true;
}

static void on_refused(void *owner, mu_slot node, const char *text)
{
    struct nodefail_rig *rig = owner;
    bench_ring_broke(&rig->ring, node, text);
}

/* ---- before ---- */

static bool start_readers(struct nodefail_rig *rig)
{
    char pid[16], text[MACHINE_TEXT_MAX];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    const char *const argv[] = {rig->reader, pid, NULL};
    const struct job_program program = {
        .count = rig->nodes * rig->procs, .directory = "/", .argv = argv};
    const struct job_config config = {
        .machine = rig->ring.machine,
        .program_count = 1,
        .programs = &program,
        .envp = (const char *const *)environ,
        .hooks = {.owner = rig, .ended = on_ended, .output = on_output, .refused = on_refused},
    };
    rig->job = job_start(&config, text);
    if (rig->job == NULL)
        fprintf(stderr, "%s: %s\n", command, text);
    return rig->job != NULL;
}

/* True also when it is too late: the counter tells. */
static bool wait_for(struct nodefail_rig *rig, const _Atomic uint32_t *counter, uint32_t wanted,
                     uint64_t limit_ms)
{
    uint64_t end_ns = bench_now_ns() + limit_ms * 1000000u;
    while (atomic_load(counter) < wanted && bench_now_ns() < end_ns)
        if (!bench_ring_pass_ms(&rig->ring, 1))
            return false;
    return true;
}

static bool wait_ready(struct nodefail_rig *rig)
{
    const struct nodefail_page *page = rig->door.page;
    if (!wait_for(rig, &page->ready, page->size, NODEFAIL_START_MS))
        return false;
    if (page->ready < page->size) {
        fprintf(stderr, "%s: %u of %u processes were there after %u s\n", command, page->ready,
                page->size, NODEFAIL_START_MS / 1000);
        return false;
    }
    return bench_ring_pass_ms(&rig->ring, NODEFAIL_SETTLE_MS);
}

static bool wait_phase(struct nodefail_rig *rig, uint64_t phase_ns)
{
    if (phase_ns >= 1000000 && !bench_ring_pass_ms(&rig->ring, (uint32_t)(phase_ns / 1000000)))
        return false;
    struct timespec rest = {.tv_nsec = (long)(phase_ns % 1000000)};
    nanosleep(&rest, NULL);
    return true;
}

/* ---- the failure ---- */

static uint64_t kill_all(struct nodefail_rig *rig, const mu_slot *victims)
{
    uint64_t from_ns = bench_now_ns();
    for (uint32_t i = 0; i < rig->count; i++)
        machine_kill(rig->ring.machine, victims[i]);
    return from_ns;
}

/* All daemons first: from then on these nodes are silent.  Its own processes are what a stopped
 * node would have to tell something; nobody else talks to them. */
static uint64_t stop_all(struct nodefail_rig *rig, const mu_slot *victims)
{
    const struct nodefail_page *page = rig->door.page;
    uint64_t from_ns = bench_now_ns();
    for (uint32_t i = 0; i < rig->count; i++)
        kill(machine_daemon(rig->ring.machine, victims[i]), SIGSTOP);
    for (uint32_t i = 0; i < rig->count; i++)
        for (uint32_t k = 0; k < rig->procs; k++)
            kill((pid_t)page->slots[victims[i] * rig->procs + k].pid, SIGSTOP);
    return from_ns;
}

/* The conversations begin before: only one packet each is left to be sent. */
static uint64_t cut_all(struct nodefail_rig *rig, const mu_slot *victims)
{
    struct operator_link *links = calloc(rig->count, sizeof *links);
    struct mu_local_message message = {.type = MU_LOCAL_CUT, .cut = {.is_cut = true}};
    uint32_t opened = 0;
    bool good = links != NULL;
    for (; good && opened < rig->count; opened += good) {
        const struct operator_daemon daemon = {.machine = machine_id(rig->ring.machine),
                                               .slot = victims[opened]};
        good = operator_open(&links[opened], &daemon);
        if (!good)
            bench_ring_broke(&rig->ring, victims[opened], links[opened].why);
    }
    uint64_t from_ns = bench_now_ns();
    for (uint32_t i = 0; good && i < rig->count; i++)
        good = operator_say(&links[i], &message);
    for (uint32_t i = 0; good && i < rig->count; i++) {
        good = operator_hear(&links[i], &message, OPERATOR_TIMEOUT_MS) &&
               (message.type == MU_LOCAL_DONE || operator_unexpected(&links[i], &message));
        if (!good)
            bench_ring_broke(&rig->ring, victims[i], links[i].why);
    }
    for (uint32_t i = 0; i < opened; i++)
        operator_close(&links[i]);
    free(links);
    return good ? from_ns : 0;
}

static bool guard_victims(struct nodefail_rig *rig, const mu_slot *victims)
{
    pid_t pids[NODEFAIL_NODES_MAX];
    for (uint32_t i = 0; i < rig->count; i++)
        pids[i] = machine_daemon(rig->ring.machine, victims[i]);
    if (nodefail_guard_start(&rig->guard, pids, rig->count) == 0)
        return true;
    fprintf(stderr, "%s: no guard for what is stopped: %s\n", command, strerror(errno));
    return false;
}

static bool fail_all(struct nodefail_rig *rig, const mu_slot *victims, uint64_t *from_ns)
{
    struct nodefail_page *page = rig->door.page;
    for (uint32_t i = 0; i < rig->count; i++)
        page->is_victim[victims[i]] = true;
    page->victim_count = rig->count; /* readers look when they hear of what we do below */
    switch (rig->how) {
    case NODEFAIL_KILL:
        *from_ns = kill_all(rig, victims);
        return true;
    case NODEFAIL_STOP:
        *from_ns = stop_all(rig, victims);
        return true;
    case NODEFAIL_CUT:
        *from_ns = cut_all(rig, victims);
        return *from_ns != 0;
    }
    abort();
}

/* ---- after ---- */

static double since_ms(uint64_t from_ns, uint64_t ns)
{
    return ((double)ns - (double)from_ns) / 1e6;
}

static void take_sample(const struct nodefail_rig *rig, const mu_slot *victims,
                        struct nodefail_sample *sample)
{
    const struct nodefail_page *page = rig->door.page;
    uint64_t seen_ns = 0, last_ns = 0;
    for (uint32_t i = 0; i < rig->count; i++)
        if (page->seen_ns[victims[i]] > seen_ns)
            seen_ns = page->seen_ns[victims[i]];
    for (uint32_t rank = 0; rank < page->size; rank++) {
        const struct nodefail_slot *slot = &page->slots[rank];
        if (page->is_victim[rank / page->procs])
            continue;
        sample->missed += nodefail_expected(page) - slot->nodes_told - slot->processes_told;
        sample->wrong += slot->wrong;
        if (slot->last_ns > last_ns) {
            last_ns = slot->last_ns;
            sample->last_rank = rank;
        }
    }
    bool unseen = seen_ns == UINT64_MAX;
    sample->detect_ms = unseen ? NODEFAIL_WAIT_MS : since_ms(sample->from_ns, seen_ns);
    sample->all_told_ms =
        sample->missed > 0 ? NODEFAIL_WAIT_MS : since_ms(sample->from_ns, last_ns);
}

/* After the last event another timeout passes, in which nobody else may be accused. */
static bool measure(struct nodefail_rig *rig, const mu_slot *victims, uint64_t phase_ns,
                    struct nodefail_sample *sample)
{
    const struct nodefail_page *page = rig->door.page;
    uint32_t survivors = (rig->nodes - rig->count) * rig->procs;
    if (!start_readers(rig) || !wait_ready(rig))
        return false;
    if (rig->how == NODEFAIL_STOP && !guard_victims(rig, victims))
        return false;
    if (!wait_phase(rig, phase_ns) || !fail_all(rig, victims, &sample->from_ns))
        return false;
    if (!wait_for(rig, &page->done, survivors, NODEFAIL_WAIT_MS) ||
        !bench_ring_pass_ms(&rig->ring, (uint32_t)(rig->timeout_ns / 1000000)))
        return false;
    take_sample(rig, victims, sample);
    return true;
}

bool nodefail_rig_measure(struct nodefail_rig *rig, const mu_slot *victims, uint64_t phase_ns,
                          struct nodefail_sample *sample)
{
    const struct bench_ring_config config = {.command = command,
                                             .nodes = rig->nodes,
                                             .period_ns = rig->period_ns,
                                             .timeout_ns = rig->timeout_ns,
                                             .lost = on_lost,
                                             .owner = rig};
    *sample = (struct nodefail_sample){0};
    nodefail_page_reset(rig->door.page);
    bool good = bench_ring_open(&rig->ring, &config) && measure(rig, victims, phase_ns, sample);
    rig->door.page->is_over = true;
    nodefail_guard_strike(&rig->guard);
    job_free(rig->job);
    rig->job = NULL;
    bench_ring_close(&rig->ring);
    return good;
}
