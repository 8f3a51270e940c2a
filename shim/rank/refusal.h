/* SPDX-License-Identifier: Apache-2.0
 *
 * Why an artifact is not shared, as far as it and the process's keys tell. Thread and fork safe.
 */
#ifndef RS_RANK_REFUSAL_H
#define RS_RANK_REFUSAL_H

#include "ordinal/ordinal.h"
#include "rank/known.h"

/* Why the graph with these details is not: what is compiled from it may differ between ranks for
 * which they are the same. RS_OK when it may be shared. */
enum rs_reason rs_details_refusal(const struct rs_report *report, unsigned flags);

/* Why the entry that REPORT describes can't be stored under a key, or shown to who looks for it,
 * because of what its code does with other ranks; RS_OK when it can. TREATMENT and FLAGS are the
 * key's: an entry whose key was not hashed here was found through an AOT entry, whose details hold
 * the same settings. */
enum rs_reason rs_comms_refusal(const struct rs_report *report, enum rs_treatment treatment,
                                unsigned flags);

/* Why the entry with REPORT can't be stored under the key of which KNOWN is known (none that was
 * made private): in canonical form where the key is a shared one, as it is where it is native.
 * RS_OK when it can. */
enum rs_reason rs_keep_refusal(const struct rs_report *report, const struct rs_known *known);

#endif
