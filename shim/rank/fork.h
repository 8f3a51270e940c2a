/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RS_RANK_FORK_H
#define RS_RANK_FORK_H

/* Registers what a fork child forgets: slot, leases, waits, what was hashed. Once, by the
 * constructor. */
void rs_fork_init(void);

#endif
