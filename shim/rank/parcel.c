/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/parcel.h"

#include "base/dir.h"
#include "base/sys.h"
#include "image/cubin.h"
#include "ordinal/ordinal.h"
#include "rank/view.h"
#include "route/group.h"
#include "route/shape.h"

#include <string.h>

enum {
    ENTRIES_MAX = 16, /* of one key: graphs that differ in their guards */
    RUN_MIN = 4096,   /* smaller ones are a hundredth of the bytes, and each costs a read */
};

struct rs_file_id rs_file_id_of(const struct stat *st)
{
    return (struct rs_file_id){
        .ino = st->st_ino,
        .size = (uint64_t)st->st_size,
        .mtime_ns = (uint64_t)st->st_mtim.tv_sec * RS_NS_PER_S + (uint64_t)st->st_mtim.tv_nsec,
    };
}

static bool begin(struct rs_parcel *parcel, unsigned files)
{
    rs_rewrite_arena(&parcel->arena);
    parcel->known = NULL;
    parcel->count = 0;
    parcel->most = files + 1 < RS_PARTS_MAX ? files + 1 : RS_PARTS_MAX;
    parcel->parts = rs_arena_alloc(&parcel->arena, parcel->most * sizeof(*parcel->parts));
    parcel->whole = parcel->parts != NULL;
    return parcel->whole;
}

static char *copy(struct rs_parcel *parcel, const char *text, size_t size)
{
    char *to = rs_arena_alloc(&parcel->arena, size + 1);
    if (to) {
        memcpy(to, text, size);
        to[size] = '\0';
    }
    return to;
}

/* NAME and BYTES stay where they are. ST: of the file whose bytes they are, or NULL. */
static void add(struct rs_parcel *parcel, const char *name, struct rs_bytes bytes,
                const struct stat *st)
{
    if (!parcel->whole || !name || !bytes.size || parcel->count == parcel->most) {
        parcel->whole = false;
        return;
    }
    struct rs_part_in part = {.name = name, .data = bytes.data, .size = bytes.size, .mode = 0666};
    if (st) {
        part.mode = st->st_mode & 07777;
        part.file = rs_file_id_of(st);
    }
    parcel->parts[parcel->count++] = part;
}

unsigned rs_parcel_part(const struct rs_artifact *artifact, const char *name,
                        const struct rs_file_id *id)
{
    unsigned i = 0;
    for (; i < artifact->count; i++) {
        const struct rs_part *part = &artifact->parts[i];
        if (part->exact && part->size == id->size && memcmp(&part->file, id, sizeof(*id)) == 0 &&
            strcmp(part->name, name) == 0) {
            break;
        }
    }
    return i;
}

/* The file NAME out of the group that is known. Its mode may have changed, but that is nobody's
 * business before its time has. */
static bool read_known(struct rs_parcel *parcel, int fd, const char *name, struct rs_bytes *bytes,
                       struct stat *st)
{
    struct rs_artifact *known = parcel->known;
    if (!known || rs_sys_fstatat(fd, name, st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st->st_mode)) {
        return false;
    }
    struct rs_file_id id = rs_file_id_of(st);
    unsigned i = rs_parcel_part(known, name, &id);
    uint8_t *data = i < known->count ? rs_arena_alloc(&parcel->arena, (size_t)id.size + 1) : NULL;
    *bytes = (struct rs_bytes){data, (size_t)id.size};
    return data && rs_artifact_read(known, i, data);
}

/* Bytes that somebody wrote over while they were read belong to no file that there is. */
static bool read_open(struct rs_parcel *parcel, int file, struct rs_bytes *bytes, struct stat *st)
{
    struct stat now;
    if (rs_sys_fstat(file, st) != 0 || !rs_read_whole(file, &parcel->arena, bytes) ||
        rs_sys_fstat(file, &now) != 0) {
        return false;
    }
    struct rs_file_id before = rs_file_id_of(st), after = rs_file_id_of(&now);
    return memcmp(&before, &after, sizeof(before)) == 0 && after.size == bytes->size;
}

static bool read_file(struct rs_parcel *parcel, int fd, const char *name, struct rs_bytes *bytes,
                      struct stat *st)
{
    if (read_known(parcel, fd, name, bytes, st)) {
        return true;
    }
    /* Whoever opens a pipe, and be it for a moment, lets its writers in. */
    bool is_file = rs_sys_fstatat(fd, name, st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st->st_mode);
    int file =
        is_file ? rs_sys_openat(fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0) : -1;
    bool good = file >= 0 && read_open(parcel, file, bytes, st);
    if (file >= 0) {
        rs_sys_close(file);
    }
    return good;
}

/* A kernel's machine code stands for all that run alike: only paths in debug sections tell two
 * builds in two directories apart. */
static const struct rs_hash128 *meaning_of(struct rs_parcel *parcel, struct rs_bytes bytes)
{
    struct rs_hash128 *meaning = rs_arena_alloc(&parcel->arena, sizeof(*meaning));
    return meaning && rs_cubin_hash(bytes, meaning) ? meaning : NULL;
}

