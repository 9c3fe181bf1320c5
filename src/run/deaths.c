#include "run/deaths.h"

#include "command/account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_IN_FULL = 5 };

struct death {
    bool is_node;
    bool open;      /* more may be told of it */
    uint64_t alike; /* of how it failed: ranks that failed in the same way are told in one line */
    uint32_t rank;
    mu_slot node, seen_by;
    uint64_t until_ms;
    char *how; /* NULL: settled, and not among those that the summary shows */
    int code;
    uint32_t others;      /* nodes of the job that lived when it became known, without its own */
    uint32_t told;        /* by how many nodes */
    uint32_t told_others; /* without the one that it happened on */
    uint64_t first_ns, last_ns;
    mu_slot last_by;
    struct account *account; /* with a report, until it is written */
};

struct run_deaths {
    struct run_deaths_config config;
    struct death *deaths; /* in the order in which they became known */
    uint32_t count, room;
    uint32_t open;       /* of these */
    uint32_t first_open; /* all before it are not */
    uint32_t *of_rank;   /* its place + 1 */
    uint32_t *of_node;   /* the same */
    uv_timer_t timer;
};

/* ---- the report ---- */

/* Nodes that have not told of it, though they host processes. */
static void list_untold(const struct run_deaths *deaths, struct account *account)
{
    for (mu_slot node = 0; node < machine_nodes(deaths->config.machine); node++) {
        bool told = false;
        for (size_t i = 0; i < account->told_count; i++)
            told = told || account->told[i].node == node;
        if (!told && job_hosts(deaths->config.job, node))
            account_list_add(&account->untold, node);
    }
}

