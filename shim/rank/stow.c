/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/stow.h"

#include "base/state.h"
#include "base/sys.h"
#include "image/cubin.h"
#include "rank/capture.h"
#include "rank/count.h"
#include "rank/share.h"

#include <stdatomic.h>
#include <string.h>

/* A process that finds no room so often tries no more: each try looks for what may be evicted. */
enum { IN_VAIN_MAX = 3 };
static _Atomic(int) in_vain;

/* What is loaded belongs to no directory and to no job. */
static const struct rs_origin anywhere = {.job = RS_NO_JOB};

static bool has_store(const struct rs_node *node)
{
    return node && node->slot && rs_config.size != 0;
}

/* ---- put and find ------------------------------------------------------------------------------
 */

/* The same code from two cache directories is one object: see parcel.c. */
enum rs_put_result rs_stow(struct rs_node *node, const struct rs_artifact_key *key,
                           const struct rs_part_in *part)
{
    struct rs_hash128 meaning;
    struct rs_part_in known = *part;
    if (!has_store(node) || atomic_load_explicit(&in_vain, memory_order_relaxed) >= IN_VAIN_MAX)
        return RS_PUT_NO_ROOM;
    if (key->kind == RS_KIND_cubin &&
        rs_cubin_hash((struct rs_bytes){part->data, part->size}, &meaning))
        known.meaning = &meaning;
    enum rs_put_result result =
        rs_artifact_put(&node->store, node->slot, key, &anywhere, RS_PUT_FIRST, &known, 1);
    if (result == RS_PUT_NO_ROOM)
        atomic_fetch_add(&in_vain, 1);
    return result;
}

/* Part I of ARTIFACT, if it is no larger than what is ever put. */
static bool read_part(struct rs_artifact *artifact, unsigned i, struct rs_arena *arena,
                      struct rs_bytes *bytes)
{
    size_t size = artifact->parts[i].size;
    uint8_t *data = size <= RS_MODULE_MAX ? rs_arena_alloc(arena, size + 1) : NULL;
    if (!data || !rs_artifact_read(artifact, i, data))
        return false;
    data[size] = 0;
    *bytes = (struct rs_bytes){data, size};
    return true;
}

bool rs_stow_find(struct rs_node *node, const struct rs_artifact_key *key, struct rs_arena *arena,
                  struct rs_bytes *bytes, struct rs_file_id *id)
{
    struct rs_artifact artifact;
    bool found = false;
    if (has_store(node) &&
        rs_artifact_find(&node->store, node->slot, key, &anywhere, RS_FIND_QUIET, &artifact)) {
        found = artifact.count == 1 && read_part(&artifact, 0, arena, bytes);
        if (found)
            *id = artifact.parts[0].file;
        rs_artifact_release(&artifact);
    }
    return found;
}

/* ---- by content --------------------------------------------------------------------------------
 */

/* As `rankshare stats --modules` prints a module's hash, so that `rankshare inspect` finds it. */
static struct rs_artifact_key key_of(enum rs_kind kind, const struct rs_hash128 *name)
{
    struct rs_artifact_key key = {.kind = kind};
    rs_hash128_bytes(*name, key.key.bytes);
    return key;
}

void rs_stow_image(struct rs_node *node, struct rs_module *module, const struct rs_hash128 *name,
                   const struct rs_image *image)
{
    bool cubin = image->kind == RS_KIND_cubin;
    if (!has_store(node) || (!cubin && image->kind != RS_KIND_ptx) ||
        !rs_module_shared(module, node->slot) || !rs_module_keep(module))
        return;
    const struct rs_part_in part = {
        .name = cubin ? "module.cubin" : "module.ptx",
        .data = image->bytes.data,
        .size = image->bytes.size,
        .mode = 0666,
    };
    struct rs_artifact_key key = key_of(image->kind, name);
    enum rs_put_result result = rs_stow(node, &key, &part);
    rs_count(RS_C_modules_stored, result == RS_PUT_STORED);
    if (result != RS_PUT_STORED && result != RS_PUT_THERE)
        rs_module_not_kept(module);
}

/* ---- files -------------------------------------------------------------------------------------
 */

/* Where PATH lies, if it is a cubin of a kernel in a managed cache. In the arena: a path is too
 * much for a small thread's stack. */
static const struct rs_where *managed(const char *path, struct rs_arena *arena)
{
    static const char tail[] = ".cubin";
    size_t length = strlen(path);
    if (length < sizeof(tail) || strcmp(path + length - (sizeof(tail) - 1), tail) != 0 ||
        !rs_shape_maybe(path))
        return NULL;
    struct rs_where *where = rs_arena_alloc(arena, sizeof(*where));
    return where && rs_where(AT_FDCWD, path, where) && where->shape == RS_SHAPE_TRITON_FILE ? where
                                                                                            : NULL;
}

/* Asked of the kernel, which also answers where PATH leads nowhere. Whoever opens a pipe, and be it
 * for a moment, lets its writers in. */
static bool is_file(const char *path)
{
    struct stat st;
    return rs_sys_fstatat(AT_FDCWD, path, &st, 0) == 0 && S_ISREG(st.st_mode);
}

/* The driver is not told where memory ends, as it knows of a file. */
static bool is_whole_cubin(struct rs_bytes bytes)
{
    struct rs_reader reader;
    struct rs_image image;
    rs_reader_bytes(&reader, bytes);
    return rs_image_find(&reader, bytes.data, bytes.size, &image) && image.kind == RS_KIND_cubin &&
           rs_reader_has(&reader, image.bytes.data, image.bytes.size);
}

static void read_file(int fd, const struct rs_where *where, struct rs_module_file *file)
{
    struct rs_bytes bytes;
    struct stat st;
    if (rs_sys_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > RS_MODULE_MAX ||
        !rs_share_read(fd, where, &file->arena, &bytes) || !is_whole_cubin(bytes))
        return;
    char *data = rs_arena_alloc(&file->arena, bytes.size + 1);
    if (data) {
        memcpy(data, bytes.data, bytes.size);
        data[bytes.size] = '\0';
        file->bytes = (struct rs_bytes){(uint8_t *)data, bytes.size};
    }
}

void rs_module_file_look(const char *path, struct rs_module_file *file)
{
    *file = (struct rs_module_file){.bytes = {NULL, 0}};
    rs_arena_init(&file->arena, RS_STOW_MEMORY);
    const struct rs_where *where =
        path && !rs_capturing() && is_file(path) ? managed(path, &file->arena) : NULL;
    if (!where || !has_store(rs_node_tie()))
        return;
    int fd = rs_sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return;
    read_file(fd, where, file);
    rs_sys_close(fd);
}

void rs_module_file_close(struct rs_module_file *file)
{
    rs_arena_free(&file->arena);
}

void rs_stow_forked(void)
{
    atomic_store(&in_vain, 0);
}
