#include "host/clock.h"
#include "rig/rig.h"

#include "rig/door.h"
#include "rig/libexec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert((int)RIG_NODES_MAX == (int)MACHINE_NODES_MAX, "a page is for any machine");

enum { START_MS = 60000, STOP_MS = 10000 };

/* ---- before they start ---- */

struct rig_page *rig_prepare_clients(const char *command, uint32_t nodes, uint32_t procs,
                                     uint32_t log_bytes)
{
    char program[PATH_MAX];
    int error = libexec_find(RIG_CLIENT, program);
    if (error != 0) {
        fprintf(stderr, "%s: the client %s cannot be started: %s\n", command, program,
                strerror(error));
        return NULL;
    }
    struct rig_page *page = rig_page_make(nodes, procs, log_bytes);
    if (page == NULL)
        fprintf(stderr, "%s: memory for %u processes: %s\n", command, nodes * procs,
                strerror(errno));
    return page;
}

static void on_knock(uv_poll_t *knock, int status, int events)
{
    const struct rig *rig = knock->data;
    (void)status, (void)events;
    int fd = rig_door_accept(rig->door);
    if (fd < 0)
        return;
    rig_page_give(rig->page, fd);
    close(fd);
}

bool rig_open_door(struct rig *rig, struct rig_page *page)
{
    rig->page = page;
    if (rig->door >= 0)
        return true;
    rig->door = rig_door_open(RIG_DOOR_PAGE);
    if (rig->door < 0) {
        fprintf(stderr, "%s: the door for clients: %s\n", rig->config.command, strerror(errno));
        return false;
    }
    uv_poll_init(&rig->loop, &rig->knock, rig->door);
    rig->knock.data = rig;
    uv_poll_start(&rig->knock, UV_READABLE, on_knock);
    uv_unref((uv_handle_t *)&rig->knock);
    return true;
}

/* ---- hooks ---- */

static void on_ended(void *owner, uint32_t rank, const struct mu_evidence *evidence)
{
    struct rig *rig = owner;
    char text[MU_EVIDENCE_TEXT_MAX];
    rig->ended++;
    if (evidence->how.type == MU_EXIT_NOT_STARTED)
        rig_broke(rig, job_node_of(rig->job, rank), mu_evidence_text(evidence, text, sizeof text));
    if (rig->config.ended != NULL)
        rig->config.ended(rig->config.owner, rank, evidence);
}

static void on_told(void *owner, const struct job_told *told)
{
    const struct rig *rig = owner;
    if (rig->config.told != NULL)
        rig->config.told(rig->config.owner, told);
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
    rig_broke(owner, node, text);
}

static void on_idle(void *owner)
{
    struct rig *rig = owner;
    rig->is_idle = true;
}

/* ---- from start to end ---- */

bool rig_start_clients(struct rig *rig, struct rig_page *page, const char *role, uint8_t binding)
{
    char program[PATH_MAX], pid[16];
    const char *const argv[] = {program, role, pid, NULL};
    const struct job_hooks hooks = {.owner = rig,
                                    .ended = on_ended,
                                    .told = on_told,
                                    .output = on_output,
                                    .refused = on_refused,
                                    .idle = on_idle};
    libexec_find(RIG_CLIENT, program); /* was there */
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (!rig_open_door(rig, page))
        return false;
    rig->is_idle = false;
    rig->ended = 0;
    rig->job = rig_start_job(rig, page->procs, argv, binding, &hooks);
    return rig->job != NULL;
}

bool rig_wait_ready(struct rig *rig)
{
    const struct rig_page *page = rig->page;
    uint64_t from_ns = mu_now_ns(), end_ns = from_ns + START_MS * UINT64_C(1000000);
    while (page->ready < page->size && rig->ended == 0 && rig->lost == 0 && mu_now_ns() < end_ns)
        if (!rig_pass_ms(rig, 1))
            return false;
    if (page->ready < page->size)
        fprintf(stderr, "%s: %u of %u processes were there after %.1f s, and %u had ended\n",
                rig->config.command, page->ready, page->size, (double)(mu_now_ns() - from_ns) / 1e9,
                rig->ended);
    return page->ready == page->size;
}

bool rig_stop_clients(struct rig *rig)
{
    uint64_t end_ns = mu_now_ns() + STOP_MS * UINT64_C(1000000);
    job_stop(rig->job, 0);
    while (!rig->is_idle && mu_now_ns() < end_ns)
        if (!rig_pass_ms(rig, 1))
            return false;
    if (!rig->is_idle) {
        fprintf(stderr, "%s: %u processes had not ended after %d s\n", rig->config.command,
                job_left(rig->job), STOP_MS / 1000);
        return false;
    }
    job_finish(rig->job);
    job_free(rig->job);
    rig->job = NULL;
    return true;
}
