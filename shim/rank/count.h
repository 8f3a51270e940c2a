/* SPDX-License-Identifier: Apache-2.0
 *
 * This process's counters. They live in the process until it has a slot in the segment, and there
 * from then on, so that a process that never meets a cache leaves no trace in shared memory.
 */
#ifndef RS_RANK_COUNT_H
#define RS_RANK_COUNT_H

#include <rankshare/names.h>

#include <stdint.h>

/* Adds to a counter. Thread safe, fork safe (a child starts at zero), never fails. */
void rs_count(enum rs_counter counter, uint64_t add);

/* Counts a refusal under its reason. */
void rs_count_refusal(enum rs_reason reason);

#endif
