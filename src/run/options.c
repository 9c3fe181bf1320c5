#define _GNU_SOURCE
#include "run/options.h"

#include "launch/agent.h"
#include "launch/machine.h"
#include "command/span.h"
#include "wire/launch/launch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEARTBEAT_VARIABLE "MUSTER_HEARTBEAT" /* what --heartbeat is when it is not said */

static const char about[] =
    "Starts the processes of a parallel job, and a daemon for each node that looks after them and\n"
    "tells all of them when one dies.  Everything ends with this command.\n"
    "\n"
    "  muster run -n 4 ./app\n"
    "  muster run --nodes 8 -n 32 --tag-output ./app its own flags\n"
    "  muster run -n 1 ./leader : -n 7 -x ROLE=worker ./worker\n"
    "  muster run --hosts h1,h2:4 ./app\n"
    "\n"
    "Flags stand before PROGRAM; what follows it is its own.  After ':' comes another program, "
    "with\n"
    "-n, -x and --wdir of its own; ranks go on counting.\n"
    "\n"
    "Processes get this environment, -x, and MUSTER_JOB, MUSTER_RANK, MUSTER_SIZE, MUSTER_NODE,\n"
    "MUSTER_NODES, MUSTER_LOCAL_RANK.  Rank 0 reads standard input.  Output is passed on in whole\n"
    "lines (of one process as it comes).  A slow reader slows the processes; nothing is lost.\n"
    "\n"
    "Rank r of n runs on node r * K / n; with hosts, the first ranks fill the slots of the first\n"
    "host, and so on.  --map-by slot fills the slots of a node before the next one, --map-by node\n"
    "takes the nodes in turn.  Hosts have slots, and more processes are refused without\n"
    "--oversubscribe; nodes on this host (--nodes) take any number, unless there is --slots.\n"
    "\n"
    "--bind-to core gives each process a core of its own, of those that its daemon may use.  "
    "Nodes\n"
    "on this host share its cores: those of node 0 get the first ones, those of node 1 the next.\n"
    "With more processes than cores the job is refused; core:overload-allowed begins with the "
    "first\n"
    "core again.  Where slots are oversubscribed, processes are not bound, and that is said.\n"
    "Without --bind-to, nodes on this host have a part of its cores each, as hosts would have, "
    "where\n"
    "processes are spread evenly over the parts; --bind-to none lets them run anywhere.\n"
    "\n"
    "A process that does not end with exit code 0 has failed, and so has a node that is lost.  So "
    "has\n"
    "one that exits with 0 after MPI_Init, without MPI_Finalize, while others run.  What happened "
    "is\n"
    "said at once, and again at the end, with how fast everybody was told.\n"
    "\n"
    "SIGINT, SIGTERM, SIGHUP: the job ends within 2 s, and so does muster, by the same signal; a\n"
    "second one ends it at once.  SIGUSR1, SIGUSR2, SIGWINCH and SIGCONT are passed on, and\n"
    "SIGTSTP as SIGSTOP.\n"
    "\n"
    "exit code:\n"
    "  of the first process that failed: its exit code; 128 + N: signal N; 127: no such program;\n"
    "  126: it could not be started; 255: its node was lost, or nobody knows; 1: no MPI_Finalize\n"
    "  0: all ended with 0   1: muster itself failed   2: wrong flags   124: --timeout\n"
    "  141: nobody reads the output any more";

/* What can be said for each program. */
struct front {
    uint64_t count; /* 0: was not said */
    const char *directory;
    struct arg_list env;
};

#define N_ABOUT    "processes (one for each node, or each slot of the hosts)"
#define X_ABOUT    "put this into their environment; again for more"
#define WDIR_ABOUT "their working directory (this one)"

static _Noreturn void no_memory(const struct command *command)
{
    args_fail(command, "no memory");
}

/* ---- one program ---- */

/* A copy of the variables.  NAME alone is there already, like everything in our environment. */
static const char **make_env(const struct command *command, const struct arg_list *list)
{
    size_t count = 0;
    const char **envp = calloc(list->count + 1, sizeof *envp);
    if (envp == NULL)
        no_memory(command);
    for (size_t i = 0; i < list->count; i++) {
        const char *item = list->items[i];
        if (item[0] == '\0' || item[0] == '=')
            args_fail(command, "-x is '%s', but must be NAME or NAME=VALUE", item);
        if (strchr(item, '=') != NULL)
            envp[count++] = item;
        else if (getenv(item) == NULL)
            fprintf(stderr, "%s: -x %s: there is no such variable here\n", command->path, item);
    }
    return envp;
}

