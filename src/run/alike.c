/* Ranks that fail in the same way at about the same time: they are gathered, and told in one line.
 */
#include "run/inside.h"

#include <string.h>
#include <sys/stat.h>

enum {
    GATHER_MS = 30,         /* a status line is late by that, */
    GATHER_STARTS_MS = 100, /* that of ranks that could not start by this after the last of them */
    GATHER_QUITS_MS = 100   /* ranks that exit without a goodbye; without us the job would hang */
};

static void on_gathered(uv_timer_t *timer)
{
    run_say_alike(timer->data);
}

static void add(struct run *run, mu_slot node)
{
    struct run_alike *alike = &run->alike;
    alike->count++;
    alike->nodes[node] = true;
}

static void begin(struct run *run, const char *who, mu_slot node, const char *how,
                  enum mu_exit_type type)
{
    struct run_alike *alike = &run->alike;
    snprintf(alike->who, sizeof alike->who, "%s", who);
    snprintf(alike->how, sizeof alike->how, "%s", how);
    alike->node = node;
    alike->type = type;
    alike->others_ran = run_left(run) > 0;
    memset(alike->nodes, 0, run->options.nodes * sizeof *alike->nodes);
    uint64_t ms = type == MU_EXIT_NO_GOODBYE ? GATHER_QUITS_MS : GATHER_MS;
    uv_timer_start(&alike->timer, on_gathered, ms, 0);
}

void run_process_failed(struct run *run, const char *who, mu_slot node,
                        const struct mu_evidence *evidence)
{
    struct run_alike *alike = &run->alike;
    char how[MU_EVIDENCE_TEXT_MAX];
    mu_evidence_text(evidence, how, sizeof how);
    bool is_same = alike->count > 0 && strcmp(alike->how, how) == 0;
    if (run->stopping && !(is_same && evidence->how.type == MU_EXIT_NOT_STARTED))
        return; /* it was ended */
    if (!is_same) {
        run_say_alike(run);
        begin(run, who, node, how, evidence->how.type);
    }
    add(run, node);
    if (alike->type == MU_EXIT_NOT_STARTED)
        uv_timer_start(&alike->timer, on_gathered, GATHER_STARTS_MS, 0);
    run->said++;
    int code = mu_exit_kind_shell_code(&evidence->how);
    if (evidence->how.type != MU_EXIT_NO_GOODBYE)
        run_failed(run, who, code);
    else if (alike->count == 1)
        run_set_code(run, RUN_EXIT_QUIT);
    if (run_left(run) == 0)
        run_say_alike(run);
}

/* "on node 2 (node2)", "on 4 nodes" */
static void put_where(const struct run *run, char *text, size_t room)
{
    const struct run_alike *alike = &run->alike;
    uint32_t nodes = 0;
    for (mu_slot node = 0; node < run->options.nodes; node++)
        nodes += alike->nodes[node];
    if (nodes == 1)
        snprintf(text, room, "node %u (%s)", alike->node, machine_name(run->machine, alike->node));
    else
        snprintf(text, room, "%u nodes", nodes);
}

/* The kernel calls a folder "Permission denied".  Only asked about programs with a path. */
static const char *advice(const struct run *run, const char *how)
{
    char path[MU_EVIDENCE_PATH_MAX + 1];
    struct stat about;
    size_t length = strcspn(how, ":");
    bool is_denied = strstr(how, ": Permission denied") != NULL;
    if (strstr(how, "Too many open files") != NULL)
        return " (raise the limit: ulimit -n)";
    if (!is_denied || length >= sizeof path || how[0] != '/' || run->options.hosts.count > 0)
        return is_denied ? " (is it executable? chmod +x)" : "";
    memcpy(path, how, length);
    path[length] = '\0';
    bool is_folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    return is_folder ? " (it is a directory)" : " (is it executable? chmod +x)";
}

/* Without "cannot start ", which the line says already. */
static const char *cause(const struct run_alike *alike)
{
    static const char start[] = "cannot start ";
    bool is_start = strncmp(alike->how, start, sizeof start - 1) == 0;
    return is_start ? alike->how + sizeof start - 1 : alike->how;
}

static const char *consequence(const struct run *run, char text[RUN_CONSEQUENCE_MAX])
{
    const struct run_alike *alike = &run->alike;
    bool quit = alike->type == MU_EXIT_NO_GOODBYE;
    if (run->options.go_on || quit)
        return run_consequence(run, text);
    if (alike->type == MU_EXIT_NOT_STARTED && run->options.ranks > 1)
        return "; job aborted";
    return alike->others_ran ? "; terminating the job" : "";
}

void run_say_alike(struct run *run)
{
    struct run_alike *alike = &run->alike;
    char many[64], where[128], text[RUN_CONSEQUENCE_MAX];
    if (alike->count == 0)
        return;
    uv_timer_stop(&alike->timer);
    bool not_started = alike->type == MU_EXIT_NOT_STARTED;
    put_where(run, where, sizeof where);
    snprintf(many, sizeof many, "%u ranks", alike->count);
    run_output_say(run->output, "muster: %s %s on %s: %s%s%s\n",
                   alike->count > 1 ? many : alike->who, not_started ? "could not start" : "failed",
                   where, not_started ? cause(alike) : alike->how,
                   not_started ? advice(run, cause(alike)) : "", consequence(run, text));
    alike->count = 0;
    if (alike->type == MU_EXIT_NO_GOODBYE)
        run_failed(run, alike->who, RUN_EXIT_QUIT);
}
