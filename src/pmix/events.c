/* Deaths, as events of PMIx, to the processes of the job that it happened to, and of jobs that have
 * connected with it.  Each process is told once (libpmix.h).
 *
 * Never through the handler of a program that did not ask for this code: Open MPI's would end the
 * job (PMIX_EVENT_NON_DEFAULT).  Never later than now: libpmix would keep it, and whoever asks for
 * a second code of it would hear it a second time (PMIX_EVENT_DO_NOT_CACHE). */
#include "pmix/inside.h"
#include "pmix/libpmix.h"

#include <stdlib.h>
#include <string.h>

enum { INFO_MAX = 9, CODES_MAX = 4 };

/* One death, until libpmix has told everybody.  It goes from the loop to libpmix's thread. */
struct notice {
    pmix_status_t codes[CODES_MAX]; /* the first of these that a process has asked for tells it */
    size_t code_count, code_at;
    pmix_proc_t source;
    size_t target_count;
    pmix_proc_t *targets; /* namespaces: the first is its own */
    bool some;            /* not just to its own: the last of 'info' says to whom */
    size_t count;
    pmix_info_t info[INFO_MAX];
};

/* ---- which codes ---- */

static pmix_status_t code_of(const struct mu_evidence *evidence)
{
    if (evidence->cause == MU_CAUSE_NODE_LOST)
        return PMIX_ERR_PROC_TERM_WO_SYNC;
    switch (evidence->how.type) {
    case MU_EXIT_CODE:
        return PMIX_ERR_EXIT_NONZERO_TERM;
    case MU_EXIT_SIGNAL:
        return PMIX_ERR_PROC_ABORTED_BY_SIG;
    case MU_EXIT_NOT_STARTED:
        return PMIX_ERR_PROC_FAILED_TO_START;
    case MU_EXIT_LEFT:
    case MU_EXIT_UNKNOWN:
    case MU_EXIT_NO_GOODBYE:
        return PMIX_ERR_PROC_TERM_WO_SYNC;
    }
    abort();
}

/* The particular one, those that are more general, and the one that programs used to ask for. */
static void add_codes(struct notice *notice, const struct mu_evidence *evidence)
{
    static const pmix_status_t general[] = {PMIX_ERR_PROC_TERM_WO_SYNC, PMIX_EVENT_PROC_TERMINATED,
                                            PMIX_ERR_PROC_ABORTED};
    notice->codes[notice->code_count++] = code_of(evidence);
    for (size_t i = 0; i < sizeof general / sizeof *general; i++)
        if (general[i] != notice->codes[0])
            notice->codes[notice->code_count++] = general[i];
    if (!mu_libpmix_is_known())
        notice->code_count = 1;
}

/* ---- what is said ---- */

static void add(struct notice *notice, const char *key, const void *value, pmix_data_type_t type)
{
    PMIX_INFO_LOAD(&notice->info[notice->count], key, value, type);
    notice->count++;
}

