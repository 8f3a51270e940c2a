/* SPDX-License-Identifier: Apache-2.0
 *
 * Which keys were looked for in vain, and whether by more than one rank: a small table that
 * forgets. Lock-free; thread and fork safe.
 */
#ifndef RS_STORE_WANTED_H
#define RS_STORE_WANTED_H

#include "store/index.h"

/* The rank of SLOT (the process, where it has no number) looks for KEY. */
void rs_want(const struct rs_index *index, const struct rs_slot *slot,
             const struct rs_artifact_key *key);
/* Whether another rank has. */
bool rs_is_wanted(const struct rs_index *index, const struct rs_slot *slot,
                  const struct rs_artifact_key *key);

#endif
