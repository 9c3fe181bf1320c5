#include "run/output/input.h"

#include "host/thread.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { BACKGROUND_MS = 200 }; /* between two looks whether we are in the foreground by now */

struct input {
    struct input_hooks hooks;
    int descriptor;
    int over; /* an eventfd: readable when the thread is to end */
    uv_async_t wake;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked;
    /* under the lock */
    uint32_t wanted;
    bool answered, closing;
    bool reading;
    /* of the thread until 'answered', then of the loop */
    uint32_t count;
    uint8_t bytes[INPUT_PIECE_MAX];
};

/* ---- the thread ---- */

/* A terminal that another group of processes has: reading it would stop us. */
static bool in_background(const struct input *input)
{
    pid_t foreground = tcgetpgrp(input->descriptor);
    return foreground >= 0 && foreground != getpgrp();
}

/* False: it is over. */
static bool wait_readable(const struct input *input)
{
    for (;;) {
        bool background = in_background(input);
        struct pollfd polled[2] = {{.fd = input->over, .events = POLLIN},
                                   {.fd = background ? -1 : input->descriptor, .events = POLLIN}};
        if (poll(polled, 2, background ? BACKGROUND_MS : -1) < 0 && errno != EINTR)
            return false;
        if (polled[0].revents != 0)
            return false;
        if (polled[1].revents != 0)
            return true;
    }
}

/* From here on the thread may hang in read(): poll() said that there is something, and another
 * reader may be faster.  False: it is over. */
static bool begin_reading(struct input *input)
{
    pthread_mutex_lock(&input->lock);
    bool may_read = !input->closing;
    input->reading = may_read;
    pthread_mutex_unlock(&input->lock);
    if (may_read)
        thread_may_be_cancelled();
    return may_read;
}

static void end_reading(struct input *input)
{
    thread_must_not_be_cancelled();
    pthread_mutex_lock(&input->lock);
    input->reading = false;
    pthread_mutex_unlock(&input->lock);
}

/* SIGTTIN is blocked here: read() fails with EIO if we have just become a background job. */
static uint32_t read_piece(struct input *input, uint32_t wanted)
{
    while (wait_readable(input) && begin_reading(input)) {
        ssize_t count = read(input->descriptor, input->bytes, wanted);
        int error = errno;
        end_reading(input);
        if (count >= 0)
            return (uint32_t)count;
        bool again = error == EINTR || error == EAGAIN || (error == EIO && in_background(input));
        if (!again)
            return 0;
    }
    return 0;
}

static void *run(void *argument)
{
    struct input *input = argument;
    thread_must_not_be_cancelled();
    pthread_mutex_lock(&input->lock);
    while (!input->closing) {
        if (input->wanted == 0) {
            pthread_cond_wait(&input->asked, &input->lock);
            continue;
        }
        uint32_t wanted = input->wanted;
        pthread_mutex_unlock(&input->lock);
        uint32_t count = read_piece(input, wanted);
        pthread_mutex_lock(&input->lock);
        input->count = count;
        input->wanted = 0;
        input->answered = true;
        if (!input->closing)
            uv_async_send(&input->wake);
    }
    pthread_mutex_unlock(&input->lock);
    return NULL;
}

/* ---- the loop ---- */

static void on_wake(uv_async_t *wake)
{
    struct input *input = wake->data;
    pthread_mutex_lock(&input->lock);
    bool answered = input->answered;
    input->answered = false;
    pthread_mutex_unlock(&input->lock);
    if (answered)
        input->hooks.piece(input->hooks.owner, input->bytes, input->count);
}

static void on_closed(uv_handle_t *handle)
{
    struct input *input = handle->data;
    pthread_cond_destroy(&input->asked);
    pthread_mutex_destroy(&input->lock);
    if (input->over >= 0)
        close(input->over);
    free(input);
}

int input_open(uv_loop_t *loop, int descriptor, const struct input_hooks *hooks,
               struct input **result)
{
    struct input *input = calloc(1, sizeof *input);
    if (input == NULL)
        return ENOMEM;
    input->hooks = *hooks;
    input->descriptor = descriptor;
    pthread_mutex_init(&input->lock, NULL);
    pthread_cond_init(&input->asked, NULL);
    input->wake.data = input;
    int error = -uv_async_init(loop, &input->wake, on_wake);
    if (error != 0) {
        free(input);
        return error;
    }
    input->over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    error = input->over < 0 ? errno : thread_start(&input->thread, run, input);
    if (error != 0) {
        uv_close((uv_handle_t *)&input->wake, on_closed);
        return error;
    }
    *result = input;
    return 0;
}

void input_close(struct input *input)
{
    if (input == NULL)
        return;
    pthread_mutex_lock(&input->lock);
    input->closing = true;
    bool is_reading = input->reading;
    pthread_cond_signal(&input->asked);
    eventfd_write(input->over, 1);
    pthread_mutex_unlock(&input->lock);
    if (thread_end(input->thread, is_reading))
        uv_close((uv_handle_t *)&input->wake, on_closed);
    else /* the thread may still look at all this */
        uv_close((uv_handle_t *)&input->wake, NULL);
}

void input_ask(struct input *input, uint32_t count)
{
    assert(count > 0);
    pthread_mutex_lock(&input->lock);
    assert(input->wanted == 0 && !input->answered);
    input->wanted = count < INPUT_PIECE_MAX ? count : INPUT_PIECE_MAX;
    pthread_cond_signal(&input->asked);
    pthread_mutex_unlock(&input->lock);
}
