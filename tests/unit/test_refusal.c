/* SPDX-License-Identifier: Apache-2.0 */
#include "ordinal/flags.h"
#include "rank/refusal.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct rs_known native = {RS_TREAT_NATIVE, RS_KIND_aot_details, -1, 0};
static const struct rs_known shared = {RS_TREAT_CANONICAL, RS_KIND_aot_details, 3, 0};

static struct rs_key inner(uint8_t number)
{
    struct rs_key key;
    memset(key.bytes, number, sizeof(key.bytes));
    return key;
}

/* An AOT entry that names the FX keys FIRST to LAST. */
static struct rs_report naming(uint8_t first, uint8_t last)
{
    struct rs_report report = {.kind = RS_KIND_aot_entry, .private_ordinal = -1};
    for (uint8_t number = first; number <= last; number++, report.key_count++) {
        struct rs_key key = inner(number);
        memcpy(report.keys[report.key_count], key.bytes, sizeof(key.bytes));
    }
    return report;
}

static void hashed(uint8_t number, enum rs_treatment treatment, int ordinal)
{
    struct rs_key key = inner(number);
    struct rs_known what = {treatment, RS_KIND_fx_details, ordinal, 0};
    rs_known_add(&key, &what);
}

static enum rs_reason refusal(const struct rs_known *known, uint8_t first, uint8_t last)
{
    struct rs_report report = naming(first, last);
    return rs_keep_refusal(&report, known);
}

Test(refusal, what_an_entry_under_a_native_key_may_name)
{
    hashed(1, RS_TREAT_NATIVE, 3);
    hashed(2, RS_TREAT_PRIVATE, 3);
    hashed(3, RS_TREAT_CANONICAL, 0);
    hashed(4, RS_TREAT_CANONICAL, -1);
    hashed(5, RS_TREAT_CANONICAL, 3);
    cr_assert_eq(refusal(&native, 1, 4), RS_OK);
    cr_assert_eq(refusal(&native, 1, 5), RS_REFUSED_inner_key);
    cr_assert_eq(refusal(&native, 6, 6), RS_REFUSED_inner_key,
                 "a key that may have been forgotten");
}

Test(refusal, what_an_entry_under_a_shared_key_may_name)
{
    hashed(1, RS_TREAT_CANONICAL, 3);
    hashed(3, RS_TREAT_NATIVE, 3);
    cr_assert_eq(refusal(&shared, 1, 2), RS_OK, "one that came with a hit");
    cr_assert_eq(refusal(&shared, 1, 3), RS_REFUSED_inner_key);
    hashed(3, RS_TREAT_PRIVATE, 3);
    cr_assert_eq(refusal(&shared, 1, 3), RS_REFUSED_inner_key);
}

Test(refusal, a_native_entry_is_judged_by_its_keys_alone)
{
    hashed(1, RS_TREAT_NATIVE, 3);
    struct rs_report report = naming(1, 1);
    report.ordinals[0] = 0x6;
    report.reason = RS_REFUSED_several_ordinals;
    cr_assert_eq(rs_keep_refusal(&report, &native), RS_OK);
    cr_assert_eq(rs_keep_refusal(&report, &shared), RS_REFUSED_several_ordinals);
    report.key_count = 0;
    cr_assert_eq(rs_keep_refusal(&report, &native), RS_REFUSED_inner_key, "its keys were not seen");
    report.reason = RS_OK;
    cr_assert_eq(rs_keep_refusal(&report, &native), RS_OK);
    report.key_count = RS_KEYS_MAX + 1;
    cr_assert_eq(rs_keep_refusal(&report, &native), RS_REFUSED_inner_key, "more than were kept");
}

/* It names no FX keys, whatever else was found in it. */
Test(refusal, a_bundled_entry_stays_under_a_native_key)
{
    struct rs_report report = naming(1, 0);
    report.reason = RS_REFUSED_bundled;
    cr_assert_eq(rs_keep_refusal(&report, &native), RS_OK);
    cr_assert_eq(rs_keep_refusal(&report, &shared), RS_REFUSED_bundled);
}

Test(refusal, details_of_bundled_entries)
{
    struct rs_report report = {.kind = RS_KIND_aot_details};
    cr_assert_eq(rs_details_refusal(&report, RS_FLAG_INFERENCE), RS_OK);
    cr_assert_eq(rs_details_refusal(&report, RS_FLAG_INFERENCE | RS_FLAG_BUNDLED),
                 RS_REFUSED_bundled);
}
