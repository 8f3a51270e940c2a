/* SPDX-License-Identifier: Apache-2.0
 *
 * What a store, or the end of all hope for one, means to who waits for it. Thread and fork safe.
 */
#ifndef RS_RANK_KEEP_LEASE_H
#define RS_RANK_KEEP_LEASE_H

#include "rank/where.h"

/* The entry or group at WHERE has got its name: counts it and ends its lease. */
void rs_keep_stored(const struct rs_where *where);

/* It will not: if this process is its producer, nobody waits for it any longer. */
void rs_keep_failed(const struct rs_where *where);

#endif
