#include "sim/ring/trace.h"

#include "sim/ring/net.h"

#include <stdlib.h>

enum { BEAT_TEXT = 160 };

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static void start_line(FILE *to, uint64_t now_ns, mu_slot node)
{
    fprintf(to, "%10.3f ms  node %-4u ", ms(now_ns), node);
}

void ring_trace_words(FILE *to, uint64_t now_ns, mu_slot node, const char *words)
{
    start_line(to, now_ns, node);
    fprintf(to, "%s\n", words);
}

/* Nonces are drawn: their last digits are enough to tell them apart. */
static const char *beat_text(char text[BEAT_TEXT], const struct mu_beat *beat)
{
    static const char *const reaches[] = {"none", "trying", "heard", "dead", "taken"};
    unsigned nonce = (unsigned)(beat->nonce % 100000);
    switch ((enum mu_beat_type)beat->type) {
    case MU_BEAT_WATCH:
        snprintf(text, BEAT_TEXT, "watch #%u, period %.3f ms, timeout %.3f ms", nonce,
                 ms(beat->period_ns), ms(beat->timeout_ns));
        return text;
    case MU_BEAT_BEAT:
        snprintf(text, BEAT_TEXT, "beat #%u, stamp %.3f ms, acknowledged %.3f ms", nonce,
                 ms(beat->stamp_ns), ms(beat->acked_ns));
        return text;
    case MU_BEAT_ACK:
        snprintf(text, BEAT_TEXT, "ack #%u, stamp %.3f ms", nonce, ms(beat->stamp_ns));
        return text;
    case MU_BEAT_RELEASE:
        snprintf(text, BEAT_TEXT, "release #%u", nonce);
        return text;
    case MU_BEAT_PROBE:
        snprintf(text, BEAT_TEXT, "probe #%u", nonce);
        return text;
    case MU_BEAT_ANSWER:
        snprintf(text, BEAT_TEXT, "answer #%u", nonce);
        return text;
    case MU_BEAT_ASK:
        snprintf(text, BEAT_TEXT, "ask #%u about %u", nonce, beat->subject);
        return text;
    case MU_BEAT_REPLY:
        snprintf(text, BEAT_TEXT, "reply #%u about %u: %s", nonce, beat->subject,
                 beat->reach <= MU_REACH_LAST ? reaches[beat->reach] : "?");
        return text;
    case MU_BEAT_TAKE:
        snprintf(text, BEAT_TEXT, "take %u, #%u", beat->subject, nonce);
        return text;
    case MU_BEAT_DEAD:
        snprintf(text, BEAT_TEXT, "dead: %u (incarnation %u)", beat->subject,
                 beat->subject_incarnation);
        return text;
    }
    snprintf(text, BEAT_TEXT, "datagram of type %u", beat->type);
    return text;
}

static const char *launcher_text(enum mu_launcher_reach reach)
{
    static const char *const texts[] = {"not known", "asked", "not reached", "heard",
                                        "given up, as all others"};
    return texts[reach];
}

void ring_trace_event(FILE *to, uint64_t now_ns, mu_slot node, const struct mu_detect_event *event,
                      bool genuine)
{
    char text[BEAT_TEXT];
    start_line(to, now_ns, node);
    switch (event->type) {
    case MU_DETECT_START:
        fprintf(to, "starts; its clock says %.3f ms\n", ms(event->now_ns));
        return;
    case MU_DETECT_TIMEOUT:
        fprintf(to, "timer\n");
        return;
    case MU_DETECT_RECV:
        fprintf(to, "<- %-4u %s%s\n", event->beat->from, beat_text(text, event->beat),
                genuine ? "" : " AGAIN");
        return;
    case MU_DETECT_OUT:
        fprintf(to, "is told by its node: %u (incarnation %u) is out\n", event->out.slot,
                event->out.incarnation);
        return;
    case MU_DETECT_SET:
        fprintf(to, "is set to period %.3f ms, timeout %.3f ms\n", ms(event->set.period_ns),
                ms(event->set.timeout_ns));
        return;
    case MU_DETECT_READY:
        fprintf(to, "is told that every node has started\n");
        return;
    case MU_DETECT_LOOP:
        fprintf(to, "its main loop answers\n");
        return;
    case MU_DETECT_BROKE:
        fprintf(to, "has lost its connection to %u\n", event->broke.slot);
        return;
    case MU_DETECT_LAUNCHER:
        fprintf(to, "<- the launcher: %u is %s\n", event->launcher.subject,
                launcher_text(event->launcher.reach));
        return;
    }
    abort();
}

