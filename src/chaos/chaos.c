/* muster chaos: one fault, from the command line. */
#include "rig/page.h"
#include "chaos/act.h"
#include "chaos/nft.h"
#include "chaos/stage.h"
#include "command/commands.h"
#include "command/span.h"
#include "host/clock.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 32, WAIT_MS_MAX = 60 * 1000 };

/* ---- one fault ---- */

/* So long, or until a signal comes that ends us. */
static void wait_for(struct chaos_stage *stage, uint64_t ns)
{
    uint64_t end_ns = mu_now_ns() + ns;
    for (uint64_t now_ns; (now_ns = mu_now_ns()) < end_ns;) {
        uint64_t ms = (end_ns - now_ns + 999999) / 1000000;
        if (!chaos_stage_pass_ms(stage, ms < WAIT_MS_MAX ? (uint32_t)ms : WAIT_MS_MAX))
            return;
    }
}

/* What flags say. */
struct spoken {
    const char *machine;
    const char *for_text, *peers, *down, *up, *by, *jitter, *seed;
    const char *with; /* "nft", or NULL */
    bool in, out;
};

/* "nodes 0-3", "ranks 0-3 of job 1" */
static const char *target_text(const struct chaos_target *target, const char *words, char text[256])
{
    const char *list = strchr(words, '=') + 1;
    if (target->is_process && strchr(list, '.') != NULL)
        list = strchr(list, '.') + 1;
    const char *plural = strpbrk(list, ",-") != NULL ? "s" : "";
    if (target->is_process)
        snprintf(text, 256, "rank%s %.120s of job %u", plural, list, target->job);
    else
        snprintf(text, 256, "node%s %.120s", plural, list);
    return text;
}

/* What was done, since the cluster was found by itself. */
static void say_done(const struct chaos_stage *stage, const struct chaos_fault *fault,
                     const char *words)
{
    static const char *const done[CHAOS_VERBS] = {
        [CHAOS_KILL] = "Killed",
        [CHAOS_STOP] = "Stopped",
        [CHAOS_CONT] = "Continued",
        [CHAOS_CUT] = "Disconnected",
        [CHAOS_HEAL] = "Reconnected",
        [CHAOS_FLAP] = "Flapping",
        [CHAOS_SLOW] = "Delaying messages of",
    };
    char id[OPERATOR_ID_DIGITS + 1], span[SPAN_TEXT_MAX], text[256];
    printf("%s %s in cluster %s", done[fault->verb], target_text(&fault->target, words, text),
           operator_id_text(stage->found.daemons[0].machine, id));
    if (fault->for_ns != 0)
        printf(" for %s (undone then, or on Ctrl-C)", span_text(fault->for_ns, span));
    printf(".\n");
    fflush(stdout);
}

static bool cut_by_nft(struct chaos_stage *stage, const struct chaos_fault *fault,
                       const char *words, const char *peers, char why[OPERATOR_TEXT_MAX])
{
    struct chaos_nft nft;
    if (!chaos_nft_begin(&nft, &stage->found, fault, peers, why))
        return false;
    say_done(stage, fault, words);
    wait_for(stage, fault->for_ns);
    return chaos_nft_end(&nft, why);
}

static bool carry_out(struct chaos_stage *stage, const struct chaos_fault *fault, const char *words,
                      char why[OPERATOR_TEXT_MAX])
{
    struct chaos_hold hold;
    bool held = fault->for_ns != 0;
    if (!chaos_do(&stage->found, fault, held, &hold, why))
        return false;
    say_done(stage, fault, words);
    if (held)
        wait_for(stage, fault->for_ns);
    chaos_undo(&hold);
    return true;
}

/* Returns the exit code, or ends by the signal that came. */
static int play(const struct command *command, const struct spoken *said,
                const struct chaos_fault *fault, const char *words)
{
    struct chaos_stage stage;
    char why[OPERATOR_TEXT_MAX];
    if (!chaos_stage_find(&stage, command, said->machine))
        return 1;
    bool good = said->with != NULL ? cut_by_nft(&stage, fault, words, said->peers, why)
                                   : carry_out(&stage, fault, words, why);
    if (!good)
        fprintf(stderr, "%s: %s\n", command->path, why);
    chaos_stage_close(&stage);
    return chaos_stage_end(&stage, good ? 0 : 1);
}

