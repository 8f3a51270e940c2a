/* SPDX-License-Identifier: Apache-2.0
 *
 * Why an entry must not get its name. Thread and fork safe.
 */
#ifndef RS_RANK_KEEP_REASON_H
#define RS_RANK_KEEP_REASON_H

#include "ordinal/ordinal.h"
#include "rank/known.h"

/* Why the entry with REPORT can't be stored under the key of which KNOWN is known (none that was
 * made private): in canonical form where the key is a shared one, as it is where it is native.
 * RS_OK when it can. */
enum rs_reason rs_keep_refusal(const struct rs_report *report, const struct rs_known *known);

#endif
