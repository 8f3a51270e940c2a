/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the edits that turn an artifact into the same one for another ordinal: integers, text,
 * names, and the lengths around them. Payload is never looked at.
 */
#include "ordinal/engine.h"

/* What code names consist of: base32 in small letters. */
static const uint8_t name_chars[256] = {['a' ... 'z'] = 1, ['2' ... '7'] = 1};

static bool is_name_char(uint8_t c)
{
    return name_chars[c];
}

static bool all_name_chars(const uint8_t *data, uint32_t at, uint32_t end)
{
    while (at < end && is_name_char(data[at])) {
        at++;
    }
    return at >= end;
}

/* False: no name covers AT. Of 52 characters around a place, at least 26 lie on one side of it; few
 * words of other text get past a look at six of them. */
static inline bool maybe_name(const uint8_t *at)
{
    enum { STRIDE = 4, REACH = 24 };
    uint8_t left = name_chars[at[0]], right = left;
    for (int i = STRIDE; i <= REACH; i += STRIDE) {
        left &= name_chars[at[-i]];
        right &= name_chars[at[i]];
    }
    return left | right;
}

/* The next word of DATA[*AT, END) that may be a code name; *AT is where to go on. A name of 52
 * characters covers one of every 52 bytes, so only those are looked at. */
static bool next_name(const uint8_t *data, uint32_t begin, uint32_t end, uint32_t *at,
                      uint32_t *found)
{
    for (; *at < end; *at += RS_NAME) {
        bool inside = end - *at > RS_NAME / 2; /* *AT is never less than that behind BEGIN */
        if (inside ? !maybe_name(data + *at) : !is_name_char(data[*at])) {
            continue;
        }
        uint32_t behind = *at + 1;
        while (behind < end && behind - *at < RS_NAME && is_name_char(data[behind])) {
            behind++;
        }
        uint32_t first = behind - RS_NAME; /* BEGIN or behind it, by where the search began */
        if (data[first] == 'c' && (first == begin || !rs_text_is_word(data[first - 1])) &&
            (behind == end || !rs_text_is_word(data[behind])) && all_name_chars(data, first, *at)) {
            *found = first;
            *at += RS_NAME;
            return true;
        }
    }
    return false;
}

/* Generated files lie in a directory named by two letters of their name. */
static bool add_directory(struct rs_engine *engine, uint32_t begin, uint32_t at,
                          const struct rs_name *name)
{
    const uint8_t *data = engine->data;
    if (at - begin < 3 || data[at - 1] != '/' ||
        memcmp(data + at - 3, name->old_file + 1, 2) != 0 ||
        (at - begin > 3 && rs_text_is_word(data[at - 4]))) {
        return true;
    }
    return rs_edit_add(engine, at - 3, 2, name->new_file + 1, 2);
}

static bool add_name(struct rs_engine *engine, uint32_t begin, uint32_t at)
{
    const struct rs_name *name = rs_name_by_file(engine, engine->data + at);
    if (!name || (name->new_file != engine->new_wrapper &&
                  memcmp(name->old_file, name->new_file, RS_NAME) == 0)) {
        return true;
    }
    return add_directory(engine, begin, at, name) &&
           rs_edit_add(engine, at, RS_NAME, name->new_file, RS_NAME);
}

/* A path of a .best_config fills its string. */
static bool add_config(struct rs_engine *engine, uint32_t begin, uint32_t end)
{
    static const char suffix[] = ".best_config";
    enum { TAIL = sizeof(suffix) - 1 };
    if (end - begin < RS_HEX + TAIL || memcmp(engine->data + end - TAIL, suffix, TAIL) != 0) {
        return true;
    }
    uint32_t at = end - TAIL - RS_HEX;
    const struct rs_name *name = rs_name_by_config(engine, engine->data + at);
    return !name || (add_directory(engine, begin, at, name) &&
                     rs_edit_add(engine, at, RS_HEX, name->new_config, RS_HEX));
}

static bool add_site(struct rs_engine *engine, const struct rs_text_site *site)
{
    return rs_edit_add(engine, site->at, site->digits, engine->digits, engine->digit_count);
}

enum rs_reason rs_write_text(struct rs_engine *engine, uint32_t begin, uint32_t end)
{
    uint32_t at = begin + RS_NAME - 1, name = 0;
    bool more = engine->names.count && next_name(engine->data, begin, end, &at, &name);
    for (;;) {
        const struct rs_text_site *site =
            engine->text_at < engine->texts.count ? &engine->texts.items[engine->text_at] : NULL;
        bool text = site && site->at < end;
        if (!text && !more) {
            break;
        }
        if (text && (!more || site->at < name)) {
            if (!add_site(engine, site)) {
                return RS_REFUSED_limit;
            }
            engine->text_at++;
            continue;
        }
        if (!add_name(engine, begin, name)) {
            return RS_REFUSED_limit;
        }
        more = next_name(engine->data, begin, end, &at, &name);
    }
    return add_config(engine, begin, end) ? RS_OK : RS_REFUSED_limit;
}

static uint32_t put_size(uint8_t *to, uint8_t opcode, uint64_t size, unsigned bytes)
{
    to[0] = opcode;
    for (unsigned i = 0; i < bytes; i++) {
        to[1 + i] = (uint8_t)(size >> (8 * i));
    }
    return 1 + bytes;
}

