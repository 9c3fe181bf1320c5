/* Which of the clusters on this host a command means, and what is said where that is not clear. */
#include "launch/operator.h"

#include "launch/operator_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- one cluster ---- */

const char *operator_id_text(uint64_t id, char text[OPERATOR_ID_DIGITS + 1])
{
    snprintf(text, OPERATOR_ID_DIGITS + 1, "%08" PRIx32, (uint32_t)(id >> 32));
    return text;
}

const char *operator_age_text(uint64_t ns, char text[OPERATOR_AGE_MAX])
{
    uint64_t s = ns / UINT64_C(1000000000);
    if (s < 100)
        snprintf(text, OPERATOR_AGE_MAX, "%.1f s", (double)ns / 1e9);
    else if (s < 100 * 60)
        snprintf(text, OPERATOR_AGE_MAX, "%" PRIu64 " min", s / 60);
    else if (s < 100 * 3600)
        snprintf(text, OPERATOR_AGE_MAX, "%" PRIu64 " h", s / 3600);
    else
        snprintf(text, OPERATOR_AGE_MAX, "%" PRIu64 " d", s / 86400);
    return text;
}

const struct operator_daemon *operator_cluster(const struct operator_found *found, size_t first,
                                               size_t *count)
{
    const struct operator_daemon *daemons = &found->daemons[first];
    *count = 1;
    while (first + *count < found->count && daemons[*count].machine == daemons->machine)
        ++*count;
    return daemons;
}

static bool begins_with(uint64_t id, const char *prefix)
{
    char digits[17];
    snprintf(digits, sizeof digits, "%016" PRIx64, id);
    return strncasecmp(digits, prefix, strlen(prefix)) == 0;
}

size_t operator_keep(struct operator_found *found, const char *prefix)
{
    size_t kept = 0, clusters = 0;
    for (size_t i = 0; i < found->count; i++) {
        const struct operator_daemon daemon = found->daemons[i];
        if (prefix != NULL && !begins_with(daemon.machine, prefix))
            continue;
        clusters += kept == 0 || found->daemons[kept - 1].machine != daemon.machine;
        found->daemons[kept++] = daemon;
    }
    found->count = kept;
    return clusters;
}

/* ---- what runs in it ---- */

/* A line of a small file of /proc, up to its first NUL or line end.  "": it cannot be read. */
static void read_proc(pid_t pid, const char *name, char *text, size_t room)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "re");
    size_t count = file == NULL ? 0 : fread(text, 1, room - 1, file);
    text[count] = '\0';
    text[strcspn(text, "\n")] = '\0';
    for (char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    if (file != NULL)
        fclose(file);
}

static pid_t parent_of(pid_t pid)
{
    char text[256];
    int parent = 0;
    read_proc(pid, "stat", text, sizeof text);
    const char *behind_name = strrchr(text, ')');
    if (pid <= 0 || behind_name == NULL || sscanf(behind_name + 1, " %*c %d", &parent) != 1)
        return 0;
    return parent;
}

/* Between a daemon and 'muster run' is its witness. */
static pid_t launcher_of(pid_t daemon)
{
    char name[32];
    pid_t launcher = parent_of(parent_of(daemon));
    read_proc(launcher, "comm", name, sizeof name);
    return strcmp(name, "muster") == 0 ? launcher : 0;
}

static void note(void *owner, const struct mu_local_message *message)
{
    struct operator_summary *summary = owner;
    switch (message->type) {
    case MU_LOCAL_NODE:
        summary->nodes = message->node.size;
        summary->nodes_failed = message->node.dead;
        summary->up_ns = message->node.up_ns;
        break;
    case MU_LOCAL_JOB:
        if (summary->jobs++ == 0)
            summary->job = message->job.job;
        break;
    case MU_LOCAL_PROCESS:
        if (summary->jobs == 1 && summary->program[0] == '\0')
            read_proc((pid_t)message->process.pid, "cmdline", summary->program,
                      sizeof summary->program);
        break;
    }
}

void operator_summarize(const struct operator_daemon *daemons, size_t count,
                        struct operator_summary *summary)
{
    *summary = (struct operator_summary){.id = daemons->machine, .owner = daemons->uid};
    for (size_t i = 0; i < count && !summary->answers; i++) {
        struct operator_summary said = *summary;
        struct operator_link link;
        said.answers = operator_open(&link, &daemons[i]) && operator_status(&link, note, &said);
        said.launcher = launcher_of(link.pid);
        operator_close(&link);
        if (said.answers)
            *summary = said;
    }
}

/* ---- choosing ---- */

static void check_prefix(const struct command *command, const char *prefix)
{
    size_t digits = strspn(prefix, "0123456789abcdefABCDEF");
    if (digits < 1 || digits > 16 || prefix[digits] != '\0')
        args_fail(command, "--cluster is '%s', but must be 1 to 16 hexadecimal digits", prefix);
}

