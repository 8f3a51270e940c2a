/* SPDX-License-Identifier: Apache-2.0
 *
 * Process slots: claiming, counting, reading.
 */
#include "store/kill_point.h"
#include "store/layout.h"
#include "store/process.h"
#include "store/registry.h"
#include "store/store.h"
#include "store/store_sys.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Under the lock, in a full table. Processes of other pid namespaces can't be told from dead ones:
 * of those that have not worked for an hour, the one that has rested longest loses its slot. */
static struct rs_slot *find_forsaken(struct rs_segment *segment)
{
    struct rs_slot *oldest = NULL;
    uint32_t most = 0;
    for (uint32_t i = 0; i < RS_SLOTS; i++) {
        struct rs_slot *slot = &rs_slots(segment)[i];
        uint32_t idle = rs_slot_idle_s(slot);
        if (idle > most && rs_slot_forsaken(slot)) {
            oldest = slot;
            most = idle;
        }
    }
    if (oldest) {
        rs_slot_fold(segment, oldest);
    }
    return oldest;
}

/* Under the lock. A slot that nobody has, or whose process is dead; those come in the order in
 * which they were given out. */
static struct rs_slot *find_slot(struct rs_segment *segment)
{
    uint32_t used = rs_slots_used(segment);
    if (used < RS_SLOTS) {
        atomic_store_explicit(&segment->slots_used, used + 1, memory_order_release);
        return &rs_slots(segment)[used];
    }
    uint32_t hand = atomic_load_explicit(&segment->slot_hand, memory_order_relaxed);
    for (uint32_t i = 0; i < RS_SLOTS; i++) {
        uint32_t index = (hand + i) % RS_SLOTS;
        struct rs_slot *slot = &rs_slots(segment)[index];
        unsigned state = rs_word_state(atomic_load(&slot->word));
        if (state == RS_SLOT_LIVE && rs_slot_alive(slot) != 0) {
            continue;
        }
        if (state == RS_SLOT_LIVE || state == RS_SLOT_FOLDING) {
            rs_slot_fold(segment, slot);
        }
        atomic_store_explicit(&segment->slot_hand, (index + 1) % RS_SLOTS, memory_order_relaxed);
        return slot;
    }
    return find_forsaken(segment);
}

/* Under the lock. A slot that this process has already belongs to the program that it was before
 * exec(2). Others may not see that (hidepid, no address space randomisation), and the statistics
 * would name one pid twice. */
static void drop_former(struct rs_segment *segment, const struct rs_process *self)
{
    uint32_t used = rs_slots_used(segment);
    for (uint32_t i = 0; self->start && self->space && i < used; i++) {
        struct rs_slot *slot = &rs_slots(segment)[i];
        struct rs_process process = rs_slot_process(slot);
        if (rs_word_state(atomic_load(&slot->word)) == RS_SLOT_LIVE && process.pid == self->pid &&
            process.start == self->start && process.space == self->space) {
            rs_slot_fold(segment, slot);
        }
    }
}

/* Readers take the word before and after the fields; a field written with release after the word
 * shows them that the word has changed. */
