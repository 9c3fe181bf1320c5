#include "command/args.h"
#include "command/commands.h"
#include "command/output.h"
#include "sim/node/record.h"

int cmd_sim_replay(int argc, char **argv)
{
    bool json = false, trace = false;
    const struct arg args[] = {
        {"trace", ARG_FLAG, &trace, 0, 0, NULL, "print everything that happens"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        "muster sim replay",
        "Runs a recorded event log through the core again.  Exit 1 when it ends differently than\n"
        "it was recorded, 2 when the file cannot be run.",
        "FILE", args, sizeof args / sizeof args[0]};
    const char *path = args_parse(&command, argc, argv);
    if (path == NULL)
        args_fail(&command, "no FILE to replay");
    struct sim_replay_result result;
    sim_replay(path, output_trace(trace, json), &result);
    if (result.error[0] != '\0') {
        fprintf(stderr, "muster sim replay: %s\n", result.error);
        return CLI_EXIT_USAGE;
    }
    bool same = result.digest.a == result.recorded.a && result.digest.b == result.recorded.b;
    char digest[33], recorded[33];
    output_digest(digest, &result.digest);
    output_digest(recorded, &result.recorded);
    if (json) {
        json_t *object = json_object();
        json_object_set_new(object, "events", json_integer((json_int_t)result.events));
        json_object_set_new(object, "effects", json_integer((json_int_t)result.effects));
        json_object_set_new(object, "delivered", json_integer((json_int_t)result.delivered));
        json_object_set_new(object, "digest", json_string(digest));
        json_object_set_new(object, "recorded", json_string(recorded));
        json_object_set_new(object, "same", json_boolean(same));
        output_json(object);
    } else {
        printf("%llu events, %llu effects, %llu notices delivered\ndigest   %s\nrecorded %s: %s\n",
               (unsigned long long)result.events, (unsigned long long)result.effects,
               (unsigned long long)result.delivered, digest, recorded,
               same ? "the same" : "DIFFERENT");
    }
    return same ? 0 : 1;
}
