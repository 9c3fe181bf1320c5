#include "sim/central/trace.h"

static const char *const names[] = {
    [MU_POLL_POLL] = "POLL",     [MU_POLL_ANSWER] = "ANSWER",   [MU_POLL_ASK] = "ASK",
    [MU_POLL_TRY] = "TRY",       [MU_POLL_TRIED] = "TRIED",     [MU_POLL_REPLY] = "REPLY",
    [MU_POLL_MISSED] = "MISSED", [MU_POLL_PRESENT] = "PRESENT", [MU_POLL_DEAD] = "DEAD",
};

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static void begin(const struct central_world *world, mu_slot slot)
{
    fprintf(world->plan->trace, "%12.3f ms  node %u.%u  ", ms(world->queue.now_ns), slot,
            world->seats[slot].incarnation);
}

void central_trace_line(const struct central_world *world, mu_slot slot, const char *words)
{
    if (world->plan->trace == NULL)
        return;
    begin(world, slot);
    fprintf(world->plan->trace, "%s\n", words);
}

static void print_poll(const struct central_world *world, const char *verb,
                       const struct mu_poll *poll, mu_slot other)
{
    fprintf(world->plan->trace, "%s %s %u", verb, names[poll->type], other);
    if (poll->type == MU_POLL_POLL)
        fprintf(world->plan->trace, ", cycle %llu, grants %.3f ms", (unsigned long long)poll->cycle,
                ms(poll->grant_ns));
    if (poll->subject != 0 || poll->subject_incarnation != 0)
        fprintf(world->plan->trace, ", about %u.%u, reach %u", poll->subject,
                poll->subject_incarnation, poll->reach);
    fprintf(world->plan->trace, "\n");
}

void central_trace_lost(const struct central_world *world, const struct mu_poll *poll)
{
    if (world->plan->trace == NULL)
        return;
    begin(world, poll->from);
    print_poll(world, "loses", poll, poll->to);
}

void central_trace_receive(const struct central_world *world, mu_slot slot,
                           const struct mu_poll *poll)
{
    if (world->plan->trace == NULL)
        return;
    begin(world, slot);
    print_poll(world, "has from", poll, poll->from);
}

void central_trace_effect(const struct central_world *world, mu_slot slot,
                          const struct mu_central_effect *effect)
{
    FILE *trace = world->plan->trace;
    if (trace == NULL)
        return;
    begin(world, slot);
    switch (effect->type) {
    case MU_CENTRAL_SEND:
        print_poll(world, "sends to", &effect->poll, effect->poll.to);
        return;
    case MU_CENTRAL_VERDICT:
    case MU_CENTRAL_REPORT:
        fprintf(trace, "%s %u.%u, cause %u, silent for %.3f ms, suspect for %.3f ms\n",
                effect->type == MU_CENTRAL_VERDICT ? "declares" : "reports",
                effect->evidence.subject, effect->evidence.incarnation, effect->evidence.cause,
                ms(effect->evidence.silent_ns), ms(effect->evidence.suspect_ns));
        return;
    case MU_CENTRAL_FENCED:
        fprintf(trace, "is fenced by %u\n", effect->by);
        return;
    case MU_CENTRAL_LEASE:
        fprintf(trace, "%s its lease\n", effect->held ? "has" : "loses");
        return;
    case MU_CENTRAL_FAULT:
        fprintf(trace, "fault: %s\n", mu_fault_text(effect->fault));
        return;
    case MU_CENTRAL_ASK_LOOP:
        fprintf(trace, "asks its main loop\n");
        return;
    }
}
