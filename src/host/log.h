/* What a daemon has to say to whoever operates it: single lines on standard error. */
#ifndef MU_HOST_LOG_H
#define MU_HOST_LOG_H

#include <stdbool.h>

/* "musterd NAME: " before every line.  The name is copied. */
void mu_log_open(const char *name, bool verbose);

/* What somebody should know. */
void mu_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What helps to find out why; only with --verbose. */
void mu_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