static void trace_evidence(FILE *to, const char *word, const struct mu_detect_evidence *evidence)
{
    static const char *const causes[] = {"mended", "silent", "unreachable", "undecided"};
    fprintf(to,
            "   %s %u: %s; silent for %.3f ms, suspected for %.3f ms, own lag %.3f ms, "
            "timeout %.3f ms, %u probes, %u helpers",
            word, evidence->subject,
            evidence->cause <= MU_DETECT_UNDECIDED ? causes[evidence->cause] : "?",
            ms(evidence->silent_ns), ms(evidence->suspect_ns), ms(evidence->lag_ns),
            ms(evidence->timeout_ns), evidence->probes, evidence->helpers);
    if (evidence->vouched_by != MU_SLOT_NONE)
        fprintf(to, ", %u answers", evidence->vouched_by);
    if (evidence->launcher != MU_LAUNCHER_NONE)
        fprintf(to, "; to the launcher it is %s", launcher_text(evidence->launcher));
    fprintf(to, "\n");
}

void ring_trace_effect(FILE *to, uint64_t now_ns, mu_slot node,
                       const struct mu_detect_effect *effect)
{
    char text[BEAT_TEXT];
    start_line(to, now_ns, node);
    switch (effect->type) {
    case MU_DETECT_SEND:
        fprintf(to, "   -> %-4u %s\n", effect->beat.to, beat_text(text, &effect->beat));
        return;
    case MU_DETECT_VERDICT:
        trace_evidence(to, "DECLARES", &effect->evidence);
        return;
    case MU_DETECT_REPORT:
        trace_evidence(to, "REPORTS", &effect->evidence);
        return;
    case MU_DETECT_FENCED:
        fprintf(to, "   hears from %u that it was declared dead: FENCED\n", effect->by);
        return;
    case MU_DETECT_FAULT:
        fprintf(to, "   FAULT %s: %s\n", mu_fault_name(effect->fault),
                mu_fault_text(effect->fault));
        return;
    case MU_DETECT_ASK_LOOP:
        fprintf(to, "   asks its main loop\n");
        return;
    case MU_DETECT_STOOD:
        fprintf(to, "   its main loop %s after %.3f ms\n",
                effect->stood.phase == MU_LOOP_MOVES  ? "MOVES AGAIN"
                : effect->stood.phase == MU_LOOP_LATE ? "does not answer: its lease is over"
                                                      : "does not answer: it FALLS SILENT",
                ms(effect->stood.ns));
        return;
    case MU_DETECT_LEASE:
        fprintf(to, "   %s its lease\n", effect->held ? "holds" : "has lost");
        return;
    case MU_DETECT_ASK_LAUNCHER:
        fprintf(to, "   -> the launcher: do you reach %u?\n", effect->ask.subject);
        return;
    }
    abort();
}

void ring_trace_lost(FILE *to, uint64_t now_ns, const struct mu_beat *beat, const char *why)
{
    char text[BEAT_TEXT];
    start_line(to, now_ns, beat->from);
    fprintf(to, "   (that to %u is %s: %s)\n", beat->to, why, beat_text(text, beat));
}

void ring_trace_cut(FILE *to, uint64_t now_ns, mu_slot node, mu_slot peer, uint32_t ways,
                    uint64_t for_ns)
{
    static const char *const words[] = {"", "cannot send to", "cannot hear", "is cut off from"};
    start_line(to, now_ns, node);
    if (peer == MU_SLOT_NONE)
        fprintf(to, "%s ANYBODY for %.3f ms\n", words[ways], ms(for_ns));
    else
        fprintf(to, "%s NODE %u for %.3f ms\n", words[ways], peer, ms(for_ns));
}
