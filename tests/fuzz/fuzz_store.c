/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes over the words of an artifact store: readers end, and what they get is what was put.
 * The input is a row of changes: two bytes say where, one how, eight what.
 */
#include "fuzz/fuzz.h"

#include "base/config.h"
#include "store/index.h"
#include "store/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUPS = 6, SIZE = 3000, CHANGE = 11, CHANGES = 64, FEW = 1000 };

static struct rs_store store;
static struct rs_slot *slot;
static unsigned char header[sizeof(struct rs_segment)];

static void end(void)
{
    char name[RS_SEGMENT_NAME_MAX];
    memcpy(name, store.name, sizeof(name));
    rs_store_close(&store);
    rs_store_remove(name);
}

static void fill(unsigned char *out, unsigned number, unsigned part)
{
    for (int i = 0; i < SIZE; i++) {
        out[i] = (unsigned char)(i * (number + 2) + part);
    }
}

static struct rs_artifact_key key_of(unsigned number)
{
    return (struct rs_artifact_key){.kind = RS_KIND_triton_group, .key = {{(uint8_t)number}}};
}

static void put(unsigned number)
{
    unsigned char data[2][SIZE];
    struct rs_run run = {.at = 100, .size = SIZE / 2};
    struct rs_part_in parts[2] = {
        {.name = "a", .data = data[0], .size = SIZE},
        {.name = "b", .data = data[1], .size = SIZE, .runs = &run, .run_count = 1}};
    struct rs_artifact_key key = key_of(number);
    struct rs_origin origin = rs_origin_of(&store, slot, 1, 1);
    fill(data[0], number, 0);
    fill(data[1], number, 1);
    (void)rs_artifact_put(&store, slot, &key, &origin, 0, parts, 2);
}

static void begin(void)
{
    char override[64], name[RS_SEGMENT_NAME_MAX];
    struct rs_identity identity = {.job = "fuzz"};
    snprintf(override, sizeof(override), "fuzz-%d", (int)getpid());
    FUZZ_CHECK(rs_store_name(name, geteuid(), override));
    FUZZ_CHECK(rs_store_open(name, true, true, &store) == RS_STORE_OK);
    store.artifact_bytes = 1 << 20;
    store.dir = "/proc/nowhere";
    slot = rs_slot_claim(&store, &identity);
    put(0);
    memcpy(header, store.segment, sizeof(header));
    atexit(end);
}

/* Where changes go: the store's words of the header, heads, pins, wants, bitmap, stamps, groups,
 * objects. */
static unsigned char *area(const struct rs_index *index, unsigned which, size_t *size)
{
    static const struct {
        size_t offset, size;
    } areas[] = {{RS_IN_GROUP_HEADS, 4096},
                 {RS_IN_PINS, 4096},
                 {RS_IN_WANTED, 4096},
                 {RS_IN_BITMAP, 512},
                 {RS_IN_STAMPS, 256},
                 {RS_IN_GROUPS, 8 * sizeof(struct rs_group)},
                 {RS_IN_OBJECTS, 24 * sizeof(struct rs_object)}};
    enum { AREAS = sizeof(areas) / sizeof(areas[0]) };
    which %= AREAS + 1;
    if (which == AREAS) {
        *size = 128;
        return (unsigned char *)store.segment + offsetof(struct rs_segment, store_place);
    }
    *size = areas[which].size;
    return index->at + areas[which].offset;
}

static void change(const struct rs_index *index, const uint8_t *input)
{
    size_t size;
    unsigned char *at = area(index, input[2] >> 2, &size);
    size_t offset = (input[0] | (size_t)input[1] << 8) % (size - 8), length = 1U << (input[2] & 3);
    memcpy(at + offset, input + 3, length);
}

static void read_all(void)
{
    unsigned char got[SIZE], want[SIZE];
    for (unsigned number = 0; number < GROUPS; number++) {
        struct rs_artifact artifact;
        struct rs_artifact_key key = key_of(number);
        struct rs_origin origin = rs_origin_of(&store, slot, 1, 1);
        if (!rs_artifact_find(&store, slot, &key, &origin, 0, &artifact)) {
            continue;
        }
        FUZZ_CHECK(artifact.count == 2);
        for (unsigned i = 0; i < 2; i++) {
            FUZZ_CHECK(artifact.parts[i].size == SIZE);
            if (rs_artifact_read(&artifact, i, got)) {
                fill(want, number, i);
                FUZZ_CHECK(memcmp(got, want, SIZE) == 0);
            }
        }
        rs_artifact_release(&artifact);
    }
}

/* As it was when it was begun: nothing in it. */
static void reset(const struct rs_index *index)
{
    size_t size;
    memcpy((unsigned char *)store.segment + offsetof(struct rs_segment, store_place),
           header + offsetof(struct rs_segment, store_place), 160);
    for (unsigned which = 0; which < 7; which++) {
        unsigned char *at = area(index, which, &size);
        memset(at, 0, size);
    }
    struct rs_index mended = *index;
    rs_index_mend(&mended);
    for (unsigned number = 0; number < GROUPS; number++) {
        put(number);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rs_index index;
    unsigned faults[RS_FAULTS];
    if (!store.segment) {
        begin();
    }
    FUZZ_CHECK(rs_index_open(&store, &index));
    reset(&index);
    for (size_t at = 0, n = 0; at + CHANGE <= size && n < CHANGES; at += CHANGE, n++) {
        change(&index, data + at);
    }
    read_all();
    if (rs_artifact_top(&store) < FEW) { /* else it takes a tenth of a second each time */
        (void)rs_index_check(&store, faults);
    }
    put(1);
    (void)rs_artifact_evict_to(&store, 4096);
    read_all();
    /* The place is the header's, and the mapping stays: back for the next input. */
    memcpy((unsigned char *)store.segment + offsetof(struct rs_segment, store_place),
           header + offsetof(struct rs_segment, store_place), 160);
    return 0;
}
