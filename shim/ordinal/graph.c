/* SPDX-License-Identifier: Apache-2.0 */
#include "ordinal/graph.h"

#include <strings.h>

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
    return text.size >= 6 && text.size <= 256 && memmem(text.data, text.size, "device", 6) != NULL;
}

/* The global that object INDEX calls; false for other nodes. */
static bool class_of(const struct rs_graph *graph, uint32_t index, const struct rs_node **global)
{
    const struct rs_node *node = rs_node(graph, index);
    if (node->kind != RS_NODE_CALL) {
        return false;
    }
    *global = rs_node(graph, node->a);
    return (*global)->kind == RS_NODE_GLOBAL;
}

enum rs_word rs_class_word(const struct rs_graph *graph, uint32_t index)
{
    const struct rs_node *global;
    if (!class_of(graph, index, &global)) {
        return RS_WORD_none;
    }
    struct rs_bytes module = rs_node_text(graph, global->a);
    bool torch = module.size >= 5 && memcmp(module.data, "torch", 5) == 0 &&
                 (module.size == 5 || module.data[5] == '.');
    return torch ? rs_node_word(graph, global->b) : RS_WORD_none;
}

bool rs_class_says_device(const struct rs_graph *graph, uint32_t index)
{
    const struct rs_node *global;
    if (!class_of(graph, index, &global)) {
        return false;
    }
    struct rs_bytes name = rs_node_text(graph, global->b);
    for (size_t i = 0; i + 6 <= name.size && name.size <= 256; i++) {
        if (strncasecmp((const char *)name.data + i, "device", 6) == 0) {
            return true;
        }
    }
    return false;
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
