/* SPDX-License-Identifier: Apache-2.0
 *
 * Putting, finding and reading artifacts; who may have which.
 */
#include "store/inspect.h"
#include "store/process.h"
#include "test_artifact_fixture.h"

static struct fixture f;
static struct rs_slot *slot;

static void setup(void)
{
    fixture_open(&f, "artifact");
    slot = fixture_slot(&f, "job", 0);
}

static void teardown(void)
{
    fixture_close(&f);
}

TestSuite(artifact, .init = setup, .fini = teardown);

static enum rs_put_result put(unsigned number, uint64_t ino, unsigned seed, size_t size)
{
    return put_group(&f, slot, number, ino, 0, seed, size, 3);
}

static int found(unsigned number, uint64_t ino, unsigned flags)
{
    return find_group(&f, slot, number, ino, flags);
}

Test(artifact, nothing_is_reserved_before_the_first)
{
    struct stat before, after;
    struct rs_artifact artifact;
    struct rs_artifact_key key = artifact_key(1);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    cr_assert_eq(stat(f.path, &before), 0);
    cr_assert_not(rs_artifact_find(&f.store, slot, &key, &origin, 0, &artifact));
    cr_assert_null(atomic_load(&f.store.index));
    cr_assert_eq(stat(f.path, &after), 0);
    cr_assert_eq(before.st_blocks, after.st_blocks);
    cr_assert_eq(before.st_size, after.st_size);
}

Test(artifact, what_was_put_comes_back)
{
    static const size_t sizes[] = {0, 1, 255, 256, 257, 511, 512, 513, 4096, 65536, 1000000};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (unsigned kind = 0; kind < 2; kind++) { /* that can be packed, that can't */
            unsigned number = 2 * i + kind;
            cr_assert_eq(put(number, 1, kind ? number + 1000 : 0, sizes[i]), RS_PUT_STORED);
            cr_assert_eq(found(number, 1, 0), RS_MATCH_ROOT, "size %zu", sizes[i]);
            cr_assert(read_group(&f, slot, number, 1, kind ? number + 1000 : 0, sizes[i], 3));
        }
    }
}

/* From half of the room on. */
Test(artifact, packed_where_room_is_short)
{
    f.store.artifact_bytes = 1 << 20;
    cr_assert_eq(put(1, 1, 0, 150000), RS_PUT_STORED);
    uint64_t plain = atomic_load(&f.store.segment->arena_used);
    cr_assert_geq(plain, 3 * 150000);
    for (unsigned i = 2; i < 40; i++) {
        cr_assert_eq(put(i, 1, 0, 150000 + i), RS_PUT_STORED);
    }
    for (unsigned i = 1; i < 40; i++) {
        cr_assert(read_group(&f, slot, i, 1, 0, 150000 + (i > 1 ? i : 0), 3), "%u", i);
    }
    cr_assert_lt(atomic_load(&f.store.segment->arena_used), plain + 38 * 3 * 6000);
    /* What can't be packed is stored as it is. */
    cr_assert_eq(put(90, 1, 90, 60000), RS_PUT_STORED);
    cr_assert(read_group(&f, slot, 90, 1, 90, 60000, 3));
}

Test(artifact, the_same_again_is_there)
{
    cr_assert_eq(put(1, 1, 5, 5000), RS_PUT_STORED);
    cr_assert_eq(put(1, 1, 5, 5000), RS_PUT_THERE);
    cr_assert_eq(atomic_load(&f.store.segment->groups_used), 1);
}

Test(artifact, another_content_takes_its_place)
{
    cr_assert_eq(put(1, 1, 5, 5000), RS_PUT_STORED);
    cr_assert_eq(put(1, 1, 6, 6000), RS_PUT_STORED);
    cr_assert(read_group(&f, slot, 1, 1, 6, 6000, 3));
    cr_assert_eq(atomic_load(&f.store.segment->groups_used), 1);
    cr_assert_eq(atomic_load(&f.store.segment->objects_used), 4);
}

