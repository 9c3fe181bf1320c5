/* The signals that 'muster run' takes. */
#ifndef MU_LAUNCH_SIGNALS_H
#define MU_LAUNCH_SIGNALS_H

#include <stdbool.h>
#include <uv.h>

enum { RUN_SIGNALS = 8 };

/* Plain, so that it can stand in the caller's own struct. */
struct run_signals {
    uv_signal_t handles[RUN_SIGNALS];
    int count;
    void *owner;
    void (*taken)(void *owner, int number);
};

/* SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT.  SIGHUP and SIGTSTP stay
 * ignored when whoever started us has them ignored, as nohup does.  SIGPIPE is ignored from now on.
 */
void run_signals_open(struct run_signals *signals, uv_loop_t *loop,
                      void (*taken)(void *owner, int number), void *owner);
void run_signals_close(struct run_signals *signals);

/* One that ends the run. */
bool run_signals_is_end(int number);

/* Ends this process by the signal, so that whoever waits for it sees that. */
_Noreturn void run_signals_die(int number);

#endif
