/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes room in one piece for a large object.
 */
#ifndef RS_STORE_WINDOW_H
#define RS_STORE_WINDOW_H

#include "store/index.h"

/* Under the lock: evicts all groups that have bytes in the stretch of GRANULES (or somewhat more)
 * of which the youngest is the oldest; HARD as in rs_evictable(). How many have gone; 0: there is
 * no stretch of which all may go. Takes a scan of all groups, below 20 ms for a full store of the
 * largest size. */
unsigned rs_evict_window(struct rs_index *index, uint32_t granules, bool hard);

#endif
