#define _GNU_SOURCE
#include "command/args.h"
#include "command/commands.h"
#include "command/output.h"
#include "sim/node/replay.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX ".record"

/* ---- one stream ---- */

static const char *end_name(enum sim_replay_end end)
{
    static const char *const names[] = {
        [SIM_REPLAY_COMPLETE] = "complete", [SIM_REPLAY_CUT] = "cut", [SIM_REPLAY_GAP] = "gap"};
    return names[end];
}

static void print_json(const char *path, const struct sim_replay_result *result)
{
    char digest[33], recorded[33];
    output_digest(digest, &result->digest);
    output_digest(recorded, &result->recorded);
    json_t *object = json_object();
    json_object_set_new(object, "file", json_string(path));
    json_object_set_new(object, "door", json_string(mu_record_door_name(result->door)));
    json_object_set_new(object, "events", json_integer((json_int_t)result->events));
    json_object_set_new(object, "effects", json_integer((json_int_t)result->effects));
    json_object_set_new(object, "delivered", json_integer((json_int_t)result->delivered));
    json_object_set_new(object, "end", json_string(end_name(result->end)));
    json_object_set_new(object, "digest", json_string(digest));
    if (result->end == SIM_REPLAY_COMPLETE)
        json_object_set_new(object, "recorded", json_string(recorded));
    json_object_set_new(object, "same", json_boolean(result->same));
    if (!result->same && result->differs > 0)
        json_object_set_new(object, "differs", json_integer((json_int_t)result->differs));
    output_json(object);
}

static void print_text(const char *path, const struct sim_replay_result *result)
{
    static const char *const ends[] = {
        [SIM_REPLAY_COMPLETE] = "",
        [SIM_REPLAY_CUT] = " as far as it goes: the recording has no end, its daemon was killed",
        [SIM_REPLAY_GAP] = " as far as it goes: what followed was not recorded"};
    char digest[33];
    output_digest(digest, &result->digest);
    printf("%s: %s, %llu events, %llu effects, digest %s: ", path,
           mu_record_door_name(result->door), (unsigned long long)result->events,
           (unsigned long long)result->effects, digest);
    if (result->same)
        printf("the same%s\n", ends[result->end]);
    else if (result->differs > 0)
        printf("DIFFERENT from event %llu on\n", (unsigned long long)result->differs);
    else
        printf("DIFFERENT at the end\n");
}

struct printing {
    bool trace, json;
    int code; /* the worst so far */
};

static void replay_file(const char *path, struct printing *printing)
{
    struct sim_replay_result result;
    sim_replay(path, output_trace(printing->trace, printing->json), &result);
    if (result.error[0] != '\0') {
        fprintf(stderr, "muster sim replay: %s\n", result.error);
        printing->code = CLI_EXIT_USAGE;
        return;
    }
    if (printing->json)
        print_json(path, &result);
    else
        print_text(path, &result);
    if (!result.same && printing->code == 0)
        printing->code = 1;
}

/* ---- all streams of a folder, and of the folders in it ---- */

static bool is_wanted(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name), suffix = strlen(SUFFIX);
    return length > suffix && strcmp(entry->d_name + length - suffix, SUFFIX) == 0;
}

static int keep_seen(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static uint32_t replay_folder(const char *folder, bool inside, struct printing *printing)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, keep_seen, versionsort);
    uint32_t found = 0;
    if (count < 0) {
        fprintf(stderr, "muster sim replay: %s: %s\n", folder, strerror(errno));
        printing->code = CLI_EXIT_USAGE;
    }
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        struct stat about;
        if (asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0)
            abort();
        if (stat(path, &about) == 0 && S_ISDIR(about.st_mode) && !inside) {
            found += replay_folder(path, true, printing);
        } else if (is_wanted(entries[i])) {
            replay_file(path, printing);
            found++;
        }
        free(path);
        free(entries[i]);
    }
    free(entries);
    return found;
}

int cmd_sim_replay(int argc, char **argv)
{
    struct printing printing = {0};
    const struct arg args[] = {
        {"trace", ARG_FLAG, &printing.trace, 0, 0, NULL, "every event of nodes"},
        {"json", ARG_FLAG, &printing.json, 0, 0, NULL, "one JSON object per stream"},
    };
    const struct command command = {
        .path = "muster sim replay",
        .about = "Replay a recorded stream, or all streams of a folder, and compare the results.",
        .operand = "FILE|DIR",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster run --record DIR ./app && muster sim replay DIR",
        .exits = "0 same result   1 different result   2 usage error, or not a recording",
    };
    const char *path = args_parse(&command, argc, argv);
    struct stat about;
    if (path == NULL)
        args_fail(&command, "missing FILE or DIR");
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode)) {
        replay_file(path, &printing);
    } else if (replay_folder(path, false, &printing) == 0) {
        fprintf(stderr, "muster sim replay: no *" SUFFIX " in '%s' or its folders\n", path);
        printing.code = CLI_EXIT_USAGE;
    }
    return printing.code;
}
