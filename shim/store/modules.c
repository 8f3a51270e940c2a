/* SPDX-License-Identifier: Apache-2.0 */
#include "store/modules.h"

#include "store/layout.h"
#include "store/registry.h"
#include "store/store_sys.h"

#include <stdatomic.h>
#include <string.h>

enum { FREE, FILLING, READY };
enum { WINDOW = 32, DEAD_S = 10, UNUSED_S = 60 };
enum { MAPPED = 1, NAMED = 2, KEPT = 4 }; /* flags */

/* An index, and the low bits of a generation. */
enum { TICKET_GENERATION_BITS = 8 };
_Static_assert(RS_MODULES << TICKET_GENERATION_BITS == 1 << RS_TICKET_BITS, "tickets have room");

static unsigned state_of(uint64_t word)
{
    return (unsigned)(word & 0xff);
}

/* State in the low byte, above it a generation of 24 bits, above that the second in which it was
 * taken. */
static uint64_t word_of(unsigned state, uint64_t former, uint32_t second)
{
    uint64_t generation = ((former >> 8) + (state == FILLING)) & 0xffffff;
    return (uint64_t)second << 32 | generation << 8 | state;
}

static uint32_t seconds(void)
{
    return (uint32_t)(rs_sys_clock_ns(CLOCK_REALTIME) / RS_NS_PER_S);
}

static struct rs_module *entry(const struct rs_store *store, uint64_t place)
{
    return &rs_modules(store->segment)[place % RS_MODULES];
}

struct rs_module *rs_module_find(const struct rs_store *store, const struct rs_hash128 *name)
{
    for (unsigned i = 0; store->segment && i < WINDOW; i++) {
        struct rs_module *module = entry(store, name->low + i);
        uint64_t word = atomic_load_explicit(&module->word, memory_order_acquire);
        if (state_of(word) == READY &&
            atomic_load_explicit(&module->low, memory_order_relaxed) == name->low &&
            atomic_load_explicit(&module->high, memory_order_relaxed) == name->high) {
            return module;
        }
    }
    return NULL;
}

/* Whether an entry may be taken, and how much one would like to: the smaller the better. */
static bool may_take(const struct rs_module *module, uint64_t word, uint32_t now, uint32_t *rank)
{
    uint32_t taken = (uint32_t)(word >> 32);
    uint32_t used = atomic_load_explicit(&module->used_s, memory_order_relaxed);
    switch (state_of(word)) {
    case FREE:
        *rank = 0;
        return true;
    case FILLING:
        *rank = 1;
        return now - taken > DEAD_S;
    case READY:
        *rank = used;
        return now > used && now - used > UNUSED_S;
    default: /* nothing that we write */
        *rank = 1;
        return true;
    }
}

/* With release behind the word, so that a reader who sees a new field sees a new word, too. */
static void fill(struct rs_module *module, const struct rs_hash128 *name,
                 const struct rs_module_facts *facts, uint32_t now)
{
    atomic_store_explicit(&module->low, name->low, memory_order_release);
    atomic_store_explicit(&module->high, name->high, memory_order_release);
    atomic_store_explicit(&module->size, facts->size, memory_order_release);
    atomic_store_explicit(&module->loads, 0, memory_order_release);
    atomic_store_explicit(&module->ns, 0, memory_order_release);
    atomic_store_explicit(&module->ranks[0], 0, memory_order_release);
    atomic_store_explicit(&module->ranks[1], 0, memory_order_release);
    atomic_store_explicit(&module->failed, 0, memory_order_release);
    atomic_store_explicit(&module->refused_by, 0, memory_order_release);
    atomic_store_explicit(&module->kind, (uint32_t)facts->kind, memory_order_release);
    atomic_store_explicit(&module->arch, facts->sm << 8 | (uint8_t)facts->suffix,
                          memory_order_release);
    atomic_store_explicit(&module->flags,
                          (facts->mapped ? MAPPED : 0u) | (facts->kernel[0] ? NAMED : 0u),
                          memory_order_release);
    atomic_store_explicit(&module->kernels, facts->kernels, memory_order_release);
    atomic_store_explicit(&module->used_s, now, memory_order_release);
    atomic_store_explicit(&module->first, 0, memory_order_release);
    rs_text_put(module->kernel, sizeof(module->kernel), facts->kernel);
}

struct rs_module *rs_module_add(struct rs_store *store, const struct rs_hash128 *name,
                                const struct rs_module_facts *facts)
{
    struct rs_module *found = rs_module_find(store, name);
    uint32_t now = seconds(), rank;
    for (unsigned attempt = 0; !found && store->segment && attempt < 2; attempt++) {
        struct rs_module *best = NULL;
        uint64_t best_word = 0;
        uint32_t best_rank = UINT32_MAX;
        for (unsigned i = 0; i < WINDOW && best_rank > 0; i++) {
            struct rs_module *module = entry(store, name->low + i);
            uint64_t word = atomic_load_explicit(&module->word, memory_order_acquire);
            if (may_take(module, word, now, &rank) && rank < best_rank) {
                best = module;
                best_word = word;
                best_rank = rank;
            }
        }
        uint64_t filling = word_of(FILLING, best_word, now);
        if (best && atomic_compare_exchange_strong(&best->word, &best_word, filling)) {
            fill(best, name, facts, now);
            /* Who took us for dead meanwhile has it now. */
            bool ours =
                atomic_compare_exchange_strong(&best->word, &filling, word_of(READY, filling, now));
            return ours ? best : NULL;
        }
        found = rs_module_find(store, name); /* another process may have been at the same */
    }
    return found;
}

