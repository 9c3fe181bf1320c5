/* Whose word counts, when daemons say that nodes are dead.
 *
 * A network that falls apart leaves sides that declare each other.  If every word counted, each
 * side would lose some of its nodes; so the side goes on whose word came first.  A word is a node
 * and who saw its end.  It is *followed* when the node is given up for it.  A teller is of the side
 * that goes on while it has told every word that was followed: news floods, so it has soon, unless
 * the network is apart.  That it has found the same node dead by itself does not count: whom we
 * give up ends, and the other side sees that, too.
 *
 *     words_take(TOLD)  ->  words_next() until it says no, and each time:
 *     a node is lost, for whatever reason  ->  words_lost()  */
#ifndef MU_LAUNCH_WORDS_H
#define MU_LAUNCH_WORDS_H

#include "wire/base/evidence.h"

struct words;

/* For slots below 'nodes'; NULL: no memory. */
struct words *words_new(uint32_t nodes);
void words_free(struct words *words); /* NULL is none */

/* 'teller' says that 'node' is dead, not itself.  False: no memory, and it is forgotten. */
bool words_take(struct words *words, mu_slot teller, mu_slot node,
                const struct mu_evidence *evidence);

/* A node to give up now, of which a word is followed from here on.  A word counts when a teller of
 * it is of the side that goes on, or when more than half of 'tellers' nodes (all that can tell,
 * dead or alive) say it: no other side can have as many.  NULL: none; else its evidence, until the
 * next call of a function here. */
const struct mu_evidence *words_next(struct words *words, uint32_t tellers, mu_slot *node);

/* The node is given up: what it has said counts no more.  When nobody is left of the side that went
 * on, whoever speaks first does. */
void words_lost(struct words *words, mu_slot node);

#endif
