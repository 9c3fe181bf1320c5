/* The witness of a daemon: its parent.  It waits for the daemon's end, and does nothing else until
 * then: no protocol, no listening socket, no thread, no loop.  When the daemon has ended, for
 * whatever reason, and has not said goodbye, it tells neighbours so (tell.h), kills and reaps what
 * is left of the node's processes, and tells that, too.  Then it ends as the daemon did, so that
 * whoever started the daemon sees how.  docs/spec/witness.md has the rules.
 *
 * What is sent to it by somebody who takes it for the daemon (SIGTERM and the like) it passes on.
 */
#ifndef MU_WITNESS_WITNESS_H
#define MU_WITNESS_WITNESS_H

#include "net/seal.h"
#include "witness/page.h"

#include <sys/types.h>

struct mu_witness {
    pid_t pid;                    /* of the witness */
    int pidfd;                    /* becomes readable when it has ended */
    struct mu_witness_page *page; /* what the daemon keeps current */
};

/* Splits this process in two, before it has a second thread: the child returns as the daemon, with
 * 'witness' filled in; the parent becomes the witness and never returns.  'self' is the daemon:
 * machine, size, from, incarnation; the witness keeps a copy of that and of the key, and wipes what
 * it has at 'key': the daemon still finds it there.  Its standard input tells it when nobody needs
 * its words any more, by its end.  Returns 0; or an errno, and this process goes on without a
 * witness. */
int mu_witness_begin(uint8_t key[MU_SEAL_KEY_BYTES], const struct mu_hello *self,
                     struct mu_witness *witness);

#endif
