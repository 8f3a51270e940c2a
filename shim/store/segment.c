/* SPDX-License-Identifier: Apache-2.0
 *
 * Making, opening and removing the segment. It is made whole under no name (or a temporary one) and
 * then linked, so whoever opens it by name finds it complete; its pages are reserved before anybody
 * touches them, so a full /dev/shm is an error value and never a SIGBUS.
 */
#include "base/config.h"
#include "base/fd.h"
#include "store/kill_point.h"
#include "store/layout.h"
#include "store/process.h"
#include "store/store.h"
#include "store/store_sys.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = RS_SEGMENT_NAME_MAX + 64, OPEN_TRIES = 8 };
static const char directory[] = "/dev/shm";

const char *rs_store_status_text(enum rs_store_status status)
{
    switch (status) {
    case RS_STORE_OK:
        return "the segment is fine";
    case RS_STORE_ABSENT:
        return "there is no such segment";
    case RS_STORE_OWNER:
        return "the segment belongs to another user, or others may open it";
    case RS_STORE_TYPE:
        return "what has the segment's name is not a regular file";
    case RS_STORE_MAGIC:
        return "what has the segment's name is no rankshare segment, or is cut short";
    case RS_STORE_LAYOUT:
        return "the segment was made by a build with another layout";
    case RS_STORE_BOOT:
        return "the segment was made before the last boot, or on another machine";
    case RS_STORE_SPACE:
        return "there is no room for the segment in /dev/shm";
    case RS_STORE_PERMISSION:
        return "no permission to open or make the segment";
    case RS_STORE_CONTENT:
        return "the segment's tables are damaged; `rankshare clear' removes it";
    case RS_STORE_FAILED:
        break;
    }
    return "the segment could not be opened or made";
}

bool rs_store_name(char name[RS_SEGMENT_NAME_MAX], unsigned uid, const char *override)
{
    bool has = override && override[0];
    if (has && strchr(override, '/')) {
        return false;
    }
    int length = snprintf(name, RS_SEGMENT_NAME_MAX, "/rankshare.%u.%u%s%s", uid,
                          (unsigned)RANKSHARE_LAYOUT, has ? "." : "", has ? override : "");
    return length > 0 && length < RS_SEGMENT_NAME_MAX;
}

_Static_assert(RS_SEGMENT_NAME_MAX >= RS_NAME_MAX + sizeof("/rankshare.4294967295.999."),
               "every name that the options accept fits");

static bool path_of(const char *name, char path[PATH_SIZE])
{
    int length = snprintf(path, PATH_SIZE, "%s%s", directory, name);
    return name[0] == '/' && !strchr(name + 1, '/') && length > 0 && length < PATH_SIZE;
}

static void read_boot_id(char id[RS_BOOT_ID_MAX])
{
    memset(id, 0, RS_BOOT_ID_MAX);
    int fd = rs_sys_openat(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
        rs_sys_pread(fd, id, RS_BOOT_ID_MAX - 1, 0);
        rs_sys_close(fd);
    }
    id[strcspn(id, "\n")] = '\0';
}

/* Where this build has its tables. */
static const struct rs_table jobs = {RS_AT_JOBS, RS_JOBS, sizeof(struct rs_job)};
static const struct rs_table slots = {RS_AT_SLOTS, RS_SLOTS, sizeof(struct rs_slot)};
static const struct rs_table leases = {RS_AT_LEASES, RS_LEASES, sizeof(struct rs_lease)};
static const struct rs_table events = {RS_AT_EVENTS, RS_EVENTS, sizeof(struct rs_event_cell)};
static const struct rs_table modules = {RS_AT_MODULES, RS_MODULES, sizeof(struct rs_module)};
static const struct rs_table groups = {RS_AT_INDEX + RS_IN_GROUPS, RS_GROUPS,
                                       sizeof(struct rs_group)};
static const struct rs_table objects = {RS_AT_INDEX + RS_IN_OBJECTS, RS_OBJECTS,
                                        sizeof(struct rs_object)};
static const struct rs_table pins = {RS_AT_INDEX + RS_IN_PINS, RS_PINS, sizeof(struct rs_pin)};

/* The header of a segment that this build makes, but for its creator and time. */
static void fill_header(struct rs_segment *header)
{
    memset(header, 0, sizeof(*header));
    header->magic = RS_SEGMENT_MAGIC;
    header->layout = RANKSHARE_LAYOUT;
    header->header_size = sizeof(*header);
    header->total_size = RS_SEGMENT_SIZE;
    header->page_size = (uint32_t)sysconf(_SC_PAGESIZE);
    header->uid = rs_sys_geteuid();
    header->counter_count = RS_COUNTER_COUNT;
    read_boot_id(header->boot_id);
    header->jobs = jobs;
    header->slots = slots;
    header->leases = leases;
    header->events = events;
    header->modules = modules;
    header->groups = groups;
    header->objects = objects;
    header->pins = pins;
    header->index_offset = RS_AT_INDEX;
    header->arena_offset = RS_AT_ARENA;
}

