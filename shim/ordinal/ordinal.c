/* SPDX-License-Identifier: Apache-2.0 */
#include "ordinal/ordinal.h"
#include "ordinal/engine.h"

#include <stdio.h>

int rs_report_ordinal(const struct rs_report *report)
{
    int count =
        __builtin_popcountll(report->ordinals[0]) + __builtin_popcountll(report->ordinals[1]);
    if (count != 1) {
        return count ? -2 : -1;
    }
    return report->ordinals[0] ? __builtin_ctzll(report->ordinals[0])
                               : 64 + __builtin_ctzll(report->ordinals[1]);
}

static bool is_pickle(enum rs_kind kind)
{
    return kind == RS_KIND_fx_details || kind == RS_KIND_aot_details || kind == RS_KIND_fx_entry ||
           kind == RS_KIND_aot_entry;
}

static enum rs_reason read_artifact(struct rs_engine *engine)
{
    struct rs_report *report = engine->report;
    if (!is_pickle(report->kind)) {
        uint32_t where = 0;
        enum rs_reason reason =
            rs_text_scan(engine->arena, engine->data, 0, 0, engine->size, &engine->texts, &where);
        return reason == RS_OK ? RS_OK : rs_refuse(report, reason, where);
    }
    enum rs_reason reason = rs_read_pickle(engine, 0, engine->size, 0);
    if (reason != RS_OK) {
        return reason;
    }
    const struct rs_graph *graph = &engine->graphs.items[0];
    if (graph->end != engine->size) {
        return rs_refuse(report, RS_REFUSED_malformed, graph->end);
    }
    return rs_find_facts(engine, graph);
}

