/* SPDX-License-Identifier: Apache-2.0
 *
 * Files some stretches of which are objects of their own: recipes, what is stored once, and what
 * becomes of a file whose runs are gone.
 */
#include "store/inspect.h"
#include "store/recipe.h"
#include "test_artifact_fixture.h"

#include <fcntl.h>

enum { SIZE = 60000, RUN = 700, MANY = 60 };

static struct fixture f;
static struct rs_slot *slot;
static unsigned char file[SIZE], got[SIZE];

static void setup(void)
{
    fixture_open(&f, "runs");
    slot = fixture_slot(&f, "job", 0);
    fill_bytes(file, SIZE, 9, 0);
}

static void teardown(void)
{
    fixture_close(&f);
}

TestSuite(artifact_runs, .init = setup, .fini = teardown, .timeout = 60);

static uint64_t used(void)
{
    return atomic_load(&f.store.segment->arena_used);
}

static uint64_t counted(enum rs_counter counter)
{
    return atomic_load(&slot->counters[counter]);
}

static enum rs_put_result put_parts(unsigned number, const struct rs_part_in *parts, unsigned count)
{
    struct rs_artifact_key key = artifact_key(number);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    return rs_artifact_put(&f.store, slot, &key, &origin, 0, parts, count);
}

/* FILE with COUNT runs of RUN bytes, 300 bytes apart. */
static enum rs_put_result put_cut(unsigned number, unsigned count)
{
    struct rs_run runs[MANY];
    for (unsigned i = 0; i < count; i++) {
        runs[i] = (struct rs_run){.at = i * (RUN + 300) + 150, .size = RUN};
    }
    struct rs_part_in part = {
        .name = "entry", .data = file, .size = SIZE, .runs = runs, .run_count = count};
    return put_parts(number, &part, 1);
}

/* The first part of a group into GOT; -1: the group is not there, 0: its bytes are not to be had.
 */
static int read_file(unsigned number)
{
    struct rs_artifact artifact;
    struct rs_artifact_key key = artifact_key(number);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    if (!rs_artifact_find(&f.store, slot, &key, &origin, 0, &artifact)) {
        return -1;
    }
    cr_assert_eq(artifact.parts[0].size, SIZE);
    cr_assert(artifact.parts[0].exact);
    bool good = rs_artifact_read(&artifact, 0, got);
    rs_artifact_release(&artifact);
    return good;
}

static void expect_file(unsigned number)
{
    memset(got, 0, sizeof(got));
    cr_assert_eq(read_file(number), 1);
    cr_assert_arr_eq(got, file, SIZE);
}

/* The entry of the bundle number N of FILE with COUNT runs. */
static struct rs_artifact_key bundle_key(unsigned count, unsigned n)
{
    struct rs_arena memory;
    struct rs_recipe recipe;
    struct rs_run runs[MANY];
    size_t size;
    for (unsigned i = 0; i < count; i++) {
        runs[i] = (struct rs_run){.at = i * (RUN + 300) + 150, .size = RUN};
    }
    struct rs_part_in part = {.data = file, .size = SIZE, .runs = runs, .run_count = count};
    rs_arena_init(&memory, 1 << 20);
    const void *data = rs_recipe_write(&memory, &part, &size);
    cr_assert(data && rs_recipe_read(data, size, &recipe));
    struct rs_artifact_key key = rs_recipe_key(&recipe, n);
    rs_arena_free(&memory);
    return key;
}

static unsigned forget_bundle(unsigned count, unsigned n)
{
    struct rs_artifact_key key = bundle_key(count, n);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    return rs_artifact_forget(&f.store, slot, &key, &origin);
}

Test(artifact_runs, a_cut_file_comes_back)
{
    static const unsigned counts[] = {
        1, 2, RS_RUNS_PER_GROUP, RS_RUNS_PER_GROUP + 1, 2 * RS_RUNS_PER_GROUP, MANY};
    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        uint64_t hits = counted(RS_C_artifact_hits), puts = counted(RS_C_artifact_puts);
        cr_assert_eq(put_cut(i, counts[i]), RS_PUT_STORED);
        expect_file(i);
        /* One file, however many groups it is made of. */
        cr_assert_eq(counted(RS_C_artifact_hits), hits + 1);
        cr_assert_eq(counted(RS_C_artifact_puts), puts + 1);
        cr_assert_eq(put_cut(i, counts[i]), RS_PUT_THERE);
    }
}

Test(artifact_runs, packed_ones_too)
{
    f.store.artifact_bytes = 1 << 20;
    for (unsigned i = 0; i < 30; i++) {
        fill_bytes(file, SIZE, 0, i); /* can be packed */
        memcpy(file, &i, sizeof(i));
        cr_assert_eq(put_cut(i, 10), RS_PUT_STORED);
        expect_file(i);
    }
}

