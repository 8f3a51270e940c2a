/* SPDX-License-Identifier: Apache-2.0
 *
 * Where there is little or no room, or it may not be used.
 */
#include "base/config.h"
#include "store/inspect.h"
#include "store/payload.h"
#include "test_artifact_fixture.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

static struct fixture f;
static struct rs_slot *slot;
static char dir[64];

static void setup(void)
{
    fixture_name(&f, "room");
    snprintf(dir, sizeof(dir), "/tmp/rankshare-room-%d", (int)getpid());
}

static void teardown(void)
{
    rs_payload_remove(f.name, dir);
    rmdir(dir);
    fixture_close(&f);
}

TestSuite(artifact_room, .init = setup, .fini = teardown, .timeout = 60);

static void begin(void)
{
    cr_assert_eq(rs_store_open(f.name, true, true, &f.store), RS_STORE_OK);
    f.store.dir = dir;
    slot = fixture_slot(&f, "job", 0);
}

/* /dev/shm of SIZE, for this process alone. */
static void small_shm(const char *size)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/dev/shm", "tmpfs", 0, size) != 0) {
        cr_skip_test("can't mount a small /dev/shm");
    }
}

static void expect_place(enum rs_store_place place)
{
    cr_assert_eq(atomic_load(&f.store.segment->store_place), place, "%d",
                 (int)atomic_load(&f.store.segment->store_place));
}

static void put_and_read(void)
{
    cr_assert_eq(put_group(&f, slot, 1, 1, 0, 5, 100000, 3), RS_PUT_STORED);
    cr_assert(read_group(&f, slot, 1, 1, 5, 100000, 3));
}

static uint64_t counted(enum rs_counter counter)
{
    return atomic_load(&slot->counters[counter]);
}

Test(artifact_room, a_quarter_of_what_is_free)
{
    small_shm("size=400m");
    begin();
    put_and_read();
    expect_place(RS_PLACE_SHM);
    uint64_t size = atomic_load(&f.store.segment->arena_size);
    cr_assert(size > 90 << 20 && size < 100 << 20, "%zu", (size_t)size);
    umount("/dev/shm");
}

Test(artifact_room, never_more_than_usual)
{
    small_shm("size=8g");
    begin();
    put_and_read();
    cr_assert_eq(atomic_load(&f.store.segment->arena_size), 256 << 20);
    cr_assert_eq(atomic_load(&f.store.segment->arena_room), 16 << 20);
    umount("/dev/shm");
}

Test(artifact_room, the_size_that_was_asked_for)
{
    begin();
    f.store.artifact_bytes = 1000000;
    put_and_read();
    cr_assert_eq(atomic_load(&f.store.segment->arena_size), 1000000 / 16384 * 16384);
    cr_assert_eq(put_group(&f, slot, 2, 1, 0, 6, 1000000, 1), RS_PUT_NO_ROOM);
    cr_assert_eq(counted(RS_C_artifact_no_room), 1);
}

Test(artifact_room, none_was_asked_for)
{
    begin();
    f.store.artifact_bytes = 0;
    cr_assert_eq(put_group(&f, slot, 1, 1, 0, 5, 1000, 1), RS_PUT_NO_ROOM);
    expect_place(RS_PLACE_NONE);
    cr_assert_eq(counted(RS_C_artifact_no_room), 1);
    cr_assert_eq(rs_dir_open(&f.store, false), -1, "no directory is made");
}

/* Docker's /dev/shm. */
Test(artifact_room, a_file_beside_a_small_shm)
{
    struct stat found;
    char path[RS_SEGMENT_NAME_MAX + 80];
    small_shm("size=64m");
    begin();
    mode_t before = umask(0777);
    put_and_read();
    umask(before);
    expect_place(RS_PLACE_FILE);
    cr_assert_eq(stat(dir, &found), 0);
    cr_assert_eq(found.st_mode & 07777, 0700 & ~0777, "mkdir follows the umask");
    snprintf(path, sizeof(path), "%s%s.arena", dir, f.name);
    cr_assert_eq(stat(path, &found), 0);
    cr_assert_eq(found.st_mode & 07777, 0600);
    struct rs_artifact_sums sums;
    rs_artifact_sums(&f.store, &sums);
    cr_assert_eq(sums.place, RS_PLACE_FILE);
    cr_assert_eq(sums.groups, 1);
    cr_assert(rs_payload_remove(f.name, dir));
    cr_assert_eq(find_group(&f, slot, 1, 1, 0), 0, "and nothing without the file");
    umount("/dev/shm");
}

Test(artifact_room, a_foreign_directory_is_not_used)
{
    small_shm("size=64m");
    begin();
    cr_assert_eq(mkdir(dir, 0700), 0);
    cr_assert_eq(chmod(dir, 0777), 0);
    cr_assert_eq(put_group(&f, slot, 1, 1, 0, 5, 1000, 1), RS_PUT_NO_ROOM);
    expect_place(RS_PLACE_NONE);
    cr_assert_eq(chmod(dir, 0700), 0);
    cr_assert_eq(chown(dir, 12345, 0), 0);
    atomic_store(&f.store.segment->retry_ms, 0);
    cr_assert_eq(put_group(&f, slot, 1, 1, 0, 5, 1000, 1), RS_PUT_NO_ROOM);
    cr_assert_eq(chown(dir, 0, 0), 0);
    atomic_store(&f.store.segment->retry_ms, 0);
    put_and_read();
    umount("/dev/shm");
}