/* True when a dictionary of the artifact has NAME among its keys. */
static bool is_key(const struct rs_engine *engine, struct rs_bytes name)
{
    for (uint32_t g = 0; g < engine->graphs.count; g++) {
        const struct rs_graph *graph = &engine->graphs.items[g];
        for (uint32_t i = RS_NODES_FIXED; i < graph->nodes.count; i++) {
            const struct rs_node *node = rs_node(graph, i);
            if ((node->flags & RS_FLAG_KEY) && node->kind == RS_NODE_STR && node->b == name.size &&
                memcmp(graph->data + node->a, name.data, name.size) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Counts the text's sites. A name that holds the ordinal can only follow where every user of it is
 * in the artifact, and that is known only of a key. */
static enum rs_reason count_texts(struct rs_engine *engine)
{
    enum { NAMED_MAX = 1024 };
    uint32_t named = 0;
    for (uint32_t i = 0; i < engine->texts.count; i++) {
        const struct rs_text_site *site = &engine->texts.items[i];
        struct rs_bytes name = {engine->data + site->name_at,
                                site->at + site->digits - site->name_at};
        if (site->name_at && ++named > NAMED_MAX) {
            return rs_refuse(engine->report, RS_REFUSED_limit, site->name_at);
        }
        if (site->name_at && !is_key(engine, name)) {
            return rs_refuse(engine->report, RS_REFUSED_text_site, site->name_at);
        }
        rs_report_site(engine->report, site->ordinal);
    }
    return RS_OK;
}

/* The class of an AOT entry that holds whole FX entries begins so. */
static bool is_bundled(struct rs_bytes in)
{
    struct rs_bytes module, name;
    return rs_first_global(in, &module, &name) && name.size >= 7 &&
           memcmp(name.data, "Bundled", 7) == 0;
}

static enum rs_reason judge(struct rs_engine *engine, struct rs_bytes in)
{
    struct rs_report *report = engine->report;
    enum rs_reason reason = read_artifact(engine);
    if (reason == RS_OK) {
        reason = count_texts(engine);
    }
    if (reason != RS_OK) {
        return reason;
    }
    if (report->kind == RS_KIND_aot_entry && is_bundled(in)) {
        return rs_refuse(report, RS_REFUSED_bundled, 0);
    }
    if (rs_report_ordinal(report) == -2) {
        return rs_refuse(report, RS_REFUSED_several_ordinals, 0);
    }
    if (report->kind == RS_KIND_fx_entry && report->sites && !rs_wrapper_named(engine)) {
        return rs_refuse(report, RS_REFUSED_wrapper_name, 0);
    }
    return RS_OK;
}

/* Reads IN whole. Kinds that never hold an ordinal are fine as they are. */
static enum rs_reason examine(struct rs_engine *engine, struct rs_arena *arena, struct rs_bytes in,
                              enum rs_kind kind, struct rs_report *report)
{
    *report = (struct rs_report){.kind = kind, .grad_enabled = -1, .private_ordinal = -1};
    *engine = (struct rs_engine){.arena = arena, .data = in.data, .report = report};
    if (!is_pickle(kind) && kind != RS_KIND_python) {
        return RS_OK;
    }
    if (in.size > RS_PICKLE_MAX) {
        return rs_refuse(report, RS_REFUSED_limit, 0);
    }
    size_t mark = is_pickle(kind) ? rs_mark_read(in, &report->private_ordinal) : 0;
    engine->size = (uint32_t)(in.size - mark);
    return judge(engine, in);
}

enum rs_reason rs_ordinal_scan(struct rs_arena *arena, struct rs_bytes in, enum rs_kind kind,
                               struct rs_report *report)
{
    struct rs_engine engine;
    return examine(&engine, arena, in, kind, report);
}

static enum rs_reason unchanged(struct rs_arena *arena, struct rs_bytes in, struct rs_pieces *out)
{
    out->pieces = rs_arena_alloc(arena, sizeof(struct iovec));
    if (!out->pieces) {
        return RS_REFUSED_limit;
    }
    out->pieces[0] = (struct iovec){(void *)(uintptr_t)in.data, in.size};
    out->count = 1;
    out->size = in.size;
    return RS_OK;
}

static enum rs_reason rewrite(struct rs_engine *engine, struct rs_bytes in, struct rs_pieces *out)
{
    bool text = engine->report->kind == RS_KIND_python;
    struct rs_bytes source = text ? in : engine->source;
    enum rs_reason reason = source.size ? rs_find_names(engine, source) : RS_OK;
    if (reason == RS_OK) {
        reason = text ? rs_write_text(engine, 0, engine->size)
                      : rs_write_pickle(engine, &engine->graphs.items[0]);
    }
    engine->report->names = engine->names.items;
    engine->report->name_count = engine->names.count;
    return reason == RS_OK ? rs_edits_apply(engine, in.size, out) : reason;
}

enum rs_reason rs_ordinal_rewrite(struct rs_arena *arena, struct rs_bytes in, enum rs_kind kind,
                                  const uint8_t *torch_key, int to, struct rs_pieces *out,
                                  struct rs_report *report)
{
    struct rs_engine engine;
    *out = (struct rs_pieces){NULL, 0, 0};
    enum rs_reason reason = examine(&engine, arena, in, kind, report);
    if (reason != RS_OK) {
        return reason;
    }
    if (to < 0 || to > RS_ORDINAL_MAX) {
        return rs_refuse(report, RS_REFUSED_limit, 0);
    }
    if (!report->sites || rs_report_ordinal(report) == to) {
        reason = unchanged(arena, in, out);
    } else {
        engine.torch_key = torch_key;
        engine.to = (uint8_t)to;
        engine.digit_count =
            (uint8_t)snprintf(engine.digits, sizeof(engine.digits), "%d", to & RS_ORDINAL_MAX);
        reason = rewrite(&engine, in, out);
    }
    return reason == RS_OK ? RS_OK : rs_refuse(report, reason, 0);
}

enum rs_reason rs_ordinal_reroot(struct rs_arena *arena, struct rs_bytes in, enum rs_kind kind,
                                 const struct rs_roots *roots, struct rs_pieces *out,
                                 struct rs_report *report)
{
    struct rs_engine engine;
    *out = (struct rs_pieces){NULL, 0, 0};
    enum rs_reason reason = examine(&engine, arena, in, kind, report);
    if (reason != RS_OK) {
        return reason;
    }
    if (!is_pickle(kind) || !roots->from_size || roots->to_size > RS_PICKLE_MAX) {
        return rs_refuse(report, RS_REFUSED_other_root, 0);
    }
    engine.roots = roots;
    reason = rs_write_pickle(&engine, &engine.graphs.items[0]);
    if (reason == RS_OK) {
        reason = rs_edits_apply(&engine, in.size, out);
    }
    return reason == RS_OK ? RS_OK : rs_refuse(report, reason, 0);
}

struct rs_bytes rs_pieces_flatten(struct rs_arena *arena, const struct rs_pieces *pieces)
{
    uint8_t *buffer = rs_arena_alloc(arena, pieces->size);
    if (!buffer) {
        return (struct rs_bytes){NULL, 0};
    }
    size_t at = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        memcpy(buffer + at, pieces->pieces[i].iov_base, pieces->pieces[i].iov_len);
        at += pieces->pieces[i].iov_len;
    }
    return (struct rs_bytes){buffer, at};
}
