/* SPDX-License-Identifier: Apache-2.0
 *
 * Signs of work: a waiter asks for the latest one of the producer's process group, since a rank's
 * compile workers work for it.
 */
#include "store/layout.h"
#include "store/lease_table.h"
#include "store/store_sys.h"

#include <stdatomic.h>

static uint32_t seconds(uint64_t ns)
{
    return (uint32_t)(ns / RS_NS_PER_S);
}

/* How long ago SECOND was; what lies ahead (another time namespace) was just now. */
static unsigned age(uint32_t second, uint32_t now)
{
    return second < now ? now - second : 0;
}

static unsigned age_of(const struct rs_slot *slot, uint32_t now)
{
    return age(atomic_load_explicit(&slot->beat_s, memory_order_relaxed), now);
}

static bool same_group(const struct rs_slot *a, const struct rs_slot *b)
{
    return atomic_load_explicit(&a->group, memory_order_relaxed) ==
               atomic_load_explicit(&b->group, memory_order_relaxed) &&
           atomic_load_explicit(&a->space, memory_order_relaxed) ==
               atomic_load_explicit(&b->space, memory_order_relaxed);
}

/* The youngest sign of OWNER's group, as an age. */
static unsigned group_age(const struct rs_segment *segment, const struct rs_slot *owner,
                          uint32_t now)
{
    unsigned youngest = age_of(owner, now);
    uint32_t used = atomic_load_explicit(&segment->slots_used, memory_order_acquire);
    for (uint32_t i = 0; i < used && i < RS_SLOTS; i++) {
        const struct rs_slot *slot = &rs_slots(segment)[i];
        unsigned here = age_of(slot, now);
        if (here < youngest && same_group(slot, owner)) {
            youngest = here;
        }
    }
    return youngest;
}

/* The slot of the process that produces PLACE, and its lease; NULL: nobody does. */
static const struct rs_slot *producer(struct rs_store *store, struct rs_slot *slot,
                                      const struct rs_place *place, struct rs_asker *asker,
                                      struct rs_lease_ref *ref)
{
    struct rs_lease_look look;
    if (!rs_asker_init(asker, store, slot)) {
        return NULL;
    }
    rs_lease_look(asker, place, RS_NO_LEASE, &look);
    *ref = look.active;
    return ref->index == RS_NO_LEASE ? NULL
                                     : &rs_slots(asker->segment)[rs_lw_owner(ref->word).slot];
}

bool rs_lease_silent(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place,
                     unsigned limit_s)
{
    struct rs_asker asker;
    struct rs_lease_ref ref;
    const struct rs_slot *owner = producer(store, slot, place, &asker, &ref);
    if (!owner) {
        return false;
    }
    uint32_t now = seconds(rs_sys_clock_ns(CLOCK_MONOTONIC));
    uint64_t taken = atomic_load_explicit(&rs_lease_at(asker.segment, ref.index)->taken_ns,
                                          memory_order_acquire);
    return age(seconds(taken), now) >= limit_s && age_of(owner, now) >= limit_s &&
           group_age(asker.segment, owner, now) >= limit_s;
}

uint64_t rs_lease_last_sign(struct rs_store *store, struct rs_slot *slot,
                            const struct rs_place *place)
{
    struct rs_asker asker;
    struct rs_lease_ref ref;
    const struct rs_slot *owner = producer(store, slot, place, &asker, &ref);
    if (!owner) {
        return 0;
    }
    struct rs_lease_owner who = rs_lw_owner(ref.word);
    return (uint64_t)who.slot << 48 | (uint64_t)who.generation << 32 |
           atomic_load_explicit(&owner->beat_s, memory_order_relaxed);
}