static char *make_directory(const struct command *command, const char *directory)
{
    char *here = NULL, *result = NULL;
    if (directory != NULL && directory[0] == '/') {
        result = strdup(directory);
    } else {
        here = getcwd(NULL, 0);
        if (here == NULL)
            args_fail(command, "the working directory has no name: %s", strerror(errno));
        if (directory == NULL)
            return here;
        if (asprintf(&result, "%s/%s", here, directory) < 0)
            result = NULL;
    }
    free(here);
    if (result == NULL)
        no_memory(command);
    return result;
}

/* argv: PROGRAM [ARG]..., up to ':' or the end.  Returns how many. */
static int add_program(const struct command *command, struct run_options *options,
                       struct front *front, int argc, char **argv)
{
    int count = 0;
    while (count < argc && strcmp(argv[count], ":") != 0)
        count++;
    if (count == 0)
        args_fail(command, "no PROGRAM%s", argc == 0 ? "" : " before ':'");
    if (argv[0][0] == '\0')
        args_fail(command, "PROGRAM is ''");
    if (options->program_count == MU_LAUNCH_PROGRAMS_MAX)
        args_fail(command, "more than %d programs", MU_LAUNCH_PROGRAMS_MAX);
    if (count < argc)
        argv[count] = NULL; /* in place of ':'; behind the last one argv ends by itself */
    struct run_program *programs =
        realloc(options->programs, (options->program_count + 1) * sizeof *programs);
    if (programs == NULL)
        no_memory(command);
    options->programs = programs;
    programs[options->program_count++] =
        (struct run_program){.count = (uint32_t)front->count,
                             .directory = make_directory(command, front->directory),
                             .argv = argv,
                             .envp = make_env(command, &front->env)};
    free(front->env.items);
    return count;
}

/* What stands behind a ':'.  argv[0] is that.  Returns how many arguments it takes. */
static int next_program(struct run_options *options, int argc, char **argv)
{
    struct front front = {0};
    const struct arg args[] = {
        {"-n|-np", ARG_NUMBER, &front.count, 1, MU_LAUNCH_RANKS_MAX, "N", N_ABOUT},
        {"-x", ARG_LIST, &front.env, 0, 0, "NAME[=VALUE]", X_ABOUT},
        {"wdir", ARG_TEXT, &front.directory, 0, 0, "DIR", WDIR_ABOUT},
    };
    const struct command command = {"muster run", "After ':' comes another program of the job.",
                                    "PROGRAM [ARG]... [: ...]", args, sizeof args / sizeof args[0]};
    int at = args_parse_front(&command, argc, argv);
    return at + add_program(&command, options, &front, argc - at, argv + at);
}

/* ---- all of them ---- */

/* Where the nodes are, when that is said. */
static void read_hosts(const struct command *command, struct run_options *options, const char *list,
                       const char *file)
{
    char text[HOSTS_TEXT_MAX];
    struct agent agent;
    if (list != NULL && file != NULL)
        args_fail(command, "--hosts and --hostfile both say where the nodes are");
    if (list != NULL && hosts_from_list(&options->hosts, list, text) != NULL)
        args_fail(command, "--hosts: %s", text);
    if (file != NULL && hosts_from_file(&options->hosts, file, text) != NULL)
        args_fail(command, "--hostfile: %s", text);
    if (options->agent != NULL && options->hosts.count == 0)
        args_fail(command, "--agent is for --hosts or --hostfile");
    if (options->agent == NULL)
        options->agent = getenv(AGENT_VARIABLE);
    if (options->agent == NULL)
        options->agent = AGENT_USUAL;
    const char *wrong = options->hosts.count > 0 ? agent_split(&agent, options->agent) : NULL;
    if (wrong != NULL)
        args_fail(command, "--agent (or " AGENT_VARIABLE ") is '%s', but %s", options->agent,
                  wrong);
}

