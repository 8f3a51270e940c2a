/* SPDX-License-Identifier: Apache-2.0
 *
 * A lock in one word of shared memory that holds its owner's tag (process.h), so that its death
 * frees it at any instruction. Held for microseconds, never across a wait. It keeps processes apart
 * and, within one, threads. Thread and fork safe.
 */
#ifndef RS_STORE_OWNER_LOCK_H
#define RS_STORE_OWNER_LOCK_H

#include <stdbool.h>
#include <stdint.h>

enum rs_lock {
    RS_LOCK_BUSY,      /* a living process has held it for a second, and keeps it */
    RS_LOCK_TAKEN,     /* it was free */
    RS_LOCK_INHERITED, /* its owner died: what it guards may be half written */
};

/* Takes the lock for the process of tag MINE. An owner that can't be judged (foreign pid namespace)
 * and has held it for a second counts as dead. */
enum rs_lock rs_owner_lock(_Atomic uint64_t *word, uint64_t mine);
void rs_owner_unlock(_Atomic uint64_t *word, uint64_t mine);

#endif
