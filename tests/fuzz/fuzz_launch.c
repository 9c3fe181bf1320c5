/* Messages of launchers: what decodes encodes to the same bytes, and what does not is told in a
 * sentence.  A few bytes never take much memory. */
#include "wire/launch/launch.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_canonical(const uint8_t *bytes, size_t count,
                            const struct mu_launch_message *message)
{
    uint8_t *again = malloc(count);
    struct mu_writer writer;
    mu_writer_init(&writer, again, count);
    mu_launch_encode(&writer, message);
    assert(!writer.full && writer.used == count && memcmp(again, bytes, count) == 0);
    free(again);
}

static void check_lookups(const struct mu_launch_job *spec)
{
    const uint32_t ranks[] = {0, spec->size / 2, spec->size - 1};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        const struct mu_launch_run *run = mu_launch_run_of(spec, ranks[i]);
        const struct mu_launch_program *program = mu_launch_program_of(spec, ranks[i]);
        assert(ranks[i] >= run->first && ranks[i] - run->first < run->count);
        assert(ranks[i] >= program->first && ranks[i] - program->first < program->count);
    }
    assert(mu_launch_run_of(spec, spec->size) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mu_launch_message message;
    struct mu_launch_lists lists = {NULL};
    char text[MU_WIRE_TEXT_MAX];
    const char *error = mu_launch_decode(data, size, &message, &lists, text);
    assert(lists.memory == NULL || malloc_usable_size(lists.memory) <= 9 * size);
    if (error != NULL)
        assert(strlen(error) > 0 && strlen(error) < sizeof text - 1);
    else
        check_canonical(data, size, &message);
    if (error == NULL && message.type == MU_LAUNCH_JOB)
        check_lookups(&message.spec);
    mu_launch_lists_free(&lists);
    return 0;
}
