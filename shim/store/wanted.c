/* SPDX-License-Identifier: Apache-2.0 */
#include "store/wanted.h"

#include "store/pack.h"
#include "store/pin.h"

#include <stdatomic.h>
#include <string.h>

/* A cell: the upper bits of the key's hash, whether several ranks have looked, and which. */
enum { WHO_BITS = 16, SEVERAL = 1 << WHO_BITS, MARK_SHIFT = WHO_BITS + 1 };

struct want {
    _Atomic uint64_t *cell;
    uint64_t mark, who;
};

static struct want want_of(const struct rs_index *index, const struct rs_slot *slot,
                           const struct rs_artifact_key *key)
{
    struct {
        struct rs_key key;
        uint64_t kind, class_id;
    } plain = {key->key, (uint64_t)key->kind, key->class_id};
    struct {
        uint64_t job, rank;
    } who = {UINT64_MAX, rs_slot_tag(slot)};
    int rank = slot ? atomic_load_explicit(&slot->rank, memory_order_relaxed) : -1;
    if (rank >= 0) {
        who.job = atomic_load_explicit(&slot->job, memory_order_relaxed);
        who.rank = (uint64_t)rank;
    }
    struct rs_hash128 hash = rs_hash128_of(&plain, sizeof(plain));
    return (struct want){
        .cell = &rs_wanted(index)[hash.high % RS_WANTED],
        .mark = hash.low >> MARK_SHIFT << MARK_SHIFT,
        .who = rs_hash128_of(&who, sizeof(who)).low % SEVERAL,
    };
}

static bool same_key(uint64_t cell, uint64_t mark)
{
    return cell >> MARK_SHIFT == mark >> MARK_SHIFT;
}

void rs_want(const struct rs_index *index, const struct rs_slot *slot,
             const struct rs_artifact_key *key)
{
    struct want want = want_of(index, slot, key);
    uint64_t now = atomic_load_explicit(want.cell, memory_order_relaxed);
    uint64_t next = want.mark | want.who;
    if (now != 0 && same_key(now, want.mark)) {
        next = now % SEVERAL == want.who ? now : now | SEVERAL;
    }
    if (next != now) {
        atomic_store_explicit(want.cell, next, memory_order_relaxed);
    }
}

bool rs_is_wanted(const struct rs_index *index, const struct rs_slot *slot,
                  const struct rs_artifact_key *key)
{
    struct want want = want_of(index, slot, key);
    uint64_t now = atomic_load_explicit(want.cell, memory_order_relaxed);
    return now != 0 && same_key(now, want.mark) &&
           ((now & SEVERAL) != 0 || now % SEVERAL != want.who);
}
