/* SPDX-License-Identifier: Apache-2.0
 *
 * A store whose words were changed by somebody else: whatever stands in them, what is read is what
 * was put, or nothing, and nothing crashes or hangs.
 */
#include "base/config.h"
#include "store/inspect.h"
#include "store/payload.h"
#include "test_artifact_fixture.h"

#include <fcntl.h>

enum { GROUPS = 12 };

static struct fixture f;
static struct rs_slot *slot;

/* Plain and packed objects, shared ones and recipes among them. */
static enum rs_put_result put(unsigned i)
{
    fixture_cuts = i % 2;
    return put_group(&f, slot, i, 1 + i % 3, 0, i % 5, 1000 + 9000 * (i % 4), 1 + i % 4);
}

static void fill(void)
{
    f.store.artifact_bytes = 4 << 20;
    for (unsigned i = 0; i < GROUPS; i++) {
        cr_assert_eq(put(i), RS_PUT_STORED);
    }
}

static void setup(void)
{
    fixture_open(&f, "hostile");
    slot = fixture_slot(&f, "job", 0);
    fill();
}

static void teardown(void)
{
    fixture_close(&f);
}

TestSuite(artifact_hostile, .init = setup, .fini = teardown, .timeout = 300);

/* Reads all that can be read under any key and from any root; every byte must be right. */
static unsigned read_all(void)
{
    unsigned whole = 0;
    unsigned char got[40000], want[40000];
    for (unsigned number = 0; number < GROUPS; number++) {
        for (uint64_t ino = 1; ino <= 3; ino++) {
            struct rs_artifact artifact;
            struct rs_artifact_key key = artifact_key(number);
            struct rs_origin origin = rs_origin_of(&f.store, slot, 7, ino);
            if (!rs_artifact_find(&f.store, slot, &key, &origin, 0, &artifact)) {
                continue;
            }
            size_t size = 1000 + 9000 * (number % 4);
            cr_assert_eq(ino, 1 + number % 3, "found under another root");
            cr_assert_eq(artifact.count, 1 + number % 4);
            for (unsigned i = 0; i < artifact.count; i++) {
                cr_assert_eq(artifact.parts[i].size, size);
                if (rs_artifact_read(&artifact, i, got)) {
                    fill_bytes(want, size, number % 5, i);
                    cr_assert_arr_eq(got, want, size, "group %u, part %u", number, i);
                    whole++;
                }
            }
            rs_artifact_release(&artifact);
        }
    }
    return whole;
}

static unsigned all_parts(void)
{
    unsigned parts = 0;
    for (unsigned i = 0; i < GROUPS; i++) {
        parts += 1 + i % 4;
    }
    return parts;
}

/* All that a process may do with it. */
static void use(void)
{
    char part[RS_PART_NAME_MAX];
    unsigned faults[RS_FAULTS];
    struct rs_artifact_view view;
    (void)read_all();
    (void)put_group(&f, slot, 60, 1, 0, 3, 5000, 2);
    (void)rs_index_check(&f.store, faults);
    unsigned top = rs_artifact_top(&f.store);
    for (unsigned i = 0; i < top && i < 64; i++) {
        (void)rs_artifact_view(&f.store, i, &view);
        (void)rs_artifact_check(&f.store, i, part);
    }
    (void)rs_artifact_evict_to(&f.store, 1 << 20);
}

/* The store as it was made, to begin each change from. */
struct image {
    unsigned char *bytes;
    size_t size;
};

static struct image save(void)
{
    struct stat found;
    int fd = open(f.path, O_RDONLY);
    cr_assert_eq(fstat(fd, &found), 0);
    /* Its index and the part of the arena that is used. */
    struct image image = {.size = RS_AT_ARENA + (1 << 20)};
    image.bytes = malloc(image.size);
    cr_assert_geq(found.st_size, (off_t)image.size);
    cr_assert_eq(pread(fd, image.bytes, image.size, 0), (ssize_t)image.size);
    close(fd);
    return image;
}

