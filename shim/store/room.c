/* SPDX-License-Identifier: Apache-2.0 */
#include "store/room.h"

#include "base/config.h"
#include "store/kill_point.h"
#include "store/owner_lock.h"
#include "store/payload.h"
#include "store/store_sys.h"

#include <stdatomic.h>
#include <sys/statfs.h>

enum { RETRY_MS = 10000, GROUP_STEP = 4096, OBJECT_STEP = 16384, LAST_PAGE = 65536 };
static const uint64_t usual = UINT64_C(256) << 20;

/* What lies further ahead was not written by this clock (a container's own). */
static bool may_try(const struct rs_segment *segment)
{
    uint64_t now = rs_now_ms();
    uint64_t retry = atomic_load_explicit(&segment->retry_ms, memory_order_relaxed);
    return now >= retry || retry > now + RETRY_MS;
}

static void try_later(struct rs_segment *segment)
{
    atomic_store_explicit(&segment->retry_ms, rs_now_ms() + RETRY_MS, memory_order_relaxed);
}

/* Beyond the file size limit the kernel sends SIGXFSZ. */
static bool reserve(int fd, uint64_t offset, uint64_t size)
{
    return rs_sys_file_fits(offset + size) && rs_sys_fallocate(fd, (off_t)offset, (off_t)size) == 0;
}

static bool reserve_index(int fd, uint64_t from, uint64_t size)
{
    return size == 0 || reserve(fd, RS_AT_INDEX + from, size);
}

static bool reserve_groups(int fd, uint32_t from)
{
    return reserve_index(fd, RS_IN_STAMPS + from * sizeof(uint64_t),
                         GROUP_STEP * sizeof(uint64_t)) &&
           reserve_index(fd, RS_IN_GROUPS + from * sizeof(struct rs_group),
                         GROUP_STEP * sizeof(struct rs_group));
}

static bool reserve_objects(int fd, uint32_t from)
{
    return reserve_index(fd, RS_IN_OBJECTS + from * sizeof(struct rs_object),
                         OBJECT_STEP * sizeof(struct rs_object));
}

/* With its last page the file reaches to the end of the index, and no number in it leads behind. */
static bool reserve_first(int fd, uint64_t size)
{
    return reserve_index(fd, 0, RS_IN_BITMAP + size / RS_GRANULE / 8) && reserve_groups(fd, 0) &&
           reserve_objects(fd, 0) && reserve_index(fd, RS_INDEX_SIZE - LAST_PAGE, LAST_PAGE);
}

/* Bytes for artifacts on the file system of FD: a multiple of 64 granules, 0 when they would be too
 * few. */
static uint64_t size_on(const struct rs_store *store, int fd)
{
    struct statfs found;
    uint64_t size = store->artifact_bytes;
    if (size == RS_SIZE_UNSET) {
        if (syscall(SYS_fstatfs, fd, &found) != 0) {
            return 0;
        }
        uint64_t quarter = (uint64_t)found.f_bavail * (uint64_t)found.f_bsize / 4;
        size = quarter < usual ? quarter : usual;
        size = size < RS_ARENA_STEP ? 0 : size;
    }
    size = size < RS_ARENA_MAX ? size : RS_ARENA_MAX;
    return size / (64 * RS_GRANULE) * (64 * RS_GRANULE);
}

static uint64_t first_step(uint64_t size)
{
    return size < RS_ARENA_STEP ? size : RS_ARENA_STEP;
}

struct begin {
    uint32_t place;
    uint64_t size;
    uint64_t dev, ino, born;
};

