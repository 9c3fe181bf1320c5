#define _GNU_SOURCE
#include "launch/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

extern char **environ;

struct order {
    uv_write_t request;
    char *text;
    size_t count;
};

/* ---- its words ---- */

static void end_line(struct child *child)
{
    child->line[child->used] = '\0';
    child->used = 0;
    if (!child->closing)
        child->hooks->line(child, child->line);
}

static void take(struct child *child, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] == '\n')
            end_line(child);
        else if (child->used + 1 < sizeof child->line)
            child->line[child->used++] = bytes[i];
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct child *child = handle->data;
    *buffer = uv_buf_init(child->incoming, sizeof child->incoming);
}

/* ---- its end ---- */

static void end(struct child *child)
{
    child->ended = true;
    if (child->used > 0)
        end_line(child);
    child->hooks->ended(child, &child->how);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct child *child = stream->data;
    if (count >= 0) {
        take(child, buffer->base, (size_t)count);
        return;
    }
    uv_read_stop(stream);
    child->silent = true;
    if (child->exited && !child->ended)
        end(child);
}

/* What it said last is in the pipe when it has exited.  False: somebody may go on. */
static bool read_rest(struct child *child)
{
    uv_os_fd_t descriptor;
    char bytes[4096];
    ssize_t count = 0;
    if (child->silent || uv_fileno((uv_handle_t *)&child->answers, &descriptor) != 0)
        return true;
    while ((count = read(descriptor, bytes, sizeof bytes)) > 0)
        take(child, bytes, (size_t)count);
    if (count < 0 && errno == EAGAIN && child->has_witness)
        return false;
    uv_read_stop((uv_stream_t *)&child->answers);
    return true;
}

static void on_exit_seen(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct child *child = poll->data;
    siginfo_t info = {0};
    int result = waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG);
    if (result == 0 && info.si_pid == 0)
        return;
    if (result < 0 && errno == EINTR)
        return;
    child->how = result == 0 ? mu_exit_kind_of(&info) : mu_exit_kind_unknown(errno);
    uv_poll_stop(poll);
    child->exited = true;
    if (read_rest(child))
        end(child);
}

/* ---- the beginning ---- */

static int spawn(struct child *child, const char *const *argv, const struct child_kind *kind,
                 int input, int output)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int error = posix_spawn_file_actions_adddup2(&actions, input, 0);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (error == 0 && kind->is_mute)
        error = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (error == 0)
        error = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    if (error == 0)
        error =
            posix_spawnp(&child->pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static void give_up_child(struct child *child)
{
    kill(child->pid, SIGKILL); /* not reaped, so the number is still its own */
    while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Our ends, into handles; from here on they are closed through these. */
static void adopt(struct child *child, uv_loop_t *loop, int orders, int answers)
{
    int failed = uv_pipe_init(loop, &child->orders, 0);
    failed |= uv_pipe_init(loop, &child->answers, 0);
    failed |= uv_poll_init(loop, &child->exit, child->pidfd);
    failed |= uv_pipe_open(&child->orders, orders);
    failed |= uv_pipe_open(&child->answers, answers);
    child->orders.data = child->answers.data = child->exit.data = child;
    failed |= uv_read_start((uv_stream_t *)&child->answers, on_alloc, on_read);
    failed |= uv_poll_start(&child->exit, UV_READABLE, on_exit_seen);
    assert(failed == 0); /* these only store what they are given */
    child->orders_open = true;
    child->handles = 3;
}

int child_start(struct child *child, uv_loop_t *loop, const char *const *argv,
                const struct child_kind *kind, const struct child_hooks *hooks, void *owner)
{
    int in[2], out[2], error;
    memset(child, 0, sizeof *child);
    child->hooks = hooks;
    child->owner = owner;
    child->has_witness = kind->has_witness;
    if (pipe2(in, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(out, O_CLOEXEC) != 0) {
        error = errno;
        close(in[0]);
        close(in[1]);
        return error;
    }
    error = spawn(child, argv, kind, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    if (error == 0) {
        child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
        if (child->pidfd < 0) {
            error = errno;
            give_up_child(child);
        }
    }
    if (error != 0) {
        close(in[1]);
        close(out[0]);
        return error;
    }
    adopt(child, loop, in[1], out[0]);
    return 0;
}

/* ---- what we say ---- */

static void on_written(uv_write_t *request, int status)
{
    (void)status; /* a child that does not listen has ended, which is told otherwise */
    struct order *order = (struct order *)request;
    sodium_memzero(order->text, order->count);
    free(order->text);
    free(order);
}

void child_write(struct child *child, char *text, size_t count)
{
    struct order *order = malloc(sizeof *order);
    if (order == NULL)
        abort();
    order->text = text;
    order->count = count;
    uv_buf_t buffer = uv_buf_init(text, (unsigned)count);
    if (!child->orders_open ||
        uv_write(&order->request, (uv_stream_t *)&child->orders, &buffer, 1, on_written) != 0)
        on_written(&order->request, UV_EPIPE);
}

static void on_closed(uv_handle_t *handle)
{
    struct child *child = handle->data;
    if (--child->handles > 0)
        return;
    close(child->pidfd);
    child->hooks->closed(child);
}

void child_hang_up(struct child *child)
{
    if (!child->orders_open)
        return;
    child->orders_open = false;
    uv_close((uv_handle_t *)&child->orders, on_closed);
}

void child_signal(struct child *child, int number)
{
    if (!child->ended)
        kill(-child->pid, number); /* a number is not given out again while a group has it */
}

void child_close(struct child *child)
{
    assert(child->ended && !child->closing);
    child->closing = true;
    child_hang_up(child);
    uv_close((uv_handle_t *)&child->answers, on_closed);
    uv_close((uv_handle_t *)&child->exit, on_closed);
}