static void write_report(const struct run_deaths *deaths, const struct death *death)
{
    FILE *report = deaths->config.report;
    struct account *account = death->account;
    account->is_node = death->is_node;
    account->job = job_number(deaths->config.job);
    account->rank = death->rank;
    account->node = death->node;
    if (account->verdict == 0) /* nobody but us has seen it */
        account->verdict = MU_VERDICT_DEAD;
    snprintf(account->how, sizeof account->how, "%s", death->how);
    account->code = death->code;
    account->seen_by = death->seen_by;
    account_sort_told(account);
    list_untold(deaths, account);
    json_t *object = account_json(account);
    json_dumpf(object, report, JSON_PRESERVE_ORDER | JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(object);
    fputc('\n', report);
    bool failed = fflush(report) != 0 || ferror(report) != 0; /* a reader may be waiting for it */
    if (failed && deaths->config.report_error != NULL && *deaths->config.report_error == 0)
        *deaths->config.report_error = errno;
}

static void forget_account(struct death *death)
{
    if (death->account != NULL)
        account_free(death->account);
    free(death->account);
    death->account = NULL;
}

/* ---- who is waited for ---- */

static void on_timer(uv_timer_t *timer);

static void look_for_settled(struct run_deaths *deaths, bool was_settled)
{
    while (deaths->first_open < deaths->count && !deaths->deaths[deaths->first_open].open)
        deaths->first_open++;
    if (deaths->open > 0) {
        uint64_t now_ms = uv_now(deaths->config.loop);
        uint64_t until_ms = deaths->deaths[deaths->first_open].until_ms;
        uv_timer_start(&deaths->timer, on_timer, until_ms > now_ms ? until_ms - now_ms : 0, 0);
        return;
    }
    uv_timer_stop(&deaths->timer);
    if (!was_settled)
        deaths->config.settled(deaths->config.owner);
}

static void settle(struct run_deaths *deaths, struct death *death)
{
    death->open = false;
    deaths->open--;
    if (deaths->config.report != NULL)
        write_report(deaths, death);
    forget_account(death);
    if (death - deaths->deaths < SHOWN_IN_FULL)
        return;
    free(death->how);
    death->how = NULL;
}

/* With nobody to wait for. */
static void settle_alone(struct run_deaths *deaths, struct death *death)
{
    if (deaths->config.report == NULL && job_node_count(deaths->config.job) == 1)
        settle(deaths, death);
}

static void settle_all(struct run_deaths *deaths, uint32_t told, uint64_t now_ms)
{
    bool was_settled = deaths->open == 0;
    for (uint32_t i = deaths->first_open; i < deaths->count; i++) {
        struct death *death = &deaths->deaths[i];
        if (death->open && (death->told >= told || death->until_ms <= now_ms))
            settle(deaths, death);
    }
    look_for_settled(deaths, was_settled);
}

static void on_timer(uv_timer_t *timer)
{
    struct run_deaths *deaths = timer->data;
    settle_all(deaths, UINT32_MAX, uv_now(deaths->config.loop));
}

void run_deaths_node_silent(struct run_deaths *deaths)
{
    settle_all(deaths, job_live_nodes(deaths->config.job), 0);
}

void run_deaths_give_up(struct run_deaths *deaths)
{
    settle_all(deaths, 0, 0);
}

/* ---- in ---- */

static struct death *add(struct run_deaths *deaths, uint32_t *place, mu_slot node, const char *how)
{
    const struct job *job = deaths->config.job;
    if (deaths->count == deaths->room) {
        uint32_t room = deaths->room == 0 ? 16 : 2 * deaths->room;
        struct death *larger = realloc(deaths->deaths, room * sizeof *larger);
        if (larger == NULL)
            abort();
        deaths->deaths = larger;
        deaths->room = room;
    }
    struct death *death = &deaths->deaths[deaths->count++];
    *place = deaths->count;
    memset(death, 0, sizeof *death);
    death->open = true;
    death->node = node;
    death->others = job_live_nodes(job) - (job_hosts(job, node) ? 1 : 0);
    death->how = strdup(how);
    if (death->how == NULL)
        abort();
    death->until_ms = uv_now(deaths->config.loop) + RUN_DEATHS_WAIT_MS;
    deaths->open++;
    if (deaths->config.report != NULL) {
        death->account = calloc(1, sizeof *death->account);
        if (death->account == NULL)
            abort();
    }
    if (!uv_is_active((uv_handle_t *)&deaths->timer))
        uv_timer_start(&deaths->timer, on_timer, RUN_DEATHS_WAIT_MS, 0);
    return death;
}

/* FNV-1a; never 0. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(1099511628211);
    return hash | 1;
}

void run_deaths_process(struct run_deaths *deaths, uint32_t rank,
                        const struct mu_evidence *evidence)
{
    if (deaths->of_rank[rank] != 0)
        return;
    char how[MU_EVIDENCE_TEXT_MAX];
    mu_evidence_text(evidence, how, sizeof how);
    struct death *death =
        add(deaths, &deaths->of_rank[rank], job_node_of(deaths->config.job, rank), how);
    death->rank = rank;
    death->seen_by = evidence->seen_by;
    death->code = mu_exit_kind_shell_code(&evidence->how);
    death->alike = hash_of(how);
    if (death->account != NULL)
        account_of_evidence(death->account, evidence);
    settle_alone(deaths, death);
}

static void list_ranks(const struct run_deaths *deaths, struct death *death)
{
    const struct job *job = deaths->config.job;
    if (death->account == NULL)
        return;
    for (uint32_t rank = 0; rank < job_size(job); rank++)
        if (job_node_of(job, rank) == death->node && job_state(job, rank) != JOB_ENDED)
            account_list_add(&death->account->ranks, rank);
}

void run_deaths_node(struct run_deaths *deaths, mu_slot node, const char *how, bool with_ranks)
{
    if (deaths->of_node[node] != 0) {
        if (with_ranks)
            list_ranks(deaths, &deaths->deaths[deaths->of_node[node] - 1]);
        return;
    }
    struct death *death = add(deaths, &deaths->of_node[node], node, how);
    death->is_node = true;
    death->seen_by = MU_SLOT_NONE;
    if (with_ranks)
        list_ranks(deaths, death);
    death->code = mu_exit_kind_shell_code(&(struct mu_exit_kind){.type = MU_EXIT_UNKNOWN});
    settle_alone(deaths, death);
}

void run_deaths_node_how(struct run_deaths *deaths, mu_slot node, const char *how)
{
    struct death *death =
        deaths->of_node[node] == 0 ? NULL : &deaths->deaths[deaths->of_node[node] - 1];
    if (death == NULL || death->how == NULL)
        return;
    free(death->how);
    death->how = strdup(how);
    if (death->how == NULL)
        abort();
}

/* Known by now, since somebody has told of it. */
static struct death *of_told(struct run_deaths *deaths, const struct job_told *told)
{
    uint32_t *place;
    if (told->is_node) {
        char how[MU_EVIDENCE_TEXT_MAX];
        mu_evidence_text(told->evidence, how, sizeof how);
        run_deaths_node(deaths, told->node, how, false);
        place = &deaths->of_node[told->node];
    } else {
        run_deaths_process(deaths, told->rank, told->evidence);
        place = &deaths->of_rank[told->rank];
    }
    struct death *death = &deaths->deaths[*place - 1];
    if (death->seen_by == MU_SLOT_NONE)
        death->seen_by = told->evidence->seen_by;
    if (death->account != NULL && death->account->cause == 0)
        account_of_evidence(death->account, told->evidence);
    return death;
}

void run_deaths_told(struct run_deaths *deaths, const struct job_told *told, bool only_known)
{
    if (!told->is_node && told->evidence->cause == MU_CAUSE_NODE_LOST)
        return; /* it goes with its node */
    if (only_known &&
        (told->is_node ? deaths->of_node[told->node] : deaths->of_rank[told->rank]) == 0)
        return;
    struct death *death = of_told(deaths, told);
    if (!death->open || death->told == machine_nodes(deaths->config.machine))
        return;
    if (death->account != NULL)
        account_add_told(death->account, told->by, told->hops, told->age_ns);
    death->told++;
    if (told->by != death->node) {
        if (death->told_others == 0 || told->age_ns < death->first_ns)
            death->first_ns = told->age_ns;
        if (death->told_others == 0 || told->age_ns > death->last_ns) {
            death->last_ns = told->age_ns;
            death->last_by = told->by;
        }
        death->told_others++;
    }
    if (death->told < job_live_nodes(deaths->config.job))
        return;
    settle(deaths, death);
    look_for_settled(deaths, false);
}

bool run_deaths_settled(const struct run_deaths *deaths)
{
    return deaths->open == 0;
}

/* ---- the summary ---- */

enum { SUBJECT_MAX = 128, NOTIFIED_MAX = 128, LINE_MAX_BYTES = 2 * MU_EVIDENCE_TEXT_MAX };

/* How many a line about this one is about. */
static uint32_t count_alike(const struct run_deaths *deaths, const struct death *death)
{
    uint32_t count = 0;
    if (death->is_node)
        return 1;
    for (uint32_t i = 0; i < deaths->count; i++)
        count += !deaths->deaths[i].is_node && deaths->deaths[i].alike == death->alike;
    return count;
}

static bool is_in_a_line_before(const struct run_deaths *deaths, const struct death *death)
{
    for (const struct death *at = deaths->deaths; at < death; at++)
        if (!death->is_node && !at->is_node && at->alike == death->alike)
            return true;
    return false;
}

/* "rank 5 on node 2", "node 1 (node1)", "20 ranks, first rank 0 on node 0" */
static void put_subject(const struct run_deaths *deaths, const struct death *death,
                        char text[SUBJECT_MAX])
{
    uint32_t alike = count_alike(deaths, death);
    if (death->is_node)
        snprintf(text, SUBJECT_MAX, "node %u (%s)", death->node,
                 machine_name(deaths->config.machine, death->node));
    else if (alike > 1)
        snprintf(text, SUBJECT_MAX, "%u ranks, first rank %u on node %u", alike, death->rank,
                 death->node);
    else
        snprintf(text, SUBJECT_MAX, "rank %u on node %u", death->rank, death->node);
}

/* "3 of 3 other nodes notified in 0.15 to 0.23 ms" */
static void put_notified(const struct death *death, char text[NOTIFIED_MAX])
{
    uint32_t others = death->others;
    double first_ms = (double)death->first_ns / 1e6, last_ms = (double)death->last_ns / 1e6;
    const char *plural = others == 1 ? "" : "s";
    text[0] = '\0';
    if (others == 0)
        return;
    if (death->told_others == 0)
        snprintf(text, NOTIFIED_MAX, "0 of %u other node%s confirmed notification", others, plural);
    else if (death->told_others == 1)
        snprintf(text, NOTIFIED_MAX, "1 of %u other node%s notified in %.2f ms", others, plural,
                 first_ms);
    else
        snprintf(text, NOTIFIED_MAX, "%u of %u other node%s notified in %.2f to %.2f ms",
                 death->told_others, others, plural, first_ms, last_ms);
}

static int wider(int width, const char *text)
{
    return (int)strlen(text) > width ? (int)strlen(text) : width;
}

/* The failures, in columns. */
static void list(const struct run_deaths *deaths, void (*say)(void *owner, const char *lines),
                 void *owner)
{
    char subject[SUBJECT_MAX], notified[NOTIFIED_MAX], line[LINE_MAX_BYTES + SUBJECT_MAX];
    uint32_t covered = 0;
    int subjects = 0, hows = 0;
    for (uint32_t i = 0; i < deaths->count && i < SHOWN_IN_FULL; i++) {
        put_subject(deaths, &deaths->deaths[i], subject);
        subjects = wider(subjects, subject);
        hows = wider(hows, deaths->deaths[i].how);
    }
    for (uint32_t i = 0; i < deaths->count && i < SHOWN_IN_FULL; i++) {
        const struct death *death = &deaths->deaths[i];
        if (is_in_a_line_before(deaths, death))
            continue;
        covered += count_alike(deaths, death);
        put_subject(deaths, death, subject);
        put_notified(death, notified);
        if (count_alike(deaths, death) > 1)
            notified[0] = '\0'; /* of the first one only */
        snprintf(line, sizeof line, "  %-*s   %-*s%s%s\n", subjects, subject,
                 notified[0] != '\0' ? hows : 0, death->how, notified[0] != '\0' ? "   " : "",
                 notified);
        say(owner, line);
    }
    if (deaths->count <= covered)
        return;
    snprintf(line, sizeof line, "  and %u more (--report FILE lists all)\n",
             deaths->count - covered);
    say(owner, line);
}

static void say_continued(const struct run_deaths *deaths, const struct run_tally *tally,
                          void (*say)(void *owner, const char *lines), void *owner)
{
    char text[LINE_MAX_BYTES];
    uint32_t job = job_number(deaths->config.job);
    const char *plural = tally->exited == 1 ? "" : "s";
    snprintf(text, sizeof text,
             "muster: job %u finished after %.1f s: %u rank%s exited with code 0, %u failed\n", job,
             tally->seconds, tally->exited, plural, tally->failed);
    say(owner, text);
    list(deaths, say, owner);
    snprintf(text, sizeof text, "muster: exit code %d is that of the first failure, %s\n",
             tally->code, tally->first_who);
    say(owner, text);
}

static void say_aborted(const struct run_deaths *deaths, const struct run_tally *tally,
                        void (*say)(void *owner, const char *lines), void *owner)
{
    char text[LINE_MAX_BYTES];
    const struct death *first = &deaths->deaths[0];
    bool is_killed = !first->is_node && strncmp(first->how, "killed", 6) == 0;
    snprintf(text, sizeof text,
             "muster: job %u failed after %.1f s: %s%s%s; %u other rank%s terminated\n",
             job_number(deaths->config.job), tally->seconds, tally->first_who,
             is_killed ? " " : " failed: ", first->how, tally->terminated,
             tally->terminated == 1 ? "" : "s");
    say(owner, text);
    say(owner, "muster: to keep the survivors running, use --on-failure continue\n");
}

/* Of a job of one rank the status line has said everything; so it has where all failed alike. */
void run_deaths_summary(const struct run_deaths *deaths, const struct run_tally *tally,
                        void (*say)(void *owner, const char *lines), void *owner)
{
    if (job_size(deaths->config.job) < 2 || deaths->count == 0)
        return;
    if (tally->go_on)
        say_continued(deaths, tally, say, owner);
    else if (tally->terminated > 0)
        say_aborted(deaths, tally, say, owner);
}

/* ---- beginning and end ---- */

struct run_deaths *run_deaths_open(const struct run_deaths_config *config)
{
    struct run_deaths *deaths = calloc(1, sizeof *deaths);
    if (deaths == NULL)
        return NULL;
    deaths->config = *config;
    deaths->of_rank = calloc(job_size(config->job), sizeof *deaths->of_rank);
    deaths->of_node = calloc(machine_nodes(config->machine), sizeof *deaths->of_node);
    if (deaths->of_rank == NULL || deaths->of_node == NULL) {
        free(deaths->of_rank);
        free(deaths->of_node);
        free(deaths);
        return NULL;
    }
    uv_timer_init(config->loop, &deaths->timer);
    deaths->timer.data = deaths;
    return deaths;
}

static void on_closed(uv_handle_t *handle)
{
    struct run_deaths *deaths = handle->data;
    for (uint32_t i = 0; i < deaths->count; i++) {
        free(deaths->deaths[i].how);
        forget_account(&deaths->deaths[i]);
    }
    free(deaths->deaths);
    free(deaths->of_rank);
    free(deaths->of_node);
    free(deaths);
}

void run_deaths_close(struct run_deaths *deaths)
{
    if (deaths != NULL)
        uv_close((uv_handle_t *)&deaths->timer, on_closed);
}
