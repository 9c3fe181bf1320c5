/* muster chaos script: plays a script, and says what was not as expected. */
#include "rig/page.h"
#include "chaos/act.h"
#include "chaos/stage.h"
#include "chaos/script/watch.h"
#include "command/commands.h"
#include "command/output.h"
#include "command/span.h"
#include "host/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char path[] = "muster chaos script";

enum {
    ARRIVES_MS = 300, /* for what a daemon has learned in time to be read here */
    LATE_MS = 50,     /* by so much, the end of a stop is worth a word */
};

/* A fault of a step, as long as it stands. */
struct standing {
    uint64_t until_ns; /* MU_NEVER: to the end of the script; 0: it is over */
    struct chaos_hold hold;
};

struct play {
    const struct chaos_script *script;
    struct chaos_stage stage;
    struct chaos_watch watch;
    struct chaos_story story;
    uint64_t *step_ns;
    struct standing *standing; /* of each step */
    uint32_t done;             /* steps */
    bool json;
    json_t *failed;
    uint32_t failures;
};

/* ---- time passes ---- */

/* Faults of the network end by themselves; what is stopped waits for us, and we may be busy. */
static void undo(struct play *play, uint32_t i, uint64_t now_ns)
{
    const struct chaos_step *step = &play->script->steps[i];
    struct standing *standing = &play->standing[i];
    uint64_t late_ms = (now_ns - standing->until_ns) / 1000000;
    chaos_undo(&standing->hold);
    standing->until_ns = 0;
    if (step->fault.verb == CHAOS_STOP && late_ms > LATE_MS)
        fprintf(stderr, "%s: line %u: stopped for %llu ms longer than it says: this host is busy\n",
                path, step->line, (unsigned long long)late_ms);
}

static void tend(struct play *play, uint64_t now_ns)
{
    for (uint32_t i = 0; i < play->done; i++)
        if (play->standing[i].until_ns != 0 && play->standing[i].until_ns <= now_ns)
            undo(play, i, now_ns);
    chaos_watch_take(&play->watch);
}

/* False: it is not to go on. */
static bool pass_until(struct play *play, uint64_t until_ns)
{
    for (uint64_t now_ns; (now_ns = mu_now_ns()) < until_ns;) {
        tend(play, now_ns);
        if (!chaos_stage_pass_ms(&play->stage, 1))
            return false;
    }
    tend(play, mu_now_ns());
    return true;
}

/* ---- steps ---- */

static bool do_step(struct play *play)
{
    const struct chaos_step *step = &play->script->steps[play->done];
    struct standing *standing = &play->standing[play->done];
    char why[OPERATOR_TEXT_MAX], text[CHAOS_FAULT_TEXT_MAX];
    if (!play->json)
        printf("%8.3f s  %s\n", (double)(mu_now_ns() - play->story.began_ns) / 1e9,
               chaos_fault_text(&step->fault, text));
    fflush(stdout);
    play->step_ns[play->done] = mu_now_ns();
    if (!chaos_do(&play->stage.found, &step->fault, true, &standing->hold, why)) {
        fprintf(stderr, "%s: line %u: %s: %s\n", path, step->line,
                chaos_fault_text(&step->fault, text), why);
        return false;
    }
    standing->until_ns = step->fault.for_ns == 0 ? MU_NEVER : mu_now_ns() + step->fault.for_ns;
    play->done++;
    return true;
}

/* Until all that is expected has come or is overdue, and every fault with an end is over. */
static bool wait_for_the_end(struct play *play)
{
    for (;;) {
        uint64_t now_ns = mu_now_ns();
        play->story.told = play->watch.told;
        play->story.told_count = play->watch.told_count;
        uint64_t until_ns = chaos_judge_until_ns(play->script, &play->story);
        if (until_ns != 0)
            until_ns += ARRIVES_MS * UINT64_C(1000000);
        for (uint32_t i = 0; i < play->done; i++)
            if (play->standing[i].until_ns != MU_NEVER && play->standing[i].until_ns > until_ns)
                until_ns = play->standing[i].until_ns;
        if (now_ns >= until_ns)
            return true;
        uint64_t look_ns = now_ns + 10 * UINT64_C(1000000);
        if (!pass_until(play, look_ns < until_ns ? look_ns : until_ns))
            return false;
    }
}

static bool play_all(struct play *play)
{
    char why[OPERATOR_TEXT_MAX] = "";
    if (!chaos_watch_open(&play->watch, &play->stage.found, why)) {
        fprintf(stderr, "%s: nobody can be watched: %s\n", path, why);
        return false;
    }
    play->story.watched = play->watch.nodes;
    play->story.watched_count = play->watch.count;
    play->story.began_ns = mu_now_ns();
    while (play->done < play->script->step_count) {
        uint64_t at_ns = play->story.began_ns + play->script->steps[play->done].at_ns;
        if (!pass_until(play, at_ns) || !do_step(play))
            return false;
    }
    return wait_for_the_end(play);
}

/* ---- what came of it ---- */

