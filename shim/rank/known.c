/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/known.h"

#include "ordinal/flags.h"
#include "rank/env.h"

#include <stdatomic.h>
#include <string.h>

/* A job hashes a few details per graph and one key per kernel: thousands at most. When a probe run
 * is full, kernels' keys go first and shared keys next: a forgotten shared key counts as not hashed
 * here, which is safe (no lease; what lies there is judged by the primary ordinal). A native or
 * private key is never forgotten for another; where none can be taken in any more, `forgot` makes
 * all unknown keys suspect. */
enum { SLOTS = 8192, PROBES = 16 };

/* A seqlock per slot: odd while it is being written. In a child forked in the middle of a write it
 * is odd for ever, so rs_known_forked() empties such slots. */
struct known_slot {
    _Atomic(uint32_t) sequence;
    _Atomic(uint64_t)
        what; /* treatment, kind, ordinal + 1, generation: one byte each; flags: 16 bits */
    _Atomic(uint64_t) key[4];
};

static struct known_slot slots[SLOTS];
static _Atomic(unsigned) writers; /* threads that are about to write a slot */

static _Atomic(bool) forgot;
static _Atomic(bool) moved;

/* Goes up at each fork: what the parent hashed for its own device says nothing about the child's.
 */
static _Atomic(uint8_t) generation = 1;

struct last_hash {
    struct rs_key key;
    struct rs_known what;
    bool fresh; /* no look yet */
};
static __thread struct last_hash last_hash;
/* The thread's last details. Kernels' keys don't count: they may be hashed between an AOT entry and
 * the FX entries that it names. */
static __thread struct rs_known last_details;

enum { NO_ORDINAL = -1, INHERITED = 1 << 16 };
/* The ordinal, with INHERITED added in a fork child that has hashed no details itself. */
static _Atomic(int) primary = NO_ORDINAL;
/* CUDA_VISIBLE_DEVICES when it was offered. Equal values are one pointer. */
static _Atomic(const char *) primary_devices;

/* Of all details. */
static _Atomic(unsigned) flags_seen;

static _Atomic(int) torch_key_state; /* 0 none, 1 being written, 2 there */
static uint8_t torch_key[32];

static size_t first_slot(const struct rs_key *key)
{
    uint32_t word;
    memcpy(&word, key->bytes, sizeof(word)); /* the key is a digest: any bits will do */
    return word % SLOTS;
}

static uint64_t pack(const struct rs_known *what)
{
    return (uint64_t)what->treatment | (uint64_t)what->kind << 8 |
           (uint64_t)(what->ordinal + 1) << 16 | (uint64_t)atomic_load(&generation) << 24 |
           (uint64_t)what->flags << 32;
}

static struct rs_known unpack(uint64_t word)
{
    struct rs_known what = {
        .treatment = (enum rs_treatment)(word & 0xff),
        .kind = (enum rs_kind)(word >> 8 & 0xff),
        .ordinal = (int)(word >> 16 & 0xff) - 1,
        .flags = (unsigned)(word >> 32 & 0xffff),
    };
    return what;
}

/* What a slot holds. BUSY: it is being written, and nobody can tell. */
enum holds { OTHER, MINE, BUSY };

static enum holds try_slot(struct known_slot *slot, const struct rs_key *key, uint64_t *what)
{
    uint64_t words[4], mine[4];
    memcpy(mine, key->bytes, sizeof(mine));
    uint32_t before = atomic_load_explicit(&slot->sequence, memory_order_acquire);
    if (before & 1) {
        return BUSY;
    }
    for (int i = 0; i < 4; i++) {
        words[i] = atomic_load_explicit(&slot->key[i], memory_order_relaxed);
    }
    *what = atomic_load_explicit(&slot->what, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&slot->sequence, memory_order_relaxed) != before) {
        return BUSY;
    }
    return before != 0 && memcmp(words, mine, sizeof(mine)) == 0 ? MINE : OTHER;
}