/* Opcode and length of a string or bytes object of SIZE, as CPython's pickler writes them; an
 * object that was written in a longer form keeps it. */
static uint32_t put_header(uint8_t *to, const struct rs_graph *graph, const struct rs_node *node,
                           uint64_t size)
{
    uint8_t was = graph->data[node->at];
    bool str = node->kind == RS_NODE_STR;
    uint8_t brief = str ? 0x8c : 'C', plain = str ? 'X' : 'B';
    bool chosen = (was == brief || was == plain) &&
                  (was == brief) == (node->b < 256 && (!str || graph->protocol >= 4));
    if (chosen) {
        was = size < 256 && (!str || graph->protocol >= 4) ? brief : plain;
    }
    return put_size(to, was, size, was == brief ? 1 : was == plain ? 4 : 8);
}

/* Gives node's header the length it has with the edits behind FIRST, which is the header's own. */
static enum rs_reason mend_header(struct rs_engine *engine, const struct rs_graph *graph,
                                  const struct rs_node *node, uint32_t first)
{
    int64_t delta = rs_edits_delta(&engine->edits, first + 1);
    struct rs_edit *edit = &engine->edits.items[first];
    if (delta == 0) {
        return RS_OK;
    }
    uint8_t *header = rs_arena_alloc(engine->arena, 9);
    if (!header) {
        return RS_REFUSED_limit;
    }
    edit->remove = node->a - node->at;
    edit->insert = put_header(header, graph, node, (uint64_t)((int64_t)node->b + delta));
    edit->bytes = header;
    return RS_OK;
}

/* A path that follows the root. */
static enum rs_reason write_root(struct rs_engine *engine, const struct rs_graph *graph,
                                 const struct rs_node *node)
{
    const struct rs_roots *roots = engine->roots;
    struct rs_bytes text = {engine->data + node->a, node->b};
    bool moves;
    enum rs_reason reason = rs_root_judge(roots, text, &moves);
    if (reason != RS_OK || !moves) {
        return reason;
    }
    if (node->kind != RS_NODE_STR) {
        return RS_REFUSED_other_root;
    }
    uint32_t first = engine->edits.count;
    if (!rs_edit_add(engine, node->at, 0, NULL, 0) ||
        !rs_edit_add(engine, node->a, (uint32_t)roots->from_size, roots->to,
                     (uint32_t)roots->to_size)) {
        return RS_REFUSED_limit;
    }
    return mend_header(engine, graph, node, first);
}

static enum rs_reason write_string(struct rs_engine *engine, const struct rs_graph *graph,
                                   const struct rs_node *node)
{
    uint32_t end = node->a + node->b;
    bool sites =
        engine->text_at < engine->texts.count && engine->texts.items[engine->text_at].at < end;
    if (node->flags & RS_FLAG_TUNER) {
        const struct rs_name *name =
            node->b == RS_NAME ? rs_name_by_key(engine, engine->data + node->a) : NULL;
        if (!name) {
            engine->report->kernels_left++;
            return RS_OK;
        }
        engine->report->kernels_named++;
        return rs_edit_add(engine, node->a, RS_NAME, name->new_key, RS_NAME) ? RS_OK
                                                                             : RS_REFUSED_limit;
    }
    if (!sites && (node->b < RS_NAME || !engine->names.count)) {
        return RS_OK;
    }
    uint32_t first = engine->edits.count;
    if (sites && !rs_edit_add(engine, node->at, 0, NULL, 0)) {
        return RS_REFUSED_limit;
    }
    enum rs_reason reason = rs_write_text(engine, node->a, end);
    if (reason == RS_OK && sites) {
        reason = mend_header(engine, graph, node, first);
    }
    if (reason == RS_OK && engine->new_wrapper && engine->source.data == engine->data + node->a) {
        rs_name_wrapper(engine, first);
    }
    return reason;
}

static enum rs_reason write_nested(struct rs_engine *engine, const struct rs_graph *graph,
                                   const struct rs_node *node)
{
    uint32_t first = engine->edits.count;
    if (!rs_edit_add(engine, node->at, 0, NULL, 0)) {
        return RS_REFUSED_limit;
    }
    enum rs_reason reason = rs_write_pickle(engine, &engine->graphs.items[node->extra]);
    return reason == RS_OK ? mend_header(engine, graph, node, first) : reason;
}

enum rs_reason rs_write_pickle(struct rs_engine *engine, struct rs_graph *graph)
{
    uint32_t first = engine->edits.count;
    enum rs_reason reason = RS_OK;
    for (uint32_t i = RS_NODES_FIXED; i < graph->nodes.count && reason == RS_OK; i++) {
        const struct rs_node *node = rs_node(graph, i);
        bool text = node->kind == RS_NODE_STR || (engine->roots && node->kind == RS_NODE_FOREIGN);
        if (text) {
            reason =
                engine->roots ? write_root(engine, graph, node) : write_string(engine, graph, node);
        } else if (node->kind == RS_NODE_BYTES && node->extra) {
            reason = write_nested(engine, graph, node);
        } else if (node->flags & RS_FLAG_SITE && !engine->roots) {
            reason =
                rs_edit_add(engine, node->at + 1, 1, &engine->to, 1) ? RS_OK : RS_REFUSED_limit;
        }
    }
    return reason == RS_OK ? rs_frames_cut(engine, graph, first) : reason;
}
