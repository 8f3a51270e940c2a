/* SPDX-License-Identifier: Apache-2.0 */
#include "ordinal/engine.h"

/* Shorter stretches between edits are copied instead of pointed to: the kernel spends as much on
 * one piece of a writev. */
enum { GAP = 512 };

bool rs_edit_add(struct rs_engine *engine, uint32_t at, uint32_t remove, const void *bytes,
                 uint32_t insert)
{
    if (!RS_VEC_ROOM(engine->arena, &engine->edits)) {
        return false;
    }
    engine->edits.items[engine->edits.count++] = (struct rs_edit){at, remove, insert, bytes};
    return true;
}

int64_t rs_edits_delta(const rs_edits *edits, uint32_t first)
{
    int64_t delta = 0;
    for (uint32_t i = first; i < edits->count; i++) {
        delta += (int64_t)edits->items[i].insert - edits->items[i].remove;
    }
    return delta;
}

struct writer {
    struct rs_pieces *out;
    uint8_t *patch; /* where the next copied byte goes */
    bool patching;  /* the last piece ends there */
};

static void add_piece(struct writer *w, const uint8_t *data, size_t size)
{
    if (size) {
        w->out->pieces[w->out->count++] = (struct iovec){(void *)(uintptr_t)data, size};
        w->out->size += size;
        w->patching = false;
    }
}

static void add_copy(struct writer *w, const uint8_t *data, size_t size)
{
    if (!size) {
        return;
    }
    memcpy(w->patch, data, size);
    if (w->patching) {
        w->out->pieces[w->out->count - 1].iov_len += size;
        w->out->size += size;
    } else {
        add_piece(w, w->patch, size);
        w->patching = true;
    }
    w->patch += size;
}

enum rs_reason rs_edits_apply(const struct rs_engine *engine, size_t total, struct rs_pieces *out)
{
    const rs_edits *edits = &engine->edits;
    size_t gaps = (size_t)edits->count * GAP;
    size_t copied = gaps < total ? gaps : total;
    for (uint32_t i = 0; i < edits->count; i++) {
        copied += edits->items[i].insert;
    }
    struct writer w = {.out = out, .patch = rs_arena_alloc(engine->arena, copied)};
    out->pieces =
        rs_arena_alloc(engine->arena, (2 * (size_t)edits->count + 1) * sizeof(struct iovec));
    if (!w.patch || !out->pieces) {
        *out = (struct rs_pieces){NULL, 0, 0};
        return RS_REFUSED_limit;
    }
    size_t at = 0;
    for (uint32_t i = 0; i < edits->count; i++) {
        const struct rs_edit *edit = &edits->items[i];
        if (!edit->remove && !edit->insert) {
            continue;
        }
        size_t gap = edit->at - at;
        if (w.patching && gap <= GAP) {
            add_copy(&w, engine->data + at, gap);
        } else {
            add_piece(&w, engine->data + at, gap);
        }
        add_copy(&w, edit->bytes, edit->insert);
        at = edit->at + edit->remove;
    }
    add_piece(&w, engine->data + at, total - at);
    return RS_OK;
}