static void note_meaning(struct rs_parcel *parcel)
{
    static const char tail[] = ".cubin";
    enum { TAIL = sizeof(tail) - 1 };
    struct rs_part_in *part = &parcel->parts[parcel->count - 1];
    size_t size = strlen(part->name);
    if (size > TAIL && strcmp(part->name + size - TAIL, tail) == 0) {
        part->meaning = meaning_of(parcel, (struct rs_bytes){part->data, part->size});
    }
}

static bool add_file(struct rs_parcel *parcel, int fd, const char *name, size_t size)
{
    struct rs_bytes bytes;
    struct stat st;
    const char *own = copy(parcel, name, size);
    if (own && read_file(parcel, fd, own, &bytes, &st)) {
        add(parcel, own, bytes, &st);
        if (parcel->whole) {
            note_meaning(parcel);
        }
    } else {
        parcel->whole = false;
    }
    return parcel->whole;
}

static bool finish(struct rs_parcel *parcel, const char *root, size_t size)
{
    if (parcel->whole && parcel->count) {
        const char *path = copy(parcel, root, size);
        add(parcel, RS_PARCEL_ROOT, (struct rs_bytes){(const uint8_t *)path, path ? size : 0},
            NULL);
        return parcel->whole;
    }
    return false;
}

static bool add_entry(int fd, const char *name, void *context)
{
    return !rs_shape_entry_hash(name) || add_file(context, fd, name, strlen(name));
}

static bool count_entry(int fd, const char *name, void *context)
{
    unsigned *count = context;
    (void)fd;
    *count += rs_shape_entry_hash(name);
    return *count <= ENTRIES_MAX;
}

bool rs_parcel_entries(struct rs_parcel *parcel, int fd, const char *root, size_t root_size,
                       struct rs_artifact *known)
{
    /* Nothing is read of what does not fit. */
    unsigned count = 0;
    rs_dir_each(fd, count_entry, &count);
    if (begin(parcel, ENTRIES_MAX) && count <= ENTRIES_MAX && rs_sys_rewind(fd)) {
        parcel->known = known;
        rs_dir_each(fd, add_entry, parcel);
    } else {
        parcel->whole = false;
    }
    return finish(parcel, root, root_size);
}

static void cut(struct rs_parcel *parcel, struct rs_part_in *part)
{
    static const uint8_t elf[] = {0x7f, 'E', 'L', 'F'};
    struct rs_bytes *blobs;
    struct rs_bytes bytes = {part->data, part->size};
    size_t count = rs_ordinal_blobs(&parcel->arena, bytes, RUN_MIN, &blobs);
    struct rs_run *runs = rs_arena_alloc(&parcel->arena, count * sizeof(*runs) + 1);
    for (size_t i = 0; runs && i < count; i++) {
        bool code = memcmp(blobs[i].data, elf, sizeof(elf)) == 0;
        runs[i] = (struct rs_run){.at = (size_t)(blobs[i].data - bytes.data),
                                  .size = blobs[i].size,
                                  .meaning = code ? meaning_of(parcel, blobs[i]) : NULL};
    }
    part->runs = runs;
    part->run_count = runs ? (unsigned)count : 0;
}

void rs_parcel_cut(struct rs_parcel *parcel)
{
    for (unsigned i = 0; parcel->whole && i < parcel->count; i++) {
        if (rs_shape_entry_hash(parcel->parts[i].name)) {
            cut(parcel, &parcel->parts[i]);
        }
    }
}

/* The group file as it would be in the directory /<FOLDER>. */
static bool add_group(struct rs_parcel *parcel, int fd, const char *folder, const char *name)
{
    struct rs_children group;
    struct rs_bytes text;
    struct stat st;
    char *directory = rs_arena_alloc(&parcel->arena, strlen(folder) + 2);
    char *out = rs_arena_alloc(&parcel->arena, RS_GROUP_SIZE_MAX);
    if (!directory || !out || !read_file(parcel, fd, name, &text, &st) ||
        text.size > RS_GROUP_SIZE_MAX ||
        !rs_group_read((const char *)text.data, text.size, folder, &group)) {
        return false;
    }
    directory[0] = '/';
    memcpy(directory + 1, folder, strlen(folder) + 1);
    for (unsigned i = 0; i < group.count; i++) {
        (void)add_file(parcel, fd, group.children[i].name, group.children[i].size);
    }
    size_t size = rs_group_write(&group, directory, out, RS_GROUP_SIZE_MAX);
    add(parcel, copy(parcel, name, strlen(name)), (struct rs_bytes){(uint8_t *)out, size}, NULL);
    add(parcel, RS_PARCEL_GROUP, text, &st);
    return parcel->whole;
}

bool rs_parcel_kernel(struct rs_parcel *parcel, int fd, const char *folder, const char *name,
                      const char *root, size_t root_size)
{
    parcel->whole =
        begin(parcel, RS_PARTS_MAX) && add_group(parcel, fd, folder, name) && parcel->whole;
    return finish(parcel, root, root_size);
}

bool rs_parcel_result(struct rs_parcel *parcel, int fd, const char *name, const char *root,
                      size_t root_size)
{
    if (begin(parcel, 1)) {
        (void)add_file(parcel, fd, name, strlen(name));
    }
    return finish(parcel, root, root_size);
}

void rs_parcel_free(struct rs_parcel *parcel)
{
    rs_arena_free(&parcel->arena);
}