/* As the files of a kernel and the entry that holds them: whichever comes first. */
Test(artifact_runs, are_stored_once)
{
    struct rs_part_in parts[10];
    char names[10][8];
    for (unsigned i = 0; i < 10; i++) {
        snprintf(names[i], sizeof(names[i]), "k%u", i);
        parts[i] = (struct rs_part_in){
            .name = names[i], .data = file + i * (RUN + 300) + 150, .size = RUN};
    }
    cr_assert_eq(put_parts(1, parts, 10), RS_PUT_STORED);
    uint64_t before = used(), objects = atomic_load(&f.store.segment->objects_used);
    cr_assert_eq(put_cut(2, 10), RS_PUT_STORED);
    /* Two manifests and the recipe; nothing of the runs. */
    cr_assert_eq(atomic_load(&f.store.segment->objects_used), objects + 3);
    cr_assert_leq(used(), before + SIZE - 10 * RUN + 4096);
    expect_file(2);

    cr_assert_geq(rs_artifact_evict_to(&f.store, 0), 0);
    cr_assert_eq(used(), 0);
    cr_assert_eq(put_cut(2, 10), RS_PUT_STORED);
    before = used();
    cr_assert_eq(put_parts(1, parts, 10), RS_PUT_STORED);
    cr_assert_leq(used(), before + 2048);
    struct rs_artifact_sums sums;
    rs_artifact_sums(&f.store, &sums);
    cr_assert_eq(sums.raw, SIZE + 10 * RUN, "a bundle's bytes are its entry's");
}

/* A run stands for what it means only while its bytes are the very ones. */
Test(artifact_runs, come_back_byte_for_byte)
{
    struct rs_hash128 meaning = {1, 2};
    struct rs_part_in other = {
        .name = "k.cubin", .data = "other debug paths", .size = 17, .meaning = &meaning};
    struct rs_run run = {.at = 1000, .size = RUN, .meaning = &meaning};
    struct rs_part_in part = {
        .name = "entry", .data = file, .size = SIZE, .runs = &run, .run_count = 1};
    cr_assert_eq(put_parts(1, &other, 1), RS_PUT_STORED);
    cr_assert_eq(put_parts(2, &part, 1), RS_PUT_STORED);
    expect_file(2);
    /* And the kernel that comes later takes what is there of its meaning. */
    uint64_t before = atomic_load(&f.store.segment->objects_used);
    other.data = "yet another one's";
    cr_assert_eq(put_parts(3, &other, 1), RS_PUT_STORED);
    cr_assert_eq(atomic_load(&f.store.segment->objects_used), before + 1);
    expect_file(2);
}

Test(artifact_runs, only_the_very_bytes_where_they_are_asked_for)
{
    struct rs_hash128 meaning = {1, 2};
    struct rs_part_in one = {.name = "k", .data = "one", .size = 3, .meaning = &meaning};
    struct rs_part_in two = {.name = "k", .data = "two!", .size = 4, .meaning = &meaning};
    struct rs_artifact_key key = artifact_key(2);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    struct rs_artifact artifact;
    char bytes[4];
    cr_assert_eq(put_parts(1, &one, 1), RS_PUT_STORED);
    cr_assert_eq(rs_artifact_put(&f.store, slot, &key, &origin, RS_PUT_EXACT, &two, 1),
                 RS_PUT_STORED);
    cr_assert(rs_artifact_find(&f.store, slot, &key, &origin, 0, &artifact));
    cr_assert(artifact.parts[0].exact && artifact.parts[0].size == 4);
    cr_assert(rs_artifact_read(&artifact, 0, bytes));
    cr_assert_arr_eq(bytes, "two!", 4);
    rs_artifact_release(&artifact);
}

Test(artifact_runs, that_make_no_sense_are_ignored)
{
    static const struct rs_run bad[][2] = {
        {{.at = 100, .size = 0}, {.at = 200, .size = 100}},
        {{.at = 100, .size = 200}, {.at = 299, .size = 100}},
        {{.at = 500, .size = 200}, {.at = 100, .size = 100}},
        {{.at = 100, .size = 200}, {.at = SIZE - 10, .size = 11}},
        {{.at = 100, .size = 200}, {.at = SIZE + 10, .size = 1}},
        {{.at = 100, .size = 200}, {.at = 400, .size = SIZE_MAX}},
    };
    static struct rs_run many[RS_RUNS_MAX + 1];
    for (unsigned i = 0; i <= RS_RUNS_MAX; i++) {
        many[i] = (struct rs_run){.at = i * 10, .size = 5};
    }
    for (unsigned i = 0; i <= sizeof(bad) / sizeof(bad[0]); i++) {
        bool last = i == sizeof(bad) / sizeof(bad[0]);
        struct rs_part_in part = {.name = "entry",
                                  .data = file,
                                  .size = SIZE,
                                  .runs = last ? many : bad[i],
                                  .run_count = last ? RS_RUNS_MAX + 1 : 2};
        file[0] = (unsigned char)i;
        cr_assert_eq(put_parts(i, &part, 1), RS_PUT_STORED);
        cr_assert_eq(atomic_load(&f.store.segment->groups_used), i + 1, "case %u was cut", i);
        expect_file(i);
    }
}

