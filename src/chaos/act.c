#include "chaos/act.h"

#include "chaos/pids.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GONE_MS = 5000 }; /* for what was killed to end */

/* ---- the network ---- */

static void close_links(struct chaos_hold *hold)
{
    for (uint32_t i = 0; i < hold->link_count; i++)
        operator_close(&hold->links[i]);
    free(hold->links);
    hold->links = NULL;
    hold->link_count = 0;
}

static const struct operator_daemon *daemon_of(const struct operator_found *found, mu_slot slot)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->daemons[i].slot == slot)
            return &found->daemons[i];
    return NULL;
}

/* Every node of the list must be here: a fault that hits only some would be another one. */
static bool open_links(const struct operator_found *found, const struct chaos_list *nodes,
                       bool greet, struct chaos_hold *hold, char why[OPERATOR_TEXT_MAX])
{
    hold->links = calloc(found->count, sizeof *hold->links);
    if (hold->links == NULL) {
        snprintf(why, OPERATOR_TEXT_MAX, "no memory");
        return false;
    }
    for (uint8_t r = 0; r < nodes->count; r++)
        for (mu_slot slot = nodes->ranges[r].first; slot <= nodes->ranges[r].last; slot++) {
            const struct operator_daemon *daemon = daemon_of(found, slot);
            struct operator_link *link = &hold->links[hold->link_count];
            if (daemon == NULL) {
                char id[OPERATOR_ID_DIGITS + 1];
                snprintf(why, OPERATOR_TEXT_MAX,
                         "cluster %s has no node %u on this host ('muster status' lists its nodes)",
                         operator_id_text(found->daemons[0].machine, id), slot);
                return false;
            }
            if (!(greet ? operator_open : operator_reach)(link, daemon)) {
                snprintf(why, OPERATOR_TEXT_MAX, "node %u %.400s", slot, link->why);
                return false;
            }
            hold->link_count++;
        }
    return true;
}

/* To all first, and then their answers: they begin at about the same time.  Nobody is left out
 * because of another one: this also undoes what was done.  'why' is of the first that failed. */
static bool tell_all(struct chaos_hold *hold, const struct mu_chaos *chaos,
                     char why[OPERATOR_TEXT_MAX])
{
    struct mu_local_message message = {.type = MU_LOCAL_CHAOS, .chaos = *chaos};
    bool good = true;
    for (uint32_t i = 0; i < hold->link_count; i++)
        operator_say(&hold->links[i], &message); /* who is gone does not answer */
    for (uint32_t i = 0; i < hold->link_count; i++) {
        struct operator_link *link = &hold->links[i];
        if (operator_hear(link, &message, OPERATOR_TIMEOUT_MS) &&
            (message.type == MU_LOCAL_DONE || operator_unexpected(link, &message)))
            continue;
        if (good)
            snprintf(why, OPERATOR_TEXT_MAX, "node %u %.400s", link->slot, link->why);
        good = false;
    }
    return good;
}

static bool do_network(const struct operator_found *found, const struct chaos_fault *fault,
                       bool held, struct chaos_hold *hold, char why[OPERATOR_TEXT_MAX])
{
    static const struct mu_chaos none;
    char ignored[OPERATOR_TEXT_MAX];
    struct mu_chaos chaos = fault->net;
    chaos.held = held && chaos.kind != MU_CHAOS_NONE;
    if (!open_links(found, &fault->target.list, true, hold, why))
        return false;
    bool good = tell_all(hold, &chaos, why);
    if (!good && !held) /* what is held ends with the connections */
        tell_all(hold, &none, ignored);
    if (!held)
        close_links(hold);
    return good;
}

/* ---- processes ---- */

static void close_pids(struct chaos_hold *hold)
{
    for (uint32_t i = 0; i < hold->pidfd_count; i++)
        close(hold->pidfds[i]);
    free(hold->pidfds);
    hold->pidfds = NULL;
    hold->pidfd_count = 0;
}

/* Daemons come first, so that nodes are silent before their processes are; what has ended
 * meanwhile is as it should be. */
static void send_all(const struct chaos_hold *hold, int signal)
{
    for (uint32_t i = 0; i < hold->pidfd_count; i++)
        guard_signal(hold->pidfds[i], signal);
}

static bool wait_gone(const struct chaos_hold *hold, char why[OPERATOR_TEXT_MAX])
{
    for (uint32_t i = 0; i < hold->pidfd_count; i++)
        if (poll(&(struct pollfd){.fd = hold->pidfds[i], .events = POLLIN}, 1, GONE_MS) != 1) {
            snprintf(why, OPERATOR_TEXT_MAX, "sent SIGKILL, but not all have ended after %d s",
                     GONE_MS / 1000);
            return false;
        }
    return true;
}

static bool find_pids(const struct operator_found *found, const struct chaos_target *target,
                      struct chaos_hold *hold, char why[OPERATOR_TEXT_MAX])
{
    struct chaos_pids pids = {0};
    bool good;
    if (target->is_process) {
        good = chaos_pids_of_processes(found, target, &pids, why);
    } else {
        good = open_links(found, &target->list, false, hold, why);
        for (uint32_t i = 0; good && i < hold->link_count; i++)
            good = chaos_pids_of_daemon(&hold->links[i], &pids, why);
        for (uint32_t i = 0; good && i < hold->link_count; i++)
            good = chaos_pids_of_children(&hold->links[i], &pids, why);
        close_links(hold);
    }
    hold->pidfds = pids.fds;
    hold->pidfd_count = pids.count;
    return good;
}

static bool do_signal(const struct operator_found *found, const struct chaos_fault *fault,
                      bool held, struct chaos_hold *hold, char why[OPERATOR_TEXT_MAX])
{
    if (!find_pids(found, &fault->target, hold, why))
        return false;
    if (fault->verb == CHAOS_STOP && held &&
        guard_start(&hold->guard, hold->pidfds, hold->pidfd_count, SIGCONT) != 0) {
        snprintf(why, OPERATOR_TEXT_MAX, "cannot guard what is to be stopped: %s", strerror(errno));
        return false;
    }
    bool good = true;
    if (fault->verb == CHAOS_STOP) {
        send_all(hold, SIGSTOP);
    } else if (fault->verb == CHAOS_CONT) {
        send_all(hold, SIGCONT);
    } else {
        send_all(hold, SIGKILL);
        good = wait_gone(hold, why);
    }
    if (!held || fault->verb != CHAOS_STOP)
        close_pids(hold);
    return good;
}

/* ---- both ---- */

bool chaos_do(const struct operator_found *found, const struct chaos_fault *fault, bool held,
              struct chaos_hold *hold, char why[OPERATOR_TEXT_MAX])
{
    *hold = (struct chaos_hold){0};
    bool good = false;
    switch (fault->verb) {
    case CHAOS_KILL:
    case CHAOS_STOP:
    case CHAOS_CONT:
        good = do_signal(found, fault, held, hold, why);
        break;
    case CHAOS_CUT:
    case CHAOS_HEAL:
    case CHAOS_FLAP:
    case CHAOS_SLOW:
        good = do_network(found, fault, held, hold, why);
        break;
    case CHAOS_VERBS:
        abort();
    }
    if (!good)
        chaos_undo(hold);
    return good;
}

/* The end of the connection tells a daemon, unless another fault has taken the place of this one.
 */
void chaos_undo(struct chaos_hold *hold)
{
    close_links(hold);
    send_all(hold, SIGCONT);
    close_pids(hold);
    guard_strike(&hold->guard);
}
