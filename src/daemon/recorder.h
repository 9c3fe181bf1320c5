/* Writes what enters the core to a file, so that it can be run again (docs/record.md). */
#ifndef MU_DAEMON_RECORDER_H
#define MU_DAEMON_RECORDER_H

#include "wire/record/recording.h"

struct mu_recorder;

/* A new file, which only its owner can read; one that is there is an error.  NULL with errno. */
struct mu_recorder *mu_recorder_open(const char *path, const struct mu_config *config);

/* One step: the event, and what came of it. */
void mu_recorder_step(struct mu_recorder *recorder, const struct mu_event *event,
                      const struct mu_update *update);

/* Writes the end.  Returns 0, or the errno of what could not be written on the way. */
int mu_recorder_close(struct mu_recorder *recorder);

#endif
