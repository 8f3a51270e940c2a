/* SPDX-License-Identifier: Apache-2.0
 *
 * Cache directories of the ranks of one job. Ranks that share one meet there. Ranks with
 * directories of their own meet in the segment: their leases are about one directory of the job,
 * and what one of them stores the others get from the artifact store.
 *
 * This holds for the first directory that a process looks a key up in, its *home*. One that it uses
 * later (torch's fresh_cache(), a directory that was removed and made again) was made to be empty,
 * and stays a matter of its own. Triton's default directory below $HOME is nobody's home.
 *
 * Thread and fork safe.
 */
#ifndef RS_RANK_ROOT_H
#define RS_RANK_ROOT_H

#include "rank/where.h"

/* The calling process looks up the key of WHERE: its directory is home, if there is none yet. */
void rs_root_enter(const struct rs_where *where);

bool rs_root_home(const struct rs_where *where);

/* The directory that a lease of WHERE's key is about. */
void rs_root_leased(const struct rs_where *where, uint64_t *dev, uint64_t *ino);

/* Whether WHERE lies at home and ranks of the job have others. */
bool rs_root_several(const struct rs_where *where);

/* This process has waited for what it could not have then (the store has no room, or a path can't
 * be moved). After a few times it waits only in a directory that it shares. */
void rs_root_in_vain(void);
bool rs_root_may_wait(const struct rs_where *where);

/* In a fork child, before anything else. */
void rs_root_forked(void);

#endif
