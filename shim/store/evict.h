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

#endif