static void fill_slot(struct rs_slot *slot, const struct rs_process *self,
                      const struct rs_identity *identity, uint32_t job)
{
    uint64_t generation = rs_word_generation(atomic_load(&slot->word)) + 1;
    atomic_store(&slot->word, rs_word(RS_SLOT_CLAIMED, generation));
    atomic_store_explicit(&slot->pid, self->pid, memory_order_release);
    atomic_store_explicit(&slot->start, self->start, memory_order_release);
    RS_KILL_POINT(slot_marked);
    atomic_store_explicit(&slot->space, self->space, memory_order_release);
    atomic_store_explicit(&slot->image, self->image, memory_order_release);
    atomic_store_explicit(&slot->rank, identity->rank, memory_order_release);
    atomic_store_explicit(&slot->world, identity->world, memory_order_release);
    atomic_store_explicit(&slot->job, job, memory_order_release);
    atomic_store_explicit(&slot->ordinal, -1, memory_order_release);
    atomic_store_explicit(&slot->claimed_ns, rs_sys_clock_ns(CLOCK_REALTIME), memory_order_release);
    for (int i = 0; i < RS_COUNTER_ROOM; i++) {
        atomic_store_explicit(&slot->counters[i], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&slot->beat_s, 0, memory_order_relaxed);
    rs_slot_beat(slot);
    RS_KILL_POINT(slot_written);
    atomic_store(&slot->word, rs_word(RS_SLOT_LIVE, generation));
}

static void grow_world(struct rs_segment *segment, uint32_t job, int world)
{
    if (job < RS_JOBS &&
        world > atomic_load_explicit(&rs_jobs(segment)[job].world, memory_order_relaxed)) {
        atomic_store_explicit(&rs_jobs(segment)[job].world, world, memory_order_relaxed);
    }
}

void rs_slot_identify(struct rs_store *store, struct rs_slot *slot,
                      const struct rs_identity *identity)
{
    if (slot) {
        atomic_store_explicit(&slot->rank, identity->rank, memory_order_release);
        atomic_store_explicit(&slot->world, identity->world, memory_order_release);
        grow_world(store->segment, atomic_load_explicit(&slot->job, memory_order_relaxed),
                   identity->world);
    }
}

struct rs_slot *rs_slot_claim(struct rs_store *store, const struct rs_identity *identity)
{
    uint64_t lock;
    struct rs_segment *segment = store->segment;
    if (!segment || !store->writable || !rs_registry_lock(segment, &lock)) {
        return NULL;
    }
    RS_KILL_POINT(registry_locked);
    struct rs_process self = rs_process_self();
    uint32_t job = rs_job_take(segment, identity->job);
    drop_former(segment, &self);
    struct rs_slot *slot = find_slot(segment);
    if (slot) {
        fill_slot(slot, &self, identity, job);
        RS_KILL_POINT(slot_live);
    }
    if (slot) {
        grow_world(segment, job, identity->world);
    }
    rs_registry_unlock(segment, lock);
    return slot;
}

void rs_slot_count(struct rs_slot *slot, enum rs_counter counter, uint64_t add)
{
    if (slot && (unsigned)counter < RS_COUNTER_COUNT) {
        atomic_fetch_add_explicit(&slot->counters[counter], add, memory_order_relaxed);
    }
}

void rs_slot_ordinal(struct rs_slot *slot, int ordinal)
{
    if (slot) {
        atomic_store_explicit(&slot->ordinal, ordinal, memory_order_relaxed);
    }
}

/* One of a job's texts: what its processes run, "2.15.0 / 2.7.1" where they disagree. */
struct listing {
    _Atomic uint64_t *words;
    size_t size; /* at most LISTING_MAX */
    const char *item;
};

enum { LISTING_MAX = 96 };
_Static_assert((int)RS_VERSION_MAX <= (int)LISTING_MAX, "a list is larger than its room");
_Static_assert((int)RS_DEVICE_MAX <= (int)LISTING_MAX, "a list is larger than its room");

static const char between[] = " / ";
enum { BETWEEN = sizeof(between) - 1 };

static bool has_item(const char *list, const char *item)
{
    size_t length = strlen(item);
    for (const char *at = list; (at = strstr(at, item)) != NULL; at++) {
        bool begins =
            at == list || (at - list >= BETWEEN && memcmp(at - BETWEEN, between, BETWEEN) == 0);
        bool ends = at[length] == '\0' || strncmp(at + length, between, BETWEEN) == 0;
        if (begins && ends) {
            return true;
        }
    }
    return false;
}

/* Whether TEXT, the list as it is, is to become longer; makes it so. What finds no room is left
 * out; the first item is cut instead. */
static bool add_item(const struct listing *listing, char text[LISTING_MAX])
{
    rs_text_get(listing->words, listing->size, text);
    size_t used = strlen(text), length = listing->item ? strlen(listing->item) : 0;
    if (length == 0 || has_item(text, listing->item) ||
        (used > 0 && used + BETWEEN + length >= listing->size)) {
        return false;
    }
    snprintf(text + used, listing->size - used, "%s%s", used > 0 ? between : "", listing->item);
    return true;
}

void rs_slot_versions(struct rs_store *store, struct rs_slot *slot, const char *torch,
                      const char *triton, const char *device)
{
    uint64_t lock;
    char text[LISTING_MAX];
    uint32_t index = slot ? atomic_load_explicit(&slot->job, memory_order_relaxed) : RS_NO_JOB;
    if (index >= RS_JOBS) {
        return;
    }
    struct rs_job *job = &rs_jobs(store->segment)[index];
    const struct listing listings[] = {
        {job->torch, sizeof(job->torch), torch},
        {job->triton, sizeof(job->triton), triton},
        {job->device, sizeof(job->device), device},
    };
    bool news = !atomic_load_explicit(&job->versions, memory_order_acquire);
    for (size_t i = 0; i < 3 && !news; i++) {
        news = add_item(&listings[i], text);
    }
    if (!news || !rs_registry_lock(store->segment, &lock)) {
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        if (add_item(&listings[i], text)) {
            rs_text_put(listings[i].words, listings[i].size, text);
        }
    }
    atomic_store_explicit(&job->versions, 1, memory_order_release);
    rs_registry_unlock(store->segment, lock);
}

void rs_slot_beat(struct rs_slot *slot)
{
    /* Runs at every hash: the clock that costs no system call. */
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (atomic_load_explicit(&slot->beat_s, memory_order_relaxed) != (uint32_t)now.tv_sec) {
        atomic_store_explicit(&slot->group, rs_sys_getpgid(), memory_order_relaxed);
        atomic_store_explicit(&slot->beat_s, (uint32_t)now.tv_sec, memory_order_relaxed);
    }
}

bool rs_slot_read(const struct rs_store *store, unsigned index, struct rs_slot_view *view)
{
    if (index >= RS_SLOTS) {
        return false;
    }
    const struct rs_slot *slot = &rs_slots(store->segment)[index];
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
    if (rs_word_state(word) != RS_SLOT_LIVE) {
        return false;
    }
    memset(view, 0, sizeof(*view));
    view->pid = atomic_load_explicit(&slot->pid, memory_order_acquire);
    view->rank = atomic_load_explicit(&slot->rank, memory_order_acquire);
    view->world = atomic_load_explicit(&slot->world, memory_order_acquire);
    view->ordinal = atomic_load_explicit(&slot->ordinal, memory_order_acquire);
    view->job = atomic_load_explicit(&slot->job, memory_order_acquire);
    view->claimed_ns = atomic_load_explicit(&slot->claimed_ns, memory_order_acquire);
    for (int i = 0; i < RS_COUNTER_COUNT; i++) {
        view->counters[i] = atomic_load_explicit(&slot->counters[i], memory_order_acquire);
    }
    view->alive = rs_slot_alive(slot);
    return atomic_load_explicit(&slot->word, memory_order_relaxed) == word;
}

bool rs_job_read(const struct rs_store *store, unsigned index, struct rs_job_view *view)
{
    if (index >= RS_JOBS) {
        return false;
    }
    const struct rs_job *job = &rs_jobs(store->segment)[index];
    uint64_t word = atomic_load_explicit(&job->word, memory_order_acquire);
    if (rs_word_state(word) != RS_JOB_READY) {
        return false;
    }
    memset(view, 0, sizeof(*view));
    rs_text_get(job->name, sizeof(job->name), view->name);
    if (atomic_load_explicit(&job->versions, memory_order_acquire)) {
        rs_text_get(job->torch, sizeof(job->torch), view->torch);
        rs_text_get(job->triton, sizeof(job->triton), view->triton);
        rs_text_get(job->device, sizeof(job->device), view->device);
    }
    view->world = atomic_load_explicit(&job->world, memory_order_acquire);
    view->first_ns = atomic_load_explicit(&job->first_ns, memory_order_acquire);
    view->last_ns = atomic_load_explicit(&job->last_ns, memory_order_acquire);
    for (int i = 0; i < RS_COUNTER_COUNT; i++) {
        view->counters[i] = atomic_load_explicit(&job->counters[i], memory_order_acquire);
    }
    return atomic_load_explicit(&job->word, memory_order_relaxed) == word;
}