/* A write takes nanoseconds, unless its thread is put to sleep in the middle. */
static enum holds read_slot(struct known_slot *slot, const struct rs_key *key, uint64_t *what)
{
    enum { TRIES = 200 };
    enum holds holds = BUSY;
    for (int i = 0; holds == BUSY && i < TRIES; i++) {
        holds = try_slot(slot, key, what);
    }
    return holds;
}

static bool write_slot(struct known_slot *slot, uint32_t before, const struct rs_key *key,
                       uint64_t what)
{
    uint64_t words[4];
    memcpy(words, key->bytes, sizeof(words));
    atomic_fetch_add(&writers, 1);
    bool taken =
        !(before & 1) && atomic_compare_exchange_strong(&slot->sequence, &before, before + 1);
    if (taken) {
        atomic_thread_fence(memory_order_release);
        for (int i = 0; i < 4; i++) {
            atomic_store_explicit(&slot->key[i], words[i], memory_order_relaxed);
        }
        atomic_store_explicit(&slot->what, what, memory_order_relaxed);
        atomic_store_explicit(&slot->sequence, before + 2, memory_order_release);
    }
    atomic_fetch_sub(&writers, 1);
    return taken;
}

/* How little is lost with the slot's key: 0 nothing, KEPT too much. */
enum { KEPT = 3 };
static int worth(struct known_slot *slot, uint32_t *sequence)
{
    *sequence = atomic_load_explicit(&slot->sequence, memory_order_acquire);
    uint64_t word = atomic_load_explicit(&slot->what, memory_order_relaxed);
    struct rs_known what = unpack(word);
    if (*sequence == 0 || (word >> 24 & 0xff) != atomic_load(&generation)) {
        return 0;
    }
    if (*sequence & 1 || what.treatment != RS_TREAT_CANONICAL) {
        return KEPT;
    }
    return what.kind == RS_KIND_triton_key ? 1 : 2;
}

/* Takes the first slot of the probe run that is worth at most MOST. */
static bool take_slot(const struct rs_key *key, uint64_t what, int most)
{
    size_t at = first_slot(key);
    for (size_t i = 0; i < PROBES; i++) {
        struct known_slot *slot = &slots[(at + i) % SLOTS];
        uint32_t sequence;
        if (worth(slot, &sequence) <= most && write_slot(slot, sequence, key, what)) {
            return true;
        }
    }
    return false;
}

/* A key that is there already stays where it is: the first one found is the answer. It is not
 * written when it says the same: who reads it at that moment could not tell what it is. */
static bool take_own_slot(const struct rs_key *key, uint64_t what)
{
    size_t at = first_slot(key);
    uint64_t old;
    for (size_t i = 0; i < PROBES; i++) {
        struct known_slot *slot = &slots[(at + i) % SLOTS];
        uint32_t sequence = atomic_load_explicit(&slot->sequence, memory_order_acquire);
        if (read_slot(slot, key, &old) == MINE &&
            (old == what || write_slot(slot, sequence, key, what))) {
            return true;
        }
    }
    return false;
}

static void remember(const struct rs_key *key, uint64_t what)
{
    bool taken = take_own_slot(key, what);
    for (int most = 0; !taken && most < KEPT; most++) {
        taken = take_slot(key, what, most);
    }
    if (!taken && unpack(what).treatment != RS_TREAT_CANONICAL) {
        rs_known_lost();
    }
}

void rs_known_add(const struct rs_key *key, const struct rs_known *what)
{
    atomic_fetch_or_explicit(&flags_seen, what->flags, memory_order_relaxed);
    if (what->treatment == RS_TREAT_CANONICAL && what->ordinal > 0) {
        atomic_store(&moved, true);
    }
    remember(key, pack(what));
    last_hash.key = *key;
    last_hash.what = *what;
    last_hash.fresh = true;
    if (what->kind != RS_KIND_triton_key) {
        last_details = *what;
    }
}

bool rs_known_behind_native(int *ordinal)
{
    int meant = last_details.ordinal < 0 ? rs_primary() : last_details.ordinal;
    *ordinal = meant < 0 || last_details.flags & RS_FLAG_SEVERAL ? RS_ORDINAL_UNSURE : meant;
    return last_details.kind == RS_KIND_aot_details && last_details.treatment == RS_TREAT_NATIVE;
}

