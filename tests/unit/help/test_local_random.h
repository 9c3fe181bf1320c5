/* Random evidences and local messages that are good, from one seed: for
 * tests/unit/wire/test_evidence.c, tests/unit/wire/test_local.c and tests/fuzz. */
#ifndef TEST_LOCAL_RANDOM_H
#define TEST_LOCAL_RANDOM_H

#include "test_wire_random.h"

#include "wire/local/local.h"

static inline void random_text(struct random *r, char *text, size_t least, size_t most)
{
    size_t length = (size_t)random_between(r, least, most);
    for (size_t i = 0; i < length; i++)
        text[i] = (char)random_between(r, 0x20, 0x7e);
    text[length] = '\0';
}

static inline struct mu_exit_kind random_how(struct random *r)
{
    struct mu_exit_kind how = {.type = (enum mu_exit_type)random_below(r, MU_EXIT_LAST + 1)};
    switch (how.type) {
    case MU_EXIT_LEFT:
        break;
    case MU_EXIT_CODE:
        how.code = (int)random_between(r, 1, 255);
        break;
    case MU_EXIT_SIGNAL:
        how.signal = (int)random_between(r, 1, 64);
        how.core_dumped = random_below(r, 2) == 0;
        break;
    case MU_EXIT_NOT_STARTED:
        how.step = (enum mu_start_step)random_below(r, MU_START_INTERPRETER + 1);
        how.error = (int)random_between(r, 0, 4095);
        break;
    case MU_EXIT_UNKNOWN:
        how.error = (int)random_between(r, 0, 4095);
        break;
    case MU_EXIT_NO_GOODBYE:
        how.code = (int)random_between(r, MU_GOODBYE_PMIX, MU_GOODBYE_LAST);
        break;
    }
    return how;
}

static inline struct mu_ring_proof random_ring_proof(struct random *r)
{
    struct mu_ring_proof proof = {
        .period_ns = random_between(r, MU_PERIOD_NS_MIN, MU_TIMEOUT_NS_MAX / 4),
        .silent_ns = random_between(r, 0, UINT64_MAX),
        .suspect_ns = random_between(r, 0, UINT64_MAX),
        .lag_ns = random_between(r, 0, UINT64_MAX),
        .probes = (uint32_t)random_between(r, 0, UINT32_MAX),
        .vouched_by = random_below(r, 4) == 0 ? MU_SLOT_NONE : random_slot(r),
        .helper_count = (uint8_t)random_below(r, MU_DETECT_HELPERS + 1),
    };
    proof.timeout_ns = random_between(r, 2 * proof.period_ns, MU_TIMEOUT_NS_MAX);
    for (uint32_t i = 0; i < proof.helper_count; i++) {
        proof.helpers[i].slot = random_slot(r);
        proof.helpers[i].reach = (uint8_t)random_below(r, MU_REACH_DEAD + 1);
    }
    return proof;
}

static inline struct mu_evidence random_evidence(struct random *r)
{
    struct mu_evidence evidence = {
        .verdict = (uint8_t)random_between(r, MU_VERDICT_DEAD, MU_VERDICT_LEFT - 1),
        .cause = (uint8_t)(1 + random_below(r, MU_CAUSE_LAST)),
        .seen_by = random_slot(r),
        .node = random_slot(r),
        .pid = (uint32_t)random_between(r, 0, INT32_MAX),
        .seen_ns = random_between(r, 0, UINT64_MAX),
        .clock = random_between(r, 0, UINT64_MAX),
    };
    if (evidence.cause == MU_CAUSE_SILENCE || evidence.cause == MU_CAUSE_UNREACHABLE) {
        evidence.verdict =
            evidence.cause == MU_CAUSE_SILENCE ? MU_VERDICT_SILENT : MU_VERDICT_UNREACHABLE;
        evidence.ring = random_ring_proof(r);
    }
    if (evidence.cause == MU_CAUSE_WITNESS) {
        evidence.verdict = MU_VERDICT_DEAD;
        evidence.how = (struct mu_exit_kind){.type = MU_EXIT_SIGNAL, .signal = 9};
    }
    if (evidence.cause == MU_CAUSE_TOLD)
        evidence.verdict = random_below(r, 2) == 0 ? MU_VERDICT_DEAD : MU_VERDICT_SILENT;
    if (evidence.cause != MU_CAUSE_EXIT)
        return evidence;
    evidence.how = random_how(r);
    evidence.verdict = evidence.how.type == MU_EXIT_LEFT ? MU_VERDICT_LEFT : MU_VERDICT_DEAD;
    if (evidence.how.type == MU_EXIT_NOT_STARTED)
        random_text(r, evidence.path, 0, MU_EVIDENCE_PATH_MAX);
    return evidence;
}