/* Only what use() can have changed: the file is large and mostly empty. */
static void restore_part(int fd, const struct image *image, size_t from, size_t size)
{
    cr_assert_eq(pwrite(fd, image->bytes + from, size, (off_t)from), (ssize_t)size);
}

static void restore(const struct image *image)
{
    int fd = open(f.path, O_WRONLY);
    restore_part(fd, image, 0, sizeof(struct rs_segment));
    restore_part(fd, image, RS_AT_INDEX, RS_IN_BITMAP + 4096);
    restore_part(fd, image, RS_AT_INDEX + RS_IN_STAMPS, 4096);
    restore_part(fd, image, RS_AT_INDEX + RS_IN_GROUPS, 64 * sizeof(struct rs_group));
    restore_part(fd, image, RS_AT_INDEX + RS_IN_OBJECTS, 256 * sizeof(struct rs_object));
    restore_part(fd, image, RS_AT_ARENA, 1 << 20);
    close(fd);
}

static const uint64_t values[] = {
    0,
    1,
    2,
    7,
    255,
    4096,
    65537,
    INT32_MAX,
    UINT32_MAX,
    UINT64_C(1) << 32,
    UINT64_C(1) << 40,
    INT64_MAX,
    UINT64_MAX,
};
enum { VALUES = sizeof(values) / sizeof(values[0]) };

/* Each aligned 32-bit word of SIZE bytes at OFFSET becomes each of the values, one at a time; every
 * STEPth of the combinations. */
static void mutate(size_t offset, size_t size, unsigned step)
{
    struct image image = save();
    unsigned turn = 0;
    for (size_t at = offset; at + 8 <= offset + size; at += 4) {
        for (unsigned i = 0; i < VALUES; i++) {
            if (turn++ % step != 0) {
                continue;
            }
            int fd = open(f.path, O_WRONLY);
            cr_assert_eq(pwrite(fd, &values[i], i < 9 ? 4 : 8, (off_t)at), i < 9 ? 4 : 8);
            close(fd);
            use();
            restore(&image);
        }
    }
    cr_assert_eq(read_all(), all_parts(), "restored");
    free(image.bytes);
}

Test(artifact_hostile, header)
{
    mutate(offsetof(struct rs_segment, store_place), 128, 1);
}

/* The lock in the name of somebody who does not exist, or of who can't be judged. */
Test(artifact_hostile, lock)
{
    static const uint64_t owners[] = {1, UINT64_MAX, UINT64_C(1) << 63, 0x123456789abcdef0};
    for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
        atomic_store(&f.store.segment->store_lock, owners[i]);
        (void)put_group(&f, slot, 60, 1, 0, 3, 5000, 2);
        cr_assert_geq(read_all(), all_parts() - 4);
    }
}

Test(artifact_hostile, groups)
{
    mutate(RS_AT_INDEX + RS_IN_GROUPS, 3 * sizeof(struct rs_group), 5);
}

Test(artifact_hostile, objects)
{
    mutate(RS_AT_INDEX + RS_IN_OBJECTS, 8 * sizeof(struct rs_object), 5);
}

static void noise(size_t offset, size_t size, unsigned seed)
{
    unsigned char bytes[4096];
    int fd = open(f.path, O_WRONLY);
    fill_bytes(bytes, sizeof(bytes), seed, 0);
    for (size_t at = 0; at < size; at += sizeof(bytes)) {
        size_t length = size - at < sizeof(bytes) ? size - at : sizeof(bytes);
        cr_assert_eq(pwrite(fd, bytes, length, (off_t)(offset + at)), (ssize_t)length);
    }
    close(fd);
}

