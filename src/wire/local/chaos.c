#include "wire/local/chaos.h"

static const char *ranges_error(const struct mu_chaos *chaos)
{
    if (chaos->range_count > MU_CHAOS_RANGES_MAX)
        return "peers are at most 48 ranges of slots";
    for (uint8_t i = 0; i < chaos->range_count; i++) {
        const struct mu_chaos_range *range = &chaos->ranges[i];
        if (range->first > range->last || range->last >= MU_SIZE_MAX)
            return "a range of peers goes up, and stays below 2^24";
        if (i > 0 && range->first <= range[-1].last)
            return "ranges of peers are in order, and apart from each other";
    }
    return NULL;
}

static bool is_flap_span(uint64_t ns)
{
    return ns >= MU_CHAOS_SPAN_MIN_NS && ns <= MU_CHAOS_SPAN_MAX_NS;
}

static const char *times_error(const struct mu_chaos *chaos)
{
    bool flaps = chaos->kind == MU_CHAOS_FLAP, slows = chaos->kind == MU_CHAOS_SLOW;
    if (flaps != (chaos->down_ns != 0) || flaps != (chaos->up_ns != 0))
        return "a flap has two spans, and nothing else has";
    if (flaps && (!is_flap_span(chaos->down_ns) || !is_flap_span(chaos->up_ns)))
        return "a span of a flap is 1 ms to 24 hours";
    if (slows != (chaos->delay_ns != 0) || (!slows && (chaos->jitter_ns != 0 || chaos->seed != 0)))
        return "what is slow has a delay, and nothing else has";
    if (chaos->delay_ns > MU_CHAOS_DELAY_MAX_NS || chaos->jitter_ns > MU_CHAOS_DELAY_MAX_NS)
        return "a delay and its jitter are at most 10 s each";
    return chaos->for_ns <= MU_CHAOS_SPAN_MAX_NS ? NULL : "a fault is over after 24 hours";
}

const char *mu_chaos_error(const struct mu_chaos *chaos)
{
    if (chaos->kind > MU_CHAOS_SLOW)
        return "a fault is 0 (none), 1 (cut), 2 (flap) or 3 (slow)";
    bool is_none = chaos->kind == MU_CHAOS_NONE;
    if (is_none != (!chaos->in && !chaos->out))
        return "a fault has a direction, and none has none";
    if (is_none && (chaos->held || chaos->for_ns != 0 || chaos->range_count != 0))
        return "no fault has no time and no peers";
    const char *error = times_error(chaos);
    return error != NULL ? error : ranges_error(chaos);
}

bool mu_chaos_concerns(const struct mu_chaos *chaos, mu_slot peer)
{
    for (uint8_t i = 0; i < chaos->range_count; i++)
        if (peer >= chaos->ranges[i].first && peer <= chaos->ranges[i].last)
            return true;
    return chaos->range_count == 0;
}

void mu_write_chaos(struct mu_writer *writer, const struct mu_chaos *chaos)
{
    mu_write_u8(writer, chaos->kind);
    mu_write_u8(writer, chaos->in);
    mu_write_u8(writer, chaos->out);
    mu_write_u8(writer, chaos->held);
    mu_write_u64(writer, chaos->for_ns);
    mu_write_u64(writer, chaos->down_ns);
    mu_write_u64(writer, chaos->up_ns);
    mu_write_u64(writer, chaos->delay_ns);
    mu_write_u64(writer, chaos->jitter_ns);
    mu_write_u64(writer, chaos->seed);
    mu_write_u8(writer, chaos->range_count);
    for (uint8_t i = 0; i < chaos->range_count; i++) {
        mu_write_u32(writer, chaos->ranges[i].first);
        mu_write_u32(writer, chaos->ranges[i].last);
    }
}

static bool read_flag(struct mu_reader *reader)
{
    uint8_t flag = mu_read_u8(reader);
    if (flag > 1)
        reader->bad = true;
    return flag == 1;
}

void mu_read_chaos(struct mu_reader *reader, struct mu_chaos *chaos)
{
    chaos->kind = mu_read_u8(reader);
    chaos->in = read_flag(reader);
    chaos->out = read_flag(reader);
    chaos->held = read_flag(reader);
    chaos->for_ns = mu_read_u64(reader);
    chaos->down_ns = mu_read_u64(reader);
    chaos->up_ns = mu_read_u64(reader);
    chaos->delay_ns = mu_read_u64(reader);
    chaos->jitter_ns = mu_read_u64(reader);
    chaos->seed = mu_read_u64(reader);
    chaos->range_count = mu_read_u8(reader);
    for (uint8_t i = 0; i < chaos->range_count && i < MU_CHAOS_RANGES_MAX; i++) {
        chaos->ranges[i].first = mu_read_u32(reader);
        chaos->ranges[i].last = mu_read_u32(reader);
    }
}
