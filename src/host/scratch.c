#define _GNU_SOURCE
#include "host/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 32, NAME_MAX_OURS = 64, TRIES = 100 };

/* ---- where ---- */

static const char *base(void)
{
    return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

static void write_prefix(char name[NAME_MAX_OURS])
{
    snprintf(name, NAME_MAX_OURS, "muster.%u.", (unsigned)geteuid());
}

static void write_name(char name[NAME_MAX_OURS], uint64_t machine, mu_slot slot)
{
    snprintf(name, NAME_MAX_OURS, "muster.%u.%016" PRIx64 ".%" PRIu32, (unsigned)geteuid(), machine,
             slot);
}

/* ---- removing ---- */

/* Everything in the folder, which is closed.  Links are removed, not followed. */
static void empty(int folder, int depth)
{
    DIR *entries = fdopendir(folder);
    if (entries == NULL) {
        close(folder);
        return;
    }
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            unlinkat(folder, entry->d_name, 0) == 0)
            continue;
        int inner = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0 && depth < DEPTH_MAX)
            empty(inner, depth + 1);
        else if (inner >= 0)
            close(inner);
        unlinkat(folder, entry->d_name, AT_REMOVEDIR);
    }
    closedir(entries);
}

static void remove_in(int parent, const char *name)
{
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return;
    empty(folder, 0);
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* Unless somebody lives in it. */
static void remove_dead(int parent, const char *name)
{
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return;
    struct stat status;
    bool ours = fstat(folder, &status) == 0 && status.st_uid == geteuid();
    if (ours && flock(folder, LOCK_EX | LOCK_NB) == 0)
        remove_in(parent, name);
    close(folder);
}

static void remove_all_dead(int parent)
{
    char prefix[NAME_MAX_OURS];
    write_prefix(prefix);
    int again = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = again >= 0 ? fdopendir(again) : NULL;
    if (entries == NULL) {
        if (again >= 0)
            close(again);
        return;
    }
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            remove_dead(parent, entry->d_name);
    closedir(entries);
}

static int open_base(void)
{
    return open(base(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* ---- a daemon's ---- */

/* Others may make folders there, too, by a name that they have guessed. */
static bool is_ours(const struct stat *folder)
{
    return folder->st_uid == geteuid() && (folder->st_mode & 077) == 0;
}

/* Between making and locking it, another daemon may take it for that of a dead one. */
static int make_and_lock(int parent, const char *name)
{
    for (int i = 0; i < TRIES; i++) {
        struct stat here, there;
        if (mkdirat(parent, name, 0700) != 0 && errno != EEXIST)
            return -1;
        int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
            continue;
        if (fd < 0)
            return -1;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &here) == 0 && is_ours(&here) &&
            fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && here.st_ino == there.st_ino)
            return fd;
        close(fd);
    }
    errno = EBUSY;
    return -1;
}

int mu_scratch_open(struct mu_scratch *scratch, uint64_t machine, mu_slot slot)
{
    char name[NAME_MAX_OURS];
    int parent = open_base();
    scratch->fd = -1;
    if (parent < 0)
        return errno;
    remove_all_dead(parent);
    write_name(name, machine, slot);
    scratch->fd = make_and_lock(parent, name);
    int error = errno;
    close(parent);
    snprintf(scratch->path, sizeof scratch->path, "%s/%s", base(), name);
    return scratch->fd >= 0 ? 0 : error;
}

int mu_scratch_job(const struct mu_scratch *scratch, uint32_t job, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%" PRIu32, scratch->path, job);
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : errno;
}

void mu_scratch_job_over(const struct mu_scratch *scratch, uint32_t job)
{
    char name[16];
    snprintf(name, sizeof name, "%" PRIu32, job);
    if (scratch->fd >= 0)
        remove_in(scratch->fd, name);
}

void mu_scratch_close(struct mu_scratch *scratch)
{
    if (scratch->fd < 0)
        return;
    int parent = open_base();
    if (parent >= 0) {
        remove_in(parent, strrchr(scratch->path, '/') + 1);
        close(parent);
    }
    close(scratch->fd);
    scratch->fd = -1;
}

/* ---- a launcher's ---- */

void mu_scratch_remove(uint64_t machine, mu_slot slot)
{
    char name[NAME_MAX_OURS];
    int parent = open_base();
    if (parent < 0)
        return;
    write_name(name, machine, slot);
    remove_dead(parent, name);
    close(parent);
}
