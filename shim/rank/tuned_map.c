/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/tuned_map.h"

#include <stdatomic.h>
#include <string.h>

/* A job has hundreds of kernels with something to choose, a large one thousands. */
enum { SLOTS = 8192, PROBES = 32 };

/* The key of a slot never changes, its name comes once. Who finds it WRITING passes it over, as a
 * child must that was forked at that moment; at worst the key gets a second slot. */
enum { EMPTY, WRITING, NAMELESS, NAMED };

struct entry {
    _Atomic(int) state;
    _Atomic(bool) saved;        /* by this process */
    _Atomic(uint32_t) expected; /* the graph whose measurement it belongs to; 0: none */
    struct rs_key key;
    char name[RS_TUNED_NAME + 1];
};

static struct entry entries[SLOTS];

/* The entry of KEY; with ADD a new one where there is none, which is WRITING then (*FRESH). NULL:
 * none, or no room. */
static struct entry *find(const struct rs_key *key, bool add, bool *fresh)
{
    uint32_t at;
    memcpy(&at, key->bytes, sizeof(at)); /* the key is a digest: any bits will do */
    *fresh = false;
    for (uint32_t i = 0; i < PROBES; i++) {
        struct entry *entry = &entries[(at + i) % SLOTS];
        int state = atomic_load_explicit(&entry->state, memory_order_acquire);
        if (state >= NAMELESS && rs_key_equal(&entry->key, key)) {
            return entry;
        }
        if (state == EMPTY && !add) {
            return NULL;
        }
        if (state == EMPTY && atomic_compare_exchange_strong(&entry->state, &state, WRITING)) {
            entry->key = *key;
            *fresh = true;
            return entry;
        }
    }
    return NULL;
}

/* Whether the caller may write ENTRY's name. */
static bool take(struct entry *entry, bool fresh)
{
    int nameless = NAMELESS;
    return fresh || atomic_compare_exchange_strong(&entry->state, &nameless, WRITING);
}

/* A result's name below the root, HEAD being that without its tail: RS_HEX digits, or the kernel's
 * FILE (SIZE RS_NAME). */
static void name_of(const uint8_t *file, const uint8_t *head, size_t size,
                    char name[RS_TUNED_NAME + 1])
{
    static const char tail[] = ".best_config";
    memcpy(name, file + 1, 2);
    name[2] = '/';
    memcpy(name + 3, head, size);
    memcpy(name + 3 + size, tail, sizeof(tail));
}

/* The result KEY of this rank is SHARED for cuda:0. */
static void remember(const struct rs_key *key, const char *shared)
{
    bool fresh;
    struct entry *entry = find(key, true, &fresh);
    if (entry && take(entry, fresh)) {
        memcpy(entry->name, shared, strlen(shared) + 1);
        atomic_store_explicit(&entry->state, NAMED, memory_order_release);
    }
}

static void learn_hashed(const uint8_t *own, const uint8_t *file, const uint8_t *shared)
{
    struct rs_key key;
    char name[RS_TUNED_NAME + 1];
    if (rs_key_from_triton((const char *)own, RS_HEX, &key)) {
        name_of(file, shared, RS_HEX, name);
        remember(&key, name);
    }
}

/* Torch 2.4 and 2.5 use the file's name, 2.6 and 2.7 a hash of it: one slot more costs less than a
 * mistake about versions. */
static void learn_old(const uint8_t *own, const uint8_t *file)
{
    uint8_t own_hash[RS_HEX], hash[RS_HEX];
    struct rs_key key;
    char name[RS_TUNED_NAME + 1];
    rs_config_name_keyless(own, own_hash);
    rs_config_name_keyless(file, hash);
    learn_hashed(own_hash, file, hash);
    if (rs_key_from_name51((const char *)own + 1, &key)) {
        name_of(file, file, RS_NAME, name);
        remember(&key, name);
    }
}

bool rs_tuned_in_place(int minor)
{
    return minor >= 4 && minor <= 7;
}

void rs_tuned_learn(const struct rs_report *report, int to, bool in_place)
{
    for (uint32_t i = 0; i < report->name_count; i++) {
        const struct rs_name *name = &report->names[i];
        const uint8_t *own = to == 0 ? name->old_file : name->new_file;
        const uint8_t *file = to == 0 ? name->new_file : name->old_file;
        if (in_place) {
            learn_old(own, file);
        } else if (name->old_config && to == 0) {
            learn_hashed(name->old_config, file, name->new_config);
        } else if (name->old_config) {
            learn_hashed(name->new_config, file, name->old_config);
        }
    }
}

bool rs_tuned_shared(const struct rs_key *key, char name[RS_TUNED_NAME + 1])
{
    bool fresh;
    struct entry *entry = find(key, false, &fresh);
    if (!entry || atomic_load_explicit(&entry->state, memory_order_acquire) != NAMED) {
        return false;
    }
    memcpy(name, entry->name, sizeof(entry->name));
    return true;
}

/* The entry of KEY, with or without a name. NULL: no room. */
static struct entry *reach(const struct rs_key *key)
{
    bool fresh;
    struct entry *entry = find(key, true, &fresh);
    if (fresh) {
        atomic_store_explicit(&entry->state, NAMELESS, memory_order_release);
    }
    return entry;
}

void rs_tuned_saved_here(const struct rs_key *key)
{
    struct entry *entry = reach(key);
    if (entry) {
        atomic_store(&entry->saved, true);
    }
}

bool rs_tuned_expect(const struct rs_key *key, uint32_t graph)
{
    struct entry *entry = reach(key);
    return !entry || atomic_exchange(&entry->expected, graph) != graph;
}

bool rs_tuned_came(const struct rs_key *key, uint32_t graph)
{
    bool fresh;
    struct entry *entry = find(key, false, &fresh);
    return entry && atomic_compare_exchange_strong(&entry->expected, &graph, 0);
}

bool rs_tuned_is_ours(const struct rs_key *key)
{
    bool fresh;
    struct entry *entry = find(key, false, &fresh);
    return entry && atomic_load(&entry->saved);
}
