#include "rig/role.h"

void role_count(struct client *c)
{
    struct muster_event event;
    do {
        uint64_t now_ns = client_next(c, &event);
        role_count_note(c, &event, now_ns);
    } while (event.type != MUSTER_EVENT_CAUGHT_UP);
    client_is_ready(c);
    for (;;) {
        uint64_t now_ns = client_next(c, &event);
        role_count_note(c, &event, now_ns);
    }
}
