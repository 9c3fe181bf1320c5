#include "rig/libexec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int libexec_find(const char *name, char path[PATH_MAX])
{
    char rest[256];
    int rest_length = snprintf(rest, sizeof rest, "/%s/%s", MUSTER_LIBEXEC, name);
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof rest);
    for (int up = 0; up < 2; up++) /* the executable, and its folder */
        do
            length--;
        while (length > 0 && path[length] != '/');
    memcpy(path + (length > 0 ? length : 0), rest, (size_t)rest_length + 1);
    return access(path, X_OK) == 0 ? 0 : errno;
}
