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

static const char examples[] = "muster run --nodes 4 -n 8 ./app --app-option\n"
                               "muster run --hosts h1,h2:4 --on-failure continue ./app\n"
                               "muster run -n 1 ./leader : -n 7 -x ROLE=worker ./worker";

static const char exits[] =
    "0 all ranks exited with code 0; else that of the first rank that failed:\n"
    "1-255 its exit code   128+N killed by signal N   127 program not found\n"
    "126 cannot start the program   255 its node failed\n"
    "1 muster failed, or no MPI_Finalize   2 usage error   124 --timeout\n"
    "141 standard output was closed";

/* What users of mpirun, mpiexec and srun type. */
static const struct arg_hint hints[] = {
    {"-N|--npernode|-npernode|-ppn|--ppn|-perhost",
     "use --slots S for at most S ranks per node, and "
     "--nodes K for K nodes on this host"},
    {"-genv|-env|--genv", "use -x NAME=VALUE"},
    {"-genvall|-genvlist|-envall",
     "ranks get the whole environment; use -x NAME=VALUE to change it"},
    {"-c|--cpus-per-task", "use --bind-to core for a core per rank"},
    {"--mca|-mca|--prtemca|--pmixmca", "MCA parameters of MPI go into the environment: -x "
                                       "OMPI_MCA_NAME=VALUE"},
    {"-q|--quiet|-v", "muster is quiet unless a rank fails; --verbose shows more"},
    {"--rsh|-launcher|--launcher|--launcher-exec", "use --agent COMMAND, for example --agent ssh"},
    {"--report-uri|--dvm", "a cluster is started by each 'muster run'"},
    {"--rank-by|--mpmd|--app", "use --map-by, and ':' between programs"},
    {NULL, NULL},
};

/* What can be said for each program. */
struct front {
    uint64_t count; /* 0: was not said */
    const char *directory;
    struct arg_list env;
};

