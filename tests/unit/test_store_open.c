/* SPDX-License-Identifier: Apache-2.0
 *
 * Making and opening the segment; what is refused, and with which status.
 */
#include "test_store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

static struct fixture f;

static void setup(void)
{
    fixture_open(&f, "open");
}

static void teardown(void)
{
    fixture_close(&f);
}

TestSuite(store_open, .init = setup, .fini = teardown);

static enum rs_store_status reopen(void)
{
    struct rs_store store;
    enum rs_store_status status = rs_store_open(f.name, true, true, &store);
    rs_store_close(&store);
    return status;
}

static void patch(size_t offset, const void *bytes, size_t size)
{
    int fd = open(f.path, O_WRONLY);
    cr_assert_eq(pwrite(fd, bytes, size, (off_t)offset), (ssize_t)size);
    close(fd);
}

Test(store_open, name)
{
    char name[RS_SEGMENT_NAME_MAX], longest[RS_SEGMENT_NAME_MAX + 1];
    cr_assert(rs_store_name(name, 1000, NULL));
    cr_assert_str_eq(name, "/rankshare.1000.11");
    cr_assert(rs_store_name(name, 1000, ""));
    cr_assert_str_eq(name, "/rankshare.1000.11");
    cr_assert(rs_store_name(name, 0, "group"));
    cr_assert_str_eq(name, "/rankshare.0.11.group");
    cr_assert_not(rs_store_name(name, 0, "../group"));
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    cr_assert_not(rs_store_name(name, 0, longest));
}

Test(store_open, made_whole)
{
    struct stat found;
    cr_assert_eq(stat(f.path, &found), 0);
    cr_assert_eq(found.st_mode & 07777, 0600);
    cr_assert_geq(found.st_blocks * 512, RS_SEGMENT_SIZE, "pages are not reserved");
    cr_assert_eq(f.store.segment->creator_pid, getpid());
    cr_assert_neq(f.store.segment->creator_start, 0);
    cr_assert_neq(f.store.segment->creator_space, 0);
    cr_assert_neq(f.store.segment->boot_id[0], 0);
    cr_assert_eq(f.store.segment->store_place, RS_PLACE_NONE);
    cr_assert_eq(found.st_size, RS_SEGMENT_SIZE);
    cr_assert_eq(reopen(), RS_STORE_OK);
}

Test(store_open, umask_takes_nothing)
{
    struct stat found;
    unlink(f.path);
    mode_t before = umask(0777);
    cr_assert_eq(reopen(), RS_STORE_OK);
    umask(before);
    cr_assert_eq(stat(f.path, &found), 0);
    cr_assert_eq(found.st_mode & 07777, 0600);
}

Test(store_open, read_only)
{
    struct rs_store store;
    cr_assert_eq(rs_store_open(f.name, false, false, &store), RS_STORE_OK);
    cr_assert_not(store.writable);
    struct rs_identity identity = {.job = "job"};
    cr_assert_null(rs_slot_claim(&store, &identity));
    rs_event(&store, NULL, RS_EVENT_HIT, RS_KIND_cubin, NULL, 0);
    cr_assert_eq(rs_events_read(&store, NULL, 0), 0);
    rs_store_close(&store);
}

Test(store_open, absent)
{
    struct rs_store store;
    cr_assert_eq(rs_store_remove(f.name), RS_STORE_OK);
    cr_assert_eq(rs_store_open(f.name, false, true, &store), RS_STORE_ABSENT);
    cr_assert_eq(rs_store_remove(f.name), RS_STORE_ABSENT);
    cr_assert_eq(rs_store_open("no-slash", true, true, &store), RS_STORE_FAILED);
    cr_assert_eq(rs_store_open("/../shm", true, true, &store), RS_STORE_FAILED);
}

Test(store_open, magic)
{
    patch(0, "x", 1);
    cr_assert_eq(reopen(), RS_STORE_MAGIC);
}

Test(store_open, empty_and_short)
{
    cr_assert_eq(truncate(f.path, RS_SEGMENT_SIZE - 1), 0);
    cr_assert_eq(reopen(), RS_STORE_MAGIC);
    cr_assert_eq(truncate(f.path, 100), 0);
    cr_assert_eq(reopen(), RS_STORE_MAGIC);
    cr_assert_eq(truncate(f.path, 0), 0);
    cr_assert_eq(reopen(), RS_STORE_MAGIC);
}

/* As it is once artifacts are in it. */
Test(store_open, longer)
{
    cr_assert_eq(truncate(f.path, RS_SEGMENT_SIZE + 4096), 0);
    cr_assert_eq(reopen(), RS_STORE_OK);
}

Test(store_open, layout)
{
    uint32_t wrong = RANKSHARE_LAYOUT + 1;
    patch(offsetof(struct rs_segment, layout), &wrong, sizeof(wrong));
    cr_assert_eq(reopen(), RS_STORE_LAYOUT);
}

