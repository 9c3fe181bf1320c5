#include "run/output/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_MAX = 256 };

struct run_files {
    int folder;
    char *name; /* of the folder */
    uint32_t count;
    int *descriptors;          /* by target; -1: not open */
    uint32_t opened[OPEN_MAX]; /* targets that are, in a ring; the oldest is closed for a new one */
    uint32_t next;             /* place in the ring */
    uint32_t open;
};

int run_files_make_folder(const char *folder)
{
    struct stat status;
    if (mkdir(folder, 0777) == 0)
        return 0;
    int error = errno;
    if (error == EEXIST && stat(folder, &status) == 0 && !S_ISDIR(status.st_mode))
        return ENOTDIR;
    return error == EEXIST ? 0 : error;
}

static void file_name(uint32_t target, char name[32])
{
    snprintf(name, 32, "rank-%u.%s", target / 2, target % 2 == 0 ? "out" : "err");
}

const char *run_files_path(const struct run_files *files, uint32_t target, char *text, size_t room)
{
    char name[32];
    file_name(target, name);
    snprintf(text, room, "%s/%s", files->name, name);
    return text;
}

static int open_file(const struct run_files *files, uint32_t target, int flags)
{
    char name[32];
    file_name(target, name);
    return openat(files->folder, name, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, 0666);
}

/* All of them at first, so that what cannot be written is known before anything runs. */
static bool make_files(struct run_files *files, char *text, size_t room)
{
    char path[PATH_MAX];
    for (uint32_t target = 0; target < files->count; target++) {
        int descriptor = open_file(files, target, O_CREAT | O_TRUNC);
        if (descriptor < 0) {
            snprintf(text, room, "%s: %s", run_files_path(files, target, path, sizeof path),
                     strerror(errno));
            return false;
        }
        close(descriptor);
    }
    return true;
}

struct run_files *run_files_open(const char *folder, uint32_t ranks, char *text, size_t room)
{
    int error = run_files_make_folder(folder);
    struct run_files *files = calloc(1, sizeof *files);
    if (error == 0 && files != NULL) {
        files->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (files->folder < 0)
            error = errno;
    }
    if (error != 0 || files == NULL) {
        snprintf(text, room, "%s: %s", folder, strerror(files == NULL ? ENOMEM : error));
        free(files);
        return NULL;
    }
    files->count = 2 * ranks;
    files->name = strdup(folder);
    files->descriptors = malloc(files->count * sizeof *files->descriptors);
    if (files->name == NULL || files->descriptors == NULL) {
        snprintf(text, room, "no memory for %u files", files->count);
        run_files_close(files);
        return NULL;
    }
    for (uint32_t i = 0; i < files->count; i++)
        files->descriptors[i] = -1;
    if (make_files(files, text, room))
        return files;
    run_files_close(files);
    return NULL;
}

int run_files_descriptor(void *owner, uint32_t target)
{
    struct run_files *files = owner;
    if (files->descriptors[target] >= 0)
        return files->descriptors[target];
    uint32_t *place = &files->opened[files->next];
    if (files->open == OPEN_MAX) {
        close(files->descriptors[*place]);
        files->descriptors[*place] = -1;
        files->open--;
    }
    int descriptor = open_file(files, target, O_APPEND);
    if (descriptor < 0)
        return -1;
    *place = target;
    files->descriptors[target] = descriptor;
    files->next = (files->next + 1) % OPEN_MAX;
    files->open++;
    return descriptor;
}

void run_files_close(struct run_files *files)
{
    if (files == NULL)
        return;
    for (uint32_t i = 0; files->descriptors != NULL && i < files->count; i++)
        if (files->descriptors[i] >= 0)
            close(files->descriptors[i]);
    close(files->folder);
    free(files->descriptors);
    free(files->name);
    free(files);
}
