/* Ranks that exit with code 0 without a goodbye.  Where one does, mostly all do, at about the same
 * time: they are gathered, and told in one line. */
#include "run/inside.h"

#include <string.h>

enum { GATHER_MS = 100 }; /* nobody loses by it: without us the job would hang */

static void on_gathered(uv_timer_t *timer)
{
    run_say_quits(timer->data);
}

void run_quit(struct run *run, const char *who, const char *how)
{
    struct run_quits *quits = &run->quits;
    if (quits->count++ == 0) {
        snprintf(quits->who, sizeof quits->who, "%s", who);
        snprintf(quits->how, sizeof quits->how, "%s", how);
        run_set_code(run, RUN_EXIT_QUIT);
        uv_timer_start(&quits->timer, on_gathered, GATHER_MS, 0);
    }
    if (run_left(run) == 0)
        run_say_quits(run);
}

void run_say_quits(struct run *run)
{
    struct run_quits *quits = &run->quits;
    char many[64] = "";
    if (quits->count == 0)
        return;
    uv_timer_stop(&quits->timer);
    if (quits->count > 1)
        snprintf(many, sizeof many, "%u processes, the first of them ", quits->count);
    run_output_say(run->output, "muster: %s%s: %s%s\n", many, quits->who, quits->how,
                   run_consequence(run));
    run->said += quits->count - 1;
    quits->count = 0;
    run_failed(run, RUN_EXIT_QUIT);
}
