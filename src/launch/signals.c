#include "launch/signals.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static const int numbers[RUN_SIGNALS] = {SIGINT,  SIGTERM,  SIGHUP,  SIGUSR1,
                                         SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};

static void on_signal(uv_signal_t *handle, int number)
{
    struct run_signals *signals = handle->data;
    signals->taken(signals->owner, number);
}

static bool stays_ignored(int number)
{
    struct sigaction now;
    return (number == SIGHUP || number == SIGTSTP) && sigaction(number, NULL, &now) == 0 &&
           now.sa_handler == SIG_IGN;
}

void run_signals_open(struct run_signals *signals, uv_loop_t *loop,
                      void (*taken)(void *owner, int number), void *owner)
{
    signals->count = 0;
    signals->owner = owner;
    signals->taken = taken;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* ignored, it would take the exit codes of the daemons with it */
    for (int i = 0; i < RUN_SIGNALS; i++) {
        if (stays_ignored(numbers[i]))
            continue;
        uv_signal_t *handle = &signals->handles[signals->count++];
        uv_signal_init(loop, handle);
        handle->data = signals;
        uv_signal_start(handle, on_signal, numbers[i]);
    }
}

void run_signals_close(struct run_signals *signals)
{
    for (int i = 0; i < signals->count; i++)
        uv_close((uv_handle_t *)&signals->handles[i], NULL);
}

bool run_signals_is_end(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

_Noreturn void run_signals_die(int number)
{
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    signal(number, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
    _exit(128 + number);
}