static void mark_rank(struct rs_module *module, const struct rs_slot *slot)
{
    int32_t rank = atomic_load_explicit(&slot->rank, memory_order_relaxed);
    unsigned bit =
        (rank >= 0 ? (unsigned)rank : (unsigned)((uintptr_t)slot / sizeof(struct rs_slot))) % 128;
    uint64_t mask = UINT64_C(1) << bit % 64;
    _Atomic uint64_t *word = &module->ranks[bit / 64];
    if (!(atomic_load_explicit(word, memory_order_relaxed) & mask)) {
        atomic_fetch_or_explicit(word, mask, memory_order_relaxed);
    }
}

/* Never 0. Two processes may have one mark; then one of them counts for both. */
static uint32_t mark_of(const struct rs_slot *slot)
{
    uint64_t mark = atomic_load_explicit(&slot->start, memory_order_relaxed);
    mark = (mark ^ atomic_load_explicit(&slot->space, memory_order_relaxed)) << 24 ^
           (uint32_t)atomic_load_explicit(&slot->pid, memory_order_relaxed);
    return (uint32_t)(mark * UINT64_C(0x9e3779b97f4a7c15) >> 32) | 1;
}

void rs_module_count(struct rs_module *module, const struct rs_slot *slot, bool good, uint64_t ns,
                     unsigned refused_by)
{
    atomic_fetch_add_explicit(&module->ns, ns, memory_order_relaxed);
    atomic_store_explicit(&module->used_s, seconds(), memory_order_relaxed);
    if (refused_by) {
        atomic_store_explicit(&module->refused_by, refused_by, memory_order_relaxed);
    }
    if (!good) {
        atomic_fetch_add_explicit(&module->failed, 1, memory_order_relaxed);
        return;
    }
    atomic_fetch_add_explicit(&module->loads, 1, memory_order_relaxed);
    if (slot) {
        uint32_t nobody = 0;
        mark_rank(module, slot);
        if (atomic_load_explicit(&module->first, memory_order_relaxed) == nobody) {
            (void)atomic_compare_exchange_strong(&module->first, &nobody, mark_of(slot));
        }
    }
}

bool rs_module_shared(const struct rs_module *module, const struct rs_slot *slot)
{
    uint32_t first = atomic_load_explicit(&module->first, memory_order_relaxed);
    return first != 0 && first != mark_of(slot);
}

bool rs_module_keep(struct rs_module *module)
{
    return !(atomic_load_explicit(&module->flags, memory_order_relaxed) & KEPT) &&
           !(atomic_fetch_or(&module->flags, KEPT) & KEPT);
}

void rs_module_not_kept(struct rs_module *module)
{
    atomic_fetch_and(&module->flags, ~(uint32_t)KEPT);
}

uint32_t rs_module_ticket(const struct rs_store *store, const struct rs_module *module)
{
    uint32_t index = (uint32_t)(module - rs_modules(store->segment));
    uint64_t word = atomic_load_explicit(&module->word, memory_order_relaxed);
    return index << TICKET_GENERATION_BITS | (uint32_t)(word >> 8 & 0xff);
}

void rs_module_name(struct rs_store *store, uint32_t ticket, const char *kernel)
{
    struct rs_module *module = entry(store, ticket >> TICKET_GENERATION_BITS);
    uint64_t word = atomic_load_explicit(&module->word, memory_order_acquire);
    bool same = state_of(word) == READY && (word >> 8 & 0xff) == (ticket & 0xff);
    if (same && !(atomic_load_explicit(&module->flags, memory_order_relaxed) & NAMED) &&
        !(atomic_fetch_or(&module->flags, NAMED) & NAMED)) {
        rs_text_put(module->kernel, sizeof(module->kernel), kernel);
    }
}

bool rs_module_read(const struct rs_store *store, unsigned index, struct rs_module_view *view)
{
    const struct rs_module *module = &rs_modules(store->segment)[index];
    uint64_t word = atomic_load_explicit(&module->word, memory_order_acquire);
    uint32_t arch = atomic_load_explicit(&module->arch, memory_order_acquire);
    *view = (struct rs_module_view){
        .name = {atomic_load_explicit(&module->low, memory_order_acquire),
                 atomic_load_explicit(&module->high, memory_order_acquire)},
        .facts = {.kind = (enum rs_kind)atomic_load_explicit(&module->kind, memory_order_acquire),
                  .size = atomic_load_explicit(&module->size, memory_order_acquire),
                  .sm = arch >> 8,
                  .suffix = (char)(arch & 0xff),
                  .mapped = atomic_load_explicit(&module->flags, memory_order_acquire) & MAPPED,
                  .kernels = atomic_load_explicit(&module->kernels, memory_order_acquire)},
        .loads = atomic_load_explicit(&module->loads, memory_order_acquire),
        .failed = atomic_load_explicit(&module->failed, memory_order_acquire),
        .ns = atomic_load_explicit(&module->ns, memory_order_acquire),
        .ranks = {atomic_load_explicit(&module->ranks[0], memory_order_acquire),
                  atomic_load_explicit(&module->ranks[1], memory_order_acquire)},
        .refused_by = atomic_load_explicit(&module->refused_by, memory_order_acquire),
    };
    rs_text_get(module->kernel, sizeof(view->kernel), view->kernel);
    view->facts.kernel = view->kernel;
    return state_of(word) == READY &&
           atomic_load_explicit(&module->word, memory_order_relaxed) == word;
}