Test(store_open, sizes)
{
    static const size_t fields[] = {
        offsetof(struct rs_segment, header_size),   offsetof(struct rs_segment, total_size),
        offsetof(struct rs_segment, page_size),     offsetof(struct rs_segment, counter_count),
        offsetof(struct rs_segment, jobs),          offsetof(struct rs_segment, slots.count),
        offsetof(struct rs_segment, leases.stride), offsetof(struct rs_segment, events.offset),
        offsetof(struct rs_segment, groups.count),  offsetof(struct rs_segment, objects.stride),
        offsetof(struct rs_segment, pins.offset),   offsetof(struct rs_segment, index_offset),
        offsetof(struct rs_segment, arena_offset),
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        unsigned char *byte = (unsigned char *)f.store.segment + fields[i], was = *byte,
                      wrong = was ^ 1;
        patch(fields[i], &wrong, 1);
        cr_assert_eq(reopen(), RS_STORE_LAYOUT, "field at %zu", fields[i]);
        patch(fields[i], &was, 1);
        cr_assert_eq(reopen(), RS_STORE_OK);
    }
}

Test(store_open, boot)
{
    patch(offsetof(struct rs_segment, boot_id), "z", 1);
    cr_assert_eq(reopen(), RS_STORE_BOOT);
}

Test(store_open, open_to_others)
{
    cr_assert_eq(chmod(f.path, 0640), 0);
    cr_assert_eq(reopen(), RS_STORE_OWNER);
    cr_assert_eq(chmod(f.path, 0602), 0);
    cr_assert_eq(reopen(), RS_STORE_OWNER);
}

Test(store_open, other_user)
{
    if (geteuid() != 0) {
        cr_skip_test("needs root");
    }
    cr_assert_eq(chown(f.path, 12345, 12345), 0);
    cr_assert_eq(reopen(), RS_STORE_OWNER);
    cr_assert_eq(rs_store_remove(f.name), RS_STORE_OWNER);
    cr_assert_eq(chown(f.path, 0, 0), 0);
    cr_assert_eq(seteuid(12345), 0);
    cr_assert_eq(reopen(), RS_STORE_OWNER);
    cr_assert_eq(seteuid(0), 0);
}

static void replace_by(int made)
{
    cr_assert_eq(made, 0);
    cr_assert_eq(reopen(), RS_STORE_TYPE);
    cr_assert_eq(rs_store_remove(f.name), RS_STORE_TYPE);
    struct stat found;
    cr_assert_eq(lstat(f.path, &found), 0, "a foreign object is left alone");
}

Test(store_open, symbolic_link)
{
    char target[sizeof(f.path) + 8];
    snprintf(target, sizeof(target), "%s.real", f.path);
    cr_assert_eq(rename(f.path, target), 0);
    replace_by(symlink(target, f.path));
    unlink(target);
    cr_assert_eq(reopen(), RS_STORE_TYPE, "dangling");
}

Test(store_open, directory)
{
    unlink(f.path);
    replace_by(mkdir(f.path, 0700));
    rmdir(f.path);
}

Test(store_open, fifo)
{
    unlink(f.path);
    replace_by(mkfifo(f.path, 0600));
}

Test(store_open, no_room)
{
    unlink(f.path);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
        cr_skip_test("can't mount a small /dev/shm");
    }
    cr_assert_eq(reopen(), RS_STORE_SPACE);
    struct stat found;
    cr_assert_neq(stat(f.path, &found), 0);
    cr_assert_eq(umount("/dev/shm"), 0);
}

Test(store_open, not_writable)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/dev/shm", "tmpfs", MS_RDONLY, NULL) != 0) {
        cr_skip_test("can't mount a read-only /dev/shm");
    }
    cr_assert_eq(reopen(), RS_STORE_PERMISSION);
    cr_assert_eq(umount("/dev/shm"), 0);
}

Test(store_open, file_size_limit)
{
    struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY};
    unlink(f.path);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(reopen(), RS_STORE_SPACE, "and no SIGXFSZ");
}

Test(store_open, many_creators, .timeout = 60)
{
    enum { CREATORS = 12, ROUNDS = 10 };
    for (int round = 0; round < ROUNDS; round++) {
        pid_t pids[CREATORS];
        unlink(f.path);
        for (int i = 0; i < CREATORS; i++) {
            pids[i] = fork();
            if (pids[i] == 0) {
                struct rs_store store;
                struct rs_identity identity = {.job = "race", .rank = i, .world = CREATORS};
                bool fine = rs_store_open(f.name, true, true, &store) == RS_STORE_OK &&
                            rs_slot_claim(&store, &identity);
                _exit(fine ? 0 : 1);
            }
        }
        for (int i = 0; i < CREATORS; i++) {
            int status;
            waitpid(pids[i], &status, 0);
            cr_assert_eq(status, 0);
        }
        struct rs_store store;
        struct rs_job_view job;
        cr_assert_eq(rs_store_open(f.name, false, false, &store), RS_STORE_OK);
        cr_assert_eq(store.segment->slots_used, CREATORS, "all in one segment");
        cr_assert(rs_job_read(&store, 0, &job));
        cr_assert_not(rs_job_read(&store, 1, &job), "all in one job");
        rs_store_close(&store);
    }
}

Test(store_open, texts)
{
    for (int status = RS_STORE_OK; status <= RS_STORE_FAILED; status++) {
        cr_assert_gt(strlen(rs_store_status_text((enum rs_store_status)status)), 10);
    }
}
