/* SPDX-License-Identifier: Apache-2.0
 *
 * The enumerations made from the .def tables, and their names. Nothing else lists them.
 */
#ifndef RANKSHARE_NAMES_H
#define RANKSHARE_NAMES_H

enum rs_kind {
#define RS_KIND(name, text) RS_KIND_##name,
#include <rankshare/kinds.def>
#undef RS_KIND
    RS_KIND_COUNT
};

enum rs_reason {
    RS_OK = 0,
#define RS_REASON(name, text) RS_REFUSED_##name,
#include <rankshare/reasons.def>
#undef RS_REASON
    RS_REASON_COUNT
};

enum rs_counter {
#define RS_COUNTER(name, text) RS_C_##name,
#include <rankshare/counters.def>
#undef RS_COUNTER
    /* The counter of reason r is RS_C_REFUSED + r - 1: see rs_refusal_counter(). */
    RS_C_REFUSED,
    RS_COUNTER_COUNT = RS_C_REFUSED + RS_REASON_COUNT - 1
};

/* Counter that goes up when something is refused for REASON (which must not be RS_OK). */
static inline enum rs_counter rs_refusal_counter(enum rs_reason reason)
{
    return (enum rs_counter)((int)RS_C_REFUSED + (int)reason - 1);
}

/* Names and explanations; static strings, "?" for a value out of range. Thread safe. */
const char *rs_kind_name(enum rs_kind kind);
const char *rs_reason_name(enum rs_reason reason); /* "none" for RS_OK */
const char *rs_reason_text(enum rs_reason reason);
const char *rs_counter_name(enum rs_counter counter); /* refused_<reason> for refusals */
const char *rs_counter_text(enum rs_counter counter);

#endif
