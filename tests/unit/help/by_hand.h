/* One node driven by hand: a test says what happens, and looks at what comes out. */
#ifndef TEST_BY_HAND_H
#define TEST_BY_HAND_H

#include "core/base/graph.h"
#include "core/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

struct hand {
    struct mu_node *node; /* the start of the node's memory */
    size_t bytes;
    uint64_t now_ns;
    struct mu_update update; /* of the last step */
};

/* A small node with waits that are easy to tell apart: redundant 1 ms, ack 5 ms, retain 1 s. */
struct mu_config hand_config(uint32_t size, mu_slot self);

enum {
    HAND_REDUNDANT_NS = 1000 * 1000,
    HAND_ACK_NS = 5 * 1000 * 1000,
    HAND_RETAIN_NS = 1000 * 1000 * 1000,
};

/* Built, not started.  hand_free() gives the memory back. */
void hand_init(struct hand *hand, const struct mu_config *config);
void hand_free(struct hand *hand);

/* Built and started, with every edge of the graph connected. */
void hand_init_connected(struct hand *hand, const struct mu_config *config);

/* ---- what happens; each overwrites the update ---- */

void hand_start(struct hand *hand, bool links_up);
void hand_timeout(struct hand *hand, enum mu_timer timer);
void hand_link_up(struct hand *hand, mu_slot peer, uint64_t peer_has);
void hand_link_up_of(struct hand *hand, mu_slot peer, uint32_t incarnation, uint64_t peer_has);
void hand_link_down(struct hand *hand, mu_slot peer);
void hand_post(struct hand *hand, const char *payload);
void hand_forget(struct hand *hand, uint8_t kind, uint64_t stream);
void hand_verdict(struct hand *hand, struct mu_notice notice);
void hand_recv(struct hand *hand, mu_slot from, const struct mu_frame *frame);
void hand_recv_after(struct hand *hand, mu_slot from, const struct mu_frame *frame,
                     uint64_t transit_ns);

/* The next frame on the link from 'from', with this notice. */
void hand_hear(struct hand *hand, mu_slot from, struct mu_notice notice);

/* Everything sent to 'peer' is acknowledged. */
void hand_acknowledge(struct hand *hand, mu_slot peer);

/* A death seen here; its tree hangs from this node. */
void hand_see_dead(struct hand *hand, mu_slot dead);

/* ---- what came out ---- */

uint32_t hand_count(const struct hand *hand, enum mu_effect_type type);

/* The n-th effect of a type, from 0; fails the test when there is none. */
const struct mu_effect *hand_effect(const struct hand *hand, enum mu_effect_type type, uint32_t n);

/* Place in the update of an effect for 'peer'; MU_SLOT_NONE: for anybody.  UINT32_MAX: none. */
uint32_t hand_place(const struct hand *hand, enum mu_effect_type type, mu_slot peer);

uint32_t hand_sends_to(const struct hand *hand, mu_slot peer);

/* Exactly these went out, in any order: the slots of the sends as bits; below 64 nodes. */
uint64_t hand_sent_mask(const struct hand *hand);

void hand_expect_nothing(const struct hand *hand);

/* Exactly one fault, and only effects that may go with it. */
void hand_expect_fault(const struct hand *hand, enum mu_fault fault, mu_slot peer);

/* Exactly one connection is dropped, for this reason. */
void hand_expect_close(const struct hand *hand, enum mu_close_reason reason, mu_slot peer);

/* The neighbours of a slot as bits; below 64 nodes. */
uint64_t hand_neighbours(uint32_t size, mu_slot slot);

struct mu_notice hand_payload_of(mu_slot origin, uint64_t sequence, const char *text);
struct mu_notice hand_death_of(mu_slot slot, uint32_t incarnation, mu_slot root);

#endif