static void count_ranks(const struct command *command, struct run_options *options)
{
    uint64_t ranks = 0, host_slots = hosts_slots(&options->hosts);
    if (host_slots > MU_LAUNCH_RANKS_MAX)
        args_fail(command, "%" PRIu64 " slots are too many: the most is %d", host_slots,
                  MU_LAUNCH_RANKS_MAX);
    for (uint32_t i = 0; i < options->program_count; i++) {
        struct run_program *program = &options->programs[i];
        if (program->count == 0)
            program->count = options->hosts.count == 0 ? options->nodes : (uint32_t)host_slots;
        ranks += program->count;
    }
    if (ranks > MU_LAUNCH_RANKS_MAX)
        args_fail(command, "%" PRIu64 " processes are too many: the most is %d", ranks,
                  MU_LAUNCH_RANKS_MAX);
    options->ranks = (uint32_t)ranks;
    char text[RUN_PLACE_TEXT_MAX];
    if (run_place_error(&options->place, options->ranks, options->nodes, &options->hosts, text))
        args_fail(command, "%s", text);
}

/* Who shares a slot would share a core, too, and be slower than unbound. */
static void leave_unbound(const struct command *command, struct run_options *options)
{
    struct run_place *place = &options->place;
    if (place->binding != MU_LAUNCH_CORES ||
        !run_place_is_oversubscribed(place, options->ranks, options->nodes, &options->hosts))
        return;
    place->binding = MU_LAUNCH_UNBOUND;
    fprintf(stderr,
            "%s: slots are oversubscribed, so processes are not bound (--bind-to "
            "core:overload-allowed binds them)\n",
            command->path);
}

static void read_place(const struct command *command, struct run_options *options,
                       const char *map_by, const char *bind_to, bool oversubscribe)
{
    struct run_place *place = &options->place;
    if (map_by != NULL && !run_place_map_by(place, map_by))
        args_fail(command, "--map-by is '%s', but must be slot or node, or with :oversubscribe",
                  map_by);
    if (bind_to != NULL && !run_place_bind_to(place, bind_to))
        args_fail(command, "--bind-to is '%s', but must be none, core or core:overload-allowed",
                  bind_to);
    if (bind_to == NULL && options->hosts.count == 0)
        place->binding = MU_LAUNCH_PART;
    place->oversubscribe |= oversubscribe;
}

