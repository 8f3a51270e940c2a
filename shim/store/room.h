/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for the artifact store, reserved in steps when something is put: a full /dev/shm is an
 * error code then, never a SIGBUS later. No lock is held meanwhile. After a refusal nobody asks
 * again for ten seconds. Thread and fork safe; errno is not kept.
 */
#ifndef RS_STORE_ROOM_H
#define RS_STORE_ROOM_H

#include "store/index.h"

/* The index for a process that puts, made ready when this is the first one; false: no room. TAG is
 * the process's. */
bool rs_room_begin(struct rs_store *store, uint64_t tag, struct rs_index *index);

/* What may be short. */
enum rs_room { RS_ROOM_ARENA, RS_ROOM_GROUPS, RS_ROOM_OBJECTS };

/* How much of WHAT is reserved now, bytes or entries. */
uint64_t rs_room_of(const struct rs_segment *segment, enum rs_room what);

/* Reserves a further step of WHAT beyond the NOW (bytes or entries) that the caller found too few.
 * True: there is more now, perhaps by another process. */
bool rs_room_more(struct rs_store *store, struct rs_index *index, enum rs_room what, uint64_t now);

#endif