Test(artifact_hostile, random_bytes)
{
    static const struct {
        size_t offset, size;
    } areas[] = {
        {RS_AT_INDEX + RS_IN_GROUP_HEADS, 524288},
        {RS_AT_INDEX + RS_IN_PINS, RS_PINS * sizeof(struct rs_pin)},
        {RS_AT_INDEX + RS_IN_WANTED, RS_WANTED * 8},
        {RS_AT_INDEX + RS_IN_BITMAP, 2048},
        {RS_AT_INDEX + RS_IN_STAMPS, 512},
        {RS_AT_INDEX + RS_IN_GROUPS, GROUPS * sizeof(struct rs_group)},
        {RS_AT_INDEX + RS_IN_OBJECTS, 40 * sizeof(struct rs_object)},
        {RS_AT_ARENA, 300000},
    };
    struct image image = save();
    for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++) {
        for (unsigned seed = 1; seed < 8; seed++) {
            noise(areas[i].offset, areas[i].size, seed);
            use();
            restore(&image);
        }
    }
    cr_assert_eq(read_all(), all_parts(), "restored");
    free(image.bytes);
}

/* Bits of the payload, one after the other: the part that they are in is gone, all others are
 * right. */
Test(artifact_hostile, flipped_bits)
{
    struct image image = save();
    uint64_t used = atomic_load(&f.store.segment->arena_used);
    for (uint64_t at = 17; at < used; at += used / 200) {
        unsigned char byte = image.bytes[RS_AT_ARENA + at] ^ 0x10;
        int fd = open(f.path, O_WRONLY);
        cr_assert_eq(pwrite(fd, &byte, 1, (off_t)(RS_AT_ARENA + at)), 1);
        close(fd);
        (void)read_all();
        restore(&image);
    }
    cr_assert_gt(atomic_load(&slot->counters[RS_C_artifact_damaged]), 0);
    free(image.bytes);
}

/* A damaged object is not taken for a good one when the same bytes are put again. */
Test(artifact_hostile, damage_heals)
{
    unsigned char byte = 0x77;
    int fd = open(f.path, O_WRONLY);
    for (off_t at = 0; at < 300000; at += 100) {
        cr_assert_eq(pwrite(fd, &byte, 1, RS_AT_ARENA + at), 1);
    }
    close(fd);
    cr_assert_lt(read_all(), all_parts());
    /* Damaged ones that were taken for good when they were put again are found out one by one. */
    for (unsigned round = 0; round < 12 && read_all() < all_parts(); round++) {
        for (unsigned i = 0; i < GROUPS; i++) {
            (void)put(i);
        }
    }
    cr_assert_eq(read_all(), all_parts());
}

/* Payload is read with pread: where the file ends is an error code. */
Test(artifact_hostile, cut_short)
{
    struct rs_artifact artifact;
    struct rs_artifact_key key = artifact_key(3);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    char bytes[40000];
    cr_assert(rs_artifact_find(&f.store, slot, &key, &origin, 0, &artifact));
    cr_assert_eq(truncate(f.path, RS_AT_ARENA), 0);
    cr_assert_not(rs_artifact_read(&artifact, 0, bytes));
    rs_artifact_release(&artifact);
    cr_assert_eq(read_all(), 0);
    (void)put_group(&f, slot, 60, 1, 0, 3, 5000, 2);
    (void)read_all();
}

/* Nobody maps an index that is not there, and who comes later sees that something is missing. */
Test(artifact_hostile, cut_shorter)
{
    struct rs_store other, late;
    cr_assert_eq(rs_store_open(f.name, false, true, &other), RS_STORE_OK);
    cr_assert_eq(truncate(f.path, RS_AT_INDEX + 4096), 0);
    cr_assert_eq(rs_store_open(f.name, false, true, &late), RS_STORE_MAGIC);
    struct rs_artifact artifact;
    struct rs_artifact_key key = artifact_key(3);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    cr_assert_not(rs_artifact_find(&other, slot, &key, &origin, 0, &artifact));
    rs_store_close(&other);
}

Test(artifact_hostile, another_user)
{
    if (geteuid() != 0) {
        cr_skip_test("needs root");
    }
    cr_assert_eq(seteuid(12345), 0);
    cr_assert_eq(find_group(&f, slot, 3, 1, 0), 0);
    cr_assert_eq(put_group(&f, slot, 50, 1, 0, 3, 5000, 2), RS_PUT_NO_ROOM);
    cr_assert_eq(seteuid(0), 0);
    cr_assert_eq(find_group(&f, slot, 3, 1, 0), RS_MATCH_ROOT);
}