/* The same bytes under many keys and from many roots lie there once. */
Test(artifact, bytes_are_stored_once)
{
    cr_assert_eq(put(1, 1, 5, 50000), RS_PUT_STORED);
    uint64_t used = atomic_load(&f.store.segment->arena_used);
    for (unsigned i = 2; i < 10; i++) {
        cr_assert_eq(put(1, i, 5, 50000), RS_PUT_STORED);
    }
    /* A manifest is small; three parts are not. */
    cr_assert_lt(atomic_load(&f.store.segment->arena_used), used + 8 * 1024);
    cr_assert_eq(atomic_load(&f.store.segment->objects_used), 3 + 9);
}

Test(artifact, equal_meaning_is_stored_once)
{
    struct rs_hash128 meaning = {1, 2};
    struct rs_part_in parts[2] = {
        {.name = "a.cubin", .data = "some debug path", .size = 15, .meaning = &meaning},
        {.name = "a.cubin", .data = "another debug path", .size = 18, .meaning = &meaning},
    };
    struct rs_artifact_key one = artifact_key(1), two = artifact_key(2);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    struct rs_artifact artifact;
    char bytes[32];
    cr_assert_eq(rs_artifact_put(&f.store, slot, &one, &origin, 0, &parts[0], 1), RS_PUT_STORED);
    cr_assert_eq(rs_artifact_put(&f.store, slot, &two, &origin, 0, &parts[1], 1), RS_PUT_STORED);
    cr_assert_eq(atomic_load(&f.store.segment->objects_used), 3);
    cr_assert(rs_artifact_find(&f.store, slot, &two, &origin, 0, &artifact));
    cr_assert_eq(artifact.parts[0].size, 15);
    cr_assert_not(artifact.parts[0].exact);
    cr_assert(rs_artifact_read(&artifact, 0, bytes));
    cr_assert_arr_eq(bytes, "some debug path", 15);
    rs_artifact_release(&artifact);
    cr_assert(rs_artifact_find(&f.store, slot, &one, &origin, 0, &artifact));
    cr_assert(artifact.parts[0].exact);
    rs_artifact_release(&artifact);
}

Test(artifact, parts_keep_what_they_were_given)
{
    struct rs_part_in part = {.name = "sub/x.so",
                              .data = "bytes",
                              .size = 5,
                              .mode = 0750,
                              .file = {.ino = 77, .size = 5, .mtime_ns = 123456789}};
    struct rs_artifact_key key = artifact_key(1);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    struct rs_artifact artifact;
    cr_assert_eq(rs_artifact_put(&f.store, slot, &key, &origin, 0, &part, 1), RS_PUT_STORED);
    cr_assert(rs_artifact_find(&f.store, slot, &key, &origin, 0, &artifact));
    cr_assert_eq(artifact.count, 1);
    cr_assert_str_eq(artifact.parts[0].name, "sub/x.so");
    cr_assert_eq(artifact.parts[0].mode, 0750);
    cr_assert_eq(artifact.parts[0].file.ino, 77);
    cr_assert_eq(artifact.parts[0].file.size, 5);
    cr_assert_eq(artifact.parts[0].file.mtime_ns, 123456789);
    rs_artifact_release(&artifact);
}

Test(artifact, refused)
{
    static const char *const names[] = {"",     "/a",     "a/",   ".",    "..",
                                        "../a", "a/../b", "a//b", "a/./b"};
    char longest[RS_PART_NAME_MAX + 1];
    struct rs_artifact_key key = artifact_key(1);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    struct rs_part_in parts[RS_PARTS_MAX + 1] = {{.name = "a", .data = "x", .size = 1}};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        parts[0].name = names[i];
        cr_assert_eq(rs_artifact_put(&f.store, slot, &key, &origin, 0, parts, 1), RS_PUT_REFUSED,
                     "%s", names[i]);
    }
    memset(longest, 'x', RS_PART_NAME_MAX);
    longest[RS_PART_NAME_MAX] = '\0';
    parts[0].name = longest;
    cr_assert_eq(rs_artifact_put(&f.store, slot, &key, &origin, 0, parts, 1), RS_PUT_REFUSED);
    parts[0].name = parts[1].name = "a";
    cr_assert_eq(rs_artifact_put(&f.store, slot, &key, &origin, 0, parts, 2), RS_PUT_REFUSED);
    cr_assert_eq(rs_artifact_put(&f.store, slot, &key, &origin, 0, parts, 0), RS_PUT_REFUSED);
    cr_assert_eq(rs_artifact_put(&f.store, slot, &key, &origin, 0, parts, RS_PARTS_MAX + 1),
                 RS_PUT_REFUSED);
    cr_assert_eq(rs_artifact_put(&f.store, NULL, &key, &origin, 0, parts, 1), RS_PUT_BUSY);
    cr_assert_eq(atomic_load(&f.store.segment->store_place), RS_PLACE_NONE);
}

