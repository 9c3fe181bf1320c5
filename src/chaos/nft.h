/* A cut by the kernel's packet filter, of the host (or network namespace) of one node: exact also
 * for what the kernel says by itself, as acknowledgements, resets and the end of a process.  For
 * root.
 *
 * Packets are dropped where they arrive and where they leave, at the devices: so no sender is told.
 */
#ifndef MU_CHAOS_NFT_H
#define MU_CHAOS_NFT_H

#include "chaos/fault.h"
#include "launch/operator.h"

#include <sys/types.h>

struct chaos_nft {
    pid_t guard; /* removes the rules when 'fd' is closed, by whomever; 0: there is none */
    int fd;
    char table[40]; /* of nft, with the rules */
};

/* "10.0.0.4,10.1.0.0/16".  NULL, or why not, in 'why'. */
const char *chaos_nft_peers_error(const char *text, char why[CHAOS_WHY_MAX]);

/* Of the fault: whom, in and out.  'peers' has passed the above; NULL: all.  False with 'why'
 * filled and nothing done. */
bool chaos_nft_begin(struct chaos_nft *nft, const struct operator_found *found,
                     const struct chaos_fault *fault, const char *peers,
                     char why[OPERATOR_TEXT_MAX]);

/* After that, if it was begun.  False with 'why' filled: rules are left. */
bool chaos_nft_end(struct chaos_nft *nft, char why[OPERATOR_TEXT_MAX]);

#endif
