#include "daemon/recorder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct mu_recorder {
    FILE *file;
    int error; /* the first one: what follows would be a recording with a hole */
    struct mu_recording recording;
};

/* The core gets no event that cannot be recorded: 'made' is an invariant. */
static void put(struct mu_recorder *recorder, bool made)
{
    const struct mu_recording *piece = &recorder->recording;
    assert(made);
    if (recorder->error == 0 &&
        fwrite(piece->bytes, 1, piece->count, recorder->file) != piece->count)
        recorder->error = errno;
}

struct mu_recorder *mu_recorder_open(const char *path, const struct mu_config *config)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return NULL;
    struct mu_recorder *recorder = calloc(1, sizeof *recorder);
    FILE *file = recorder != NULL ? fdopen(fd, "wb") : NULL;
    if (file == NULL) {
        free(recorder);
        close(fd);
        return NULL;
    }
    recorder->file = file;
    put(recorder, mu_recording_start(&recorder->recording, config));
    return recorder;
}

void mu_recorder_step(struct mu_recorder *recorder, const struct mu_event *event,
                      const struct mu_update *update)
{
    put(recorder, mu_recording_step(&recorder->recording, event, update));
}

int mu_recorder_close(struct mu_recorder *recorder)
{
    put(recorder, mu_recording_end(&recorder->recording));
    if (fclose(recorder->file) != 0 && recorder->error == 0)
        recorder->error = errno;
    int error = recorder->error;
    free(recorder);
    return error;
}