/* Whose clusters.  Others are root's business only. */
static uid_t user_of(const struct command *command, const struct operator_choice *choice)
{
    uint64_t number;
    if (choice->prefix != NULL)
        check_prefix(command, choice->prefix);
    if (choice->all && choice->user != NULL)
        args_fail(command, "--all and --user '%s' exclude each other", choice->user);
    if (choice->all && geteuid() != 0)
        args_fail(command, "--all is for root; without it your own clusters are meant");
    if (choice->user == NULL)
        return choice->all ? OPERATOR_ANY_USER : geteuid();
    const struct passwd *user = getpwnam(choice->user);
    bool is_number = user == NULL && args_number(choice->user, &number) && number < UINT32_MAX;
    if (user == NULL && !is_number)
        args_fail(command, "--user is '%s', but there is no such user on this host", choice->user);
    uid_t uid = is_number ? (uid_t)number : user->pw_uid;
    if (geteuid() != 0 && uid != geteuid())
        args_fail(command, "--user is '%s', but only root may see clusters of other users",
                  choice->user);
    return uid;
}

static bool read_all(const struct command *command, uid_t uid, struct operator_found *found)
{
    *found = (struct operator_found){0};
    FILE *file = fopen("/proc/net/unix", "re");
    bool good = file != NULL && operator_read(file, uid, found);
    int error = errno;
    if (file != NULL)
        fclose(file);
    if (good)
        return true;
    fprintf(stderr, "%s: cannot read /proc/net/unix: %s\n", command->path, strerror(error));
    operator_free(found);
    return false;
}

static void drop_foreign(struct operator_found *found)
{
    size_t kept = 0;
    for (size_t i = 0; i < found->count; i++)
        if (!operator_is_foreign(&found->daemons[i]))
            found->daemons[kept++] = found->daemons[i];
    found->count = kept;
}

static void say_others(const struct command *command)
{
    struct operator_found found;
    if (geteuid() != 0 || !read_all(command, OPERATOR_ANY_USER, &found))
        return;
    size_t clusters = operator_keep(&found, NULL);
    if (clusters > 0)
        fprintf(stderr,
                "        %zu cluster%s of other users %s running: see 'muster status --all'\n",
                clusters, clusters == 1 ? "" : "s", clusters == 1 ? "is" : "are");
    operator_free(&found);
}

static void say_none(const struct command *command, const struct operator_choice *choice)
{
    if (choice->prefix != NULL)
        fprintf(
            stderr,
            "%s: no cluster on this host has an ID that begins with '%s' ('muster status' lists "
            "clusters)\n",
            command->path, choice->prefix);
    else if (choice->user != NULL)
        fprintf(stderr, "%s: no running cluster of user '%s' found on this host\n", command->path,
                choice->user);
    else
        fprintf(stderr,
                "%s: no running cluster found on this host\n"
                "        Start one with 'muster run', or ask the host where it runs: ssh HOST "
                "muster status\n",
                command->path);
    if (choice->prefix == NULL && choice->user == NULL && !choice->all)
        say_others(command);
}

bool operator_find_all(const struct command *command, const struct operator_choice *choice,
                       struct operator_found *found)
{
    if (!read_all(command, user_of(command, choice), found))
        return false;
    /* Who listens is only asked where it decides something: each question is a connection. */
    if (operator_keep(found, choice->prefix) != 1)
        drop_foreign(found);
    if (found->count > 0)
        return true;
    say_none(command, choice);
    operator_free(found);
    return false;
}

static void say_several(const struct command *command, const struct operator_found *found,
                        size_t clusters)
{
    enum { SHOWN = 8 };
    size_t count = 0, shown = 0;
    fprintf(stderr, "%s: %zu clusters are running on this host; select one with --cluster ID\n",
            command->path, clusters);
    for (size_t i = 0; i < found->count && shown < SHOWN; i += count, shown++) {
        struct operator_summary of;
        char id[OPERATOR_ID_DIGITS + 1], age[OPERATOR_AGE_MAX], job[OPERATOR_PROGRAM_MAX + 32] = "";
        const struct operator_daemon *daemons = operator_cluster(found, i, &count);
        operator_summarize(daemons, count, &of);
        if (of.jobs > 0)
            snprintf(job, sizeof job, ", job %u%s%s", of.job, of.program[0] != '\0' ? ": " : "",
                     of.program);
        operator_id_text(of.id, id);
        if (of.answers)
            fprintf(stderr, "        %s  %u node%s%s, up %s\n", id, of.nodes,
                    of.nodes == 1 ? "" : "s", job, operator_age_text(of.up_ns, age));
        else
            fprintf(stderr, "        %s  no answer\n", id);
    }
    if (clusters > shown)
        fprintf(stderr, "        and %zu more ('muster status' lists all)\n", clusters - shown);
}

bool operator_find(const struct command *command, const struct operator_choice *choice,
                   struct operator_found *found)
{
    if (!operator_find_all(command, choice, found))
        return false;
    size_t clusters = operator_keep(found, NULL);
    if (clusters == 1)
        return true;
    say_several(command, found, clusters);
    operator_free(found);
    return false;
}
