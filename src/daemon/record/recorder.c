#include "daemon/record/recorder.h"

#include "host/log.h"
#include "host/memory.h"
#include "host/spsc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RING_QUEUE = 4096 }; /* steps of the ring in one turn of the loop */

struct mu_record_stream {
    struct mu_recorder *recorder;
    struct mu_record_stream *next;
    int fd;
    struct mu_stream bytes;
};

/* One step of the ring, on its way from one thread to the other. */
struct ring_step {
    struct mu_detect_event event;
    struct mu_beat beat; /* RECV */
    struct mu_fingerprint digest;
};

struct mu_recorder {
    char folder[PATH_MAX];
    uv_prepare_t prepare;
    int error; /* the first one */
    uint32_t made, gathers;
    bool refused; /* a stream, and that was said */
    struct mu_record_stream *streams;

    struct mu_record_stream *ring;
    struct mu_spsc queue;
    struct ring_step *steps;
    struct mu_fingerprint digest; /* of the heartbeat thread */
    bool full;                    /* likewise: it puts no more */
    atomic_bool gap;
};

/* ---- files ---- */

static void note(struct mu_recorder *recorder, int error)
{
    if (recorder->error == 0)
        recorder->error = error;
}

/* After an error the stream ends where it is: what follows would be behind a hole. */
static void write_out(struct mu_record_stream *stream)
{
    struct mu_stream *bytes = &stream->bytes;
    size_t done = 0;
    while (stream->fd >= 0 && done < bytes->count) {
        ssize_t written = write(stream->fd, bytes->bytes + done, bytes->count - done);
        if (written >= 0) {
            done += (size_t)written;
        } else if (errno != EINTR) {
            note(stream->recorder, errno);
            close(stream->fd);
            stream->fd = -1;
        }
    }
    bytes->count = 0;
}

static void take_ring(struct mu_recorder *recorder)
{
    struct ring_step step;
    if (recorder->ring == NULL)
        return;
    bool gap = atomic_load(&recorder->gap); /* before the last steps that came before it */
    while (mu_spsc_take(&recorder->queue, &step)) {
        if (step.event.type == MU_DETECT_RECV)
            step.event.beat = &step.beat;
        mu_stream_put(&recorder->ring->bytes, &step.event, &step.digest);
    }
    if (!gap || recorder->ring->bytes.gap)
        return;
    mu_stream_gap(&recorder->ring->bytes);
    mu_warn("the recording of the ring is incomplete: the main loop has not taken what entered it");
}

static void write_all(struct mu_recorder *recorder)
{
    take_ring(recorder);
    for (struct mu_record_stream *stream = recorder->streams; stream != NULL; stream = stream->next)
        write_out(stream);
}

static void on_prepare(uv_prepare_t *prepare)
{
    write_all(prepare->data);
}

/* ---- streams ---- */

static void name_stream(struct mu_recorder *recorder, enum mu_record_door door, char *path)
{
    const char *name = mu_record_door_name(door);
    if (door == MU_RECORD_GATHER)
        snprintf(path, PATH_MAX + 64, "%s/%s-%u.record", recorder->folder, name,
                 (unsigned)++recorder->gathers);
    else
        snprintf(path, PATH_MAX + 64, "%s/%s.record", recorder->folder, name);
}

static struct mu_record_stream *refuse(struct mu_recorder *recorder, const char *path, int error)
{
    note(recorder, error);
    if (!recorder->refused)
        mu_warn("the recording is incomplete: no stream %s: %s", path, strerror(error));
    recorder->refused = true;
    return NULL;
}

