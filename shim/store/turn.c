/* SPDX-License-Identifier: Apache-2.0 */
#include "store/turn.h"

#include "store/pin.h"
#include "store/process.h"
#include "store/store_sys.h"

#include <stdatomic.h>

/* A read takes from a fraction of a millisecond to seconds; a look at /proc costs 10 us. */
enum { FIRST_PAUSE_US = 100, LONGEST_PAUSE_US = 2000, JUDGE_EACH = 32 };

static _Atomic uint64_t *word_of(struct rs_store *store, const struct rs_artifact_key *key,
                                 const struct rs_origin *origin)
{
    struct {
        struct rs_key key;
        uint64_t kind, dev, ino;
    } plain = {key->key, (uint64_t)key->kind, origin->dev, origin->ino};
    return &store->segment->turns[rs_hash128_of(&plain, sizeof(plain)).low % RS_TURNS];
}

bool rs_turn_take(struct rs_store *store, const struct rs_slot *slot,
                  const struct rs_artifact_key *key, const struct rs_origin *origin,
                  uint64_t patience_ns, struct rs_turn *turn)
{
    *turn = (struct rs_turn){word_of(store, key, origin), rs_slot_tag(slot)};
    uint64_t end = rs_sys_clock_ns(CLOCK_MONOTONIC) + patience_ns;
    unsigned pause = FIRST_PAUSE_US;
    uint64_t first = 0;
    bool late = false;
    for (unsigned i = 0; turn->tag; i++) {
        uint64_t owner = 0;
        if (atomic_compare_exchange_strong(turn->word, &owner, turn->tag)) {
            return true;
        }
        first = first ? first : owner;
        late = rs_sys_clock_ns(CLOCK_MONOTONIC) >= end;
        /* Of an owner in another pid namespace nothing is known: he has until the end. */
        int alive = late || i % JUDGE_EACH == 0 ? rs_tag_alive(owner) : 1;
        bool gone = alive == 0 || (alive < 0 && late && owner == first);
        if (gone && atomic_compare_exchange_strong(turn->word, &owner, turn->tag)) {
            return true;
        }
        if (late || !rs_sys_pause_us(pause)) {
            return false;
        }
        pause = pause < LONGEST_PAUSE_US / 2 ? 2 * pause : LONGEST_PAUSE_US;
    }
    return false;
}

void rs_turn_end(struct rs_turn *turn)
{
    uint64_t tag = turn->tag;
    atomic_compare_exchange_strong(turn->word, &tag, 0);
}
