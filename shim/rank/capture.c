/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/capture.h"

#include <stdatomic.h>

/* Captures that have begun and not ended. */
static _Atomic(int) captures;

void rs_capture_note(bool begins)
{
    int now = atomic_load(&captures);
    if (begins) {
        atomic_fetch_add(&captures, 1);
        return;
    }
    while (now > 0 && !atomic_compare_exchange_weak(&captures, &now, now - 1)) {
    }
}

bool rs_capturing(void)
{
    return atomic_load(&captures) > 0;
}
