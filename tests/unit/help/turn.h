/* One turn of a loop that waits for something, but never for ever. */
#ifndef MU_TEST_TURN_H
#define MU_TEST_TURN_H

#include <uv.h>

static inline void turn_tick(uv_timer_t *timer)
{
    (void)timer;
}

/* Waits a millisecond or two at most.  UV_RUN_ONCE alone runs the timers that are due and then
 * waits for something else, without an end when there is no other timer.  Ours comes again, so that
 * it is also there when its first time passes before the wait. */
static inline void turn_loop(uv_loop_t *loop)
{
    uv_timer_t tick;
    uv_timer_init(loop, &tick);
    uv_timer_start(&tick, turn_tick, 1, 1);
    uv_run(loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&tick, NULL);
    uv_run(loop, UV_RUN_NOWAIT);
}

#endif
