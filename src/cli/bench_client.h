/* The program that a bench starts on every node: bench_client_main.c. */
#ifndef MU_CLI_BENCH_CLIENT_H
#define MU_CLI_BENCH_CLIENT_H

#include <limits.h>

/* It is no command for anybody, so it is not next to this executable: of PREFIX/bin/muster it is in
 * PREFIX/libexec/muster, or where the build was told to install such programs.  0, or why it cannot
 * be executed; 'path' says where it would be. */
int bench_client_find(char path[PATH_MAX]);

#endif