/* ---- who may have it ------------------------------------------------------------------------- */

Test(artifact, another_root_only_in_the_same_run)
{
    cr_assert_eq(put(1, 1, 5, 5000), RS_PUT_STORED);
    cr_assert_eq(found(1, 2, 0), 0);
    cr_assert_eq(found(1, 2, RS_FIND_ANYWHERE), RS_MATCH_JOB);
    struct rs_slot *other = fixture_slot_of_child(&f, "other job");
    cr_assert_eq(find_group(&f, other, 1, 2, RS_FIND_ANYWHERE), 0);
    cr_assert_eq(find_group(&f, other, 1, 1, RS_FIND_ANYWHERE), RS_MATCH_ROOT);
    cr_assert_eq(find_group(&f, other, 1, 2, RS_FIND_WARM), RS_MATCH_WARM);
}

Test(artifact, warm_ones_are_for_all)
{
    cr_assert_eq(put_group(&f, slot, 1, 1, RS_PUT_WARM, 5, 5000, 3), RS_PUT_STORED);
    struct rs_slot *other = fixture_slot_of_child(&f, "other job");
    cr_assert_eq(find_group(&f, other, 1, 2, RS_FIND_ANYWHERE), RS_MATCH_WARM);
    cr_assert_eq(find_group(&f, other, 1, 2, 0), 0);
}

/* An ordinary one that is there does not stand for a warm one. */
Test(artifact, warm_after_ordinary)
{
    cr_assert_eq(put(1, 1, 5, 5000), RS_PUT_STORED);
    cr_assert_eq(put_group(&f, slot, 1, 1, RS_PUT_WARM, 5, 5000, 3), RS_PUT_STORED);
    cr_assert_eq(put(1, 1, 5, 5000), RS_PUT_THERE);
    cr_assert_eq(atomic_load(&f.store.segment->groups_used), 1);
}

Test(artifact, the_own_root_comes_first)
{
    cr_assert_eq(put(1, 1, 5, 5000), RS_PUT_STORED);
    cr_assert_eq(put(1, 2, 6, 6000), RS_PUT_STORED);
    cr_assert(read_group(&f, slot, 1, 1, 5, 5000, 3));
    cr_assert(read_group(&f, slot, 1, 2, 6, 6000, 3));
}

Test(artifact, kind_and_class_are_part_of_the_key)
{
    struct rs_artifact_key key = artifact_key(1);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    struct rs_artifact artifact;
    cr_assert_eq(put(1, 1, 5, 5000), RS_PUT_STORED);
    key.kind = RS_KIND_fx_entry;
    cr_assert_not(rs_artifact_find(&f.store, slot, &key, &origin, RS_FIND_WARM, &artifact));
    key = artifact_key(1);
    key.class_id = 9;
    cr_assert_not(rs_artifact_find(&f.store, slot, &key, &origin, RS_FIND_WARM, &artifact));
}

/* A former run's group of the same root is replaced; what it was published from counts, not the
 * run. */
Test(artifact, a_later_run_takes_over)
{
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    struct rs_artifact_key key = artifact_key(1);
    struct rs_part_in part = {.name = "a", .data = "x", .size = 1};
    origin.run += 1000; /* nobody's */
    cr_assert_eq(rs_artifact_put(&f.store, slot, &key, &origin, 0, &part, 1), RS_PUT_STORED);
    cr_assert_eq(found(1, 1, 0), RS_MATCH_ROOT);
    cr_assert_eq(found(1, 2, RS_FIND_ANYWHERE), 0);
    origin.run -= 1000;
    cr_assert_eq(rs_artifact_put(&f.store, slot, &key, &origin, 0, &part, 1), RS_PUT_STORED);
    cr_assert_eq(found(1, 2, RS_FIND_ANYWHERE), RS_MATCH_JOB);
    cr_assert_eq(atomic_load(&f.store.segment->groups_used), 1);
}

