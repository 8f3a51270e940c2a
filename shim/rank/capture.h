/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a stream of this process is being captured: nothing is asked of the driver then but what
 * the program asks. Thread and fork safe; a child that is forked meanwhile believes so for good.
 */
#ifndef RS_RANK_CAPTURE_H
#define RS_RANK_CAPTURE_H

#include <stdbool.h>

/* A capture begins, or has ended. */
void rs_capture_note(bool begins);

bool rs_capturing(void);

#endif