/* Evicted, or gone in any other way: that is no damage, and the file is simply not there. */
Test(artifact_runs, that_are_gone_take_the_file_along)
{
    char part[RS_PART_NAME_MAX];
    cr_assert_eq(put_cut(1, MANY), RS_PUT_STORED);
    cr_assert_eq(forget_bundle(MANY, 1), 1);
    unsigned lacking = 0;
    for (unsigned i = 0; i < rs_artifact_top(&f.store); i++) {
        lacking += rs_artifact_check(&f.store, i, part) == RS_ARTIFACT_LACKS;
    }
    cr_assert_eq(lacking, 1);
    cr_assert_eq(read_file(1), 0);
    cr_assert_eq(read_file(1), -1);
    cr_assert_eq(counted(RS_C_artifact_damaged), 0);
    /* Whoever stores it again brings them back. */
    cr_assert_eq(put_cut(1, MANY), RS_PUT_STORED);
    expect_file(1);
}

Test(artifact_runs, that_are_others_are_not_taken)
{
    struct rs_artifact_key key = bundle_key(3, 0);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    unsigned char other[RUN] = {0};
    struct rs_part_in parts[3] = {{.name = "00", .data = other, .size = RUN},
                                  {.name = "01", .data = other, .size = RUN},
                                  {.name = "02", .data = other, .size = RUN}};
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(put_cut(1, 3), RS_PUT_STORED);
        parts[2].size = i == 0 ? RUN - 1 : RUN;
        unsigned count = i == 1 ? 2 : 3;
        cr_assert_eq(rs_artifact_put(&f.store, slot, &key, &origin, 0, parts, count),
                     RS_PUT_STORED);
        cr_assert_eq(read_file(1), 0, "case %u", i);
        cr_assert_eq(read_file(1), -1, "case %u", i);
    }
}

/* A bundle that holds a recipe would be a walk without an end. */
Test(artifact_runs, have_no_runs)
{
    struct rs_artifact_key key = bundle_key(1, 0);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    struct rs_run run = {.at = 1, .size = 10};
    struct rs_part_in part = {
        .name = "00", .data = file + 150, .size = RUN, .runs = &run, .run_count = 1};
    cr_assert_eq(put_cut(1, 1), RS_PUT_STORED);
    expect_file(1);
    cr_assert_eq(rs_artifact_put(&f.store, slot, &key, &origin, 0, &part, 1), RS_PUT_STORED);
    cr_assert_eq(read_file(1), 0);
}

Test(artifact_runs, damage_is_found)
{
    cr_assert_eq(put_cut(1, 5), RS_PUT_STORED);
    struct rs_object *object = NULL;
    struct rs_hash128 hash = rs_hash128_of(file + 2 * (RUN + 300) + 150, RUN);
    struct rs_index index;
    cr_assert(rs_index_open(&f.store, &index));
    object = rs_object_at(&index, rs_object_find(&index, hash, false, 0, 0));
    cr_assert_not_null(object);
    int fd = open(f.path, O_WRONLY);
    cr_assert_eq(pwrite(fd, "!", 1, (off_t)(RS_AT_ARENA + atomic_load(&object->offset) + 77)), 1);
    close(fd);
    cr_assert_eq(read_file(1), 0);
    cr_assert_eq(counted(RS_C_artifact_damaged), 1);
    cr_assert_eq(read_file(1), -1);
    cr_assert_eq(put_cut(1, 5), RS_PUT_STORED);
    expect_file(1);
}

/* The table, with nothing but offsets: what is written is read, and no prefix of it is. */
Test(artifact_runs, recipes)
{
    struct rs_arena memory;
    for (unsigned seed = 1; seed < 300; seed++) {
        struct rs_run runs[MANY];
        struct rs_recipe recipe;
        unsigned count = 0;
        size_t at = 0, size;
        srandom(seed);
        while (count < MANY && at < 20000) {
            at += (size_t)random() % 3 ? (size_t)random() % 900 : 0;
            runs[count] = (struct rs_run){.at = at, .size = 1 + (size_t)random() % 900};
            at += runs[count++].size;
        }
        struct rs_part_in part = {.data = file,
                                  .size = at + (size_t)random() % 2 * 100,
                                  .runs = runs,
                                  .run_count = count};
        rs_arena_init(&memory, 1 << 20);
        const unsigned char *data = rs_recipe_write(&memory, &part, &size);
        cr_assert(data && rs_recipe_read(data, size, &recipe));
        cr_assert_eq(recipe.size, part.size);
        memset(got, 0, sizeof(got));
        rs_recipe_fill(&recipe, got);
        for (unsigned i = 0; i < count; i++) {
            struct rs_span span = rs_recipe_run(&recipe, i);
            cr_assert(span.at == runs[i].at && span.size == runs[i].size);
            cr_assert_eq(span.check, rs_hash128_of(file + span.at, span.size).low);
            memcpy(got + span.at, file + span.at, span.size);
        }
        cr_assert_arr_eq(got, file, part.size, "seed %u", seed);
        for (size_t shorter = 0; shorter < size; shorter += 1 + shorter / 50) {
            cr_assert_not(rs_recipe_read(data, shorter, &recipe));
        }
        rs_arena_free(&memory);
    }
}
