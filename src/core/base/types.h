/* Words that every part of the core shares. */
#ifndef MU_CORE_BASE_TYPES_H
#define MU_CORE_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A node's id, and its place in graph, ring and tree.  It never changes, and it is never given to
 * another node; who comes back to it has a higher incarnation. */
typedef uint32_t mu_slot;

#define MU_SLOT_NONE UINT32_MAX

/* The largest machine: slots are 32 bits, and a set of graph edges must fit one 64-bit word. */
#define MU_SIZE_MAX (1u << 24)

#define MU_NEVER UINT64_MAX

/* The index of a notice that is held.  A link keeps a frame that is not acknowledged yet as the
 * index of what it carries. */
typedef uint16_t mu_body;

#define MU_BODY_NONE UINT16_MAX

/* What can go wrong inside the core.  A fault is reported by the step that met it and is never
 * silent; the driver decides whether the node can go on. */
enum mu_fault {
    MU_FAULT_NONE = 0,
    MU_FAULT_NOTICES_FULL,   /* more notices are held than the configuration allows */
    MU_FAULT_SEEN_FULL,      /* more ranges of known notices than the configuration allows */
    MU_FAULT_DEAD_FULL,      /* more nodes died or came than the configuration allows */
    MU_FAULT_LINKS_FULL,     /* more links than the configuration allows */
    MU_FAULT_PAYLOAD_LENGTH, /* a payload is longer than the configuration allows */
    MU_FAULT_SLOT_RANGE,     /* a slot is not below the machine's size */
    MU_FAULT_LINK_GAP,       /* a frame skipped a sequence number */
    MU_FAULT_LINK_ACK,       /* a peer acknowledged what was never sent */
    MU_FAULT_LINK_RESUME,    /* a peer asked to resume from what was never sent or is forgotten */
    MU_FAULT_AGREE_GROUPS,   /* more groups than the configuration allows */
    MU_FAULT_AGREE_RUNS,     /* no room to lay a group's tree anew */
    MU_FAULT_AGREE_PEERS,    /* more peers contribute to one agreement than there can be children */
    MU_FAULT_AGREE_MEMBERS,  /* the description of a group breaks a rule, or is of another group */
    MU_FAULT_AGREE_CALL,     /* a call before the group is open, or before the last decision */
    MU_FAULT_AGREE_MEMBER,   /* a message of one that is no member */
    MU_FAULT_AGREE_ROUND,    /* a message of an agreement that cannot have begun */
    MU_FAULT_AGREE_VALUE,    /* a list of the failed or the dead is out of order or range */
    MU_FAULT_GATHER_CALL,    /* a second part of this node for one exchange */
    MU_FAULT_GATHER_MEMBER,  /* a message of an exchange, and not of another member */
    MU_FAULT_GATHER_ROUND,   /* a message of an exchange that cannot have begun */
    MU_FAULT_GATHER_RESULT,  /* a result that this node has given no part to */
    MU_FAULT_HOSTS_FULL,     /* more members than the central detector has room for */
    MU_FAULT_VIEW_START,     /* a start or a join of a node that has a view, or out of range */
    MU_FAULT_VIEW_FULL,      /* a view has more runs or newcomers than the configuration allows */
    MU_FAULT_VIEW_ENTRIES,   /* more joins, last words and facts wait than there is room for */
    MU_FAULT_VIEW_EARLY,     /* more members are ahead of this node than there is room for */
    MU_FAULT_VIEW_MESSAGE,   /* a message about views breaks a rule */
    MU_FAULT_ADVISE_CHANGED, /* more have left or failed than the configuration allows */
    MU_FAULT_ADVISE_TESTED,  /* one member would test more than the configuration allows */
    MU_FAULT_ADVISE_OTHERS,  /* more groups matter at a time than the configuration allows */
    MU_FAULT_ADVISE_ARRIVE,  /* a program is at a boundary twice */
    MU_FAULT_ADVISE_VOID,    /* the boundary of a group that this node works in is void */
    MU_FAULT_LAST = MU_FAULT_ADVISE_VOID,
};

const char *mu_fault_name(enum mu_fault fault);

/* A sentence with the rule that was broken, for logs. */
const char *mu_fault_text(enum mu_fault fault);

#endif