Test(artifact, forgotten)
{
    struct rs_artifact_key key = artifact_key(1);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    cr_assert_eq(rs_artifact_forget(&f.store, slot, &key, &origin), 0);
    cr_assert_eq(put(1, 1, 5, 5000), RS_PUT_STORED);
    cr_assert_eq(put(1, 2, 5, 5000), RS_PUT_STORED);
    cr_assert_eq(rs_artifact_forget(&f.store, slot, &key, &origin), 1);
    cr_assert_eq(found(1, 1, 0), 0);
    cr_assert_eq(found(1, 2, 0), RS_MATCH_ROOT);
    origin.ino = 2;
    cr_assert_eq(rs_artifact_forget(&f.store, slot, &key, &origin), 1);
    cr_assert_eq(atomic_load(&f.store.segment->arena_used), 0);
    cr_assert_eq(atomic_load(&f.store.segment->objects_used), 0);
}

/* ---- admission --------------------------------------------------------------------------------
 */

Test(artifact, unwanted_until_another_rank_asks)
{
    cr_assert_eq(put(9, 1, 5, 10), RS_PUT_STORED); /* there is an index */
    cr_assert_eq(put_group(&f, slot, 1, 1, RS_PUT_IF_WANTED, 5, 5000, 3), RS_PUT_UNWANTED);
    cr_assert_eq(found(1, 1, 0), 0);
    cr_assert_eq(put_group(&f, slot, 1, 1, RS_PUT_IF_WANTED, 5, 5000, 3), RS_PUT_UNWANTED);
    struct rs_slot *other = fixture_slot_of_child(&f, "job");
    cr_assert_eq(find_group(&f, other, 1, 1, 0), 0);
    cr_assert_eq(put_group(&f, slot, 1, 1, RS_PUT_IF_WANTED, 5, 5000, 3), RS_PUT_STORED);
    cr_assert_eq(find_group(&f, other, 1, 1, 0), RS_MATCH_ROOT);
}

/* Who looks for what may be there by chance wants nothing. */
Test(artifact, a_quiet_look_wants_nothing)
{
    cr_assert_eq(put(9, 1, 5, 10), RS_PUT_STORED);
    struct rs_slot *other = fixture_slot_of_child(&f, "job");
    cr_assert_eq(find_group(&f, other, 1, 1, RS_FIND_QUIET), 0);
    cr_assert_eq(put_group(&f, slot, 1, 1, RS_PUT_IF_WANTED, 5, 5000, 3), RS_PUT_UNWANTED);
    cr_assert_eq(put(1, 1, 5, 5000), RS_PUT_STORED);
    cr_assert_eq(find_group(&f, other, 1, 1, RS_FIND_QUIET), RS_MATCH_ROOT);
}

/* What belongs to no directory and no job is one group, whoever puts it. */
Test(artifact, of_nobody)
{
    static const struct rs_origin nobody = {.job = RS_NO_JOB};
    struct rs_artifact_key key = artifact_key(1);
    struct rs_part_in part = {.name = "a", .data = "x", .size = 1};
    struct rs_artifact artifact;
    struct rs_slot *other = fixture_slot_of_child(&f, "another job");
    cr_assert_eq(rs_artifact_put(&f.store, slot, &key, &nobody, 0, &part, 1), RS_PUT_STORED);
    cr_assert_eq(rs_artifact_put(&f.store, slot, &key, &nobody, 0, &part, 1), RS_PUT_THERE);
    /* Another one replaces it, unless the first shall stay. */
    struct rs_part_in later = {.name = "a", .data = "yz", .size = 2};
    cr_assert_eq(rs_artifact_put(&f.store, slot, &key, &nobody, RS_PUT_FIRST, &later, 1),
                 RS_PUT_THERE);
    cr_assert(rs_artifact_find(&f.store, other, &key, &nobody, 0, &artifact));
    cr_assert_eq(artifact.match, RS_MATCH_ROOT);
    cr_assert_eq(artifact.parts[0].size, 1);
    rs_artifact_release(&artifact);
    cr_assert_eq(rs_artifact_put(&f.store, slot, &key, &nobody, 0, &later, 1), RS_PUT_STORED);
    cr_assert(rs_artifact_find(&f.store, other, &key, &nobody, 0, &artifact));
    cr_assert_eq(artifact.parts[0].size, 2);
    rs_artifact_release(&artifact);
    cr_assert_eq(found(1, 1, RS_FIND_ANYWHERE), 0, "no directory has it");
}

