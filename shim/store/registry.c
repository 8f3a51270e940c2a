/* SPDX-License-Identifier: Apache-2.0
 *
 * The registry lock, jobs, and the folding of dead processes' counters.
 *
 * Everything here may be cut short by a SIGKILL: the next holder of the lock takes what is not
 * READY or LIVE for free, and goes on with what is FOLDING.
 */
#include "store/registry.h"

#include "store/kill_point.h"
#include "store/layout.h"
#include "store/owner_lock.h"
#include "store/process.h"
#include "store/store_sys.h"

#include <stdatomic.h>
#include <string.h>

bool rs_registry_lock(struct rs_segment *segment, uint64_t *mine)
{
    struct rs_process self = rs_process_self();
    *mine = rs_process_tag(&self);
    return rs_owner_lock(&segment->registry, *mine) != RS_LOCK_BUSY;
}

void rs_registry_unlock(struct rs_segment *segment, uint64_t mine)
{
    rs_owner_unlock(&segment->registry, mine);
}

void rs_text_put(_Atomic uint64_t *words, size_t size, const char *text)
{
    size_t length = text ? strnlen(text, size - 1) : 0;
    for (size_t i = 0; i < size / 8; i++) {
        char eight[8] = {0};
        if (i * 8 < length) {
            size_t left = length - i * 8;
            memcpy(eight, text + i * 8, left < 8 ? left : 8);
        }
        uint64_t word;
        memcpy(&word, eight, 8);
        atomic_store_explicit(&words[i], word, memory_order_release);
    }
}

void rs_text_get(const _Atomic uint64_t *words, size_t size, char *text)
{
    for (size_t i = 0; i < size / 8; i++) {
        uint64_t word = atomic_load_explicit(&words[i], memory_order_acquire);
        memcpy(text + i * 8, &word, 8);
    }
    text[size - 1] = '\0';
}

struct rs_process rs_slot_process(const struct rs_slot *slot)
{
    return (struct rs_process){
        .pid = atomic_load_explicit(&slot->pid, memory_order_acquire),
        .start = atomic_load_explicit(&slot->start, memory_order_acquire),
        .space = atomic_load_explicit(&slot->space, memory_order_acquire),
        .image = atomic_load_explicit(&slot->image, memory_order_acquire),
    };
}

int rs_slot_alive(const struct rs_slot *slot)
{
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
    struct rs_process process = rs_slot_process(slot);
    bool same = atomic_load_explicit(&slot->word, memory_order_relaxed) == word;
    /* A slot is given away only when its process is dead. */
    if (rs_word_state(word) != RS_SLOT_LIVE || !same) {
        return 0;
    }
    return rs_process_alive(&process);
}

uint32_t rs_slot_idle_s(const struct rs_slot *slot)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    uint32_t beat = atomic_load_explicit(&slot->beat_s, memory_order_relaxed);
    return beat < (uint32_t)now.tv_sec ? (uint32_t)now.tv_sec - beat : 0;
}

bool rs_slot_forsaken(const struct rs_slot *slot)
{
    return rs_slot_alive(slot) < 0 && rs_slot_idle_s(slot) >= RS_FORSAKEN_S;
}

/* A slot that belongs to JOB, though its process may be dead. */
static bool belongs(const struct rs_slot *slot, uint32_t job)
{
    unsigned state = rs_word_state(atomic_load_explicit(&slot->word, memory_order_acquire));
    return (state == RS_SLOT_LIVE || state == RS_SLOT_FOLDING) &&
           atomic_load_explicit(&slot->job, memory_order_acquire) == job;
}

uint32_t rs_slots_used(const struct rs_segment *segment)
{
    uint32_t used = atomic_load_explicit(&segment->slots_used, memory_order_acquire);
    return used < RS_SLOTS ? used : RS_SLOTS;
}

bool rs_job_alive(const struct rs_segment *segment, uint32_t job)
{
    uint32_t used = rs_slots_used(segment);
    for (uint32_t i = 0; i < used; i++) {
        const struct rs_slot *slot = &rs_slots(segment)[i];
        if (belongs(slot, job) && rs_slot_alive(slot) != 0 && !rs_slot_forsaken(slot)) {
            return true;
        }
    }
    return false;
}