/* A file of its own, under the name that all processes know; a former segment's goes. */
static bool begin_file(const struct rs_store *store, struct begin *begin)
{
    char name[RS_SEGMENT_NAME_MAX + 8];
    struct stat found;
    int dir = rs_dir_open(store, true);
    if (dir < 0) {
        return false;
    }
    rs_payload_name(store, name);
    rs_sys_unlinkat(dir, name, 0);
    int fd = rs_sys_openat(dir, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    begin->size = fd >= 0 ? size_on(store, fd) : 0;
    bool good = begin->size > 0 && rs_sys_fchmod(fd, 0600) == 0 &&
                reserve(fd, 0, first_step(begin->size)) && rs_sys_fstat(fd, &found) == 0;
    if (good) {
        begin->place = RS_PLACE_FILE;
        begin->dev = found.st_dev;
        begin->ino = found.st_ino;
        begin->born = rs_file_born(fd);
    } else if (fd >= 0) {
        rs_sys_unlinkat(dir, name, 0);
    }
    if (fd >= 0) {
        rs_sys_close(fd);
    }
    rs_sys_close(dir);
    return good;
}

/* Finds room; it is used by nobody yet. */
static bool find_room(const struct rs_store *store, int fd, struct begin *begin)
{
    begin->size = size_on(store, fd);
    if (begin->size > 0 && reserve_first(fd, begin->size) &&
        reserve(fd, RS_AT_ARENA, first_step(begin->size))) {
        begin->place = RS_PLACE_SHM;
        return true;
    }
    if (begin_file(store, begin)) {
        if (reserve_first(fd, begin->size)) {
            return true;
        }
        (void)rs_payload_remove(store->name, store->dir);
    }
    rs_sys_punch(fd, RS_AT_INDEX, RS_INDEX_SIZE + RS_ARENA_STEP);
    return false;
}

static void publish(struct rs_segment *segment, const struct begin *begin)
{
    atomic_store_explicit(&segment->groups_room, GROUP_STEP, memory_order_relaxed);
    atomic_store_explicit(&segment->objects_room, OBJECT_STEP, memory_order_relaxed);
    atomic_store_explicit(&segment->arena_size, begin->size, memory_order_relaxed);
    atomic_store_explicit(&segment->arena_room, first_step(begin->size), memory_order_relaxed);
    atomic_store_explicit(&segment->file_dev, begin->dev, memory_order_relaxed);
    atomic_store_explicit(&segment->file_ino, begin->ino, memory_order_relaxed);
    atomic_store_explicit(&segment->file_born, begin->born, memory_order_relaxed);
    RS_KILL_POINT(room_written);
    atomic_store_explicit(&segment->store_place, begin->place, memory_order_release);
}

/* The first one makes room for all, under the lock: it happens once, and takes milliseconds. */
static void begin_all(struct rs_store *store, uint64_t tag)
{
    struct rs_segment *segment = store->segment;
    struct begin begin = {0};
    struct rs_index index;
    struct stat found;
    enum rs_lock lock = rs_owner_lock(&segment->store_lock, tag);
    if (lock == RS_LOCK_BUSY) {
        return;
    }
    RS_KILL_POINT(room_locked);
    /* What another has begun meanwhile is there, whether this process can map it or not. */
    if (atomic_load_explicit(&segment->store_place, memory_order_acquire) != RS_PLACE_NONE) {
        if (lock == RS_LOCK_INHERITED && rs_index_open(store, &index)) {
            rs_index_mend(&index);
        }
    } else if (may_try(segment)) {
        int fd = rs_segment_open(store, true, &found);
        bool good = fd >= 0 && find_room(store, fd, &begin);
        RS_KILL_POINT(room_reserved);
        if (good) {
            publish(segment, &begin);
        } else {
            try_later(segment);
        }
        if (fd >= 0) {
            rs_sys_close(fd);
        }
    }
    rs_owner_unlock(&segment->store_lock, tag);
}

bool rs_room_begin(struct rs_store *store, uint64_t tag, struct rs_index *index)
{
    struct rs_segment *segment = store->segment;
    if (!segment || !store->writable || store->artifact_bytes == 0) {
        return false;
    }
    if (atomic_load_explicit(&segment->store_place, memory_order_acquire) == RS_PLACE_NONE &&
        may_try(segment)) {
        begin_all(store, tag);
    }
    return rs_index_open(store, index);
}

static void raise32(_Atomic uint32_t *value, uint32_t to)
{
    uint32_t now = atomic_load(value);
    while (now < to && !atomic_compare_exchange_weak(value, &now, to)) {
    }
}

static void raise64(_Atomic uint64_t *value, uint64_t to)
{
    uint64_t now = atomic_load(value);
    while (now < to && !atomic_compare_exchange_weak(value, &now, to)) {
    }
}

static bool more_arena(struct rs_store *store, uint64_t now)
{
    struct rs_segment *segment = store->segment;
    uint64_t base, size = atomic_load_explicit(&segment->arena_size, memory_order_acquire);
    if (now >= size || size > RS_ARENA_MAX) {
        return false;
    }
    uint64_t step = size - now < RS_ARENA_STEP ? size - now : RS_ARENA_STEP;
    int fd = rs_payload_open(store, true, &base);
    bool good = fd >= 0 && reserve(fd, base + now, step);
    if (good) {
        RS_KILL_POINT(room_more);
        raise64(&segment->arena_room, now + step);
    }
    if (fd >= 0) {
        rs_sys_close(fd);
    }
    return good;
}

static bool more_entries(struct rs_store *store, enum rs_room what, uint32_t now)
{
    struct stat found;
    bool groups = what == RS_ROOM_GROUPS;
    if (now >= (groups ? RS_GROUPS : RS_OBJECTS)) {
        return false;
    }
    int fd = rs_segment_open(store, true, &found);
    bool good = fd >= 0 && (groups ? reserve_groups(fd, now) : reserve_objects(fd, now));
    if (good && groups) {
        raise32(&store->segment->groups_room, now + GROUP_STEP);
    } else if (good) {
        raise32(&store->segment->objects_room, now + OBJECT_STEP);
    }
    if (fd >= 0) {
        rs_sys_close(fd);
    }
    return good;
}

uint64_t rs_room_of(const struct rs_segment *segment, enum rs_room what)
{
    return what == RS_ROOM_ARENA    ? atomic_load(&segment->arena_room)
           : what == RS_ROOM_GROUPS ? atomic_load(&segment->groups_room)
                                    : atomic_load(&segment->objects_room);
}

bool rs_room_more(struct rs_store *store, struct rs_index *index, enum rs_room what, uint64_t now)
{
    struct rs_segment *segment = index->segment;
    if (rs_room_of(segment, what) > now) {
        return true;
    }
    if (!may_try(segment)) {
        return false;
    }
    bool good =
        what == RS_ROOM_ARENA ? more_arena(store, now) : more_entries(store, what, (uint32_t)now);
    if (!good && now < (what == RS_ROOM_ARENA    ? atomic_load(&segment->arena_size)
                        : what == RS_ROOM_GROUPS ? RS_GROUPS
                                                 : RS_OBJECTS)) {
        try_later(segment);
    }
    return good;
}