/* ---- errno, forks ------------------------------------------------------------------------------
 */

Test(artifact, errno_is_kept)
{
    errno = 4321;
    cr_assert_eq(put(1, 1, 5, 5000), RS_PUT_STORED);
    cr_assert_eq(errno, 4321);
    cr_assert_eq(found(1, 1, 0), RS_MATCH_ROOT);
    cr_assert_eq(found(2, 1, 0), 0);
    cr_assert_eq(errno, 4321);
}

Test(artifact, a_child_leaves_its_parents_pins)
{
    struct rs_artifact_key key = artifact_key(1);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    struct rs_artifact artifact;
    cr_assert_eq(put(1, 1, 5, 5000), RS_PUT_STORED);
    cr_assert(rs_artifact_find(&f.store, slot, &key, &origin, 0, &artifact));
    IN_CHILD(rs_artifact_release(&artifact));
    struct rs_index index;
    cr_assert(rs_index_open(&f.store, &index));
    cr_assert(rs_pinned(&index, artifact.group, artifact.word));
    uint32_t group = artifact.group;
    uint64_t word = artifact.word;
    rs_artifact_release(&artifact);
    cr_assert_not(rs_pinned(&index, group, word));
}

Test(artifact, a_dead_readers_pin_is_none)
{
    struct rs_index index;
    cr_assert_eq(put(1, 1, 5, 5000), RS_PUT_STORED);
    pid_t pid = fork();
    if (pid == 0) {
        struct rs_artifact artifact;
        struct rs_artifact_key key = artifact_key(1);
        rs_store_forked();
        struct rs_slot *own = fixture_slot(&f, "job", 1);
        struct rs_origin origin = rs_origin_of(&f.store, own, 7, 1);
        _exit(rs_artifact_find(&f.store, own, &key, &origin, 0, &artifact) &&
                      rs_pinned(&(struct rs_index){f.store.segment, atomic_load(&f.store.index)},
                                artifact.group, artifact.word)
                  ? 0
                  : 1);
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert_eq(status, 0);
    cr_assert(rs_index_open(&f.store, &index));
    cr_assert_not(rs_pinned(&index, 0, atomic_load(&rs_group_at(&index, 0)->word)));
    /* Nor does it disturb who may only read. */
    struct rs_store reader;
    struct rs_artifact_view view;
    cr_assert_eq(rs_store_open(f.name, false, false, &reader), RS_STORE_OK);
    cr_assert(rs_artifact_view(&reader, 0, &view));
    cr_assert_not(view.pinned);
    rs_store_close(&reader);
}

/* More readers than pins: those of the dead are taken over, and without a pin reading goes on. */
Test(artifact, pins_run_out)
{
    enum { OPEN = 200 };
    static struct rs_artifact open[OPEN];
    struct rs_index index;
    struct rs_artifact_key key = artifact_key(1);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    unsigned pinned = 0;
    cr_assert_eq(put(1, 1, 5, 5000), RS_PUT_STORED);
    cr_assert(rs_index_open(&f.store, &index));
    struct rs_process dead = {.pid = 999999, .start = 7, .space = rs_process_self().space};
    for (int i = 0; i < RS_PINS; i++) {
        atomic_store(&rs_pins(&index)[i].tag, rs_process_tag(&dead));
        atomic_store(&rs_pins(&index)[i].group, 1);
    }
    for (int i = 0; i < OPEN; i++) {
        cr_assert(rs_artifact_find(&f.store, slot, &key, &origin, 0, &open[i]));
        pinned += open[i].pin != RS_NO_PIN;
    }
    cr_assert_eq(pinned, 32, "as many as a thread may look at: %u", pinned);
    for (int i = 0; i < OPEN; i++) {
        rs_artifact_release(&open[i]);
    }
    cr_assert_not(rs_pinned(&index, 0, atomic_load(&rs_group_at(&index, 0)->word)));
}