static void add_targets(struct notice *notice, pmix_proc_t *procs, size_t count)
{
    pmix_data_array_t array = {.type = PMIX_PROC, .size = count, .array = procs};
    if (notice->some)
        PMIX_INFO_DESTRUCT(&notice->info[--notice->count]);
    notice->some = true;
    add(notice, PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
}

static void add_target(struct notice *notice, const struct mu_space *space)
{
    pmix_proc_t *target = &notice->targets[notice->target_count++];
    PMIX_LOAD_PROCID(target, space->name, PMIX_RANK_WILDCARD);
}

static void add_job_and_linked(const struct mu_pmix *pmix, struct notice *notice,
                               const struct mu_space *space)
{
    add_target(notice, space);
    for (uint32_t i = 0; i < space->linked_count; i++) {
        const struct mu_space *linked = mu_space_find(pmix, space->linked[i]);
        if (linked != NULL)
            add_target(notice, linked);
    }
}

static struct notice *make_notice(const struct mu_pmix *pmix, const struct mu_space *space,
                                  uint32_t rank, mu_slot node, const char *text, size_t targets_max)
{
    struct notice *notice = calloc(1, sizeof *notice);
    bool yes = true;
    if (notice == NULL || (notice->targets = calloc(targets_max, sizeof *notice->targets)) == NULL)
        abort(); /* somebody would stay untold */
    PMIX_LOAD_PROCID(&notice->source, space->name, rank);
    add(notice, PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    add(notice, PMIX_EVENT_DO_NOT_CACHE, &yes, PMIX_BOOL);
    add(notice, PMIX_EVENT_TEXT_MESSAGE, text, PMIX_STRING);
    add(notice, PMIX_HOSTNAME, pmix->config.names[node], PMIX_STRING);
    add(notice, PMIX_NODEID, &node, PMIX_UINT32);
    return notice;
}

/* ---- telling ---- */

static void free_notice(struct notice *notice)
{
    for (size_t i = 0; i < notice->count; i++)
        PMIX_INFO_DESTRUCT(&notice->info[i]);
    free(notice->targets);
    free(notice);
}

static void on_notified(pmix_status_t status, void *data);

/* The source is the victim: it says whose namespace, and libpmix does not give it back to us, to be
 * spread. */
static void notify(struct notice *notice)
{
    bool one = notice->target_count == 1 &&
               PMIX_CHECK_NSPACE(notice->targets[0].nspace, notice->source.nspace);
    if (!notice->some && !one)
        add_targets(notice, notice->targets, notice->target_count);
    mu_pmix_gives();
    pmix_data_range_t range = notice->some ? PMIX_RANGE_CUSTOM : PMIX_RANGE_NAMESPACE;
    if (PMIx_Notify_event(notice->codes[notice->code_at], &notice->source, range, notice->info,
                          notice->count, on_notified, notice) != PMIX_SUCCESS)
        free_notice(notice);
}

/* On libpmix's thread, at once after that code was sent: nobody can have asked for one meanwhile.
 */
static void on_notified(pmix_status_t status, void *data)
{
    struct notice *notice = data;
    mu_pmix_takes();
    (void)status;
    while (++notice->code_at < notice->code_count && !mu_pmix_is_closing()) {
        pmix_proc_t *procs;
        size_t count = mu_libpmix_only_of(notice->targets, notice->target_count, notice->codes,
                                          notice->code_at + 1, &procs);
        if (count == 0)
            continue;
        add_targets(notice, procs, count);
        free(procs);
        notify(notice);
        return;
    }
    free_notice(notice);
}

/* As a shell has it, but what the process itself has said stays. */
int mu_events_exit_code(const struct mu_exit_kind *how)
{
    int code = mu_exit_kind_code(how);
    return code >= 0 ? code : mu_exit_kind_shell_code(how);
}

pmix_proc_state_t mu_events_state(const struct mu_evidence *evidence)
{
    if (evidence->cause == MU_CAUSE_NODE_LOST)
        return PMIX_PROC_STATE_COMM_FAILED;
    switch (evidence->how.type) {
    case MU_EXIT_LEFT:
        return PMIX_PROC_STATE_TERMINATED;
    case MU_EXIT_CODE:
        return PMIX_PROC_STATE_TERM_NON_ZERO;
    case MU_EXIT_SIGNAL:
        return PMIX_PROC_STATE_ABORTED_BY_SIG;
    case MU_EXIT_NOT_STARTED:
        return PMIX_PROC_STATE_FAILED_TO_START;
    case MU_EXIT_UNKNOWN:
        return PMIX_PROC_STATE_ABORTED;
    case MU_EXIT_NO_GOODBYE:
        return PMIX_PROC_STATE_TERM_WO_SYNC;
    }
    abort();
}

static void tell_process(struct mu_pmix *pmix, const struct mu_local_event *event)
{
    struct mu_space *space = mu_space_find(pmix, event->job);
    if (space == NULL || event->evidence.verdict == MU_VERDICT_LEFT)
        return;
    char text[MU_EVIDENCE_TEXT_MAX];
    mu_evidence_text(&event->evidence, text, sizeof text);
    struct notice *notice =
        make_notice(pmix, space, event->rank, event->node, text, 1 + (size_t)space->linked_count);
    add_job_and_linked(pmix, notice, space);
    int exit_code = mu_events_exit_code(&event->evidence.how);
    add_codes(notice, &event->evidence);
    add(notice, PMIX_EVENT_AFFECTED_PROC, &notice->source, PMIX_PROC);
    if (event->evidence.cause == MU_CAUSE_EXIT)
        add(notice, PMIX_EXIT_CODE, &exit_code, PMIX_INT);
    notify(notice);
}

static uint32_t first_rank_on(const struct mu_space *space, mu_slot node)
{
    for (uint32_t i = 0; i < space->run_count; i++)
        if (space->runs[i].slot == node)
            return space->runs[i].first;
    return MU_RANK_NONE;
}

/* This job, or one that it is linked with, if that has processes there; else NULL. */
static const struct mu_space *concerned(const struct mu_pmix *pmix, const struct mu_space *space,
                                        mu_slot node)
{
    if (first_rank_on(space, node) != MU_RANK_NONE)
        return space;
    for (uint32_t i = 0; i < space->linked_count; i++) {
        const struct mu_space *linked = mu_space_find(pmix, space->linked[i]);
        if (linked != NULL && first_rank_on(linked, node) != MU_RANK_NONE)
            return linked;
    }
    return NULL;
}

/* To the jobs that have processes there, and to those that are linked with these, each once; what
 * became of the processes follows, one by one. */
static void tell_node(struct mu_pmix *pmix, const struct mu_local_event *event)
{
    char text[MU_EVIDENCE_TEXT_MAX];
    mu_evidence_text(&event->evidence, text, sizeof text);
    for (struct mu_space *space = pmix->spaces; space != NULL; space = space->next) {
        const struct mu_space *there = concerned(pmix, space, event->node);
        if (there == NULL)
            continue;
        struct notice *notice =
            make_notice(pmix, there, first_rank_on(there, event->node), event->node, text, 1);
        add_target(notice, space);
        notice->codes[notice->code_count++] = PMIX_EVENT_NODE_DOWN;
        notify(notice);
    }
}

void mu_events_told(struct mu_pmix *pmix, const struct mu_local_event *event)
{
    if (event->subject == MU_SUBJECT_NODE)
        tell_node(pmix, event);
    else
        tell_process(pmix, event);
}

/* It lives, and nobody is declared dead: what that means is for who asked for this code. */
void mu_events_quiet(struct mu_pmix *pmix, uint32_t job, uint32_t rank, mu_slot node)
{
    struct mu_space *space = mu_space_find(pmix, job);
    struct mu_local_event event;
    if (space == NULL || rank >= space->size || node >= pmix->config.size ||
        mu_space_gone(space, rank, &event))
        return;
    struct notice *notice = make_notice(pmix, space, rank, node, "its heartbeats have stopped", 1);
    add_target(notice, space);
    notice->codes[notice->code_count++] = PMIX_MONITOR_HEARTBEAT_ALERT;
    add(notice, PMIX_EVENT_AFFECTED_PROC, &notice->source, PMIX_PROC);
    notify(notice);
}
