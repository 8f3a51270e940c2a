/* SPDX-License-Identifier: Apache-2.0 */
#include "store/evict.h"

#include "store/kill_point.h"
#include "store/pin.h"
#include "store/store_sys.h"
#include "store/window.h"

#include <limits.h>
#include <stdatomic.h>

/* A promise is kept for ten minutes while there is anything else to evict, else for one: who was
 * promised a group is woken at once, and what many ranks store must not fill the store for long. */
enum { BATCH = 64, LEAD = 8, PROMISE_MS = 600 * 1000, LEAST_MS = 60 * 1000 };

/* The oldest groups behind (STAMP, GROUP), in their order. */
struct batch {
    unsigned count;
    struct {
        uint64_t stamp;
        uint32_t group;
    } at[BATCH];
};

static bool behind(uint64_t stamp, uint32_t group, uint64_t other_stamp, uint32_t other)
{
    return stamp > other_stamp || (stamp == other_stamp && group > other);
}

static void insert(struct batch *batch, uint64_t stamp, uint32_t group)
{
    unsigned i = batch->count < BATCH ? batch->count++ : BATCH - 1;
    for (; i > 0 && behind(batch->at[i - 1].stamp, batch->at[i - 1].group, stamp, group); i--) {
        batch->at[i] = batch->at[i - 1];
    }
    batch->at[i].stamp = stamp;
    batch->at[i].group = group;
}

/* Groups number from 1 here, so that (0, 0) is in front of all. */
static void collect(const struct rs_index *index, uint64_t last_stamp, uint32_t last,
                    struct batch *batch)
{
    const _Atomic uint64_t *stamps = rs_stamps(index);
    uint32_t top = rs_groups_top(index);
    batch->count = 0;
    for (uint32_t i = 0; i < top; i++) {
        uint64_t stamp = atomic_load_explicit(&stamps[i], memory_order_relaxed);
        if (stamp == 0 || !behind(stamp, i + 1, last_stamp, last)) {
            continue;
        }
        bool late = batch->count == BATCH &&
                    behind(stamp, i + 1, batch->at[BATCH - 1].stamp, batch->at[BATCH - 1].group);
        if (!late) {
            insert(batch, stamp, i + 1);
        }
    }
}

static bool promised(const struct rs_group *group, bool hard)
{
    uint64_t now = rs_now_ms();
    uint64_t until = atomic_load_explicit(&group->keep_ms, memory_order_relaxed);
    uint64_t later = hard ? PROMISE_MS - LEAST_MS : 0;
    return until > now + later && until <= now + PROMISE_MS;
}

bool rs_evictable(const struct rs_index *index, uint32_t i, bool hard)
{
    const struct rs_group *group = rs_group_at(index, i);
    uint64_t word = group ? atomic_load(&group->word) : 0;
    return rs_word_state(word) == RS_ENTRY_READY && !promised(group, hard);
}

bool rs_evict_group(struct rs_index *index, uint32_t i, bool hard)
{
    struct rs_group *group = rs_group_at(index, i);
    if (!group || !rs_evictable(index, i, hard)) {
        return false;
    }
    uint64_t word = atomic_load(&group->word);
    if (rs_pinned(index, i, word)) {
        return false;
    }
    /* From here on nobody pins it who has not seen it leave. */
    atomic_store(&group->word, rs_word(RS_ENTRY_LEAVING, rs_word_generation(word)));
    RS_KILL_POINT(evict_begun);
    if (rs_pinned(index, i, word)) {
        atomic_store(&group->word, word);
        return false;
    }
    rs_group_free(index, i);
    return true;
}

/* True: it was enough. That is asked after each group, and no more once it is so. At most MOST
 * go. */
static bool evict_old(struct rs_index *index, bool hard, unsigned most,
                      bool (*enough)(void *context), void *context, unsigned *gone)
{
    unsigned limit = most < UINT_MAX - *gone ? *gone + most : UINT_MAX;
    struct batch batch;
    uint64_t stamp = 0;
    uint32_t last = 0;
    do {
        collect(index, stamp, last, &batch);
        for (unsigned i = 0; i < batch.count && *gone < limit; i++) {
            stamp = batch.at[i].stamp;
            last = batch.at[i].group;
            if (rs_evict_group(index, last - 1, hard)) {
                (*gone)++;
                if (enough(context)) {
                    return true;
                }
            }
        }
    } while (batch.count > 0 && *gone < limit);
    return false;
}

unsigned rs_evict_until(struct rs_index *index, bool (*enough)(void *context), void *context)
{
    unsigned gone = 0;
    (void)(enough(context) || evict_old(index, false, UINT_MAX, enough, context, &gone) ||
           evict_old(index, true, UINT_MAX, enough, context, &gone));
    return gone;
}

static bool evict_stretch(struct rs_index *index, uint32_t granules, bool hard,
                          bool (*enough)(void *context), void *context, unsigned *gone)
{
    unsigned now = rs_evict_window(index, granules, hard);
    *gone += now;
    return now > 0 && enough(context);
}

unsigned rs_evict_for(struct rs_index *index, uint32_t granules, bool (*enough)(void *context),
                      void *context)
{
    unsigned gone = 0;
    (void)(enough(context) || evict_old(index, false, LEAD, enough, context, &gone) ||
           evict_stretch(index, granules, false, enough, context, &gone) ||
           evict_stretch(index, granules, true, enough, context, &gone) ||
           evict_old(index, true, BATCH, enough, context, &gone));
    return gone;
}

void rs_sweep(struct rs_index *index)
{
    uint32_t top = rs_groups_top(index);
    for (uint32_t i = 0; i < top; i++) {
        if (rs_group_abandoned(index, i)) {
            rs_group_free(index, i);
        }
    }
}
