/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a segment's tables can be believed. Everything is read once and while others write: what
 * is asked of a field holds at every instant.
 */
#include "store/layout.h"
#include "store/registry.h"
#include "store/store.h"

#include <stdatomic.h>
#include <string.h>

enum { ORDINALS = 128 };

/* Nanoseconds and bytes are the largest things counted: 146 years, 4 EiB. */
static const uint64_t most = (uint64_t)1 << 62;

static bool counters_fine(const _Atomic uint64_t *counters)
{
    for (int i = 0; i < RS_COUNTER_COUNT; i++) {
        if (atomic_load_explicit(&counters[i], memory_order_relaxed) > most) {
            return false;
        }
    }
    return true;
}

static bool slot_fine(const struct rs_slot *slot)
{
    uint32_t job = atomic_load(&slot->job);
    int ordinal = atomic_load(&slot->ordinal);
    return rs_word_state(atomic_load(&slot->word)) <= RS_SLOT_FOLDING &&
           (job < RS_JOBS || job == RS_NO_JOB) && ordinal >= -1 && ordinal < ORDINALS &&
           atomic_load(&slot->pid) >= 0 && atomic_load(&slot->rank) >= -1 &&
           atomic_load(&slot->world) >= 0 && counters_fine(slot->counters);
}

static bool job_fine(const struct rs_job *job)
{
    return rs_word_state(atomic_load(&job->word)) <= RS_JOB_READY &&
           atomic_load(&job->versions) <= 1 && atomic_load(&job->world) >= 0 &&
           counters_fine(job->counters);
}

/* States: free, being filled, ready; a name ends somewhere. */
static bool module_fine(const struct rs_module *module)
{
    uint64_t last = atomic_load(&module->kernel[RS_KERNEL_MAX / 8 - 1]);
    unsigned char bytes[8];
    memcpy(bytes, &last, sizeof bytes);
    return (atomic_load(&module->word) & 0xff) <= 2 && atomic_load(&module->loads) <= most &&
           atomic_load(&module->ns) <= most && atomic_load(&module->size) <= most &&
           atomic_load(&module->kind) < RS_KIND_COUNT && bytes[7] == 0;
}

enum rs_store_status rs_store_check(const struct rs_store *store)
{
    for (unsigned i = 0; i < RS_JOBS; i++) {
        if (!job_fine(&rs_jobs(store->segment)[i])) {
            return RS_STORE_CONTENT;
        }
    }
    for (unsigned i = 0; i < RS_SLOTS; i++) {
        if (!slot_fine(&rs_slots(store->segment)[i])) {
            return RS_STORE_CONTENT;
        }
    }
    for (unsigned i = 0; i < RS_MODULES; i++) {
        if (!module_fine(&rs_modules(store->segment)[i])) {
            return RS_STORE_CONTENT;
        }
    }
    return RS_STORE_OK;
}
