/* SPDX-License-Identifier: Apache-2.0 */
#include "store/job_root.h"

#include "store/layout.h"

#include <sched.h>
#include <stdatomic.h>

/* The word: the run above, these below. */
enum { WRITING = 1, WRITTEN = 2, SEVERAL = 4 };
enum { TRIES = 1000 };

static struct rs_job_root *root_of(const struct rs_store *store, const struct rs_slot *slot,
                                   enum rs_root root, uint32_t *run)
{
    uint32_t job = atomic_load_explicit(&slot->job, memory_order_relaxed);
    if (job >= RS_JOBS) {
        return NULL;
    }
    struct rs_job *its = &rs_jobs(store->segment)[job];
    *run = atomic_load_explicit(&its->run, memory_order_acquire);
    return &its->roots[root];
}

static bool of_run(uint64_t word, uint32_t run)
{
    return word >> 32 == run;
}

static void note_several(struct rs_job_root *root, uint64_t word)
{
    /* Only a later run may change anything else, and then this is over. */
    (void)atomic_compare_exchange_strong(&root->word, &word, word | SEVERAL);
}

static bool write_down(struct rs_job_root *root, uint64_t word, uint32_t run, uint64_t dev,
                       uint64_t ino)
{
    uint64_t base = (uint64_t)run << 32;
    if (!atomic_compare_exchange_strong(&root->word, &word, base | WRITING)) {
        return false;
    }
    atomic_store(&root->dev, dev);
    atomic_store(&root->ino, ino);
    word = base | WRITING;
    return atomic_compare_exchange_strong(&root->word, &word, base | WRITTEN);
}

bool rs_job_root(struct rs_store *store, const struct rs_slot *slot, enum rs_root root,
                 uint64_t *dev, uint64_t *ino)
{
    uint32_t run;
    struct rs_job_root *place = root_of(store, slot, root, &run);
    for (int i = 0; place && i < TRIES; i++) {
        uint64_t word = atomic_load(&place->word);
        if (!of_run(word, run)) {
            if (write_down(place, word, run, *dev, *ino)) {
                return true;
            }
            continue;
        }
        uint64_t first_dev = atomic_load(&place->dev), first_ino = atomic_load(&place->ino);
        uint64_t now = atomic_load(&place->word);
        if (!(word & WRITTEN) || (word | SEVERAL) != (now | SEVERAL)) {
            sched_yield();
            continue;
        }
        if (first_dev != *dev || first_ino != *ino) {
            note_several(place, word & ~(uint64_t)SEVERAL);
        }
        *dev = first_dev;
        *ino = first_ino;
        return true;
    }
    return false;
}

bool rs_job_several(const struct rs_store *store, const struct rs_slot *slot, enum rs_root root)
{
    uint32_t run;
    const struct rs_job_root *place = root_of(store, slot, root, &run);
    uint64_t word = place ? atomic_load(&place->word) : 0;
    return place && of_run(word, run) && word & SEVERAL;
}