void rs_slot_fold(struct rs_segment *segment, struct rs_slot *slot)
{
    uint64_t generation = rs_word_generation(atomic_load(&slot->word));
    uint32_t job = atomic_load_explicit(&slot->job, memory_order_acquire);
    atomic_store(&slot->word, rs_word(RS_SLOT_FOLDING, generation));
    RS_KILL_POINT(fold_begun);
    for (int i = 0; i < RS_COUNTER_ROOM; i++) {
        uint64_t value = atomic_exchange_explicit(&slot->counters[i], 0, memory_order_relaxed);
        if (value && job < RS_JOBS) {
            RS_KILL_POINT(fold_moving);
            atomic_fetch_add_explicit(&rs_jobs(segment)[job].counters[i], value,
                                      memory_order_relaxed);
        }
    }
    RS_KILL_POINT(fold_moved);
    atomic_store(&slot->word, rs_word(RS_SLOT_FREE, generation));
}

/* Makes a place in a full table: the job that has been idle longest goes, with its slots. */
static uint32_t free_oldest_job(struct rs_segment *segment)
{
    uint64_t after = 0;
    for (int round = 0; round < RS_JOBS; round++) {
        uint32_t oldest = RS_NO_JOB;
        uint64_t oldest_ns = UINT64_MAX;
        for (uint32_t i = 0; i < RS_JOBS; i++) {
            uint64_t last =
                atomic_load_explicit(&rs_jobs(segment)[i].last_ns, memory_order_relaxed);
            if (last > after && last < oldest_ns) {
                oldest = i;
                oldest_ns = last;
            }
        }
        if (oldest == RS_NO_JOB) {
            break;
        }
        after = oldest_ns;
        if (rs_job_alive(segment, oldest)) {
            continue;
        }
        uint32_t used = rs_slots_used(segment);
        for (uint32_t i = 0; i < used; i++) {
            if (belongs(&rs_slots(segment)[i], oldest)) {
                rs_slot_fold(segment, &rs_slots(segment)[i]);
            }
        }
        struct rs_job *job = &rs_jobs(segment)[oldest];
        atomic_store(&job->word, rs_word(RS_JOB_FREE, rs_word_generation(job->word) + 1));
        return oldest;
    }
    return RS_NO_JOB;
}

static void new_run(struct rs_segment *segment, struct rs_job *job)
{
    uint32_t run = atomic_fetch_add(&segment->runs, 1) + 1;
    atomic_store_explicit(&job->run, run, memory_order_release);
}

static void fill_job(struct rs_segment *segment, struct rs_job *job, const char *name, uint64_t now)
{
    rs_text_put(job->name, sizeof(job->name), name);
    RS_KILL_POINT(job_named);
    rs_text_put(job->torch, sizeof(job->torch), "");
    rs_text_put(job->triton, sizeof(job->triton), "");
    rs_text_put(job->device, sizeof(job->device), "");
    for (int i = 0; i < RS_COUNTER_ROOM; i++) {
        atomic_store_explicit(&job->counters[i], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&job->versions, 0, memory_order_relaxed);
    atomic_store_explicit(&job->world, 0, memory_order_relaxed);
    atomic_store_explicit(&job->first_ns, now, memory_order_relaxed);
    new_run(segment, job);
    uint64_t generation = rs_word_generation(atomic_load(&job->word));
    atomic_store(&job->word, rs_word(RS_JOB_READY, generation));
}

uint32_t rs_job_take(struct rs_segment *segment, const char *name)
{
    char wanted[RS_JOB_NAME_MAX] = {0}, found[RS_JOB_NAME_MAX];
    uint64_t now = rs_sys_clock_ns(CLOCK_REALTIME);
    uint32_t vacant = RS_NO_JOB;
    memcpy(wanted, name ? name : "", name ? strnlen(name, sizeof(wanted) - 1) : 0);
    for (uint32_t i = 0; i < RS_JOBS; i++) {
        struct rs_job *job = &rs_jobs(segment)[i];
        if (rs_word_state(atomic_load(&job->word)) != RS_JOB_READY) {
            vacant = vacant == RS_NO_JOB ? i : vacant;
            continue;
        }
        rs_text_get(job->name, sizeof(job->name), found);
        if (strcmp(found, wanted) != 0) {
            continue;
        }
        /* The same name again after its last process has gone: another run. */
        if (!rs_job_alive(segment, i)) {
            new_run(segment, job);
        }
        atomic_store_explicit(&job->last_ns, now, memory_order_relaxed);
        return i;
    }
    if (vacant == RS_NO_JOB) {
        vacant = free_oldest_job(segment);
    }
    if (vacant != RS_NO_JOB) {
        struct rs_job *job = &rs_jobs(segment)[vacant];
        fill_job(segment, job, wanted, now);
        atomic_store_explicit(&job->last_ns, now, memory_order_relaxed);
    }
    return vacant;
}
