/* SPDX-License-Identifier: Apache-2.0
 *
 * The one switch. Everything else in the library asks it first.
 */
#ifndef RS_BASE_STATE_H
#define RS_BASE_STATE_H

#include "base/config.h"

#include <stdatomic.h>
#include <stdbool.h>

/* RS_EARLY until the constructor has finished: hooks do the raw system call or a plain call of the
 * next definition. */
enum rs_phase { RS_EARLY, RS_OFF, RS_ON };

extern _Atomic(int) rs_phase;
extern struct rs_config rs_config; /* written by the constructor alone */

/* Whether the library is to act. A load and a compare: this stands in front of every open(). */
static inline bool rs_on(void)
{
    return atomic_load_explicit(&rs_phase, memory_order_acquire) == RS_ON;
}

#endif