static void say_flag(const char **words, uint32_t *count, const char *name, const char *value)
{
    if (value == NULL)
        return;
    words[(*count)++] = name;
    words[(*count)++] = value;
}

static int run(const char *verb, const char *about, const char *operand, const char *examples,
               const struct arg *args, size_t arg_count, struct spoken *said, int argc, char **argv)
{
    char path[64], why[CHAOS_WHY_MAX];
    snprintf(path, sizeof path, "muster chaos %s", verb);
    const struct command command = {.path = path,
                                    .about = about,
                                    .operand = operand,
                                    .args = args,
                                    .count = arg_count,
                                    .examples = examples};
    const char *words[WORDS_MAX], *target = args_parse(&command, argc, argv);
    uint32_t count = 0;
    words[count++] = verb;
    if (target != NULL)
        words[count++] = target;
    if (said->in)
        words[count++] = "in";
    if (said->out)
        words[count++] = "out";
    if (said->with == NULL) /* else they are addresses */
        say_flag(words, &count, "peers", said->peers);
    say_flag(words, &count, "down", said->down);
    say_flag(words, &count, "up", said->up);
    say_flag(words, &count, "by", said->by);
    say_flag(words, &count, "jitter", said->jitter);
    say_flag(words, &count, "seed", said->seed);
    say_flag(words, &count, "for", said->for_text);
    struct chaos_fault fault;
    if (chaos_fault_parse(words, count, &fault, why) != NULL)
        args_fail(&command, "%s", why);
    if (said->with != NULL && fault.for_ns == 0)
        args_fail(&command, "--with nft needs --for: its rules are removed at the end");
    if (said->with != NULL && said->peers != NULL &&
        chaos_nft_peers_error(said->peers, why) != NULL)
        args_fail(&command, "%s", why);
    return play(&command, said, &fault, target);
}

#define RUN(verb, about, operand, examples, args, said)                                            \
    run(verb, about, operand, examples, args, sizeof args / sizeof args[0], &said, argc, argv)

#define FOR_ARG                                                                                    \
    {                                                                                              \
        "for", ARG_TEXT, &said.for_text, 0, 0, "DURATION",                                         \
            "undo the fault after DURATION, or on Ctrl-C [default: keep it]"                       \
    }
#define IN_ARG                                                                                     \
    {                                                                                              \
        "in", ARG_FLAG, &said.in, 0, 0, NULL, "only what the node receives"                        \
    }
#define OUT_ARG                                                                                    \
    {                                                                                              \
        "out", ARG_FLAG, &said.out, 0, 0, NULL, "only what the node sends"                         \
    }
#define PEERS_ARG                                                                                  \
    {                                                                                              \
        "peers", ARG_TEXT, &said.peers, 0, 0, "LIST",                                              \
            "only traffic with these nodes [default: all]"                                         \
    }

/* ---- subcommands ---- */

static int cmd_chaos_kill(int argc, char **argv)
{
    struct spoken said = {0};
    const struct arg args[] = {OPERATOR_CLUSTER_ARG(&said.machine)};
    return RUN("kill", "Kill nodes (daemon and processes) or ranks with SIGKILL.",
               "node=LIST|proc=JOB.LIST",
               "muster chaos kill node=3\nmuster chaos kill proc=1.0-3    # ranks 0 to 3 of job 1",
               args, said);
}

static int cmd_chaos_stop(int argc, char **argv)
{
    struct spoken said = {0};
    const struct arg args[] = {FOR_ARG, OPERATOR_CLUSTER_ARG(&said.machine)};
    return RUN("stop", "Freeze nodes (daemon and processes) or ranks with SIGSTOP.",
               "node=LIST|proc=JOB.LIST",
               "muster chaos stop node=3 --for 1s\nmuster chaos stop proc=1.5", args, said);
}

