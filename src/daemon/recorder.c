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
    struct mu_record_state state;
    struct mu_fingerprint digest;
    uint8_t bytes[MU_RECORD_MAX];
};

static void put(struct mu_recorder *recorder, const struct mu_writer *writer)
{
    if (recorder->error == 0 &&
        fwrite(writer->bytes, 1, writer->used, recorder->file) != writer->used)
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
    struct mu_writer writer;
    mu_writer_init(&writer, recorder->bytes, sizeof recorder->bytes);
    struct mu_record_result result = mu_record_encode_header(&writer, config);
    assert(result.error == MU_RECORD_OK);
    put(recorder, &writer);
    mu_record_digest_start(&recorder->digest, config);
    return recorder;
}

void mu_recorder_event(struct mu_recorder *recorder, const struct mu_event *event)
{
    struct mu_writer writer;
    mu_writer_init(&writer, recorder->bytes, sizeof recorder->bytes);
    struct mu_record_result result = mu_record_encode_event(&recorder->state, &writer, event);
    assert(result.error == MU_RECORD_OK);
    put(recorder, &writer);
}

void mu_recorder_update(struct mu_recorder *recorder, const struct mu_event *event,
                        const struct mu_update *update)
{
    mu_record_digest_step(&recorder->digest, event, update);
}

int mu_recorder_close(struct mu_recorder *recorder)
{
    struct mu_writer writer;
    mu_writer_init(&writer, recorder->bytes, sizeof recorder->bytes);
    struct mu_record_result result =
        mu_record_encode_end(&recorder->state, &writer, &recorder->digest);
    assert(result.error == MU_RECORD_OK);
    put(recorder, &writer);
    if (fclose(recorder->file) != 0 && recorder->error == 0)
        recorder->error = errno;
    int error = recorder->error;
    free(recorder);
    return error;
}
