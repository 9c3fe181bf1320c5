#include "wire/record/recording.h"

static struct mu_writer writer_of(struct mu_recording *recording)
{
    struct mu_writer writer;
    mu_writer_init(&writer, recording->bytes, sizeof recording->bytes);
    return writer;
}

static bool take(struct mu_recording *recording, const struct mu_writer *writer,
                 struct mu_record_result result)
{
    bool good = result.error == MU_RECORD_OK;
    recording->count = good ? writer->used : 0;
    return good;
}

bool mu_recording_start(struct mu_recording *recording, const struct mu_config *config)
{
    recording->state = (struct mu_record_state){0};
    mu_record_digest_start(&recording->digest, config);
    struct mu_writer writer = writer_of(recording);
    return take(recording, &writer, mu_record_encode_header(&writer, config));
}

bool mu_recording_step(struct mu_recording *recording, const struct mu_event *event,
                       const struct mu_update *update)
{
    mu_record_digest_step(&recording->digest, event, update);
    struct mu_writer writer = writer_of(recording);
    return take(recording, &writer, mu_record_encode_event(&recording->state, &writer, event));
}

bool mu_recording_end(struct mu_recording *recording)
{
    struct mu_writer writer = writer_of(recording);
    return take(recording, &writer,
                mu_record_encode_end(&recording->state, &writer, &recording->digest));
}
