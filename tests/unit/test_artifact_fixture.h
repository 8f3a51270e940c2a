/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups of parts whose bytes follow from a seed, and what must come back.
 */
#ifndef RS_TEST_ARTIFACT_FIXTURE_H
#define RS_TEST_ARTIFACT_FIXTURE_H

#include "store/artifact.h"
#include "store/index.h"
#include "store/pin.h"
#include "test_store_fixture.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

static inline struct rs_artifact_key artifact_key(unsigned number)
{
    struct rs_artifact_key key = {.kind = RS_KIND_triton_group, .class_id = 3};
    memcpy(key.key.bytes + 8, &number, sizeof(number));
    return key;
}

/* SEED 0: bytes that zstd can pack. */
static inline void fill_bytes(unsigned char *out, size_t size, unsigned seed, unsigned part)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + part + 1;
    for (size_t i = 0; i < size; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        out[i] = seed ? (unsigned char)(state >> 56) : (unsigned char)((i / 7 + part) & 3);
    }
}

enum { FIXTURE_PARTS = 8, FIXTURE_RUNS = 3 };

/* Whether put_group() marks runs: three in each part, with gaps between them. */
static bool fixture_cuts;

static inline void cut_part(struct rs_part_in *part, struct rs_run runs[FIXTURE_RUNS])
{
    size_t step = part->size / (2 * FIXTURE_RUNS);
    for (unsigned i = 0; i < FIXTURE_RUNS; i++) {
        runs[i] = (struct rs_run){.at = (2 * i + 1) * step, .size = step};
    }
    part->runs = runs;
    part->run_count = fixture_cuts && step ? FIXTURE_RUNS : 0;
}

static inline enum rs_put_result put_group(struct fixture *f, struct rs_slot *slot, unsigned number,
                                           uint64_t ino, unsigned flags, unsigned seed, size_t size,
                                           unsigned count)
{
    struct rs_part_in parts[FIXTURE_PARTS];
    struct rs_run runs[FIXTURE_PARTS][FIXTURE_RUNS];
    char names[FIXTURE_PARTS][16];
    struct rs_artifact_key key = artifact_key(number);
    struct rs_origin origin = rs_origin_of(&f->store, slot, 7, ino);
    unsigned char *data = malloc(count * size + 1);
    for (unsigned i = 0; i < count; i++) {
        snprintf(names[i], sizeof(names[i]), "part%u", i);
        fill_bytes(data + i * size, size, seed, i);
        parts[i] = (struct rs_part_in){.name = names[i],
                                       .data = data + i * size,
                                       .size = size,
                                       .mode = 0644,
                                       .file = {.size = size}};
        cut_part(&parts[i], runs[i]);
    }
    enum rs_put_result result =
        rs_artifact_put(&f->store, slot, &key, &origin, flags, parts, count);
    free(data);
    return result;
}

/* enum rs_match, or 0. */
static inline int find_group(struct fixture *f, struct rs_slot *slot, unsigned number, uint64_t ino,
                             unsigned flags)
{
    struct rs_artifact artifact;
    struct rs_artifact_key key = artifact_key(number);
    struct rs_origin origin = rs_origin_of(&f->store, slot, 7, ino);
    if (!rs_artifact_find(&f->store, slot, &key, &origin, flags, &artifact)) {
        return 0;
    }
    int match = artifact.match;
    rs_artifact_release(&artifact);
    return match;
}

/* Whether the group has just these parts. */
static inline bool read_group(struct fixture *f, struct rs_slot *slot, unsigned number,
                              uint64_t ino, unsigned seed, size_t size, unsigned count)
{
    struct rs_artifact artifact;
    struct rs_artifact_key key = artifact_key(number);
    struct rs_origin origin = rs_origin_of(&f->store, slot, 7, ino);
    if (!rs_artifact_find(&f->store, slot, &key, &origin, 0, &artifact)) {
        return false;
    }
    unsigned char *got = malloc(size + 1), *want = malloc(size + 1);
    bool good = artifact.count == count;
    for (unsigned i = 0; good && i < count; i++) {
        fill_bytes(want, size, seed, i);
        good = artifact.parts[i].size == size && rs_artifact_read(&artifact, i, got) &&
               memcmp(got, want, size) == 0;
    }
    rs_artifact_release(&artifact);
    free(got);
    free(want);
    return good;
}

/* The slot of another process, which has ended meanwhile. */
static inline struct rs_slot *fixture_slot_of_child(struct fixture *f, const char *job)
{
    unsigned before = atomic_load(&f->store.segment->slots_used);
    IN_CHILD(fixture_slot(f, job, 1));
    return &rs_slots(f->store.segment)[before];
}

#endif