struct rs_known rs_known_find(const struct rs_key *key)
{
    size_t at = first_slot(key);
    uint64_t what;
    bool suspect = atomic_load_explicit(&forgot, memory_order_relaxed);
    for (size_t i = 0; i < PROBES; i++) {
        enum holds holds = read_slot(&slots[(at + i) % SLOTS], key, &what);
        if (holds == MINE && (what >> 24 & 0xff) == atomic_load(&generation)) {
            return unpack(what);
        }
        suspect |= holds == BUSY;
    }
    enum rs_treatment unknown = suspect ? RS_TREAT_FORGOTTEN : RS_TREAT_UNKNOWN;
    return (struct rs_known){unknown, RS_KIND_other, NO_ORDINAL, 0};
}

void rs_known_lost(void)
{
    atomic_store(&forgot, true);
}

bool rs_known_moved(void)
{
    return atomic_load(&moved);
}

bool rs_known_first_look(const struct rs_key *key, struct rs_known *what)
{
    if (!last_hash.fresh || !rs_key_equal(&last_hash.key, key)) {
        return false;
    }
    last_hash.fresh = false;
    *what = last_hash.what;
    return true;
}

unsigned rs_known_flags(void)
{
    return atomic_load_explicit(&flags_seen, memory_order_relaxed);
}

int rs_primary_offer(int ordinal)
{
    int now = atomic_load(&primary);
    while (now == NO_ORDINAL || now & INHERITED) {
        if (atomic_compare_exchange_weak(&primary, &now, ordinal)) {
            atomic_store(&primary_devices, rs_env_get(RS_ENV_CUDA_VISIBLE_DEVICES));
            return ordinal;
        }
    }
    return now;
}

int rs_primary(void)
{
    int now = atomic_load_explicit(&primary, memory_order_relaxed);
    if (now == NO_ORDINAL || !(now & INHERITED)) {
        return now;
    }
    /* In the child, another list of devices gives them other ordinals. A list of one leaves no
     * choice: so it is in autotuning's children. */
    const char *devices = rs_env_get(RS_ENV_CUDA_VISIBLE_DEVICES);
    if (devices == atomic_load(&primary_devices)) {
        return now & ~INHERITED;
    }
    return devices && !strchr(devices, ',') ? 0 : RS_ORDINAL_UNSURE;
}

void rs_torch_key_set(const uint8_t key[32])
{
    int none = 0;
    if (atomic_compare_exchange_strong(&torch_key_state, &none, 1)) {
        memcpy(torch_key, key, sizeof(torch_key));
        atomic_store(&torch_key_state, 2);
    }
}

bool rs_torch_key(uint8_t key[32])
{
    if (atomic_load(&torch_key_state) != 2) {
        return false;
    }
    memcpy(key, torch_key, sizeof(torch_key));
    return true;
}

static _Atomic(int) torch_minor;

void rs_torch_minor_set(int minor)
{
    atomic_store_explicit(&torch_minor, minor, memory_order_relaxed);
}

int rs_torch_minor(void)
{
    return atomic_load_explicit(&torch_minor, memory_order_relaxed);
}

/* In a fork child, which has one thread: nobody goes on with what others were writing. */
static void drop_unfinished(void)
{
    if (!atomic_exchange(&writers, 0)) {
        return;
    }
    for (size_t i = 0; i < SLOTS; i++) {
        if (atomic_load_explicit(&slots[i].sequence, memory_order_relaxed) & 1) {
            atomic_store(&slots[i].sequence, 0);
        }
    }
}

void rs_known_forked(void)
{
    int now = atomic_load(&primary);
    if (now != NO_ORDINAL) {
        atomic_store(&primary, now | INHERITED);
    }
    if (atomic_load(&torch_key_state) == 1) {
        atomic_store(&torch_key_state, 0);
    }
    last_hash.fresh = false;
    last_details.treatment = RS_TREAT_UNKNOWN;
    atomic_store(&forgot, false);
    atomic_store(&moved, false);
    drop_unfinished();
    atomic_fetch_add(&generation, 1);
}