static bool same_table(const struct rs_table *a, const struct rs_table *b)
{
    return a->offset == b->offset && a->count == b->count && a->stride == b->stride;
}

static bool same_layout(const struct rs_segment *found)
{
    return found->layout == RANKSHARE_LAYOUT && found->header_size == sizeof(*found) &&
           found->total_size == RS_SEGMENT_SIZE &&
           found->page_size == (uint32_t)sysconf(_SC_PAGESIZE) &&
           found->counter_count == RS_COUNTER_COUNT && same_table(&found->jobs, &jobs) &&
           same_table(&found->slots, &slots) && same_table(&found->leases, &leases) &&
           same_table(&found->events, &events) && same_table(&found->modules, &modules) &&
           same_table(&found->groups, &groups) && same_table(&found->objects, &objects) &&
           same_table(&found->pins, &pins) && found->index_offset == RS_AT_INDEX &&
           found->arena_offset == RS_AT_ARENA;
}

static enum rs_store_status check_header(const struct rs_segment *found, off_t file_size)
{
    char boot_id[RS_BOOT_ID_MAX];
    if (found->magic != RS_SEGMENT_MAGIC) {
        return RS_STORE_MAGIC;
    }
    if (!same_layout(found)) {
        return RS_STORE_LAYOUT;
    }
    /* Once artifacts are in it, it reaches to the end of their index. */
    bool artifacts = atomic_load_explicit(&found->store_place, memory_order_relaxed) != 0;
    if (file_size < (artifacts ? (off_t)RS_AT_ARENA : (off_t)found->total_size)) {
        return RS_STORE_MAGIC;
    }
    if (found->uid != rs_sys_geteuid()) {
        return RS_STORE_OWNER;
    }
    read_boot_id(boot_id);
    bool known = found->boot_id[0] && boot_id[0];
    if (known && memcmp(found->boot_id, boot_id, RS_BOOT_ID_MAX) != 0) {
        return RS_STORE_BOOT;
    }
    return RS_STORE_OK;
}

/* What stands at PATH when it can't be opened or removed. */
static enum rs_store_status check_object(const struct stat *found)
{
    if (!S_ISREG(found->st_mode)) {
        return RS_STORE_TYPE;
    }
    bool ours = found->st_uid == rs_sys_geteuid() && (found->st_mode & 077) == 0;
    return ours ? RS_STORE_OK : RS_STORE_OWNER;
}

static enum rs_store_status refused(const char *path, int error)
{
    struct stat found;
    if (error == ENOENT) {
        return RS_STORE_ABSENT;
    }
    if (rs_sys_fstatat(AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) == 0) {
        enum rs_store_status status = check_object(&found);
        if (status != RS_STORE_OK) {
            return status;
        }
    }
    errno = error;
    return error == EACCES || error == EPERM ? RS_STORE_PERMISSION : RS_STORE_FAILED;
}

static enum rs_store_status map(int fd, bool writable, struct rs_store *store)
{
    struct stat found;
    if (rs_sys_fstat(fd, &found) != 0) {
        return RS_STORE_FAILED;
    }
    void *at = rs_sys_mmap(RS_SEGMENT_SIZE, writable ? PROT_READ | PROT_WRITE : PROT_READ, fd);
    if (at == MAP_FAILED) {
        return RS_STORE_FAILED;
    }
    store->segment = at;
    store->size = RS_SEGMENT_SIZE;
    store->writable = writable;
    store->dev = found.st_dev;
    store->ino = found.st_ino;
    store->artifact_bytes = RS_SIZE_UNSET;
    return RS_STORE_OK;
}

static enum rs_store_status open_existing(const char *path, bool writable, struct rs_store *store)
{
    struct rs_segment header;
    struct stat found;
    int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = rs_sys_openat(AT_FDCWD, path, flags | (writable ? O_RDWR : O_RDONLY), 0);
    if (fd < 0) {
        return refused(path, errno);
    }
    enum rs_store_status status = RS_STORE_FAILED;
    if (rs_sys_fstat(fd, &found) == 0) {
        status = check_object(&found);
    }
    if (status == RS_STORE_OK) {
        /* Read, not mapped: of a file that is too short we must not touch a page. */
        ssize_t got = rs_sys_pread(fd, &header, sizeof(header), 0);
        /* It may grow meanwhile: its size is asked for again. */
        status = got == (ssize_t)sizeof(header) && rs_sys_fstat(fd, &found) == 0
                     ? check_header(&header, found.st_size)
                     : RS_STORE_MAGIC;
    }
    if (status == RS_STORE_OK) {
        status = map(fd, writable, store);
    }
    rs_sys_close(fd);
    return status;
}