static void fail(struct play *play, uint32_t line, const char *expected, const char *seen)
{
    play->failures++;
    if (play->json)
        json_array_append_new(play->failed, json_pack("{s:i, s:s, s:s}", "line", (int)line,
                                                      "expected", expected, "seen", seen));
    if (line != 0)
        fprintf(stderr, "%s: line %u: expected %s; seen: %s\n", path, line, expected, seen);
    else
        fprintf(stderr, "%s: %s; seen: %s\n", path, expected, seen);
}

static void judge(struct play *play)
{
    char seen[CHAOS_SEEN_MAX], text[CHAOS_FAULT_TEXT_MAX];
    play->story.told = play->watch.told;
    play->story.told_count = play->watch.told_count;
    for (uint32_t i = 0; i < play->script->expect_count; i++)
        if (!chaos_judge_expect(play->script, &play->story, i, seen))
            fail(play, play->script->expects[i].line,
                 chaos_expect_text(&play->script->expects[i], text), seen);
    for (uint32_t from = 0; chaos_judge_surprise(play->script, &play->story, &from, seen);)
        fail(play, 0, "a death that nobody expects", seen);
    if (play->watch.lost > 0) {
        snprintf(seen, sizeof seen, "%llu events were lost", (unsigned long long)play->watch.lost);
        fail(play, 0, "every event is read", seen);
    }
}

static void report(struct play *play)
{
    uint32_t expected = play->script->expect_count;
    if (play->json) {
        output_json(json_pack("{s:i, s:i, s:i, s:i, s:o}", "steps", (int)play->done, "expectations",
                              (int)expected, "events", (int)play->watch.told_count, "watched",
                              (int)play->watch.count, "failed", json_incref(play->failed)));
        return;
    }
    if (play->failures == 0)
        printf("%u steps, %u expectations: all as expected, at %u nodes\n", play->done, expected,
               play->watch.count);
}

/* Returns the exit code. */
static int play_script(struct play *play)
{
    play->step_ns = calloc(play->script->step_count, sizeof *play->step_ns);
    play->standing = calloc(play->script->step_count, sizeof *play->standing);
    play->failed = json_array();
    if (play->step_ns == NULL || play->standing == NULL || play->failed == NULL)
        abort();
    play->story.step_ns = play->step_ns;
    bool good = play_all(play);
    if (good) {
        judge(play);
        report(play);
    }
    for (uint32_t i = 0; i < play->done; i++)
        if (play->standing[i].until_ns != 0)
            chaos_undo(&play->standing[i].hold);
    chaos_watch_close(&play->watch);
    free(play->step_ns);
    free(play->standing);
    json_decref(play->failed);
    return good && play->failures == 0 ? 0 : 1;
}

/* ---- the command ---- */

static void read_script(const char *name, struct chaos_script *script)
{
    char why[CHAOS_WHY_MAX];
    FILE *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "re");
    if (file == NULL) {
        fprintf(stderr, "%s: %s: %s\n", path, name, strerror(errno));
        exit(CLI_EXIT_USAGE);
    }
    const char *error = chaos_script_read(script, file, why);
    if (file != stdin)
        fclose(file);
    if (error != NULL) {
        fprintf(stderr, "%s: %s: %s\n", path, name, error);
        exit(CLI_EXIT_USAGE);
    }
}

int cmd_chaos_script(int argc, char **argv)
{
    uint64_t nodes = 0, procs = 1;
    const char *machine = NULL, *heartbeat = "100ms,500ms";
    bool json = false;
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, 1, MACHINE_NODES_MAX, "N",
         "nodes of a new cluster [default: use the running one]"},
        {"procs", ARG_NUMBER, &procs, 1, 64, "K", "idle processes per node of it [default: 1]"},
        {"heartbeat", ARG_TEXT, &heartbeat, 0, 0, "PERIOD,TIMEOUT",
         "heartbeat settings of it [default: 100ms,500ms]"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
        OPERATOR_CLUSTER_ARG(&machine),
    };
    const struct command command = {
        .path = path,
        .about = "Inject timed faults from a script, and check the notifications.",
        .operand = "FILE",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster chaos script faults.txt\nmuster chaos script --nodes 6 --procs 2 -     "
                    " # from standard input",
        .exits = "0 success   1 an expectation was not met   2 usage error, or an invalid script",
    };
    const char *name = args_parse(&command, argc, argv);
    struct chaos_script script = {0};
    struct play play = {.script = &script, .json = json};
    char why[SPAN_WHY_MAX];
    struct chaos_stage_config config = {.command = path, .role = "wait"};
    if (name == NULL)
        args_fail(&command, "the script is missing");
    if (nodes != 0 && machine != NULL)
        args_fail(&command, "--nodes (a new cluster) and --cluster exclude each other");
    if (span_heartbeat(heartbeat, &config.period_ns, &config.timeout_ns, why) != NULL)
        args_fail(&command, "--heartbeat: %s", why);
    read_script(name, &script);
    config.nodes = (uint32_t)nodes;
    config.procs = (uint32_t)procs;
    bool found = nodes != 0 ? chaos_stage_open(&play.stage, &config)
                            : chaos_stage_find(&play.stage, &command, machine);
    int code = found ? play_script(&play) : 1;
    chaos_stage_close(&play.stage);
    chaos_script_free(&script);
    return chaos_stage_end(&play.stage, code);
}
