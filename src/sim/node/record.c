#include "sim/node/record.h"

/* In pieces of no more than one step. */
static void write_out(struct sim_recorder *recorder)
{
    struct mu_stream *stream = &recorder->stream;
    if (stream->gap || fwrite(stream->bytes, 1, stream->count, recorder->to) != stream->count)
        recorder->failed = true;
    stream->count = 0;
}

bool sim_record_start(struct sim_recorder *recorder, FILE *to, const struct mu_config *config)
{
    *recorder = (struct sim_recorder){.to = to, .node = config->self};
    mu_stream_start(&recorder->stream, MU_RECORD_NODE, config);
    write_out(recorder);
    return !recorder->failed;
}

void sim_record_step(struct sim_recorder *recorder, mu_slot node, const struct mu_event *event,
                     const struct mu_update *update)
{
    if (node != recorder->node)
        return;
    mu_stream_step(&recorder->stream, event, update);
    write_out(recorder);
}

bool sim_record_end(struct sim_recorder *recorder)
{
    mu_stream_end(&recorder->stream);
    write_out(recorder);
    mu_stream_free(&recorder->stream);
    return !recorder->failed && fflush(recorder->to) == 0;
}
