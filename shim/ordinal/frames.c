/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames of pickle protocol 4 and 5. When lengths change, a pickle is cut anew as CPython's pickler
 * would have cut it: a frame is closed where the next object begins once it holds 64 KiB, and
 * objects of 64 KiB and more stand outside of frames. A pickle that isn't cut that way to begin
 * with keeps its cuts, so that either way back leads to the same bytes.
 */
#include "ordinal/engine.h"
#include "ordinal/machine.h"

enum { FRAME_HEADER = 9, FRAME_MIN = 4 /* less goes without a frame */ };

/* Bytes that come (or go) at an offset of the input; the sum up to and with this change. */
struct change {
    uint32_t at;
    int64_t sum;
};

typedef RS_VEC(struct change) changes;
typedef RS_VEC(struct rs_frame) frames;

struct cutter {
    struct rs_engine *engine;
    const struct rs_graph *graph;
    changes changes; /* old frame headers count as gone */
};

static bool add_change(struct cutter *c, uint32_t at, int64_t delta)
{
    if (!RS_VEC_ROOM(c->engine->arena, &c->changes)) {
        return false;
    }
    int64_t sum = c->changes.count ? c->changes.items[c->changes.count - 1].sum : 0;
    c->changes.items[c->changes.count++] = (struct change){at, sum + delta};
    return true;
}

/* Collects the changes of the edits from FIRST on; without edits, those of the pickle as it is. */
static bool collect(struct cutter *c, uint32_t first, bool with_edits)
{
    const rs_edits *edits = &c->engine->edits;
    uint32_t edit = with_edits ? first : edits->count;
    uint32_t frame = 0;
    c->changes.count = 0;
    while (edit < edits->count || frame < c->graph->frames.count) {
        uint32_t header = frame < c->graph->frames.count
                              ? c->graph->frames.items[frame].at - FRAME_HEADER
                              : UINT32_MAX;
        if (edit == edits->count || header <= edits->items[edit].at) {
            if (!add_change(c, header, -FRAME_HEADER)) {
                return false;
            }
            frame++;
            continue;
        }
        const struct rs_edit *e = &edits->items[edit++];
        if (e->insert != e->remove && !add_change(c, e->at, (int64_t)e->insert - e->remove)) {
            return false;
        }
    }
    return true;
}

