/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads an artifact's pickle, and the pickles that lie in its bytes objects.
 */
#include "ordinal/digits.h"
#include "ordinal/engine.h"

/* Device binaries and Triton's other files lie in bytes objects too, but none begins like this. */
static bool like_pickle(struct rs_bytes bytes)
{
    return bytes.size >= 3 && bytes.data[0] == 0x80 && bytes.data[1] >= 2 && bytes.data[1] <= 5;
}

/* Bytes that begin like a pickle and can't be read may still name a device: torch.save's old format
 * is several pickles in a row. A digest that begins so by chance has no such word in it. */
static bool may_hold_site(struct rs_bytes bytes)
{
    static const char *const words[] = {"cuda", "xpu", "hip", "device"};
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (memmem(bytes.data, bytes.size, words[i], strlen(words[i]))) {
            return true;
        }
    }
    return false;
}

/* torch.save's newer format: an uncompressed zip archive. */
static bool like_archive(struct rs_bytes bytes)
{
    return bytes.size >= 4 && memcmp(bytes.data, "PK\3\4", 4) == 0;
}

static enum rs_reason read_bytes(struct rs_engine *engine, uint32_t graph_index, uint32_t index,
                                 unsigned depth)
{
    struct rs_node *node = rs_node(&engine->graphs.items[graph_index], index);
    struct rs_bytes bytes = {engine->data + node->a, node->b};
    uint32_t at = node->at;
    if (like_pickle(bytes) && depth < RS_NESTING) {
        struct rs_report before = *engine->report;
        uint32_t texts = engine->texts.count;
        uint32_t nested = engine->graphs.count;
        uint32_t end = node->a + node->b;
        enum rs_reason reason = rs_read_pickle(engine, node->a, end, depth + 1);
        if (reason == RS_OK && engine->graphs.items[nested].end == end) {
            rs_node(&engine->graphs.items[graph_index], index)->extra = nested;
            return RS_OK;
        }
        if (reason == RS_REFUSED_unknown_site || reason == RS_REFUSED_limit) {
            return reason;
        }
        *engine->report = before;
        engine->texts.count = texts;
    } else if (!like_pickle(bytes) && !like_archive(bytes)) {
        return RS_OK;
    }
    return may_hold_site(bytes) ? rs_refuse(engine->report, RS_REFUSED_nested_pickle, at) : RS_OK;
}

/* Protocol 2 has no bytes: they are written as text, each byte a character, to be encoded again. */
static bool like_pickle_as_text(struct rs_bytes text)
{
    return text.data[0] == 0xc2 && text.data[1] == 0x80 && text.data[2] >= 2 && text.data[2] <= 5;
}

static enum rs_reason read_inner(struct rs_engine *engine, uint32_t graph_index, uint32_t index,
                                 unsigned depth)
{
    const struct rs_node *node = rs_node(&engine->graphs.items[graph_index], index);
    if (node->kind == RS_NODE_BYTES) {
        return read_bytes(engine, graph_index, index, depth);
    }
    struct rs_bytes text = {engine->data + node->a, node->b};
    return like_pickle_as_text(text) && may_hold_site(text)
               ? rs_refuse(engine->report, RS_REFUSED_nested_pickle, node->at)
               : RS_OK;
}

/* Sites of the string NODE, in which the first digit that may be one stands at FROM. */
static enum rs_reason scan_text(struct rs_engine *engine, const struct rs_node *node, uint32_t from)
{
    uint32_t first = engine->texts.count;
    uint32_t where = node->at;
    enum rs_reason reason = rs_text_scan(engine->arena, engine->data, node->a, from,
                                         node->a + node->b, &engine->texts, &where);
    if (reason != RS_OK) {
        return rs_refuse(engine->report, reason, where);
    }
    uint8_t opcode = engine->data[node->at];
    if (engine->texts.count != first && opcode != 0x8c && opcode != 'X' && opcode != 0x8d) {
        return rs_refuse(engine->report, RS_REFUSED_opcode, node->at);
    }
    return RS_OK;
}

/* The string that holds the byte at AT, or NULL. *NEXT is a node behind those before AT; nodes lie
 * in the order of their opcodes, and several may come from one. */
static const struct rs_node *string_at(const struct rs_graph *graph, uint32_t at, uint32_t *next)
{
    while (*next < graph->nodes.count && rs_node(graph, *next)->at <= at) {
        ++*next;
    }
    uint32_t opcode = rs_node(graph, *next - 1)->at;
    for (uint32_t i = *next; i-- > RS_NODES_FIXED && rs_node(graph, i)->at == opcode;) {
        const struct rs_node *node = rs_node(graph, i);
        if ((node->kind == RS_NODE_STR || node->kind == RS_NODE_FOREIGN) && at >= node->a &&
            at - node->a < node->b) {
            return node;
        }
    }
    return NULL;
}

/* Scans the strings of BEGIN to END, which lies outside of strings. Most of them hold no digit that
 * may be an ordinal, and are not looked at one by one. */
static enum rs_reason scan_texts(struct rs_engine *engine, uint32_t graph_index, uint32_t begin,
                                 uint32_t end, uint32_t *next)
{
    const struct rs_graph *graph = &engine->graphs.items[graph_index];
    struct rs_digits walk = rs_digits_walk(engine->data, begin, end);
    enum rs_reason reason = RS_OK;
    for (uint32_t at; reason == RS_OK && rs_digits_next(&walk, &at);) {
        const struct rs_node *node = string_at(graph, at, next);
        if (node) {
            reason = scan_text(engine, node, at);
            walk = rs_digits_walk(engine->data, node->a + node->b, end);
        }
    }
    return reason;
}

/* Text, and what lies between it, in the order of the pickle. */
static enum rs_reason read_contents(struct rs_engine *engine, uint32_t self, unsigned depth)
{
    /* A copy: a nested pickle may move the graphs. */
    const struct rs_graph graph = engine->graphs.items[self];
    uint32_t at = graph.begin, next = RS_NODES_FIXED;
    for (uint32_t i = 0; i < graph.inner.count; i++) {
        const struct rs_node *node = rs_node(&graph, graph.inner.items[i]);
        enum rs_reason reason = scan_texts(engine, self, at, node->at, &next);
        if (reason == RS_OK) {
            reason = read_inner(engine, self, graph.inner.items[i], depth);
        }
        if (reason != RS_OK) {
            return reason;
        }
        at = node->kind == RS_NODE_BYTES ? node->a + node->b : node->at;
    }
    return scan_texts(engine, self, at, graph.end, &next);
}

enum rs_reason rs_read_pickle(struct rs_engine *engine, uint32_t begin, uint32_t limit,
                              unsigned depth)
{
    if (!RS_VEC_ROOM(engine->arena, &engine->graphs)) {
        return rs_refuse(engine->report, RS_REFUSED_limit, begin);
    }
    uint32_t self = engine->graphs.count++;
    struct rs_graph *graph = &engine->graphs.items[self];
    enum rs_reason reason = rs_graph_read(engine->arena, engine->data, begin, limit, graph);
    if (reason != RS_OK) {
        return rs_refuse(engine->report, reason, graph->where);
    }
    reason = rs_find_sites(engine, graph);
    return reason == RS_OK ? read_contents(engine, self, depth) : reason;
}
