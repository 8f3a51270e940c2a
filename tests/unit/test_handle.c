/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/handle.h"

#include <criterion/criterion.h>

static const void *handle(uintptr_t number)
{
    return (const void *)(number * 16);
}

Test(handle, latest_ones_are_known)
{
    uint32_t ticket;
    unsigned known = 0;
    cr_expect_not(rs_handle_find(handle(5), &ticket));
    for (uintptr_t i = 1; i <= 5000; i++) {
        rs_handle_note(handle(i), (uint32_t)(i * 7 % (1 << 20)));
        cr_assert(rs_handle_find(handle(i), &ticket) && ticket == i * 7 % (1 << 20));
    }
    for (uintptr_t i = 1; i <= 5000; i++) {
        if (rs_handle_find(handle(i), &ticket)) {
            known++;
            cr_expect_eq(ticket, i * 7 % (1 << 20), "another's ticket");
        }
    }
    cr_expect(known > 100 && known <= 512, "%u known", known);
}

Test(handle, forgotten_and_none)
{
    uint32_t ticket;
    const void *high = (const void *)UINT64_C(0x7ffffffffff8);
    rs_handle_note(NULL, 3);
    cr_expect_not(rs_handle_find(NULL, &ticket));
    rs_handle_note(high, 1);
    cr_assert(rs_handle_find(high, &ticket) && ticket == 1);
    rs_handle_note(high, 2);
    cr_assert(rs_handle_find(high, &ticket) && ticket == 2);
    rs_handle_forget(handle(9));
    cr_assert(rs_handle_find(high, &ticket));
    rs_handle_forget(high);
    cr_expect_not(rs_handle_find(high, &ticket));
}