/* Where offset AT of the input lies in the output, frame headers not counted. */
static int64_t moved(const struct cutter *c, uint32_t at)
{
    uint32_t low = 0, high = c->changes.count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (c->changes.items[middle].at < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return at + (low ? c->changes.items[low - 1].sum : 0);
}

/* The first place behind FROM where the pickler would close a frame that begins there. */
static uint32_t frame_end(const struct cutter *c, uint32_t from)
{
    const struct rs_graph *graph = c->graph;
    int64_t full = moved(c, from) + RS_FRAME_TARGET;
    uint32_t low = 0, high = graph->saves.count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        uint32_t save = graph->saves.items[middle];
        if (save <= from || moved(c, save) < full) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < graph->saves.count ? graph->saves.items[low] : graph->end;
}

/* The next object at or behind FROM that is too large for frames, or NULL. */
static const struct rs_bulk *next_bulk(const struct cutter *c, uint32_t from, uint32_t *bulk)
{
    for (; *bulk < c->graph->bulks.count; ++*bulk) {
        const struct rs_bulk *b = &c->graph->bulks.items[*bulk];
        int64_t size = moved(c, b->content + b->size) - moved(c, b->content);
        if (b->at >= from && size >= RS_FRAME_TARGET) {
            return b;
        }
    }
    return NULL;
}

static uint32_t skip_headers(const struct cutter *c, uint32_t at, uint32_t *frame)
{
    const struct rs_graph *graph = c->graph;
    for (; *frame < graph->frames.count && graph->frames.items[*frame].at <= at + FRAME_HEADER;
         ++*frame) {
        if (graph->frames.items[*frame].at == at + FRAME_HEADER) {
            at += FRAME_HEADER;
        }
    }
    return at;
}

/* Cuts the pickle as CPython would, given the changes. */
static bool cut(const struct cutter *c, frames *out)
{
    uint32_t at = c->graph->begin + 2, frame = 0, bulk = 0;
    out->count = 0;
    for (;;) {
        at = skip_headers(c, at, &frame);
        if (at >= c->graph->end) {
            return true;
        }
        uint32_t end = frame_end(c, at);
        const struct rs_bulk *b = next_bulk(c, at, &bulk);
        bool outside = b && b->at <= end;
        if (outside) {
            end = b->at;
        }
        int64_t size = moved(c, end) - moved(c, at);
        if (size >= FRAME_MIN) {
            if (!RS_VEC_ROOM(c->engine->arena, out)) {
                return false;
            }
            out->items[out->count++] = (struct rs_frame){at, (uint32_t)size};
        }
        at = outside ? b->content + b->size : end;
    }
}

static bool same_cuts(const frames *cuts, const struct rs_graph *graph)
{
    for (uint32_t i = 0; i < cuts->count && i < graph->frames.count; i++) {
        if (cuts->items[i].at != graph->frames.items[i].at ||
            cuts->items[i].size != graph->frames.items[i].size) {
            return false;
        }
    }
    return cuts->count == graph->frames.count;
}

/* The cuts as they were, with the sizes that they have now. */
static bool keep(const struct cutter *c, frames *out)
{
    out->count = 0;
    for (uint32_t i = 0; i < c->graph->frames.count; i++) {
        struct rs_frame frame = c->graph->frames.items[i];
        if (!RS_VEC_ROOM(c->engine->arena, out)) {
            return false;
        }
        frame.size = (uint32_t)(moved(c, frame.at + frame.size) - moved(c, frame.at));
        out->items[out->count++] = frame;
    }
    return true;
}

static bool add_header(struct cutter *c, uint32_t at, uint32_t remove, uint32_t size)
{
    uint8_t *header = rs_arena_alloc(c->engine->arena, FRAME_HEADER);
    if (!header) {
        return false;
    }
    header[0] = 0x95;
    for (unsigned i = 0; i < FRAME_HEADER - 1; i++) {
        header[1 + i] = (uint8_t)((uint64_t)size >> (8 * i));
    }
    return rs_edit_add(c->engine, at, remove, header, FRAME_HEADER);
}

/* The next frame header that changes, of those old or new at or before LIMIT. */
static bool merge_headers(struct cutter *c, const frames *cuts, uint32_t limit, uint32_t *old,
                          uint32_t *new)
{
    const struct rs_graph *graph = c->graph;
    for (;;) {
        uint32_t was = *old < graph->frames.count ? graph->frames.items[*old].at : UINT32_MAX;
        uint32_t is = *new < cuts->count ? cuts->items[*new].at : UINT32_MAX;
        bool room = true;
        if (was == UINT32_MAX && is == UINT32_MAX) {
            return true;
        }
        if ((was <= is ? was - FRAME_HEADER : is) > limit) {
            return true;
        }
        if (was == is) {
            uint32_t size = cuts->items[*new].size;
            room = size == graph->frames.items[*old].size ||
                   add_header(c, was - FRAME_HEADER, FRAME_HEADER, size);
            ++*old;
            ++*new;
        } else if (was < is) {
            room = rs_edit_add(c->engine, was - FRAME_HEADER, FRAME_HEADER, NULL, 0);
            ++*old;
        } else {
            room = add_header(c, is, 0, cuts->items[*new].size);
            ++*new;
        }
        if (!room) {
            return false;
        }
    }
}

static enum rs_reason merge(struct cutter *c, const frames *cuts, uint32_t first)
{
    rs_edits *edits = &c->engine->edits;
    uint32_t count = edits->count - first, old = 0, new = 0;
    struct rs_edit *contents = rs_arena_alloc(c->engine->arena, count * sizeof(*contents));
    if (!contents) {
        return RS_REFUSED_limit;
    }
    memcpy(contents, edits->items + first, count * sizeof(*contents));
    edits->count = first;
    for (uint32_t i = 0; i < count; i++) {
        if (!merge_headers(c, cuts, contents[i].at, &old, &new) ||
            !rs_edit_add(c->engine, contents[i].at, contents[i].remove, contents[i].bytes,
                         contents[i].insert)) {
            return RS_REFUSED_limit;
        }
    }
    return merge_headers(c, cuts, UINT32_MAX - 1, &old, &new) ? RS_OK : RS_REFUSED_limit;
}

static bool lengths_change(const rs_edits *edits, uint32_t first)
{
    for (uint32_t i = first; i < edits->count; i++) {
        if (edits->items[i].insert != edits->items[i].remove) {
            return true;
        }
    }
    return false;
}

enum rs_reason rs_frames_cut(struct rs_engine *engine, const struct rs_graph *graph, uint32_t first)
{
    struct cutter c = {.engine = engine, .graph = graph};
    frames cuts = {.items = NULL};
    if (!graph->frames.count || !lengths_change(&engine->edits, first)) {
        return RS_OK;
    }
    if (!collect(&c, first, false) || !cut(&c, &cuts)) {
        return RS_REFUSED_limit;
    }
    bool usual = same_cuts(&cuts, graph);
    if (!collect(&c, first, true) || !(usual ? cut(&c, &cuts) : keep(&c, &cuts))) {
        return RS_REFUSED_limit;
    }
    return merge(&c, &cuts, first);
}
