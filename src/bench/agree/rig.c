#include "bench/agree/rig.h"

#include "rig/page.h"
#include "rig/libexec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

bool agree_rig_open(struct agree_rig *rig, uint32_t log)
{
    uint32_t size = rig->nodes * rig->procs;
    int error = libexec_find("muster-bench-agree", rig->client);
    rig->page_fd = -1;
    if (error != 0) {
        fprintf(stderr, "%s: %s: %s\n", rig->command, rig->client, strerror(error));
        return false;
    }
    rig->page_fd = agree_page_make(size, log, &rig->page);
    if (rig->page_fd < 0) {
        fprintf(stderr, "%s: memory for %u processes: %s\n", rig->command, size, strerror(errno));
        return false;
    }
    rig->page->procs = rig->procs;
    return true;
}

void agree_rig_close(struct agree_rig *rig)
{
    agree_page_free(rig->page);
    close(rig->page_fd);
}

/* ---- hooks ---- */

static void on_lost(void *owner, mu_slot node, const char *text)
{
    (void)owner, (void)node, (void)text; /* it was killed, or its processes tell */
}

static void on_ended(void *owner, uint32_t rank, const struct mu_evidence *evidence)
{
    struct agree_rig *rig = owner;
    (void)rank, (void)evidence;
    rig->ended++;
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
    struct agree_rig *rig = owner;
    rig_broke(&rig->ring, node, text);
}

/* ---- one job ---- */

static bool start(struct agree_rig *rig)
{
    char pid[16], fd[16], text[MACHINE_TEXT_MAX];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    snprintf(fd, sizeof fd, "%d", rig->page_fd);
    const char *const argv[] = {rig->client, pid, fd, NULL};
    const struct job_program program = {
        .count = rig->nodes * rig->procs, .directory = "/", .argv = argv};
    const struct job_config config = {
        .machine = rig->ring.machine,
        .program_count = 1,
        .programs = &program,
        .envp = (const char *const *)environ,
        .binding = MU_LAUNCH_PART,
        .one_host = true,
        .hooks = {.owner = rig, .ended = on_ended, .output = on_output, .refused = on_refused},
    };
    rig->job = job_start(&config, text);
    if (rig->job == NULL)
        fprintf(stderr, "%s: %s\n", rig->command, text);
    return rig->job != NULL;
}

static bool wait_ready(struct agree_rig *rig)
{
    const struct agree_page *page = rig->page;
    uint64_t end_ns = bench_now_ns() + AGREE_START_MS * UINT64_C(1000000);
    while (page->ready < page->size && rig->ended == 0 && bench_now_ns() < end_ns)
        if (!agree_rig_pass_ms(rig, 1))
            return false;
    if (page->ready < page->size)
        fprintf(stderr, "%s: %u of %u processes were there, and %u had ended\n", rig->command,
                page->ready, page->size, rig->ended);
    return page->ready == page->size;
}

bool agree_rig_begin(struct agree_rig *rig)
{
    const struct rig_config config = {.command = rig->command,
                                      .nodes = rig->nodes,
                                      .period_ns = MACHINE_PERIOD_NS,
                                      .timeout_ns = MACHINE_TIMEOUT_NS,
                                      .fanout = rig->fanout,
                                      .lost = on_lost,
                                      .owner = rig};
    agree_page_reset(rig->page);
    rig->ended = 0;
    return rig_open(&rig->ring, &config) && rig_wait_heard(&rig->ring) && start(rig) &&
           wait_ready(rig);
}

void agree_rig_end(struct agree_rig *rig)
{
    rig->page->is_over = true;
    job_free(rig->job);
    rig->job = NULL;
    rig_close(&rig->ring);
}

bool agree_rig_pass_ms(struct agree_rig *rig, uint32_t ms)
{
    return rig_pass_ms(&rig->ring, ms);
}
