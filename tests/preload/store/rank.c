/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include "store/inspect.h"
#include "store/process.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int own_number = -1;
void (*while_looking)(void);

void rs_kill_point(enum rs_kill point)
{
    if (point == RS_KILL_find_looked && while_looking) {
        void (*once)(void) = while_looking;
        while_looking = NULL;
        once();
    }
    if (own_number < 0 || atomic_load(&shared->ranks[own_number].point) != (int)point ||
        atomic_fetch_sub(&shared->ranks[own_number].after, 1) != 1) {
        return;
    }
    atomic_fetch_add(&shared->died, 1);
    raise(SIGKILL);
}

bool rank_open(struct rank *rank, int number, uint64_t bytes, unsigned seed)
{
    struct rs_identity identity = {.job = "stress", .rank = number, .world = RANKS};
    rank->number = number;
    rank->store = &rank->own;
    rank->state = seed * 2654435761U + (unsigned)number;
    if (rs_store_open(segment, true, true, &rank->own) != RS_STORE_OK) {
        return false;
    }
    rank->own.artifact_bytes = bytes;
    rank->own.dir = "/proc/nowhere";
    rank->slot = rs_slot_claim(rank->store, &identity);
    return rank->slot != NULL;
}

unsigned rank_random(struct rank *rank, unsigned below)
{
    rank->state = rank->state * 1664525 + 1013904223;
    return (rank->state >> 8) % below;
}

/* Bytes follow from seed and part alone, so that equal ones lie under many keys. */
static void fill(unsigned char *out, size_t size, unsigned seed, unsigned part)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + part + 1;
    for (size_t i = 0; i < size; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        out[i] = (unsigned char)(seed % 2 ? state >> 56 : (state >> 56) & 3);
    }
}

static void make_key(struct rank *rank, unsigned number, unsigned root, struct rs_artifact_key *key,
                     struct rs_origin *origin)
{
    *key = (struct rs_artifact_key){.kind = RS_KIND_triton_group, .class_id = 1};
    memcpy(key->key.bytes + 4, &number, sizeof(number));
    *origin = rs_origin_of(rank->store, rank->slot, 7, root + 1);
}

struct recipe rank_recipe(struct rank *rank)
{
    static const size_t sizes[] = {0, 40, 700, 5000, 30000, 120000};
    return (struct recipe){
        .number = rank_random(rank, KEYS),
        .root = rank_random(rank, ROOTS),
        .seed = rank_random(rank, 12), /* few, so that bytes repeat */
        .count = 1 + rank_random(rank, PARTS),
        .size = sizes[rank_random(rank, 6)],
    };
}

enum rs_put_result rank_put(struct rank *rank, const struct recipe *recipe, unsigned flags)
{
    struct rs_artifact_key key;
    struct rs_origin origin;
    struct rs_part_in parts[PARTS];
    struct rs_run runs[PARTS];
    char names[PARTS][64];
    unsigned char *data = malloc(recipe->count * recipe->size + 1);
    make_key(rank, recipe->number, recipe->root, &key, &origin);
    for (unsigned i = 0; i < recipe->count; i++) {
        snprintf(names[i], sizeof(names[i]), "k%u-r%u-s%u-n%u-z%zu", recipe->number, recipe->root,
                 recipe->seed, i, recipe->size);
        fill(data + i * recipe->size, recipe->size, recipe->seed, i);
        parts[i] = (struct rs_part_in){
            .name = names[i], .data = data + i * recipe->size, .size = recipe->size, .mode = 0644};
        /* One in three has a stretch that other artifacts hold, too. */
        runs[i] = (struct rs_run){.at = recipe->size / 4, .size = recipe->size / 2};
        parts[i].runs = &runs[i];
        parts[i].run_count = recipe->size >= 700 && recipe->seed % 3 == 0;
    }
    enum rs_put_result result =
        rs_artifact_put(rank->store, rank->slot, &key, &origin, flags, parts, recipe->count);
    free(data);
    return result;
}