static inline struct mu_local_event random_local_view(struct random *r)
{
    struct mu_local_event event = {.serial = random_between(r, 1, UINT64_MAX),
                                   .subject = MU_SUBJECT_VIEW,
                                   .is_state = random_below(r, 2) == 0,
                                   .learned_ns = random_u64(r),
                                   .age_ns = random_u64(r),
                                   .view = {.number = random_between(r, 1, UINT64_MAX),
                                            .hash = random_u64(r),
                                            .is_first = random_below(r, 2) == 0}};
    uint32_t at = 0;
    event.view.span_count = (uint8_t)random_between(r, 1, MU_LOCAL_SPANS_MAX);
    for (uint32_t i = 0; i < event.view.span_count; i++) {
        uint32_t first = at + (uint32_t)random_between(r, 1, 1000);
        uint32_t count = (uint32_t)random_between(r, 1, 1000);
        event.view.spans[i] = (struct mu_local_span){first, count};
        event.view.total += count;
        at = first + count;
    }
    event.view.is_last = random_below(r, 2) == 0;
    return event;
}

static inline struct mu_local_event random_local_event(struct random *r)
{
    if (random_below(r, 4) == 0)
        return random_local_view(r);
    bool is_node = random_below(r, 2) == 0;
    struct mu_local_event event = {
        .serial = random_between(r, 1, UINT64_MAX),
        .subject = is_node ? MU_SUBJECT_NODE : MU_SUBJECT_PROCESS,
        .is_state = random_below(r, 2) == 0,
        .hops = (uint16_t)random_between(r, 0, UINT16_MAX),
        .job = is_node ? 0 : (uint32_t)random_between(r, 0, UINT32_MAX),
        .rank = is_node ? 0 : (uint32_t)random_between(r, 0, UINT32_MAX),
        .learned_ns = random_between(r, 0, UINT64_MAX),
        .age_ns = random_between(r, 0, UINT64_MAX),
        .evidence = random_evidence(r),
    };
    event.node = event.evidence.node;
    return event;
}

static inline struct mu_local_node random_local_node(struct random *r)
{
    struct mu_local_node node = {
        .size = (uint32_t)random_between(r, 1, MU_SIZE_MAX),
        .incarnation = (uint32_t)random_u64(r),
        .pid = (uint32_t)random_u64(r),
        .links_up = (uint32_t)random_u64(r),
        .links_wanted = (uint32_t)random_u64(r),
        .dead = (uint32_t)random_u64(r),
        .jobs = (uint32_t)random_u64(r),
        .processes = (uint32_t)random_u64(r),
        .up_ns = random_u64(r),
    };
    node.slot = (mu_slot)random_between(r, 0, node.size - 1);
    random_text(r, node.host, 0, sizeof node.host - 1);
    random_text(r, node.address, 0, sizeof node.address - 1);
    return node;
}

static inline struct mu_local_welcome random_welcome(struct random *r)
{
    struct mu_local_welcome welcome = {
        .machine = random_between(r, 1, UINT64_MAX),
        .nodes = (uint32_t)random_between(r, 1, MU_SIZE_MAX),
        .size = (uint32_t)random_between(r, 0, UINT32_MAX),
    };
    welcome.slot = (mu_slot)random_between(r, 0, welcome.nodes - 1);
    if (welcome.size > 0) {
        welcome.job = (uint32_t)random_between(r, 0, UINT32_MAX);
        welcome.rank = (uint32_t)random_between(r, 0, welcome.size - 1);
    }
    return welcome;
}

static inline struct mu_local_job random_local_job(struct random *r)
{
    struct mu_local_job job = {.job = (uint32_t)random_between(r, 0, UINT32_MAX),
                               .size = (uint32_t)random_between(r, 0, UINT32_MAX)};
    job.here = (uint32_t)random_between(r, 0, job.size);
    job.failed = (uint32_t)random_between(r, 0, job.size);
    job.left = (uint32_t)random_between(r, 0, job.size - job.failed);
    return job;
}

/* Of that type.  Everything that the type does not use is 0, so that two can be compared. */
static inline struct mu_chaos random_chaos(struct random *r)
{
    struct mu_chaos chaos = {.kind = (uint8_t)random_below(r, MU_CHAOS_SLOW + 1)};
    if (chaos.kind == MU_CHAOS_NONE)
        return chaos;
    uint64_t ways = 1 + random_below(r, 3);
    chaos.in = (ways & 1) != 0;
    chaos.out = (ways & 2) != 0;
    chaos.held = random_below(r, 2) == 0;
    chaos.for_ns = random_between(r, 0, MU_CHAOS_SPAN_MAX_NS);
    if (chaos.kind == MU_CHAOS_FLAP) {
        chaos.down_ns = random_between(r, MU_CHAOS_SPAN_MIN_NS, MU_CHAOS_SPAN_MAX_NS);
        chaos.up_ns = random_between(r, MU_CHAOS_SPAN_MIN_NS, MU_CHAOS_SPAN_MAX_NS);
    }
    if (chaos.kind == MU_CHAOS_SLOW) {
        chaos.delay_ns = random_between(r, 1, MU_CHAOS_DELAY_MAX_NS);
        chaos.jitter_ns = random_between(r, 0, MU_CHAOS_DELAY_MAX_NS);
        chaos.seed = random_between(r, 0, UINT64_MAX);
    }
    chaos.range_count = (uint8_t)random_below(r, MU_CHAOS_RANGES_MAX + 1);
    mu_slot next = 0;
    for (uint8_t i = 0; i < chaos.range_count; i++) {
        chaos.ranges[i].first = next + (mu_slot)random_below(r, 1000);
        chaos.ranges[i].last = chaos.ranges[i].first + (mu_slot)random_below(r, 1000);
        next = chaos.ranges[i].last + 1;
    }
    return chaos;
}

