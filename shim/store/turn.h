/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns at reading a file on a slow file system: one process of the node reads it and puts it into
 * the store, others that want the same wait for that. Nobody depends on a turn: who does not get
 * one in time reads for himself. Thread safe. Fork: a child does not have its parent's turns.
 */
#ifndef RS_STORE_TURN_H
#define RS_STORE_TURN_H

#include "store/artifact.h"

struct rs_turn {
    _Atomic uint64_t *word;
    uint64_t tag;
};

/* Takes the turn at KEY in the root of ORIGIN, waiting for whoever has it: until he ends it or
 * dies, a signal handler of the calling thread has run, or PATIENCE_NS are over. An owner that
 * can't be judged and has had it so long counts as dead. True: *TURN is this thread's, until
 * rs_turn_end(). Keys may share a turn by chance. errno is not preserved. */
bool rs_turn_take(struct rs_store *store, const struct rs_slot *slot,
                  const struct rs_artifact_key *key, const struct rs_origin *origin,
                  uint64_t patience_ns, struct rs_turn *turn);
void rs_turn_end(struct rs_turn *turn);

#endif
