/* SPDX-License-Identifier: Apache-2.0
 *
 * Included before everything when the store is built to be stepped through: the window has as many
 * entries as the configuration, and what the kernel would say comes from the runner.
 */
#ifndef RS_TEST_STEPPED_H
#define RS_TEST_STEPPED_H

#define RS_WINDOW RS_WINDOW_OF_THE_PRODUCT
#include "store/lease_table.h"
#undef RS_WINDOW
#define RS_WINDOW stepped_window

#include "store/store_sys.h"

extern int stepped_window;
int stepped_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t until_ns);
void stepped_futex_wake_all(_Atomic uint32_t *word);
uint64_t stepped_clock_ns(clockid_t clock);

#define rs_sys_futex_wait     stepped_futex_wait
#define rs_sys_futex_wake_all stepped_futex_wake_all
#define rs_sys_clock_ns       stepped_clock_ns

#endif