static void use_link(void)
{
    char target[80];
    snprintf(target, sizeof(target), "%s.real", dir);
    cr_assert_eq(mkdir(target, 0700), 0);
    cr_assert_eq(symlink(target, dir), 0);
    cr_assert_eq(put_group(&f, slot, 1, 1, 0, 5, 1000, 1), RS_PUT_NO_ROOM);
    unlink(dir);
    rmdir(target);
}

Test(artifact_room, nor_is_a_link_to_one)
{
    small_shm("size=64m");
    begin();
    use_link();
    umount("/dev/shm");
}

/* Nothing of what could not be used stays reserved. */
Test(artifact_room, no_store_at_all)
{
    struct stat found;
    small_shm("size=8m");
    begin();
    f.store.dir = "/proc/nowhere";
    cr_assert_eq(put_group(&f, slot, 1, 1, 0, 5, 1000, 1), RS_PUT_NO_ROOM);
    expect_place(RS_PLACE_NONE);
    cr_assert_eq(stat(f.path, &found), 0);
    cr_assert_leq(found.st_blocks * 512, RS_SEGMENT_SIZE + 65536);
    cr_assert_eq(find_group(&f, slot, 1, 1, 0), 0);
    umount("/dev/shm");
}

Test(artifact_room, not_even_a_segment)
{
    small_shm("size=1m");
    cr_assert_eq(rs_store_open(f.name, true, true, &f.store), RS_STORE_SPACE);
    struct rs_artifact artifact;
    struct rs_artifact_key key = artifact_key(1);
    struct rs_origin origin = {0};
    cr_assert_not(rs_artifact_find(&f.store, NULL, &key, &origin, 0, &artifact));
    umount("/dev/shm");
}

/* Room ends in the middle: others go, and what is read is right. */
Test(artifact_room, memory_ends_in_the_middle)
{
    unsigned stored = 0, found = 0;
    small_shm("size=64m");
    begin();
    f.store.artifact_bytes = 200 << 20; /* more than there is */
    for (unsigned i = 1; i <= 80; i++) {
        enum rs_put_result result = put_group(&f, slot, i, 1, 0, i, 1 << 20, 1);
        cr_assert(result == RS_PUT_STORED, "%u: %d", i, result);
        stored += result == RS_PUT_STORED;
    }
    expect_place(RS_PLACE_SHM);
    for (unsigned i = 1; i <= 80; i++) {
        if (find_group(&f, slot, i, 1, 0)) {
            cr_assert(read_group(&f, slot, i, 1, i, 1 << 20, 1));
            found++;
        }
    }
    cr_assert_eq(stored, 80);
    cr_assert(found >= 30 && found <= 50, "%u", found);
    cr_assert_gt(counted(RS_C_artifact_evicted), 0);
    umount("/dev/shm");
}

/* Past the limit the kernel would send SIGXFSZ, whose default ends the process. */
Test(artifact_room, file_size_limit)
{
    struct rlimit limit = {.rlim_cur = 8 << 20, .rlim_max = RLIM_INFINITY};
    begin();
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(put_group(&f, slot, 1, 1, 0, 5, 1000, 1), RS_PUT_NO_ROOM);
    expect_place(RS_PLACE_NONE);
    limit.rlim_cur = RLIM_INFINITY;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(put_group(&f, slot, 1, 1, 0, 5, 1000, 1), RS_PUT_NO_ROOM, "not yet");
    atomic_store(&f.store.segment->retry_ms, UINT64_MAX); /* another clock's */
    for (unsigned i = 1; i < 4; i++) {
        cr_assert_eq(put_group(&f, slot, i, 1, 0, i, 1 << 20, 1), RS_PUT_STORED);
    }
    /* Reserved by another process, out of reach for this one. */
    limit.rlim_cur = RS_AT_ARENA + (1 << 20);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(put_group(&f, slot, 9, 1, 0, 9, 1 << 20, 1), RS_PUT_NO_ROOM);
    cr_assert(read_group(&f, slot, 3, 1, 3, 1 << 20, 1));
    unsigned faults[RS_FAULTS];
    cr_assert(rs_index_check(&f.store, faults));
    for (int i = 0; i < RS_FAULTS; i++) {
        cr_assert_eq(faults[i], 0, "%s", rs_index_fault_text((enum rs_index_fault)i));
    }
}

Test(artifact_room, removed_while_in_use)
{
    begin();
    put_and_read();
    cr_assert_eq(rs_store_remove(f.name), RS_STORE_OK);
    cr_assert_eq(find_group(&f, slot, 1, 1, 0), 0);
    cr_assert_eq(put_group(&f, slot, 2, 1, 0, 5, 1000, 1), RS_PUT_NO_ROOM);
    cr_assert_eq(counted(RS_C_artifact_damaged), 0);
    /* Nor what another segment of that name holds. */
    struct rs_store other;
    cr_assert_eq(rs_store_open(f.name, true, true, &other), RS_STORE_OK);
    cr_assert_eq(find_group(&f, slot, 1, 1, 0), 0);
    rs_store_close(&other);
}
