#include "core/base/types.h"

#include <stdlib.h>

const char *mu_fault_name(enum mu_fault fault)
{
    switch (fault) {
    case MU_FAULT_NONE:
        return "none";
    case MU_FAULT_NOTICES_FULL:
        return "notices-full";
    case MU_FAULT_SEEN_FULL:
        return "seen-full";
    case MU_FAULT_DEAD_FULL:
        return "dead-full";
    case MU_FAULT_LINKS_FULL:
        return "links-full";
    case MU_FAULT_PAYLOAD_LENGTH:
        return "payload-length";
    case MU_FAULT_SLOT_RANGE:
        return "slot-range";
    case MU_FAULT_LINK_GAP:
        return "link-gap";
    case MU_FAULT_LINK_ACK:
        return "link-ack";
    case MU_FAULT_LINK_RESUME:
        return "link-resume";
    case MU_FAULT_AGREE_GROUPS:
        return "agree-groups";
    case MU_FAULT_AGREE_RUNS:
        return "agree-runs";
    case MU_FAULT_AGREE_PEERS:
        return "agree-peers";
    case MU_FAULT_AGREE_MEMBERS:
        return "agree-members";
    case MU_FAULT_AGREE_CALL:
        return "agree-call";
    case MU_FAULT_AGREE_MEMBER:
        return "agree-member";
    case MU_FAULT_AGREE_ROUND:
        return "agree-round";
    case MU_FAULT_AGREE_VALUE:
        return "agree-value";
    case MU_FAULT_GATHER_CALL:
        return "gather-call";
    case MU_FAULT_GATHER_MEMBER:
        return "gather-member";
    case MU_FAULT_GATHER_ROUND:
        return "gather-round";
    case MU_FAULT_GATHER_RESULT:
        return "gather-result";
    case MU_FAULT_HOSTS_FULL:
        return "hosts-full";
    case MU_FAULT_VIEW_START:
        return "view-start";
    case MU_FAULT_VIEW_FULL:
        return "view-full";
    case MU_FAULT_VIEW_ENTRIES:
        return "view-entries";
    case MU_FAULT_VIEW_EARLY:
        return "view-early";
    case MU_FAULT_VIEW_MESSAGE:
        return "view-message";
    case MU_FAULT_ADVISE_CHANGED:
        return "advise-changed";
    case MU_FAULT_ADVISE_TESTED:
        return "advise-tested";
    case MU_FAULT_ADVISE_OTHERS:
        return "advise-others";
    case MU_FAULT_ADVISE_ARRIVE:
        return "advise-arrive";
    case MU_FAULT_ADVISE_VOID:
        return "advise-void";
    }
    abort();
}

const char *mu_fault_text(enum mu_fault fault)
{
    switch (fault) {
    case MU_FAULT_NONE:
        return "no fault";
    case MU_FAULT_NOTICES_FULL:
        return "more notices are held than limits.notices allows";
    case MU_FAULT_SEEN_FULL:
        return "more ranges of known notices than limits.seen allows";
    case MU_FAULT_DEAD_FULL:
        return "more nodes died, came back or joined than limits.dead allows";
    case MU_FAULT_LINKS_FULL:
        return "more links than limits.links allows";
    case MU_FAULT_PAYLOAD_LENGTH:
        return "a payload is longer than limits.payload_bytes allows";
    case MU_FAULT_SLOT_RANGE:
        return "a slot is not below the machine's size";
    case MU_FAULT_LINK_GAP:
        return "a frame skipped a sequence number of its link";
    case MU_FAULT_LINK_ACK:
        return "a peer acknowledged a frame that was never sent";
    case MU_FAULT_LINK_RESUME:
        return "a peer resumes a link from a frame that was never sent or is forgotten";
    case MU_FAULT_AGREE_GROUPS:
        return "more groups are open than limits.groups allows";
    case MU_FAULT_AGREE_RUNS:
        return "a group's tree is not laid anew: its members would take more than limits.runs";
    case MU_FAULT_AGREE_PEERS:
        return "more peers contribute to one agreement than limits.dead lets become children";
    case MU_FAULT_AGREE_MEMBERS:
        return "a group's members are spans in order, below the machine's size, with this node, "
               "and not other ones than before";
    case MU_FAULT_AGREE_CALL:
        return "a call comes after the group is open and its last decision was delivered, once";
    case MU_FAULT_AGREE_MEMBER:
        return "a message of an agreement came from one that is no member of the group";
    case MU_FAULT_AGREE_ROUND:
        return "a message of an agreement that cannot have begun without this node";
    case MU_FAULT_AGREE_VALUE:
        return "a list of the failed or the dead is in order, below the machine's size";
    case MU_FAULT_GATHER_CALL:
        return "a node gives its part of an exchange once, after the last result was delivered";
    case MU_FAULT_GATHER_MEMBER:
        return "who speaks of an exchange is another member of it";
    case MU_FAULT_GATHER_ROUND:
        return "nobody can be two rounds ahead of another";
    case MU_FAULT_GATHER_RESULT:
        return "there is no result without the part of this node";
    case MU_FAULT_HOSTS_FULL:
        return "a view has more members than the central detector has room for (hosts)";
    case MU_FAULT_VIEW_START:
        return "a start or a join of a node that has a view, or with ids out of range";
    case MU_FAULT_VIEW_FULL:
        return "a view has more runs of ids or newcomers than the configuration allows";
    case MU_FAULT_VIEW_ENTRIES:
        return "more joins, last words and facts wait than there is room for";
    case MU_FAULT_VIEW_EARLY:
        return "more members are in the next view already than there is room for";
    case MU_FAULT_VIEW_MESSAGE:
        return "a message about views breaks a rule";
    case MU_FAULT_ADVISE_CHANGED:
        return "more have left the group or failed than limits.changed allows";
    case MU_FAULT_ADVISE_TESTED:
        return "a member has more to test than limits.tested allows";
    case MU_FAULT_ADVISE_OTHERS:
        return "more groups matter at a time than limits.others allows";
    case MU_FAULT_ADVISE_ARRIVE:
        return "a program arrives once at each boundary";
    case MU_FAULT_ADVISE_VOID:
        return "a group in which a living node works is decided by all others, too";
    }
    abort();
}
