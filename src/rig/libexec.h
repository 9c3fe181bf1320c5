/* Where programs are that muster starts and that are commands for nobody. */
#ifndef MU_RIG_LIBEXEC_H
#define MU_RIG_LIBEXEC_H

#include <limits.h>

/* Not next to this executable: of PREFIX/bin/muster they are in PREFIX/libexec/muster, or where the
 * build was told to install such programs.  0, or why it cannot be executed; 'path' says where it
 * would be. */
int libexec_find(const char *name, char path[PATH_MAX]);

#endif
