/* SPDX-License-Identifier: Apache-2.0
 *
 * Pins: who reads a group says so, and an evictor passes it over. A pin names its process, so that
 * it ends with it. Without a pin reading is still safe (check sums), the group may only go away
 * meanwhile. Wait-free; thread and fork safe.
 */
#ifndef RS_STORE_PIN_H
#define RS_STORE_PIN_H

#include "store/index.h"

enum { RS_NO_PIN = -1 };

/* Pins group I, read with WORD, for the process of TAG. The pin's number, or RS_NO_PIN. The caller
 * then reads the group's word again: an evictor sees either the pin or has changed the word. */
int rs_pin_set(const struct rs_index *index, uint64_t tag, uint32_t i, uint64_t word);
void rs_pin_drop(const struct rs_index *index, int pin, uint64_t tag);

/* Whether a process that may be alive has pinned group I at WORD's generation. Writes nothing. */
bool rs_pinned(const struct rs_index *index, uint32_t i, uint64_t word);

/* The tag of the process of SLOT; 0: none. */
uint64_t rs_slot_tag(const struct rs_slot *slot);

#endif