static inline struct mu_local_message random_local(struct random *r, enum mu_local_type type)
{
    struct mu_local_message message;
    memset(&message, 0, sizeof message);
    message.type = (uint8_t)type;
    switch (type) {
    case MU_LOCAL_HELLO:
        message.hello.version = MU_LOCAL_VERSION;
        message.hello.role = (uint8_t)(1 + random_below(r, MU_LOCAL_VOTER));
        if (message.hello.role != MU_LOCAL_OPERATOR) {
            message.hello.job = (uint32_t)random_between(r, 0, UINT32_MAX);
            message.hello.rank = (uint32_t)random_between(r, 0, UINT32_MAX);
        }
        break;
    case MU_LOCAL_KILL:
        message.kill.job = (uint32_t)random_between(r, 0, UINT32_MAX);
        message.kill.signal = (uint8_t)random_between(r, 1, 64);
        break;
    case MU_LOCAL_WELCOME:
        message.welcome = random_welcome(r);
        break;
    case MU_LOCAL_REFUSED:
        message.refused.code = (uint8_t)random_between(r, 1, UINT8_MAX);
        random_text(r, message.refused.text, 1, MU_LOCAL_TEXT_MAX);
        break;
    case MU_LOCAL_EVENT:
        message.event = random_local_event(r);
        break;
    case MU_LOCAL_LOST:
        message.lost.count = random_between(r, 1, UINT64_MAX);
        break;
    case MU_LOCAL_NODE:
        message.node = random_local_node(r);
        break;
    case MU_LOCAL_JOB:
        message.job = random_local_job(r);
        break;
    case MU_LOCAL_COUNTER:
        message.counter.value = random_between(r, 0, UINT64_MAX);
        random_text(r, message.counter.name, 1, MU_LOCAL_TEXT_MAX);
        break;
    case MU_LOCAL_SET:
        message.set.period_ns = random_between(r, MU_PERIOD_NS_MIN, MU_TIMEOUT_NS_MAX / 4);
        message.set.timeout_ns = random_between(r, 2 * message.set.period_ns, MU_TIMEOUT_NS_MAX);
        break;
    case MU_LOCAL_CHAOS:
        message.chaos = random_chaos(r);
        break;
    case MU_LOCAL_PROCESS:
        message.process.rank = (uint32_t)random_between(r, 0, UINT32_MAX);
        message.process.pid = (uint32_t)random_between(r, 1, INT32_MAX);
        break;
    case MU_LOCAL_GONE:
        message.gone.node = (mu_slot)random_below(r, MU_SIZE_MAX);
        message.gone.gone_ns = random_between(r, 0, UINT64_MAX);
        break;
    case MU_LOCAL_AGAIN:
        message.again.serial = random_between(r, 1, UINT64_MAX);
        break;
    case MU_LOCAL_CAUGHT_UP:
        message.caught_up.serial = random_between(r, 0, UINT64_MAX);
        break;
    case MU_LOCAL_STATUS:
    case MU_LOCAL_WATCH:
    case MU_LOCAL_LEAVE:
    case MU_LOCAL_DONE:
        break;
    }
    return message;
}

static const enum mu_local_type local_types[] = {
    MU_LOCAL_HELLO,   MU_LOCAL_STATUS,  MU_LOCAL_KILL,      MU_LOCAL_WATCH, MU_LOCAL_WELCOME,
    MU_LOCAL_REFUSED, MU_LOCAL_EVENT,   MU_LOCAL_CAUGHT_UP, MU_LOCAL_LOST,  MU_LOCAL_NODE,
    MU_LOCAL_JOB,     MU_LOCAL_COUNTER, MU_LOCAL_DONE,      MU_LOCAL_AGAIN, MU_LOCAL_LEAVE,
    MU_LOCAL_SET,     MU_LOCAL_CHAOS,   MU_LOCAL_PROCESS,   MU_LOCAL_GONE,
};
enum { LOCAL_TYPES = sizeof local_types / sizeof local_types[0] };

#endif
