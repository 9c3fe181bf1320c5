/* muster chaos: one fault, from the command line. */
#include "rig/page.h"
#include "chaos/act.h"
#include "chaos/nft.h"
#include "chaos/stage.h"
#include "command/commands.h"
#include "host/clock.h"

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

static bool cut_by_nft(struct chaos_stage *stage, const struct chaos_fault *fault,
                       const char *peers, char why[OPERATOR_TEXT_MAX])
{
    struct chaos_nft nft;
    if (!chaos_nft_begin(&nft, &stage->found, fault, peers, why))
        return false;
    wait_for(stage, fault->for_ns);
    return chaos_nft_end(&nft, why);
}

static bool carry_out(struct chaos_stage *stage, const struct chaos_fault *fault,
                      char why[OPERATOR_TEXT_MAX])
{
    struct chaos_hold hold;
    bool held = fault->for_ns != 0;
    if (!chaos_do(&stage->found, fault, held, &hold, why))
        return false;
    if (held)
        wait_for(stage, fault->for_ns);
    chaos_undo(&hold);
    return true;
}

/* Returns the exit code, or ends by the signal that came. */
static int play(const struct command *command, const struct spoken *said,
                const struct chaos_fault *fault)
{
    struct chaos_stage stage;
    char why[OPERATOR_TEXT_MAX];
    if (!chaos_stage_find(&stage, command, said->machine))
        return 1;
    bool good = said->with != NULL ? cut_by_nft(&stage, fault, said->peers, why)
                                   : carry_out(&stage, fault, why);
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

static int run(const char *verb, const char *about, const char *operand, const struct arg *args,
               size_t arg_count, struct spoken *said, int argc, char **argv)
{
    char path[64], why[CHAOS_WHY_MAX];
    snprintf(path, sizeof path, "muster chaos %s", verb);
    const struct command command = {path, about, operand, args, arg_count};
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
    return play(&command, said, &fault);
}

#define RUN(verb, about, operand, args, said)                                                      \
    run(verb, about "\n\n" OPERATOR_HELP, operand, args, sizeof args / sizeof args[0], &said,      \
        argc, argv)

#define FOR_ARG                                                                                    \
    {                                                                                              \
        "for", ARG_TEXT, &said.for_text, 0, 0, "SPAN",                                             \
            "undo it after that, and wait for it (until it is undone)"                             \
    }
#define IN_ARG                                                                                     \
    {                                                                                              \
        "in", ARG_FLAG, &said.in, 0, 0, NULL, "only what it hears"                                 \
    }
#define OUT_ARG                                                                                    \
    {                                                                                              \
        "out", ARG_FLAG, &said.out, 0, 0, NULL, "only what it says"                                \
    }
#define PEERS_ARG                                                                                  \
    {                                                                                              \
        "peers", ARG_TEXT, &said.peers, 0, 0, "LIST", "only between it and these nodes"            \
    }

#define STAYS                                                                                      \
    "With --for the command waits, and undoes the fault when the time is over, or when it is\n"    \
    "ended before that, however that is.  Without, the fault stays."

/* ---- subcommands ---- */

static int cmd_chaos_kill(int argc, char **argv)
{
    struct spoken said = {0};
    const struct arg args[] = {OPERATOR_MACHINE_ARG(&said.machine)};
    return RUN("kill",
               "Kills processes, or nodes: their daemons, and all processes that these run.\n"
               "\n"
               "  muster chaos kill node=3\n"
               "  muster chaos kill proc=1.0-3      processes 0 to 3 of job 1",
               "node=LIST|proc=JOB.LIST", args, said);
}

static int cmd_chaos_stop(int argc, char **argv)
{
    struct spoken said = {0};
    const struct arg args[] = {FOR_ARG, OPERATOR_MACHINE_ARG(&said.machine)};
    return RUN("stop",
               "Stops processes, or nodes: their daemons, and all processes that these run\n"
               "(SIGSTOP).  'muster chaos cont' lets them go on.\n"
               "\n" STAYS,
               "node=LIST|proc=JOB.LIST", args, said);
}

static int cmd_chaos_cont(int argc, char **argv)
{
    struct spoken said = {0};
    const struct arg args[] = {OPERATOR_MACHINE_ARG(&said.machine)};
    return RUN("cont", "Lets go on what was stopped (SIGCONT).", "node=LIST|proc=JOB.LIST", args,
               said);
}

static int cmd_chaos_cut(int argc, char **argv)
{
    struct spoken said = {0};
    const struct arg args[] = {
        IN_ARG,
        OUT_ARG,
        PEERS_ARG,
        FOR_ARG,
        {"with", ARG_CHOICE, &said.with, 0, 0, "nft",
         "by rules of the kernel, which cut off the whole host; peers are then addresses"},
        OPERATOR_MACHINE_ARG(&said.machine)};
    return RUN("cut",
               "Cuts nodes off, without a word to anybody: their daemons neither hear nor say\n"
               "anything any more, as if their network were gone, and go on with their processes.\n"
               "\n"
               "  muster chaos cut node=3 --for 1s\n"
               "  muster chaos cut node=0-3 --peers 4-7 --for 500ms\n"
               "\n" STAYS,
               "node=LIST", args, said);
}

static int cmd_chaos_heal(int argc, char **argv)
{
    struct spoken said = {0};
    const struct arg args[] = {OPERATOR_MACHINE_ARG(&said.machine)};
    return RUN("heal",
               "Ends what cut, flap and slow did.  A node that was declared dead meanwhile finds\n"
               "that out, and ends its processes; others go on as if nothing had been.",
               "node=LIST", args, said);
}

static int cmd_chaos_flap(int argc, char **argv)
{
    struct spoken said = {0};
    const struct arg args[] = {
        {"down", ARG_TEXT, &said.down, 0, 0, "SPAN", "so long it is cut off,"},
        {"up", ARG_TEXT, &said.up, 0, 0, "SPAN", "and then so long not, and so on"},
        IN_ARG,
        OUT_ARG,
        PEERS_ARG,
        FOR_ARG,
        OPERATOR_MACHINE_ARG(&said.machine)};
    return RUN("flap",
               "Cuts nodes off again and again.\n"
               "\n"
               "  muster chaos flap node=3 --down 50ms --up 200ms --for 5s\n"
               "\n" STAYS,
               "node=LIST", args, said);
}

static int cmd_chaos_slow(int argc, char **argv)
{
    struct spoken said = {0};
    const struct arg args[] = {
        {"by", ARG_TEXT, &said.by, 0, 0, "SPAN", "everything is late by that"},
        {"jitter", ARG_TEXT, &said.jitter, 0, 0, "SPAN", "and by up to that more (0)"},
        {"seed", ARG_TEXT, &said.seed, 0, 0, "N", "which is drawn from this (0)"},
        IN_ARG,
        OUT_ARG,
        PEERS_ARG,
        FOR_ARG,
        OPERATOR_MACHINE_ARG(&said.machine)};
    return RUN("slow",
               "Everything that nodes say and hear comes late: a link that is not dead, but bad.\n"
               "\n"
               "  muster chaos slow node=3 --by 20ms --jitter 5ms --for 5s\n"
               "\n" STAYS,
               "node=LIST", args, said);
}

static const struct subcommand commands[] = {
    {"kill", "kill nodes or processes", cmd_chaos_kill},
    {"stop", "stop nodes or processes", cmd_chaos_stop},
    {"cont", "let them go on", cmd_chaos_cont},
    {"cut", "cut nodes off, one way or both, from all or from some", cmd_chaos_cut},
    {"heal", "end cut, flap and slow", cmd_chaos_heal},
    {"flap", "cut nodes off again and again", cmd_chaos_flap},
    {"slow", "make everything late", cmd_chaos_slow},
    {"script", "timed faults, and what must be told of them", cmd_chaos_script},
    {"random", "faults drawn from a seed, and who was told of them", cmd_chaos_random},
};

int cmd_chaos(int argc, char **argv)
{
    return cli_dispatch("muster chaos",
                        "Faults on purpose, to see what your program and muster make of them.",
                        commands, sizeof commands / sizeof commands[0], argc, argv);
}
