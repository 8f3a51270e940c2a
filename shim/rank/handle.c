/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/handle.h"

#include "store/modules.h"

#include <stdatomic.h>

enum { PLACES = 512 };

/* A handle and its ticket in one word, so that nobody ever sees one with another's: handles are
 * addresses of the driver's, aligned to 8 and below 2^47. */
enum { HANDLE_BITS = 64 - RS_TICKET_BITS, ALIGNED_BITS = 3 };
static _Atomic uint64_t places[PLACES];

static uint64_t key_of(const void *handle)
{
    return ((uint64_t)(uintptr_t)handle >> ALIGNED_BITS) & ((UINT64_C(1) << HANDLE_BITS) - 1);
}

static _Atomic uint64_t *place_of(uint64_t key)
{
    return &places[(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) % PLACES];
}

void rs_handle_note(const void *handle, uint32_t ticket)
{
    uint64_t key = key_of(handle);
    if (handle)
        atomic_store_explicit(place_of(key), key << RS_TICKET_BITS | ticket, memory_order_relaxed);
}

bool rs_handle_find(const void *handle, uint32_t *ticket)
{
    uint64_t key = key_of(handle);
    uint64_t word = atomic_load_explicit(place_of(key), memory_order_relaxed);
    *ticket = (uint32_t)(word & ((1u << RS_TICKET_BITS) - 1));
    return handle && word >> RS_TICKET_BITS == key;
}

void rs_handle_forget(const void *handle)
{
    uint64_t key = key_of(handle);
    _Atomic uint64_t *place = place_of(key);
    uint64_t word = atomic_load_explicit(place, memory_order_relaxed);
    if (word >> RS_TICKET_BITS == key)
        atomic_compare_exchange_strong_explicit(place, &word, 0, memory_order_relaxed,
                                                memory_order_relaxed);
}
