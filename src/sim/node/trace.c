#include "sim/node/trace.h"

#include <stdlib.h>

const char *sim_trace_notice(char text[64], const struct mu_notice_id *id)
{
    unsigned high = (unsigned)(id->stream >> 32);
    unsigned long long index = id->index;
    switch ((enum mu_notice_kind)id->kind) {
    case MU_NOTICE_NODE_DEAD:
        snprintf(text, 64, "node %llu is dead%s", index, mu_notice_is_proof(id) ? ", proven" : "");
        return text;
    case MU_NOTICE_PROC_DEAD:
        snprintf(text, 64, "process %u.%llu is dead", high, index);
        return text;
    case MU_NOTICE_PAYLOAD:
        snprintf(text, 64, "payload %llu of node %u", index, high);
        return text;
    }
    snprintf(text, 64, "notice of kind %u", id->kind);
    return text;
}

static void start_line(FILE *to, mu_slot node, uint64_t now_ns)
{
    fprintf(to, "%10.3f ms  node %-4u ", (double)now_ns / 1e6, node);
}

/* "ack", "no room, ack", ...: a frame that carries no notice. */
static const char *word_of(uint8_t type)
{
    switch (type) {
    case MU_FRAME_FULL:
        return "no room, ack";
    case MU_FRAME_ROOM:
        return "room again, ack";
    case MU_FRAME_AGAIN:
        return "from here on, ack";
    }
    return "ack";
}

static void trace_frame(FILE *to, mu_slot from, const struct mu_frame *frame)
{
    char what[64];
    if (frame->type != MU_FRAME_NOTICE)
        fprintf(to, "<- %-4u %s %llu\n", from, word_of(frame->type),
                (unsigned long long)frame->ack);
    else
        fprintf(to, "<- %-4u #%llu '%s', hop %u\n", from, (unsigned long long)frame->sequence,
                sim_trace_notice(what, &frame->notice.id), frame->notice.hops);
}

void sim_trace_event(FILE *to, mu_slot node, const struct mu_event *event)
{
    static const char *const timers[MU_TIMERS] = {"acks", "edges onward", "edges back",
                                                  "forgetting"};
    char what[64];
    start_line(to, node, event->now_ns);
    switch (event->type) {
    case MU_EVENT_START:
        fprintf(to, "starts\n");
        return;
    case MU_EVENT_TIMEOUT:
        fprintf(to, "timer: %s\n", timers[event->timeout.timer]);
        return;
    case MU_EVENT_RECV:
        trace_frame(to, event->recv.from, event->recv.frame);
        return;
    case MU_EVENT_LINK_UP:
        fprintf(to, "link to %u is up, it has %llu\n", event->link_up.peer,
                (unsigned long long)event->link_up.peer_has);
        return;
    case MU_EVENT_LINK_DOWN:
        fprintf(to, "link to %u is down\n", event->link_down.peer);
        return;
    case MU_EVENT_VERDICT:
        fprintf(to, "sees: '%s'\n", sim_trace_notice(what, &event->verdict.notice->id));
        return;
    case MU_EVENT_POST:
        fprintf(to, "posts a payload of %u bytes\n", event->post.length);
        return;
    case MU_EVENT_MEMBER:
        fprintf(to, "node %u, incarnation %u, is %s\n", event->member.entry.slot,
                event->member.entry.incarnation, event->member.entry.in ? "in" : "out");
        return;
    case MU_EVENT_FORGET:
        fprintf(to, "forgets stream %llx of kind %u\n", (unsigned long long)event->forget.stream,
                event->forget.kind);
        return;
    }
    abort();
}

void sim_trace_effect(FILE *to, mu_slot node, uint64_t now_ns, const struct mu_effect *effect)
{
    static const char *const reasons[] = {"", "it is dead", "it broke a rule", "no room",
                                          "no view has admitted it"};
    char what[64];
    start_line(to, node, now_ns);
    switch (effect->type) {
    case MU_DO_SEND:
        if (effect->frame.type != MU_FRAME_NOTICE)
            fprintf(to, "   -> %-4u %s %llu\n", effect->peer, word_of(effect->frame.type),
                    (unsigned long long)effect->frame.ack);
        else
            fprintf(to, "   -> %-4u #%llu '%s'\n", effect->peer,
                    (unsigned long long)effect->frame.sequence,
                    sim_trace_notice(what, &effect->frame.notice.id));
        return;
    case MU_DO_DELIVER:
        fprintf(to, "   tells its clients: '%s', %u hops, %.3f ms old\n",
                sim_trace_notice(what, &effect->notice.id), effect->notice.hops,
                (double)effect->notice.age_ns / 1e6);
        return;
    case MU_DO_OPEN:
        fprintf(to, "   opens a link to %u\n", effect->peer);
        return;
    case MU_DO_CLOSE:
        fprintf(to, "   closes the link to %u: %s\n", effect->peer, reasons[effect->reason]);
        return;
    case MU_DO_FENCED:
        fprintf(to, "   hears that it was declared dead, and stops\n");
        return;
    case MU_DO_FAULT:
        fprintf(to, "   FAULT %s: %s\n", mu_fault_name(effect->fault),
                mu_fault_text(effect->fault));
        return;
    }
    abort();
}
