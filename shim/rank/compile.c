/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/compile.h"

#include "base/hash128.h"
#include "base/library.h"
#include "base/state.h"
#include "image/image.h"
#include "image/ptx.h"
#include "rank/capture.h"
#include "rank/count.h"
#include "rank/env.h"
#include "rank/node.h"
#include "rank/stow.h"

#include <stdatomic.h>
#include <string.h>

/* What could not be compiled, by a part of its key. Later ones take the places of earlier ones. */
enum { FAILURES = 64 };
static _Atomic(uint64_t) failures[FAILURES];

void rs_compile_left(void)
{
    rs_count(RS_C_ptx_left, 1);
}

/* The user has told the driver how to treat PTX: then it shall see it. */
static bool driver_told(void)
{
    return rs_env_switch(RS_ENV_CUDA_FORCE_JIT) || rs_env_switch(RS_ENV_CUDA_DISABLE_JIT) ||
           rs_env_switch(RS_ENV_CUDA_FORCE_PTX_JIT) || rs_env_switch(RS_ENV_CUDA_DISABLE_PTX_JIT);
}

/* ---- which code --------------------------------------------------------------------------------
 */

/* The half of the key that `rankshare stats --modules` prints. */
enum { TEXT_KEY = 16 };

static void hash_text(struct rs_bytes text, uint8_t key[TEXT_KEY])
{
    rs_hash128_bytes(rs_hash128_of(text.data, text.size), key);
}

/* What a thread of the program wrote over while it was compiled is not the text of the key. */
static bool is_same_text(const struct rs_compile *load)
{
    uint8_t now[TEXT_KEY];
    hash_text(load->text, now);
    return memcmp(now, load->key.key.bytes, sizeof(now)) == 0;
}

static void note_class(struct rs_compile *load, const struct rs_compile_class *class_of)
{
    struct {
        char what[8];
        uint64_t size;
        struct rs_compile_class class_of;
        struct rs_jit jit;
    } plain;
    memset(&plain, 0, sizeof(plain)); /* the gaps count */
    memcpy(plain.what, "compiled", sizeof(plain.what));
    plain.size = load->text.size;
    plain.class_of = *class_of;
    plain.jit = load->jit;
    struct rs_hash128 hash = rs_hash128_of(&plain, sizeof(plain));
    memcpy(load->key.key.bytes + TEXT_KEY, &hash, sizeof(hash));
    load->key.class_id = (uint64_t)class_of->driver << 32 | class_of->major << 8 | class_of->minor;
}

static _Atomic(uint64_t) *failure_of(const struct rs_compile *load, uint64_t *mark)
{
    memcpy(mark, load->key.key.bytes, sizeof(*mark));
    *mark |= 1;
    return &failures[(*mark >> 1) % FAILURES];
}

static bool has_failed(const struct rs_compile *load)
{
    uint64_t mark;
    _Atomic(uint64_t) *place = failure_of(load, &mark);
    return atomic_load_explicit(place, memory_order_relaxed) == mark;
}

void rs_compile_failed(const struct rs_compile *load)
{
    uint64_t mark;
    _Atomic(uint64_t) *place = failure_of(load, &mark);
    atomic_store_explicit(place, mark, memory_order_relaxed);
}

/* ---- a load ------------------------------------------------------------------------------------
 */

/* Bare PTX whose text can be read, and which no library brings. */
static bool is_text(struct rs_reader *reader, const void *at, struct rs_bytes *text)
{
    struct rs_image image;
    struct rs_hash128 place;
    if (!at || !rs_reader_has(reader, at, 1) || !rs_ptx_may_begin(at, 1) ||
        rs_library_place(at, &place) || !rs_image_find(reader, at, RS_MODULE_MAX, &image) ||
        image.kind != RS_KIND_ptx || !rs_reader_has(reader, image.bytes.data, image.bytes.size + 1))
        return false;
    *text = image.bytes;
    return true;
}

bool rs_compile_begin(struct rs_compile *load, const void *image, unsigned count,
                      const unsigned *options, void *const *values, unsigned others)
{
    struct rs_reader reader;
    if (!rs_config.ptx)
        return false;
    *load = (struct rs_compile){.compile_ns = 0};
    rs_reader_process(&reader);
    if (!is_text(&reader, image, &load->text))
        return false;
    rs_arena_init(&load->arena, RS_STOW_MEMORY);
    load->key = (struct rs_artifact_key){.kind = RS_KIND_cubin};
    hash_text(load->text, load->key.key.bytes);
    const struct rs_node *node = rs_node_tie();
    bool may = others == 0 && node && node->slot && rs_config.size != 0 && !driver_told() &&
               !rs_capturing() && rs_jit_read(&reader, count, options, values, &load->jit) &&
               !has_failed(load);
    if (!may)
        rs_compile_left();
    return may;
}

void rs_compile_end(struct rs_compile *load)
{
    rs_arena_free(&load->arena);
}

bool rs_compile_find(struct rs_compile *load, const struct rs_compile_class *class_of)
{
    struct rs_file_id id;
    note_class(load, class_of);
    bool found = rs_stow_find(rs_node_if_tied(), &load->key, &load->arena, &load->code, &id);
    if (found)
        load->compile_ns = id.mtime_ns;
    return found;
}

void rs_compile_taken(const struct rs_compile *load)
{
    rs_count(RS_C_ptx_taken, 1);
    rs_count(RS_C_ptx_saved_ns, load->compile_ns);
}

bool rs_compile_made(struct rs_compile *load, const void *code, size_t size, uint64_t ns)
{
    struct rs_reader reader;
    struct rs_image image;
    load->compile_ns = ns;
    load->code = (struct rs_bytes){code, size};
    if (!code || size == 0 || size > RS_MODULE_MAX)
        return false;
    rs_reader_process(&reader);
    if (!rs_reader_has(&reader, code, size))
        return false;
    rs_reader_bytes(&reader, load->code);
    return rs_image_find(&reader, code, size, &image) && image.kind == RS_KIND_cubin;
}

/* The time that it took stands where a file's would. */
void rs_compile_compiled(struct rs_compile *load)
{
    const struct rs_part_in part = {
        .name = "compiled.cubin",
        .data = load->code.data,
        .size = load->code.size,
        .mode = 0666,
        .file = {.mtime_ns = load->compile_ns},
    };
    rs_count(RS_C_ptx_compiled, 1);
    rs_count(RS_C_ptx_compile_ns, load->compile_ns);
    if (is_same_text(load))
        (void)rs_stow(rs_node_if_tied(), &load->key, &part);
}
