#include "core/base/config.h"

#include "core/base/graph.h"

#include <assert.h>
#include <string.h>

/* A deadline is a time below 2^63 and a wait: the sum must not wrap. */
#define WAIT_NS_MAX (MU_NEVER / 2)
#define FRAMES_MAX  (1u << 24)

/* What a daemon is prepared for at once, on a machine of any size. */
enum { STORM_LINKS = 4096, STORM_DEAD = 32768, NOTICES = 8192 };

void mu_config_default(struct mu_config *config, uint32_t size, mu_slot self)
{
    assert(size >= 1 && size <= MU_SIZE_MAX && self < size);
    memset(config, 0, sizeof *config);
    config->size = config->slots = size;
    config->self = self;
    config->incarnation = 1;
    config->redundant_wait_ns = 1000 * 1000;
    config->ack_delay_ns = 5 * 1000 * 1000;
    config->retain_ns = 60ull * 1000 * 1000 * 1000;
    uint32_t edges = mu_graph_edges(size);
    config->limits = (struct mu_limits){
        /* After a whole rack has died, the nodes next to it take over every link that led there. */
        .links = edges + (size < STORM_LINKS ? size : STORM_LINKS),
        .dead = size < STORM_DEAD ? size : STORM_DEAD,
        .seen = size + NOTICES, /* a range for each node, and a gap for each notice */
        .notices = NOTICES,
        .payload_bytes = 256,
        .window = 64,
    };
}

const char *mu_config_error(const struct mu_config *config)
{
    if (config->size < 1 || config->size > MU_SIZE_MAX)
        return "size must be between 1 and 16777216";
    if (config->slots < config->size || config->slots > MU_SIZE_MAX)
        return "slots must be between size and 16777216";
    if (config->self >= config->slots)
        return "self must be below slots";
    if (config->incarnation == 0)
        return "incarnation must be at least 1";
    if (config->limits.links < mu_graph_edges(config->slots) || config->limits.links == 0 ||
        config->limits.links > UINT16_MAX)
        return "limits.links must hold every edge of the graph, and at most 65535";
    if (config->limits.notices == 0 || config->limits.dead == 0 || config->limits.seen == 0)
        return "limits.notices, limits.dead and limits.seen must be at least 1";
    if (config->limits.dead + (uint64_t)config->limits.notices >= MU_BODY_NONE)
        return "limits.notices and limits.dead together must be at most 65534";
    if (config->limits.window == 0)
        return "limits.window must be at least 1";
    if ((uint64_t)config->limits.links * config->limits.window > FRAMES_MAX)
        return "limits.links times limits.window must be at most 16777216";
    if (config->redundant_wait_ns > WAIT_NS_MAX || config->ack_delay_ns > WAIT_NS_MAX)
        return "redundant_wait_ns and ack_delay_ns must be at most 2^63 - 1";
    if (config->retain_ns > WAIT_NS_MAX && config->retain_ns != MU_NEVER)
        return "retain_ns must be at most 2^63 - 1, or never";
    if (config->retain_ns <= config->ack_delay_ns)
        return "retain_ns must be longer than ack_delay_ns";
    return NULL;
}
