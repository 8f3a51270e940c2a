/* SPDX-License-Identifier: Apache-2.0
 *
 * Leases whose owner has begun to write. A write that fails (a full disk) is not seen by the
 * library, and the program may go on as if nothing had happened: the note beside the lease lets its
 * waiters find out.
 */
#include "store/kill_point.h"
#include "store/lease_table.h"
#include "store/store_sys.h"

#include <stdatomic.h>

/* The note: the lease's generation, so that it says nothing about a later lease, and the second. */
static uint64_t note(uint64_t word, uint64_t now_ns)
{
    return (uint64_t)rs_lw_generation(word) << 32 | (uint32_t)(now_ns / RS_NS_PER_S);
}

static bool find(struct rs_asker *asker, struct rs_store *store, struct rs_slot *slot,
                 const struct rs_place *place, struct rs_lease_ref *ref)
{
    return rs_asker_init(asker, store, slot) && rs_lease_find_held(asker, place, ref);
}

void rs_lease_storing(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place)
{
    struct rs_asker asker;
    struct rs_lease_ref ref;
    if (find(&asker, store, slot, place, &ref) && rs_lw_owned_by(ref.word, asker.owner)) {
        RS_KILL_POINT(storing_write);
        atomic_store_explicit(&rs_lease_at(asker.segment, ref.index)->storing,
                              note(ref.word, rs_sys_clock_ns(CLOCK_MONOTONIC)),
                              memory_order_release);
    }
}

void rs_lease_ready(struct rs_store *store, struct rs_slot *slot, enum rs_lease_kind kind,
                    bool ready)
{
    struct rs_asker asker;
    struct rs_lease_ref ref;
    if (rs_asker_init(&asker, store, slot) && rs_lease_of_thread(&asker, (int)kind, &ref)) {
        atomic_store_explicit(&rs_lease_at(asker.segment, ref.index)->storing,
                              ready ? note(ref.word, rs_sys_clock_ns(CLOCK_MONOTONIC)) : 0,
                              memory_order_release);
    }
}

static bool stores(const struct rs_asker *asker, struct rs_lease_ref ref, unsigned *age_s)
{
    RS_KILL_POINT(storing_read);
    uint64_t storing = atomic_load_explicit(&rs_lease_at(asker->segment, ref.index)->storing,
                                            memory_order_acquire);
    uint64_t now = note(ref.word, rs_sys_clock_ns(CLOCK_MONOTONIC));
    if (storing >> 32 != now >> 32) {
        return false;
    }
    *age_s = now > storing ? (unsigned)(now - storing) : 0;
    return true;
}

bool rs_lease_stores(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place,
                     unsigned *age_s)
{
    struct rs_asker asker;
    struct rs_lease_ref ref;
    return find(&asker, store, slot, place, &ref) && stores(&asker, ref, age_s);
}

bool rs_lease_stalled(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place)
{
    struct rs_asker asker;
    struct rs_lease_ref ref;
    unsigned age;
    uint64_t to;
    return find(&asker, store, slot, place, &ref) && stores(&asker, ref, &age) &&
           rs_lw_stall(ref.word, &to) && rs_lease_end(asker.segment, ref, to);
}