#define N_NAME     "-n|-np||--np|--ntasks|-nprocs"
#define N_ABOUT    "number of processes [default: one per node or slot]"
#define X_NAME     "-x||--env|--export"
#define X_ABOUT    "environment variable for the program (repeatable)"
#define WDIR_NAME  "--wdir||--wd|--chdir|-D"
#define WDIR_ABOUT "working directory [default: the current one]"

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
            fprintf(stderr, "%s: -x %s: there is no such variable in the environment\n",
                    command->path, item);
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
            args_fail(command, "cannot find the current working directory: %s", strerror(errno));
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
        args_fail(command, "missing PROGRAM%s", argc == 0 ? "" : " before ':'");
    if (argv[0][0] == '\0')
        args_fail(command, "PROGRAM is an empty string");
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
        {N_NAME, ARG_NUMBER, &front.count, 1, MU_LAUNCH_RANKS_MAX, "N", N_ABOUT},
        {X_NAME, ARG_LIST, &front.env, 0, 0, "NAME[=VALUE]", X_ABOUT},
        {WDIR_NAME, ARG_TEXT, &front.directory, 0, 0, "DIR", WDIR_ABOUT},
    };
    const struct command command = {
        .path = "muster run",
        .about = "Options of a further program, after ':'.",
        .operand = "PROGRAM [ARG]... [: ...]",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .hints = hints,
    };
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
        args_fail(command, "--hosts and --hostfile exclude each other");
    if (list != NULL && hosts_from_list(&options->hosts, list, text) != NULL)
        args_fail(command, "--hosts: %s", text);
    if (file != NULL && hosts_from_file(&options->hosts, file, text) != NULL)
        args_fail(command, "--hostfile: %s", text);
    if (options->agent != NULL && options->hosts.count == 0)
        args_fail(command, "--agent needs --hosts or --hostfile");
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
        args_fail(command, "%" PRIu64 " slots are too many: the limit is %d", host_slots,
                  MU_LAUNCH_RANKS_MAX);
    for (uint32_t i = 0; i < options->program_count; i++) {
        struct run_program *program = &options->programs[i];
        if (program->count == 0)
            program->count = options->hosts.count == 0 ? options->nodes : (uint32_t)host_slots;
        ranks += program->count;
    }
    if (ranks > MU_LAUNCH_RANKS_MAX)
        args_fail(command, "%" PRIu64 " processes are too many: the limit is %d", ranks,
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
            "%s: slots are oversubscribed, so processes are not bound (to bind them: --bind-to "
            "core:overload-allowed)\n",
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
    bool oversubscribe = false, as_root = false;
    *options = (struct run_options){0};
    const struct arg args[] = {
        {N_NAME, ARG_NUMBER, &front.count, 1, MU_LAUNCH_RANKS_MAX, "N", N_ABOUT},
        {"nodes", ARG_NUMBER, &nodes, 1, MACHINE_NODES_MAX, "K",
         "number of nodes on this host [default: 1]"},
        {"--hosts|--host|-H", ARG_TEXT, &hosts, 0, 0, "LIST",
         "hosts, a node on each: HOST[:SLOTS],..."},
        {"--hostfile|--machinefile||-f", ARG_TEXT, &hostfile, 0, 0, "FILE",
         "the same, a host per line: NAME [slots=K] [address=A]"},
        {"agent", ARG_TEXT, &options->agent, 0, 0, "COMMAND",
         "launch agent [default: $" AGENT_VARIABLE ", or " AGENT_USUAL "]"},
        {"slots", ARG_NUMBER, &slots, 1, MU_LAUNCH_RANKS_MAX, "S",
         "maximum processes per node [default: no limit]"},
        {"map-by", ARG_TEXT, &map_by, 0, 0, "slot|node",
         "how ranks are assigned to nodes [default: slot]"},
        {"oversubscribe", ARG_FLAG, &oversubscribe, 0, 0, NULL,
         "more processes than slots, up to max_slots"},
        {"bind-to", ARG_TEXT, &bind_to, 0, 0, "none|core",
         "CPU binding [default: the node's part of this host]"},
        {"report-bindings", ARG_FLAG, &options->report_bindings, 0, 0, NULL,
         "CPU binding of each rank, on standard error"},
        {X_NAME, ARG_LIST, &front.env, 0, 0, "NAME[=VALUE]", X_ABOUT},
        {WDIR_NAME, ARG_TEXT, &front.directory, 0, 0, "DIR", WDIR_ABOUT},
        {"tag-output", ARG_FLAG, &options->tag_output, 0, 0, NULL,
         "prefix [RANK] on each line of output"},
        {"output-dir", ARG_TEXT, &options->output_dir, 0, 0, "DIR",
         "output to DIR/rank-N.out and DIR/rank-N.err"},
        {"timeout", ARG_NUMBER, &options->timeout_s, 1, 366 * 86400, "SECONDS",
         "time limit of the job [default: none]"},
        {"on-failure", ARG_CHOICE, &on_failure, 0, 0, "abort|continue",
         "end the job or keep survivors running [default: abort]"},
        {"sigpipe", ARG_CHOICE, &sigpipe, 0, 0, "default|ignore",
         "SIGPIPE of ranks [default: ignore with continue]"},
        {"grace", ARG_NUMBER, &grace_ms, 0, 3600 * 1000, "MS",
         "time between SIGTERM and SIGKILL [default: 500]"},
        {"heartbeat", ARG_TEXT, &heartbeat, 0, 0, "PERIOD,TIMEOUT",
         "heartbeat settings [default: 100ms,500ms]"},
        {"report", ARG_TEXT, &options->report, 0, 0, "FILE",
         "a JSON line per failure, with notification times"},
        {"record", ARG_TEXT, &options->record_dir, 0, 0, "DIR",
         "record protocol input to DIR/node-N"},
        {"no-pmi", ARG_FLAG, &options->no_pmi, 0, 0, NULL, "no PMI-1, which MPICH programs need"},
        {"no-pmix", ARG_FLAG, &options->no_pmix, 0, 0, NULL,
         "no PMIx, which Open MPI programs need"},
        {"verbose", ARG_FLAG, &options->verbose, 0, 0, NULL, "cluster ID, PIDs and more"},
        {"allow-run-as-root", ARG_FLAG, &as_root, 0, 0, NULL, NULL}, /* as it is */
    };
    const struct command command = {
        .path = "muster run",
        .about = "Run a parallel job, with a daemon on each node to detect failures.",
        .operand = "PROGRAM [ARG]... [: [options] PROGRAM [ARG]...]",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = examples,
        .exits = exits,
        .hints = hints,
    };
    int at = args_parse_front(&command, argc, argv);
    at += add_program(&command, options, &front, argc - at, argv + at);
    while (at < argc)
        at += next_program(options, argc - at, argv + at);
    read_hosts(&command, options, hosts, hostfile);
    if (options->hosts.count > 0 && (nodes > 0 || slots > 0))
        args_fail(&command,
                  "--%s cannot be used with hosts, which define nodes and slots (write slots "
                  "as HOST:SLOTS)",
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
        args_fail(&command, "--tag-output and --output-dir exclude each other");
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