void run_options_parse(struct run_options *options, int argc, char **argv)
{
    struct front front = {0};
    uint64_t nodes = 0, slots = 0, grace_ms = 500;
    const char *on_failure = "abort", *heartbeat = NULL, *hosts = NULL, *hostfile = NULL;
    const char *map_by = NULL, *bind_to = NULL, *sigpipe = NULL;
    bool oversubscribe = false;
    *options = (struct run_options){0};
    const struct arg args[] = {
        {"-n|-np", ARG_NUMBER, &front.count, 1, MU_LAUNCH_RANKS_MAX, "N", N_ABOUT},
        {"nodes", ARG_NUMBER, &nodes, 1, MACHINE_NODES_MAX, "K",
         "nodes, each a daemon on this host (1)"},
        {"--hosts|--host|-H", ARG_TEXT, &hosts, 0, 0, "LIST",
         "a node on each of these hosts, HOST[:SLOTS],..., with so many processes (1)"},
        {"--hostfile|--machinefile", ARG_TEXT, &hostfile, 0, 0, "FILE",
         "the same, a host on each line: NAME [slots=K] [max_slots=K] [address=A]"},
        {"agent", ARG_TEXT, &options->agent, 0, 0, "COMMAND",
         "what starts a daemon there, or " AGENT_VARIABLE " (" AGENT_USUAL ")"},
        {"slots", ARG_NUMBER, &slots, 1, MU_LAUNCH_RANKS_MAX, "S",
         "at most so many processes on a node (any number)"},
        {"map-by", ARG_TEXT, &map_by, 0, 0, "slot|node", "how ranks are dealt out, see above"},
        {"oversubscribe", ARG_FLAG, &oversubscribe, 0, 0, NULL,
         "more processes than slots are fine, up to max_slots"},
        {"bind-to", ARG_TEXT, &bind_to, 0, 0, "none|core",
         "give each process a core of its own, see above (its node's part of this host)"},
        {"report-bindings", ARG_FLAG, &options->report_bindings, 0, 0, NULL,
         "say on standard error which process is bound to what"},
        {"no-pmi", ARG_FLAG, &options->no_pmi, 0, 0, NULL,
         "without PMI-1 (PMI_FD, PMI_RANK, PMI_SIZE), by which programs of MPICH start"},
        {"-x", ARG_LIST, &front.env, 0, 0, "NAME[=VALUE]", X_ABOUT},
        {"wdir", ARG_TEXT, &front.directory, 0, 0, "DIR", WDIR_ABOUT},
        {"tag-output", ARG_FLAG, &options->tag_output, 0, 0, NULL,
         "each line begins with [RANK], of standard error with [RANK!]"},
        {"output-dir", ARG_TEXT, &options->output_dir, 0, 0, "DIR",
         "output into files rank-N.out and rank-N.err there"},
        {"timeout", ARG_NUMBER, &options->timeout_s, 1, 366 * 86400, "SECONDS",
         "end the job then, with exit code 124"},
        {"on-failure", ARG_CHOICE, &on_failure, 0, 0, "abort|continue",
         "what the others do when one fails (abort)"},
        {"sigpipe", ARG_CHOICE, &sigpipe, 0, 0, "default|ignore",
         "how processes begin with that signal (ignore with --on-failure continue, where\n"
         "                             a write to one that died must not kill the others)"},
        {"grace", ARG_NUMBER, &grace_ms, 0, 3600 * 1000, "MS",
         "between SIGTERM and SIGKILL when the job is ended (500)"},
        {"report", ARG_TEXT, &options->report, 0, 0, "FILE",
         "one JSON object for each death: who, how, told to whom and when"},
        {"record", ARG_TEXT, &options->record_dir, 0, 0, "DIR",
         "record protocol input to DIR/node-N, for 'muster sim replay'"},
        {"heartbeat", ARG_TEXT, &heartbeat, 0, 0, "PERIOD,TIMEOUT",
         "how often nodes beat, and which silence is a death, or " HEARTBEAT_VARIABLE
         " (100ms,500ms)"},
        {"no-pmix", ARG_FLAG, &options->no_pmix, 0, 0, NULL,
         "do not serve PMIx, which programs of Open MPI need"},
        {"verbose", ARG_FLAG, &options->verbose, 0, 0, NULL, "say more on standard error"},
    };
    const struct command command = {"muster run", about, "PROGRAM [ARG]... [: ...]", args,
                                    sizeof args / sizeof args[0]};
    int at = args_parse_front(&command, argc, argv);
    at += add_program(&command, options, &front, argc - at, argv + at);
    while (at < argc)
        at += next_program(options, argc - at, argv + at);
    read_hosts(&command, options, hosts, hostfile);
    if (options->hosts.count > 0 && (nodes > 0 || slots > 0))
        args_fail(&command, "the hosts say how many nodes and slots there are, so --%s is too much",
                  nodes > 0 ? "nodes" : "slots");
    options->nodes = options->hosts.count > 0 ? options->hosts.count
                     : nodes > 0              ? (uint32_t)nodes
                                              : 1;
    options->grace_ms = (uint32_t)grace_ms;
    options->go_on = strcmp(on_failure, "continue") == 0;
    char why[SPAN_WHY_MAX];
    if (heartbeat == NULL)
        heartbeat = getenv(HEARTBEAT_VARIABLE);
    if (heartbeat != NULL &&
        span_heartbeat(heartbeat, &options->period_ns, &options->timeout_ns, why) != NULL)
        args_fail(&command, "--heartbeat (or " HEARTBEAT_VARIABLE ") %s", why);
    if (options->tag_output && options->output_dir != NULL)
        args_fail(&command,
                  "--tag-output is for the terminal, and --output-dir has a file for each");
    options->ignore_sigpipe = sigpipe != NULL ? strcmp(sigpipe, "ignore") == 0 : options->go_on;
    options->place.slots = (uint32_t)slots;
    read_place(&command, options, map_by, bind_to, oversubscribe);
    count_ranks(&command, options);
    leave_unbound(&command, options);
}

void run_options_free(struct run_options *options)
{
    for (uint32_t i = 0; i < options->program_count; i++) {
        free(options->programs[i].directory);
        free(options->programs[i].envp);
    }
    free(options->programs);
    hosts_free(&options->hosts);
}
