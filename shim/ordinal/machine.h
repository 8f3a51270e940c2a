/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the reader of opcodes (machine.c) and what each of them does (actions.c).
 */
#ifndef RS_ORDINAL_MACHINE_H
#define RS_ORDINAL_MACHINE_H

#include "ordinal/graph.h"
#include "ordinal/text.h"

enum {
    RS_FRAME_TARGET = 64 * 1024, /* CPython closes a frame when it holds this much */
    RS_BULK_MIN = RS_FRAME_TARGET / 2,
};

enum rs_action {
    RS_ACT_NOTHING,
    RS_ACT_PROTO,
    RS_ACT_FRAME,
    RS_ACT_STOP,
    RS_ACT_MARK,
    RS_ACT_POP,
    RS_ACT_POP_MARK,
    RS_ACT_DUP,
    RS_ACT_CONSTANT,
    RS_ACT_INTEGER,
    RS_ACT_INTEGER_LINE,
    RS_ACT_LONG,
    RS_ACT_BLOB,
    RS_ACT_GET,
    RS_ACT_GET_LINE,
    RS_ACT_PUT,
    RS_ACT_PUT_LINE,
    RS_ACT_MEMOIZE,
    RS_ACT_EMPTY,
    RS_ACT_TUPLE_N,
    RS_ACT_FROM_MARK,
    RS_ACT_ADD_N,
    RS_ACT_ADD_MARK,
    RS_ACT_GLOBAL,
    RS_ACT_STACK_GLOBAL,
    RS_ACT_CALL,
    RS_ACT_OBJ,
    RS_ACT_INST,
    RS_ACT_BUILD,
    RS_ACT_PERSID,
};

/* What follows an opcode: a number, or SIZE bytes at CONTENT. */
struct rs_argument {
    uint64_t number;
    uint32_t content;
    uint32_t size;
};

struct rs_mark {
    uint32_t height; /* of the stack */
    uint32_t save;   /* saves recorded up to and with the mark's own */
};

struct rs_machine {
    struct rs_arena *arena;
    struct rs_graph *graph;
    uint32_t at;
    uint32_t op_at; /* offset of the opcode at work */
    uint32_t limit;
    uint32_t frame_end; /* 0 outside of frames */
    bool large;         /* long enough for more than one frame: places of saves are recorded */
    RS_VEC(uint32_t) stack;
    RS_VEC(struct rs_mark) marks;
    RS_VEC(uint32_t) memo;
};

/* A value outside of anything an ordinal can be. */
#define RS_NO_INTEGER UINT32_MAX

static inline enum rs_reason rs_push(struct rs_machine *m, uint32_t node)
{
    if (!RS_VEC_ROOM(m->arena, &m->stack)) {
        return RS_REFUSED_limit;
    }
    m->stack.items[m->stack.count++] = node;
    return RS_OK;
}

/* A new node of the opcode at work, on top of the stack; NULL without memory. Its other fields are
 * zero, since arenas give zeroed memory and nodes are never taken back. */
static inline struct rs_node *rs_push_new(struct rs_machine *m, enum rs_node_kind kind)
{
    if (!RS_VEC_ROOM(m->arena, &m->graph->nodes) || rs_push(m, m->graph->nodes.count) != RS_OK) {
        return NULL;
    }
    struct rs_node *node = &m->graph->nodes.items[m->graph->nodes.count++];
    node->kind = (uint8_t)kind;
    node->at = m->op_at;
    return node;
}

static inline enum rs_reason rs_get(struct rs_machine *m, uint64_t index)
{
    if (index >= m->memo.count) {
        return RS_REFUSED_malformed;
    }
    uint32_t node = m->memo.items[index];
    rs_node(m->graph, node)->flags |= RS_FLAG_FETCHED;
    return rs_push(m, node);
}

static inline enum rs_reason rs_push_int(struct rs_machine *m, uint64_t value, bool byte)
{
    struct rs_node *node = rs_push_new(m, RS_NODE_INT);
    if (!node) {
        return RS_REFUSED_limit;
    }
    node->flags = byte ? RS_FLAG_BYTE : 0;
    node->a = value < RS_NO_INTEGER ? (uint32_t)value : RS_NO_INTEGER;
    return RS_OK;
}

static inline enum rs_reason rs_push_blob(struct rs_machine *m, enum rs_node_kind kind,
                                          uint32_t content, uint32_t size)
{
    struct rs_node *node = rs_push_new(m, kind);
    if (!node) {
        return RS_REFUSED_limit;
    }
    node->a = content;
    node->b = size;
    if (kind == RS_NODE_STR) {
        node->word = (uint8_t)rs_word_of(m->graph->data + content, size);
    }
    /* Protocol 2 writes bytes as text, and then a pickle begins with the two bytes of U+0080. */
    bool pickle_as_text = size >= RS_TEXT_MIN && m->graph->data[content] == 0xc2;
    if (kind != RS_NODE_BYTES && !pickle_as_text) {
        return RS_OK;
    }
    if (!RS_VEC_ROOM(m->arena, &m->graph->inner)) {
        return RS_REFUSED_limit;
    }
    m->graph->inner.items[m->graph->inner.count++] = m->graph->nodes.count - 1;
    return RS_OK;
}

/* Every other opcode. */
enum rs_reason rs_machine_act(struct rs_machine *m, enum rs_action action, unsigned value,
                              const struct rs_argument *argument);

#endif
