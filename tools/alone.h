/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys that one rank alone looked for.
 */
#ifndef RS_TOOLS_ALONE_H
#define RS_TOOLS_ALONE_H

#include "view.h"

/* Notes them in JOBS, which are as many as the segment has room for, in its order. */
void alone_find(const struct rs_store *store, struct view_job *jobs);

#endif
