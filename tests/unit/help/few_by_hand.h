/* A few detectors and the datagrams between them, driven by hand: a test says what happens to whom,
 * lets time pass, and looks at who was declared when.  Clocks of the nodes differ. */
#ifndef TEST_FEW_BY_HAND_H
#define TEST_FEW_BY_HAND_H

#include "core/ring/ring.h"
#include "core/ring/inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

#define MS (UINT64_C(1000) * 1000)

enum { FEW_NODES_MAX = 64, FEW_BAG = 4096, FEW_LOG = 8192 };

/* What happened, in the order of time.  Times are the world's. */
struct few_entry {
    enum mu_detect_effect_type type; /* never SEND */
    uint64_t at_ns;
    mu_slot at; /* whose effect */
    mu_slot subject;
    uint8_t cause;
    bool held;
    struct mu_detect_evidence evidence;
};

struct few_datagram {
    uint64_t at_ns; /* of arrival; 0: this place in the bag is free */
    struct mu_beat beat;
};

struct few {
    uint32_t size;
    uint64_t now_ns;
    uint64_t delay_ns;  /* of each datagram */
    uint64_t spread_ns; /* from a verdict to OUT at all the others; MU_NEVER: nobody is told */
    struct mu_detect_config config;
    enum mu_launcher_reach launcher; /* what it says of everybody; NONE: there is none */
    struct {
        struct mu_detect *detect;
        uint64_t clock_ns; /* ahead of the world's */
        uint64_t due_ns;   /* the world's time */
        bool dead, stopped, started;
        uint64_t told_ns[FEW_NODES_MAX]; /* OUT of each slot is due; 0: not */
        struct mu_detect_event answer;   /* of the launcher, to the last question ... */
        uint64_t answer_ns;              /* ... then; 0: none */
    } nodes[FEW_NODES_MAX];
    bool cut[FEW_NODES_MAX][FEW_NODES_MAX]; /* from, to */
    /* Loses what it says true to; NULL: nothing. */
    bool (*loses)(const struct few *few, const struct mu_beat *beat);
    uint32_t spoken; /* datagrams handed to 'loses' so far, for those that count */
    struct few_datagram bag[FEW_BAG];
    uint32_t bagged; /* places of it that have ever been in use */
    struct few_entry log[FEW_LOG];
    uint32_t logged;
    struct mu_detect_update update; /* of the last step */
    mu_slot stepped;                /* whose step that was */
    struct mu_detect_effect effects[MU_DETECT_EFFECTS_MAX];
};

/* Period 100 ms, timeout 200 ms, no grace, delay 1 ms, spread 2 ms.  Nothing has started. */
struct few *few_new(uint32_t size);

/* All nodes with the configuration in 'config', which a test may have changed. */
void few_start(struct few *few);

/* One node only; the others are there when a test says what they send. */
void few_start_one(struct few *few, mu_slot slot);
struct few *few_started(uint32_t size);
void few_free(struct few *few);

/* ---- what happens ---- */

void few_run_until(struct few *few, uint64_t until_ns);
void few_run(struct few *few, uint64_t for_ns);

/* TIMEOUT at its deadline, of one node. */
void few_fire(struct few *few, mu_slot slot);
void few_kill(struct few *few, mu_slot slot);

/* It stands still; datagrams wait in its socket. */
void few_stop(struct few *few, mu_slot slot);
void few_continue(struct few *few, mu_slot slot);

void few_cut_one_way(struct few *few, mu_slot from, mu_slot to, bool cut);
void few_cut_both(struct few *few, mu_slot a, mu_slot b, bool cut);

/* From everybody else. */
void few_cut_off(struct few *few, mu_slot slot, bool cut);

/* One step of one node, now; effects are carried out, and can be looked at in 'update'. */
void few_step(struct few *few, mu_slot slot, struct mu_detect_event event);
void few_recv(struct few *few, struct mu_beat beat);      /* at beat.to */
void few_out(struct few *few, mu_slot slot, mu_slot out); /* without proof */
void few_out_proven(struct few *few, mu_slot slot, mu_slot out);
void few_set(struct few *few, mu_slot slot, uint64_t period_ns, uint64_t timeout_ns);

/* ---- what came of it ---- */

/* The first entry of this type about 'subject' (VERDICT, REPORT) or by 'subject' (the others), not
 * before 'from_ns'; NULL: none.  MU_SLOT_NONE: about anybody. */
const struct few_entry *few_find(const struct few *few, enum mu_detect_effect_type type,
                                 mu_slot subject, uint64_t from_ns);
uint32_t few_count(const struct few *few, enum mu_detect_effect_type type);

/* Nobody was declared, reported or fenced, and there was no fault. */
void few_expect_calm(const struct few *few);

/* Of the last step: the n-th SEND of this type; NULL: none. */
const struct mu_beat *few_sent(const struct few *few, enum mu_beat_type type, uint32_t n);

/* Every live node observes the live node before it, nobody else does, and holds its lease. */
void few_expect_whole(const struct few *few);

/* How many of this type were sent to a slot in the last step. */
uint32_t few_sent_to(const struct few *few, enum mu_beat_type type, mu_slot to);

uint64_t few_clock(const struct few *few, mu_slot slot);

/* A datagram of 'from' as it would send it; the rest is for the test to fill in. */
struct mu_beat few_beat(const struct few *few, enum mu_beat_type type, mu_slot from, mu_slot to);
struct mu_beat few_watch(const struct few *few, mu_slot from, mu_slot to, uint64_t nonce);
uint64_t few_dropped(const struct few *few, mu_slot slot);

#endif
