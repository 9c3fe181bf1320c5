/* What the daemons of a machine of our own say on standard error: kept, and shown only when
 * something went wrong. */
#ifndef MU_CHAOS_RANDOM_LOG_H
#define MU_CHAOS_RANDOM_LOG_H

#include <stdbool.h>

struct chaos_log {
    int fd;    /* memory, to which they append */
    int saved; /* our own standard error, while it leads there */
};

/* False with errno. */
bool chaos_log_open(struct chaos_log *log);
void chaos_log_close(struct chaos_log *log);

/* Between these two, standard error leads to the log: whoever is started keeps that. */
void chaos_log_divert(struct chaos_log *log);
void chaos_log_restore(struct chaos_log *log);

/* What was said since the last one of these, to standard error or to nobody. */
void chaos_log_show(struct chaos_log *log);
void chaos_log_forget(struct chaos_log *log);

#endif