struct mu_record_stream *mu_recorder_stream(struct mu_recorder *recorder, enum mu_record_door door,
                                            const void *config)
{
    char path[PATH_MAX + 64];
    if (recorder == NULL)
        return NULL;
    name_stream(recorder, door, path);
    if (recorder->made == MU_RECORDER_STREAMS_MAX)
        return refuse(recorder, path, ENFILE);
    struct mu_record_stream *stream = calloc(1, sizeof *stream);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || stream == NULL) {
        int error = fd < 0 ? errno : ENOMEM;
        free(stream);
        if (fd >= 0)
            close(fd);
        return refuse(recorder, path, error);
    }
    recorder->made++;
    stream->recorder = recorder;
    stream->fd = fd;
    stream->next = recorder->streams;
    recorder->streams = stream;
    mu_stream_start(&stream->bytes, door, config);
    return stream;
}

void mu_recorder_step(struct mu_record_stream *stream, const void *event, const void *update)
{
    if (stream != NULL)
        mu_stream_step(&stream->bytes, event, update);
}

void mu_recorder_end(struct mu_record_stream *stream)
{
    if (stream == NULL)
        return;
    struct mu_record_stream **place = &stream->recorder->streams;
    while (*place != stream)
        place = &(*place)->next;
    *place = stream->next;
    mu_stream_end(&stream->bytes);
    write_out(stream);
    if (stream->bytes.gap)
        note(stream->recorder, ENOBUFS);
    if (stream->fd >= 0 && close(stream->fd) != 0)
        note(stream->recorder, errno);
    mu_stream_free(&stream->bytes);
    free(stream);
}

/* ---- the ring ---- */

void *mu_recorder_ring(struct mu_recorder *recorder, const struct mu_detect_config *config)
{
    if (recorder == NULL)
        return NULL;
    recorder->steps = calloc(RING_QUEUE, sizeof *recorder->steps);
    if (recorder->steps == NULL)
        return refuse(recorder, "ring", ENOMEM);
    mu_memory_populate(recorder->steps, RING_QUEUE * sizeof *recorder->steps);
    mu_spsc_init(&recorder->queue, recorder->steps, RING_QUEUE, sizeof *recorder->steps);
    recorder->ring = mu_recorder_stream(recorder, MU_RECORD_RING, config);
    mu_stream_digest_start(MU_RECORD_RING, config, &recorder->digest);
    return recorder->ring != NULL ? recorder : NULL;
}

/* On the heartbeat thread. */
void mu_recorder_on_ring(void *context, const struct mu_detect_event *event,
                         const struct mu_detect_update *update)
{
    struct mu_recorder *recorder = context;
    if (recorder->full)
        return;
    mu_stream_digest(MU_RECORD_RING, 0, event, update, &recorder->digest);
    struct ring_step step = {.event = *event, .digest = recorder->digest};
    if (event->type == MU_DETECT_RECV)
        step.beat = *event->beat;
    recorder->full = !mu_spsc_put(&recorder->queue, &step);
    if (recorder->full)
        atomic_store(&recorder->gap, true);
}

/* ---- beginning and end ---- */

int mu_recorder_open(uv_loop_t *loop, const char *folder, struct mu_recorder **recorder)
{
    if (strlen(folder) >= PATH_MAX)
        return ENAMETOOLONG;
    if (mkdir(folder, 0700) != 0)
        return errno;
    struct mu_recorder *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ENOMEM;
    snprintf(made->folder, sizeof made->folder, "%s", folder);
    uv_prepare_init(loop, &made->prepare);
    made->prepare.data = made;
    uv_prepare_start(&made->prepare, on_prepare);
    uv_unref((uv_handle_t *)&made->prepare);
    *recorder = made;
    return 0;
}

void mu_recorder_stop(struct mu_recorder *recorder)
{
    if (recorder == NULL)
        return;
    write_all(recorder);
    uv_close((uv_handle_t *)&recorder->prepare, NULL);
}

int mu_recorder_close(struct mu_recorder *recorder)
{
    if (recorder == NULL)
        return 0;
    take_ring(recorder);
    while (recorder->streams != NULL)
        mu_recorder_end(recorder->streams);
    int error = recorder->error;
    free(recorder->steps);
    free(recorder);
    return error;
}
