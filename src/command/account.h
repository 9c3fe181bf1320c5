/* What is known of one death, from wherever: the daemons' events, or a line of a report.  Its JSON
 * is that line. */
#ifndef MU_COMMAND_ACCOUNT_H
#define MU_COMMAND_ACCOUNT_H

#include "command/proof_json.h"
#include "wire/local/local.h"

enum {
    ACCOUNT_HOW_MAX = 512,
    ACCOUNT_SENTENCE_MAX = ACCOUNT_HOW_MAX + 128,
    ACCOUNT_ENDED_MAX = 16,
};

/* A node that knew it, so long after it was first seen. */
struct account_told {
    mu_slot node;
    uint16_t hops;
    uint64_t after_ns;
};

struct account_list {
    uint32_t *items;
    size_t count;
};

struct account {
    bool is_node;
    uint32_t job;                  /* of the process; of a node: 0, or whose report it is */
    uint32_t rank, pid;            /* of the process; pid 0: not known */
    struct account_list ranks;     /* processes of that job that were lost with the node */
    mu_slot node;                  /* it, or where the process ran */
    uint8_t verdict;               /* enum mu_verdict */
    uint8_t cause;                 /* enum mu_cause; 0: only the launcher has seen it */
    char how[ACCOUNT_HOW_MAX];     /* a clause */
    char ended[ACCOUNT_ENDED_MAX]; /* of a process: mu_exit_kind_word(); "": nobody saw it end */
    int code;                      /* that a shell would show */
    mu_slot seen_by;               /* MU_SLOT_NONE: not known */
    struct mu_ring_proof ring;     /* where cause_has_proof(); else zeroed */
    bool is_gone;                  /* of a node: its witness says that no process of it is left, */
    uint64_t gone_after_ns;        /* so long after the failure was first seen */
    struct account_told *told;     /* in the order of after_ns */
    size_t told_count;
    struct account_list untold;    /* nodes that should know it, and have not said so */
    struct account_list no_answer; /* nodes that could not be asked */
};

/* What one daemon's event says, without who was told.  Nothing to free. */
void account_of_event(struct account *account, const struct mu_local_event *event);
void account_of_evidence(struct account *account, const struct mu_evidence *evidence);

/* Frees what it holds; the struct is the caller's. */
void account_free(struct account *account);

/* No memory ends the command. */
void account_list_add(struct account_list *list, uint32_t item);
void account_add_told(struct account *account, mu_slot node, uint16_t hops, uint64_t after_ns);
void account_sort_told(struct account *account);

/* "rank 1.7 failed on node 1: killed by SIGKILL".  Returns 'text'. */
const char *account_sentence(const struct account *account, char text[ACCOUNT_SENTENCE_MAX]);

/* "node 0 receives no heartbeat from node 1 and has no other node to ask".  Returns 'text'. */
enum { UNDECIDED_TEXT_MAX = 128 };
const char *undecided_text(mu_slot by, uint64_t node, char text[UNDECIDED_TEXT_MAX]);

/* Without no_answer, which a report has not; of a node with job 0 without job, processes and ranks.
 */
json_t *account_list_json(const struct account_list *list);
json_t *account_json(const struct account *account);

/* The other way, for lines of a report.  NULL, with an account to free; or what is wrong, with
 * nothing to free. */
const char *account_read(const json_t *object, struct account *account);

#endif