static int cmd_chaos_cont(int argc, char **argv)
{
    struct spoken said = {0};
    const struct arg args[] = {OPERATOR_CLUSTER_ARG(&said.machine)};
    return RUN("cont", "Continue stopped nodes or ranks with SIGCONT.", "node=LIST|proc=JOB.LIST",
               "muster chaos cont node=3", args, said);
}

static int cmd_chaos_cut(int argc, char **argv)
{
    struct spoken said = {0};
    const struct arg args[] = {IN_ARG,
                               OUT_ARG,
                               PEERS_ARG,
                               FOR_ARG,
                               {"with", ARG_CHOICE, &said.with, 0, 0, "nft",
                                "kernel rules for the whole host; --peers takes addresses"},
                               OPERATOR_CLUSTER_ARG(&said.machine)};
    return RUN(
        "cut", "Disconnect nodes: their daemons drop all traffic with other nodes.", "node=LIST",
        "muster chaos cut node=3 --for 1s\nmuster chaos cut node=0-3 --peers 4-7 --for 500ms", args,
        said);
}

static int cmd_chaos_heal(int argc, char **argv)
{
    struct spoken said = {0};
    const struct arg args[] = {OPERATOR_CLUSTER_ARG(&said.machine)};
    return RUN("heal", "End the effects of cut, flap and slow.", "node=LIST",
               "muster chaos heal node=3", args, said);
}

static int cmd_chaos_flap(int argc, char **argv)
{
    struct spoken said = {0};
    const struct arg args[] = {
        {"down", ARG_TEXT, &said.down, 0, 0, "DURATION", "time disconnected, each time"},
        {"up", ARG_TEXT, &said.up, 0, 0, "DURATION", "time connected, each time"},
        IN_ARG,
        OUT_ARG,
        PEERS_ARG,
        FOR_ARG,
        OPERATOR_CLUSTER_ARG(&said.machine)};
    return RUN("flap", "Disconnect and reconnect nodes repeatedly.", "node=LIST",
               "muster chaos flap node=3 --down 50ms --up 200ms --for 5s", args, said);
}

static int cmd_chaos_slow(int argc, char **argv)
{
    struct spoken said = {0};
    const struct arg args[] = {
        {"by", ARG_TEXT, &said.by, 0, 0, "DURATION", "delay of every message"},
        {"jitter", ARG_TEXT, &said.jitter, 0, 0, "DURATION", "random extra delay [default: 0]"},
        {"seed", ARG_TEXT, &said.seed, 0, 0, "N", "random seed of the jitter [default: 0]"},
        IN_ARG,
        OUT_ARG,
        PEERS_ARG,
        FOR_ARG,
        OPERATOR_CLUSTER_ARG(&said.machine)};
    return RUN("slow", "Delay all messages of nodes.", "node=LIST",
               "muster chaos slow node=3 --by 20ms --jitter 5ms --for 5s", args, said);
}

static const struct subcommand commands[] = {
    {"kill", "kill nodes or ranks", cmd_chaos_kill},
    {"stop", "freeze nodes or ranks", cmd_chaos_stop},
    {"cont", "continue what was stopped", cmd_chaos_cont},
    {"cut", "disconnect nodes, fully or in part", cmd_chaos_cut},
    {"heal", "end cut, flap and slow", cmd_chaos_heal},
    {"flap", "disconnect and reconnect nodes repeatedly", cmd_chaos_flap},
    {"slow", "delay all messages of nodes", cmd_chaos_slow},
    {"script", "timed faults and expected notifications from a file", cmd_chaos_script},
    {"random", "random faults by seed, with all notifications checked", cmd_chaos_random},
};

int cmd_chaos(int argc, char **argv)
{
    return cli_dispatch("muster chaos", "Inject faults: kill, stop, disconnect or delay nodes.",
                        commands, sizeof commands / sizeof commands[0], argc, argv);
}
