/* Reads standard input on a thread of its own, one piece when it is asked for one, so that nothing
 * is taken from a terminal or pipe that nobody has room for.
 *
 * As a background job of the terminal it does not read, and waits until it is in the foreground. */
#ifndef MU_RUN_OUTPUT_INPUT_H
#define MU_RUN_OUTPUT_INPUT_H

#include <stdint.h>
#include <uv.h>

enum { INPUT_PIECE_MAX = 64 * 1024 };

struct input;

struct input_hooks {
    void *owner;
    /* On the loop: the piece that was asked for; 'count' 0: the end, or it cannot be read. */
    void (*piece)(void *owner, const uint8_t *bytes, uint32_t count);
};

/* Starts the thread, which reads nothing yet.  Returns 0, or an errno with *input untouched. */
int input_open(uv_loop_t *loop, int descriptor, const struct input_hooks *hooks,
               struct input **input);

/* No hook is called any more.  The memory goes when the loop has run once more.  NULL is fine. */
void input_close(struct input *input);

/* Asks for a piece of at most 'count' bytes; not before the last one has come, nor after the end.
 */
void input_ask(struct input *input, uint32_t count);

#endif
