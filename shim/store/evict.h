/* SPDX-License-Identifier: Apache-2.0
 *
 * Making room: the groups that were used longest ago go, but for those that somebody reads or was
 * promised. Under the store's lock.
 */
#ifndef RS_STORE_EVICT_H
#define RS_STORE_EVICT_H

#include "store/index.h"

/* Ends what dead writers have begun. */
void rs_sweep(struct rs_index *index);

/* Evicts until ENOUGH says so or nothing is left that may go. Returns how many groups went. */
unsigned rs_evict_until(struct rs_index *index, bool (*enough)(void *context), void *context);

/* The same for room in one piece, of GRANULES: a few of the oldest go, then the stretch that rested
 * longest (store/window.h), then a few more. Bounded, since others wait for the lock. */
unsigned rs_evict_for(struct rs_index *index, uint32_t granules, bool (*enough)(void *context),
                      void *context);

/* Whether group I may go while nobody reads it: it is READY, and nobody was promised it; HARD: not
 * in the last minute. */
bool rs_evictable(const struct rs_index *index, uint32_t i, bool hard);
/* Evicts group I if it may go and nobody reads it. */
bool rs_evict_group(struct rs_index *index, uint32_t i, bool hard);
#endif
