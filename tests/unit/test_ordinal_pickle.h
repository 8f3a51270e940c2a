/* SPDX-License-Identifier: Apache-2.0
 *
 * Pickles put together by hand, opcode by opcode.
 */
#ifndef TEST_ORDINAL_PICKLE_H
#define TEST_ORDINAL_PICKLE_H

#include "ordinal/ordinal.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICKLE_ROOM = 1 << 20, PICKLE_ARENA = 64 << 20 };

struct pickle {
    uint8_t data[PICKLE_ROOM];
    size_t size;
};

static inline void put(struct pickle *p, const void *bytes, size_t size)
{
    cr_assert(p->size + size <= sizeof(p->data));
    memcpy(p->data + p->size, bytes, size);
    p->size += size;
}

/* Opcodes given as a string literal, zero bytes included. */
#define OPS(p, literal) put(p, literal, sizeof(literal) - 1)

/* A str object as CPython's pickler writes it from protocol 4 on. */
static inline void put_text(struct pickle *p, const char *text, size_t size)
{
    uint8_t head[5] = {size < 256 ? 0x8c : 'X', (uint8_t)size, (uint8_t)(size >> 8),
                       (uint8_t)(size >> 16), (uint8_t)(size >> 24)};
    put(p, head, size < 256 ? 2 : 5);
    put(p, text, size);
}

static inline void put_str(struct pickle *p, const char *text)
{
    put_text(p, text, strlen(text));
}

static inline void put_bytes(struct pickle *p, const void *bytes, size_t size)
{
    uint8_t head[5] = {size < 256 ? 'C' : 'B', (uint8_t)size, (uint8_t)(size >> 8),
                       (uint8_t)(size >> 16), (uint8_t)(size >> 24)};
    put(p, head, size < 256 ? 2 : 5);
    put(p, bytes, size);
}

static inline void put_global(struct pickle *p, const char *module, const char *name)
{
    put_str(p, module);
    put_str(p, name);
    OPS(p, "\x93");
}

static inline void put_int(struct pickle *p, int value)
{
    uint8_t op[2] = {'K', (uint8_t)value};
    put(p, op, 2);
}

/* torch.device('cuda', INDEX) */
static inline void put_device(struct pickle *p, const char *type, int index)
{
    put_global(p, "torch", "device");
    put_str(p, type);
    put_int(p, index);
    OPS(p, "\x86R");
}

/* Everything up to the first key of the state of an object of CLASS. The frame is filled in by the
 * end. */
static inline void begin_object(struct pickle *p, const char *module, const char *class)
{
    p->size = 0;
    OPS(p, "\x80\x04\x95\0\0\0\0\0\0\0\0");
    put_global(p, module, class);
    OPS(p, ")\x81}(");
}

#define FX_DETAILS  "torch._inductor.codecache", "FxGraphHashDetails"
#define AOT_DETAILS "torch._functorch._aot_autograd.autograd_cache", "AOTAutogradCacheDetails"
#define FX_ENTRY    "torch._inductor.output_code", "CompiledFxGraph"
#define AOT_ENTRY   "torch._functorch._aot_autograd.aot_autograd_result", "AOTAutogradResult"

static inline void fill_frame(struct pickle *p)
{
    for (unsigned i = 0; i < 8; i++) {
        p->data[3 + i] = (uint8_t)((p->size - 11) >> (8 * i));
    }
}

static inline void end_object(struct pickle *p)
{
    OPS(p, "ub.");
    fill_frame(p);
}

static inline struct rs_bytes bytes_of(const struct pickle *p)
{
    return (struct rs_bytes){p->data, p->size};
}

/* Scan in an arena of its own. */
static inline struct rs_report scan_bytes(struct rs_bytes in, enum rs_kind kind)
{
    struct rs_arena arena;
    struct rs_report report;
    rs_arena_init(&arena, PICKLE_ARENA);
    enum rs_reason reason = rs_ordinal_scan(&arena, in, kind, &report);
    cr_assert_eq(reason, report.reason);
    rs_arena_free(&arena);
    return report;
}

static inline struct rs_report scan_as(const struct pickle *p, enum rs_kind kind)
{
    return scan_bytes(bytes_of(p), kind);
}

/* Rewrites FROM for ordinal TO into INTO. */
static inline enum rs_reason rewrite_as(const struct pickle *from, enum rs_kind kind, int to,
                                        struct pickle *into)
{
    struct rs_arena arena;
    struct rs_report report;
    struct rs_pieces pieces;
    rs_arena_init(&arena, PICKLE_ARENA);
    enum rs_reason reason =
        rs_ordinal_rewrite(&arena, bytes_of(from), kind, NULL, to, &pieces, &report);
    into->size = 0;
    for (size_t i = 0; i < pieces.count; i++) {
        put(into, pieces.pieces[i].iov_base, pieces.pieces[i].iov_len);
    }
    cr_assert_eq(into->size, pieces.size);
    rs_arena_free(&arena);
    return reason;
}

static inline bool same_pickle(const struct pickle *a, const struct pickle *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

#endif