/* A new file of this user without a name, or, where the file system has no O_TMPFILE, with the
 * temporary name that TEMPORARY gets (else empty). */
static int new_file(char temporary[PATH_SIZE])
{
    temporary[0] = '\0';
    int fd = rs_sys_openat(AT_FDCWD, directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || errno == EACCES || errno == ENOSPC) {
        return fd;
    }
    snprintf(temporary, PATH_SIZE, "%s/.rankshare.%d.%d.%llu", directory, (int)rs_sys_getpid(),
             (int)rs_sys_gettid(), (unsigned long long)rs_sys_clock_ns(CLOCK_MONOTONIC));
    return rs_sys_openat(AT_FDCWD, temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW,
                         0600);
}

/* Past the file size limit the kernel sends SIGXFSZ, so the limit is asked first. */
static bool reserve(int fd)
{
    if (!rs_sys_file_fits(RS_SEGMENT_SIZE)) {
        errno = EFBIG;
        return false;
    }
    return rs_sys_fchmod(fd, 0600) == 0 && rs_sys_fallocate(fd, 0, RS_SEGMENT_SIZE) == 0;
}

static enum rs_store_status status_of_making(int error)
{
    if (error == ENOSPC || error == EDQUOT || error == EFBIG || error == ENOMEM) {
        return RS_STORE_SPACE;
    }
    return error == EACCES || error == EPERM || error == EROFS ? RS_STORE_PERMISSION
                                                               : RS_STORE_FAILED;
}

static void write_header(struct rs_segment *segment)
{
    struct rs_process self = rs_process_self();
    fill_header(segment);
    segment->creator_pid = self.pid;
    segment->creator_start = self.start;
    segment->creator_space = self.space;
    segment->created_ns = rs_sys_clock_ns(CLOCK_REALTIME);
}

static int give_name(int fd, const char *temporary, const char *path)
{
    return temporary[0] ? rs_sys_link(temporary, path) : rs_fd_link(fd, AT_FDCWD, path);
}

/* Makes the segment. RS_STORE_ABSENT: another process was faster, open its. */
static enum rs_store_status create(const char *path, struct rs_store *store)
{
    char temporary[PATH_SIZE];
    int fd = new_file(temporary);
    if (fd < 0) {
        return status_of_making(errno);
    }
    enum rs_store_status status = reserve(fd) ? RS_STORE_OK : status_of_making(errno);
    if (status == RS_STORE_OK) {
        status = map(fd, true, store);
    }
    if (status == RS_STORE_OK) {
        RS_KILL_POINT(create_reserved);
        write_header(store->segment);
        RS_KILL_POINT(create_filled);
        if (give_name(fd, temporary, path) != 0) {
            status = errno == EEXIST ? RS_STORE_ABSENT : status_of_making(errno);
            rs_store_close(store);
        }
    }
    int saved = errno;
    if (temporary[0]) {
        rs_sys_unlinkat(AT_FDCWD, temporary, 0);
    }
    rs_sys_close(fd);
    errno = saved;
    return status;
}

enum rs_store_status rs_store_open(const char *name, bool make, bool writable,
                                   struct rs_store *store)
{
    char path[PATH_SIZE];
    *store = (struct rs_store){0};
    if (!path_of(name, path)) {
        errno = EINVAL;
        return RS_STORE_FAILED;
    }
    /* Absent, then made by another, then removed again: a few rounds, no more. */
    enum rs_store_status status = RS_STORE_ABSENT;
    for (int i = 0; i < OPEN_TRIES && status == RS_STORE_ABSENT; i++) {
        status = open_existing(path, writable, store);
        if (status != RS_STORE_ABSENT || !make || !writable) {
            break;
        }
        status = create(path, store);
    }
    snprintf(store->name, sizeof(store->name), "%s", name);
    return status;
}

void rs_store_close(struct rs_store *store)
{
    if (store->segment) {
        rs_sys_munmap(store->segment, store->size);
    }
    unsigned char *index = atomic_load(&store->index);
    if (index) {
        rs_sys_munmap(index, RS_INDEX_SIZE);
    }
    *store = (struct rs_store){0};
}

enum rs_store_status rs_store_remove(const char *name)
{
    char path[PATH_SIZE];
    struct stat found;
    if (!path_of(name, path)) {
        errno = EINVAL;
        return RS_STORE_FAILED;
    }
    if (rs_sys_fstatat(AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) != 0) {
        return refused(path, errno);
    }
    if (!S_ISREG(found.st_mode)) {
        return RS_STORE_TYPE;
    }
    if (found.st_uid != rs_sys_geteuid()) {
        return RS_STORE_OWNER;
    }
    return rs_sys_unlinkat(AT_FDCWD, path, 0) == 0 ? RS_STORE_OK : status_of_making(errno);
}
