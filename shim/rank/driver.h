/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the calling thread is in a call of the driver, made by the program. What the driver
 * itself calls and looks up meanwhile is its own affair, and it may hold locks: nobody waits for
 * another rank there. For good in a thread that has jumped out of such a call (siglongjmp), so
 * nothing that a wrong result could come of may depend on it. Thread and fork safe.
 */
#ifndef RS_RANK_DRIVER_H
#define RS_RANK_DRIVER_H

#include <stdbool.h>

/* False: the thread is in one already. */
bool rs_driver_enter(void);
void rs_driver_leave(void);

bool rs_driver_inside(void);

#endif
