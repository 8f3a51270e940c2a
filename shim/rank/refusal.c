/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/refusal.h"

#include "ordinal/flags.h"
#include "ordinal/text.h"

#include <string.h>

enum rs_reason rs_details_refusal(const struct rs_report *report, unsigned flags)
{
    if (report->reason != RS_OK) {
        return report->reason;
    }
    if (flags & RS_FLAG_BUNDLED) {
        return RS_REFUSED_bundled;
    }
    if (report->comms & RS_COMMS_SYMM_MEM) {
        return RS_REFUSED_symm_mem;
    }
    if (report->dtensor) {
        return RS_REFUSED_dtensor;
    }
    return report->comms ? rs_flags_refusal(flags) : RS_OK;
}

enum rs_reason rs_comms_refusal(const struct rs_report *report, enum rs_treatment treatment,
                                unsigned flags)
{
    if (report->comms & RS_COMMS_SYMM_MEM) {
        return RS_REFUSED_symm_mem;
    }
    if (!report->comms) {
        return RS_OK;
    }
    switch (treatment) {
    case RS_TREAT_CANONICAL:
        return rs_flags_refusal(flags);
    case RS_TREAT_UNKNOWN:
    case RS_TREAT_FORGOTTEN:
        return rs_flags_refusal(rs_known_flags());
    case RS_TREAT_NATIVE:
    case RS_TREAT_PRIVATE:
        break; /* its own entry, whatever is in it */
    }
    return RS_OK;
}

/* Under a shared key: an FX key that is not shared would send other devices' readers to this one's
 * code. A key that this process has not hashed came with a hit, and what a hit shows is checked
 * there. */
static bool follows_shared(const struct rs_known *inner)
{
    return inner->treatment == RS_TREAT_CANONICAL || inner->treatment == RS_TREAT_UNKNOWN;
}

/* Under a native key, that of a plain process on this rank's device: an FX key that was made
 * canonical would send it to cuda:0's code. */
static bool follows_native(const struct rs_known *inner)
{
    return inner->treatment == RS_TREAT_NATIVE || inner->treatment == RS_TREAT_PRIVATE ||
           (inner->treatment == RS_TREAT_CANONICAL && inner->ordinal <= 0);
}

/* An AOT entry sends its readers to FX keys: whether all of them may be followed. */
static bool inner_keys_right(const struct rs_report *report, bool native)
{
    if (report->key_count > RS_KEYS_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < report->key_count; i++) {
        struct rs_key key;
        memcpy(key.bytes, report->keys[i], sizeof(key.bytes));
        struct rs_known inner = rs_known_find(&key);
        if (!(native ? follows_native(&inner) : follows_shared(&inner))) {
            return false;
        }
    }
    return true;
}

/* What refuses an entry under a shared key is no matter here, unless its keys could not be seen. A
 * bundled one has none. */
static enum rs_reason native_refusal(const struct rs_report *report)
{
    bool seen =
        report->reason == RS_OK || report->reason == RS_REFUSED_bundled || report->key_count > 0;
    return seen && inner_keys_right(report, true) ? RS_OK : RS_REFUSED_inner_key;
}

enum rs_reason rs_keep_refusal(const struct rs_report *report, const struct rs_known *known)
{
    int ordinal = rs_report_ordinal(report);
    if (known->treatment == RS_TREAT_NATIVE) {
        return native_refusal(report);
    }
    if (report->reason != RS_OK) {
        return report->reason;
    }
    enum rs_reason comms = rs_comms_refusal(report, known->treatment, known->flags);
    if (comms != RS_OK) {
        return comms;
    }
    if (known->treatment == RS_TREAT_CANONICAL && ordinal >= 0 && ordinal != known->ordinal) {
        return RS_REFUSED_not_canonical;
    }
    if (known->treatment == RS_TREAT_FORGOTTEN && ordinal > 0) {
        return RS_REFUSED_not_canonical; /* the key may be a native one */
    }
    return inner_keys_right(report, false) ? RS_OK : RS_REFUSED_inner_key;
}