static void wrong(const char *what, const char *name)
{
    if (atomic_fetch_add(&shared->wrong, 1) == 0) {
        snprintf(shared->said, sizeof(shared->said), "%s: %s", what, name);
    }
}

static void check_part(struct rs_artifact *artifact, unsigned i, unsigned number, unsigned root,
                       unsigned *seed)
{
    const struct rs_part *part = &artifact->parts[i];
    unsigned k, r, n;
    size_t size;
    if (sscanf(part->name, "k%u-r%u-s%u-n%u-z%zu", &k, &r, seed, &n, &size) != 5 || k != number ||
        r != root || n != i || size != part->size) {
        wrong("another group's part", part->name);
        return;
    }
    unsigned char *got = malloc(size + 1), *want = malloc(size + 1);
    fill(want, size, *seed, i);
    if (rs_artifact_read(artifact, i, got) && memcmp(got, want, size) != 0) {
        wrong("other bytes", part->name);
    }
    free(got);
    free(want);
}

bool rank_read(struct rank *rank, unsigned number, unsigned root, unsigned *seed)
{
    struct rs_artifact_key key;
    struct rs_origin origin;
    struct rs_artifact artifact;
    make_key(rank, number, root, &key, &origin);
    if (!rs_artifact_find(rank->store, rank->slot, &key, &origin, 0, &artifact)) {
        return false;
    }
    for (unsigned i = 0; i < artifact.count; i++) {
        check_part(&artifact, i, number, root, seed);
    }
    rs_artifact_release(&artifact);
    return true;
}

void rank_forget(struct rank *rank, unsigned number, unsigned root)
{
    struct rs_artifact_key key;
    struct rs_origin origin;
    make_key(rank, number, root, &key, &origin);
    rs_artifact_forget(rank->store, rank->slot, &key, &origin);
}

void rank_work(struct rank *rank, unsigned count)
{
    unsigned seed;
    for (unsigned i = 0; i < count && !atomic_load(&shared->stop); i++) {
        unsigned what = rank_random(rank, 16);
        if (what == 0) {
            unsigned number = rank_random(rank, KEYS);
            rank_forget(rank, number, rank_random(rank, ROOTS));
        } else if (what < 6) {
            struct recipe recipe = rank_recipe(rank);
            enum rs_put_result result = rank_put(rank, &recipe, 0);
            bool stored = result == RS_PUT_STORED || result == RS_PUT_THERE;
            atomic_fetch_add(stored ? &shared->ranks[rank->number].puts
                                    : &shared->ranks[rank->number].refused,
                             1);
        } else {
            bool there = rank_read(rank, rank_random(rank, KEYS), rank_random(rank, ROOTS), &seed);
            atomic_fetch_add(
                there ? &shared->ranks[rank->number].hits : &shared->ranks[rank->number].misses, 1);
        }
    }
}

pid_t start(void (*run)(struct rank *rank), int number, uint64_t bytes, unsigned seed)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct rank rank;
        own_number = number;
        rs_store_forked();
        if (rank_open(&rank, number, bytes, seed)) {
            run(&rank);
        }
        _exit(0);
    }
    return pid;
}

const char *check_all(struct rank *rank)
{
    static char text[160];
    char part[RS_PART_NAME_MAX];
    unsigned faults[RS_FAULTS];
    if (!rs_index_check(rank->store, faults)) {
        return "the store is busy for good";
    }
    for (int i = 0; i < RS_FAULTS; i++) {
        if (faults[i]) {
            snprintf(text, sizeof(text), "%s (%u)", rs_index_fault_text((enum rs_index_fault)i),
                     faults[i]);
            return text;
        }
    }
    unsigned top = rs_artifact_top(rank->store);
    for (unsigned i = 0; i < top; i++) {
        enum rs_artifact_state state = rs_artifact_check(rank->store, i, part);
        if (state == RS_ARTIFACT_MANIFEST || state == RS_ARTIFACT_PART) {
            snprintf(text, sizeof(text), "group %u is damaged: %.100s", i, part);
            return text;
        }
    }
    return atomic_load(&shared->wrong) ? shared->said : NULL;
}
