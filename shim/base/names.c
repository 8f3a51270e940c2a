/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of kinds, reasons and counters, expanded from the same tables as their numbers.
 */
#include <rankshare/names.h>
#include <stddef.h>

static const char *const kind_names[] = {
#define RS_KIND(name, text) #name,
#include <rankshare/kinds.def>
#undef RS_KIND
};

static const char *const reason_names[] = {
    "none",
#define RS_REASON(name, text) #name,
#include <rankshare/reasons.def>
#undef RS_REASON
};

static const char *const reason_texts[] = {
    "nothing stands against sharing",
#define RS_REASON(name, text) text,
#include <rankshare/reasons.def>
#undef RS_REASON
};

static const char *const counter_names[] = {
#define RS_COUNTER(name, text) #name,
#include <rankshare/counters.def>
#undef RS_COUNTER
#define RS_REASON(name, text) "refused_" #name,
#include <rankshare/reasons.def>
#undef RS_REASON
};

static const char *const counter_texts[] = {
#define RS_COUNTER(name, text) text,
#include <rankshare/counters.def>
#undef RS_COUNTER
#define RS_REASON(name, text) text,
#include <rankshare/reasons.def>
#undef RS_REASON
};

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))
_Static_assert(LENGTH(kind_names) == RS_KIND_COUNT, "every kind has a name");
_Static_assert(LENGTH(reason_names) == RS_REASON_COUNT, "every reason has a name");
_Static_assert(LENGTH(counter_names) == RS_COUNTER_COUNT, "every counter has a name");

static const char *pick(const char *const *table, size_t length, unsigned index)
{
    return index < length ? table[index] : "?";
}

const char *rs_kind_name(enum rs_kind kind)
{
    return pick(kind_names, LENGTH(kind_names), (unsigned)kind);
}

const char *rs_reason_name(enum rs_reason reason)
{
    return pick(reason_names, LENGTH(reason_names), (unsigned)reason);
}

const char *rs_reason_text(enum rs_reason reason)
{
    return pick(reason_texts, LENGTH(reason_texts), (unsigned)reason);
}

const char *rs_counter_name(enum rs_counter counter)
{
    return pick(counter_names, LENGTH(counter_names), (unsigned)counter);
}

const char *rs_counter_text(enum rs_counter counter)
{
    return pick(counter_texts, LENGTH(counter_texts), (unsigned)counter);
}
