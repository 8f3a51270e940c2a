/* SPDX-License-Identifier: Apache-2.0 */
#include "ordinal/graph.h"

enum { NAME_MAX_LENGTH = 256 };

#define SHAPE(size, first, last)                                                                   \
    ((uint32_t)(size) << 16 | (uint32_t)(first) << 8 | (uint32_t)(last))

enum rs_word rs_word_of(const uint8_t *text, size_t size)
{
    if (size < 2 || size > 40) {
        return RS_WORD_none;
    }
    const char *word;
    enum rs_word found;
    switch (SHAPE(size, text[0], text[size - 1])) {
#define RS_WORD(name, literal, first, last)                                                        \
    case SHAPE(sizeof(literal) - 1, first, last):                                                  \
        word = literal;                                                                            \
        found = RS_WORD_##name;                                                                    \
        break;
#include "ordinal/words.def"
#undef RS_WORD
    default:
        return RS_WORD_none;
    }
    return memcmp(text, word, size) == 0 ? found : RS_WORD_none;
}

bool rs_says_device(struct rs_bytes text)
{
    const uint8_t *at = text.data, *end = text.data + text.size;
    while (text.size <= NAME_MAX_LENGTH && at < end) {
        const uint8_t *v = memchr(at, 'v', (size_t)(end - at)); /* the rarest of its letters */
        if (!v || end - v < 4) {
            return false;
        }
        if (v - text.data >= 2 && memcmp(v - 2, "device", 6) == 0) {
            return true;
        }
        at = v + 1;
    }
    return false;
}

void rs_make_global(const struct rs_graph *graph, struct rs_node *global, uint32_t module,
                    uint32_t name)
{
    global->a = module;
    global->b = name;
    struct rs_bytes in = rs_node_text(graph, module), last = rs_node_text(graph, name);
    if (in.size >= 5 && memcmp(in.data, "torch", 5) == 0 && (in.size == 5 || in.data[5] == '.')) {
        global->word = (uint8_t)rs_node_word(graph, name);
    }
    if (last.size > NAME_MAX_LENGTH) {
        global->flags |= RS_FLAG_DEVICE; /* no class of ours; not worth a search each time */
        return;
    }
    for (size_t i = 1; i + 5 <= last.size; i++) {
        if (memcmp(last.data + i, "evice", 5) == 0 && (last.data[i - 1] | 0x20) == 'd') {
            global->flags |= RS_FLAG_DEVICE;
        }
    }
}

bool rs_dict_get(const struct rs_graph *graph, uint32_t dict, enum rs_word key, uint32_t *value)
{
    const struct rs_node *node = rs_node(graph, dict);
    if (!(node->flags & RS_FLAG_PAIRS)) {
        return false;
    }
    const struct rs_edge *edges = graph->edges.items;
    for (uint32_t at = node->first; at; at = edges[edges[at].next].next) {
        if (rs_node_word(graph, edges[at].node) == key) {
            *value = edges[edges[at].next].node;
            return true;
        }
    }
    return false;
}

bool rs_state_get(const struct rs_graph *graph, uint32_t index, enum rs_word key, uint32_t *value)
{
    uint32_t state = rs_node(graph, index)->state;
    if (rs_node(graph, state)->kind != RS_NODE_TUPLE) {
        return rs_dict_get(graph, state, key, value);
    }
    /* Classes with __slots__ give (None or a dictionary, a dictionary). */
    const struct rs_edge *edges = graph->edges.items;
    for (uint32_t at = rs_node(graph, state)->first; at; at = edges[at].next) {
        if (rs_dict_get(graph, edges[at].node, key, value)) {
            return true;
        }
    }
    return false;
}

bool rs_child(const struct rs_graph *graph, uint32_t index, unsigned n, uint32_t *child)
{
    const struct rs_edge *edges = graph->edges.items;
    uint32_t at = rs_node(graph, index)->first;
    while (at && n-- > 0) {
        at = edges[at].next;
    }
    if (at) {
        *child = edges[at].node;
    }
    return at != 0;
}
