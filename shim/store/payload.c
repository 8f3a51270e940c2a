/* SPDX-License-Identifier: Apache-2.0 */
#include "store/payload.h"

#include "store/layout.h"
#include "store/store_sys.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { OPEN_FLAGS = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

static bool is_ours(int fd, uint64_t dev, uint64_t ino, struct stat *found)
{
    return rs_sys_fstat(fd, found) == 0 && S_ISREG(found->st_mode) && found->st_dev == dev &&
           found->st_ino == ino && found->st_uid == rs_sys_geteuid() && (found->st_mode & 077) == 0;
}

uint64_t rs_file_born(int fd)
{
    struct statx found = {0};
    long result = syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BTIME, &found);
    return result == 0 && found.stx_mask & STATX_BTIME
               ? (uint64_t)found.stx_btime.tv_sec * RS_NS_PER_S + found.stx_btime.tv_nsec
               : 0;
}

static int checked(int fd, uint64_t dev, uint64_t ino, struct stat *found)
{
    if (fd >= 0 && !is_ours(fd, dev, ino, found)) {
        rs_sys_close(fd);
        return -1;
    }
    return fd;
}

int rs_segment_open(const struct rs_store *store, bool writable, struct stat *found)
{
    char path[RS_SEGMENT_NAME_MAX + 16];
    snprintf(path, sizeof(path), "/dev/shm%s", store->name);
    int fd = rs_sys_openat(AT_FDCWD, path, OPEN_FLAGS | (writable ? O_RDWR : O_RDONLY), 0);
    return checked(fd, store->dev, store->ino, found);
}

void rs_payload_name(const struct rs_store *store, char name[RS_SEGMENT_NAME_MAX + 8])
{
    snprintf(name, RS_SEGMENT_NAME_MAX + 8, "%s.arena", store->name + 1);
}

void rs_dir_path(const char *dir, char path[RS_DIR_MAX])
{
    if (dir && dir[0]) {
        snprintf(path, RS_DIR_MAX, "%s", dir);
    } else {
        snprintf(path, RS_DIR_MAX, "/var/tmp/rankshare-%u", (unsigned)rs_sys_geteuid());
    }
}

int rs_dir_open(const struct rs_store *store, bool make)
{
    char path[RS_DIR_MAX];
    struct stat found;
    rs_dir_path(store->dir, path);
    if (make) {
        (void)rs_sys_mkdirat(AT_FDCWD, path, 0700);
    }
    int fd = rs_sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    bool ours = fd >= 0 && rs_sys_fstat(fd, &found) == 0 && found.st_uid == rs_sys_geteuid() &&
                (found.st_mode & 022) == 0;
    if (fd >= 0 && !ours) {
        rs_sys_close(fd);
        return -1;
    }
    return fd;
}

static int open_file(const struct rs_store *store, bool writable)
{
    char name[RS_SEGMENT_NAME_MAX + 8];
    struct stat found;
    int dir = rs_dir_open(store, false);
    if (dir < 0) {
        return -1;
    }
    rs_payload_name(store, name);
    int fd = rs_sys_openat(dir, name, OPEN_FLAGS | (writable ? O_RDWR : O_RDONLY), 0);
    rs_sys_close(dir);
    fd = checked(fd, atomic_load_explicit(&store->segment->file_dev, memory_order_acquire),
                 atomic_load_explicit(&store->segment->file_ino, memory_order_acquire), &found);
    uint64_t born = atomic_load_explicit(&store->segment->file_born, memory_order_acquire);
    if (fd >= 0 && born != 0 && born != rs_file_born(fd)) {
        rs_sys_close(fd);
        return -1;
    }
    return fd;
}

int rs_payload_open(const struct rs_store *store, bool writable, uint64_t *base)
{
    struct stat found;
    switch (atomic_load_explicit(&store->segment->store_place, memory_order_acquire)) {
    case RS_PLACE_SHM:
        *base = RS_AT_ARENA;
        return rs_segment_open(store, writable, &found);
    case RS_PLACE_FILE:
        *base = 0;
        return open_file(store, writable);
    default:
        return -1;
    }
}

bool rs_payload_read(int fd, uint64_t base, uint64_t offset, void *out, size_t size)
{
    size_t done = 0;
    if (offset > RS_ARENA_MAX) {
        errno = 0;
        return false;
    }
    while (done < size) {
        ssize_t got =
            rs_sys_pread(fd, (char *)out + done, size - done, (off_t)(base + offset + done));
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            errno = got == 0 ? 0 : errno;
            return false;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

bool rs_payload_write(int fd, uint64_t base, uint64_t offset, const void *data, size_t size)
{
    size_t done = 0;
    if (offset > RS_ARENA_MAX || !rs_sys_file_fits(base + offset + size)) {
        return false;
    }
    while (done < size) {
        ssize_t got = rs_sys_pwrite(fd, (const char *)data + done, size - done,
                                    (off_t)(base + offset + done));
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            return false;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

void rs_payload_release(int fd, uint64_t base, uint64_t offset, uint64_t size)
{
    if (offset <= RS_ARENA_MAX && size <= RS_ARENA_MAX) {
        (void)rs_sys_punch(fd, (off_t)(base + offset), (off_t)size);
    }
}

bool rs_payload_remove(const char *name, const char *dir)
{
    struct rs_store store = {.dir = dir};
    char file[RS_SEGMENT_NAME_MAX + 8];
    snprintf(store.name, sizeof(store.name), "%s", name);
    int fd = rs_dir_open(&store, false);
    if (fd < 0) {
        return false;
    }
    rs_payload_name(&store, file);
    bool removed = rs_sys_unlinkat(fd, file, 0) == 0;
    rs_sys_close(fd);
    return removed;
}
