/* Where the output of the ranks goes, and words of muster itself: to standard output and error in
 * whole lines, or into files as it is.
 *
 * Memory is bounded: bytes that wait to be written hold back the credit of the node that they came
 * from.  Bytes that are held back because their line has not ended do not, or one line without an
 * end could make its node wait forever; they have a bound of their own. */
#ifndef MU_RUN_OUTPUT_OUTPUT_H
#define MU_RUN_OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct run_output;

struct run_output_hooks {
    void *owner;
    /* So many bytes that came from this source are done with; also within run_output_put(). */
    void (*credit)(void *owner, uint32_t source, uint64_t bytes);
    /* Once for each place that cannot be written to: its name, and the errno. */
    void (*failed)(void *owner, const char *where, int error);
    /* run_output_drained() has become true. */
    void (*drained)(void *owner);
};

struct run_output_config {
    uv_loop_t *loop;
    uint32_t ranks;
    bool tags;
    const char *folder; /* NULL: standard output and error */
    struct run_output_hooks hooks;
};

/* NULL with a sentence in 'text'. */
struct run_output *run_output_open(const struct run_output_config *config, char *text, size_t room);

/* Room for the ranks of one more job, not with a folder.  Their tags say its number.  Returns the
 * first of them, as run_output_put() is to be told. */
uint32_t run_output_more(struct run_output *output, uint32_t job, uint32_t ranks);

/* All streams of that job have ended: its room may be another one's. */
void run_output_less(struct run_output *output, uint32_t first);

/* Gives up what was not written.  The memory of its threads goes when the loop has run once more.
 */
void run_output_close(struct run_output *output);

/* 'source' is for the hook 'credit' only: below 2^32 - 1. */
void run_output_put(struct run_output *output, uint32_t rank, uint32_t source, uint8_t stream,
                    const uint8_t *bytes, uint32_t count);
void run_output_end(struct run_output *output, uint32_t rank, uint8_t stream);

/* Whole lines of muster's own, on standard error. */
void run_output_say(struct run_output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Everything that was put has been written or given up. */
bool run_output_drained(const struct run_output *output);

#endif
