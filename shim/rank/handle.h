/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of the driver's handles is which module of the table: the latest few hundred of this
 * process. Newer ones take the places of older ones. Lock-free, no system call; thread and fork
 * safe (a child's handles are its own, and what it inherits here does no harm).
 */
#ifndef RS_RANK_HANDLE_H
#define RS_RANK_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

/* TICKET: rs_module_ticket(). A NULL handle is ignored. */
void rs_handle_note(const void *handle, uint32_t ticket);
bool rs_handle_find(const void *handle, uint32_t *ticket);
void rs_handle_forget(const void *handle);

#endif
