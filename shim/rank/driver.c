/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/driver.h"

static __thread bool inside;

bool rs_driver_enter(void)
{
    bool enters = !inside;
    inside = true;
    return enters;
}

void rs_driver_leave(void)
{
    inside = false;
}

bool rs_driver_inside(void)
{
    return inside;
}
