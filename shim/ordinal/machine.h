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
    bool stopped;       /* STOP was the last opcode */
    RS_VEC(uint32_t) stack;
    RS_VEC(struct rs_mark) marks;
    RS_VEC(uint32_t) memo;
};

#define RS_INLINE inline __attribute__((always_inline))

/* A value outside of anything an ordinal can be. */
#define RS_NO_INTEGER UINT32_MAX

static RS_INLINE enum rs_reason rs_push(struct rs_machine *m, uint32_t node)
{
    if (!RS_VEC_ROOM(m->arena, &m->stack)) {
        return RS_REFUSED_limit;
    }
    m->stack.items[m->stack.count++] = node;
    return RS_OK;
}

/* A new node of the opcode at work, on top of the stack; NULL without memory. */
static RS_INLINE struct rs_node *rs_push_new(struct rs_machine *m, enum rs_node_kind kind)
{
    if (!RS_VEC_ROOM(m->arena, &m->graph->nodes) || rs_push(m, m->graph->nodes.count) != RS_OK) {
        return NULL;
    }
    struct rs_node *node = &m->graph->nodes.items[m->graph->nodes.count++];
    *node = (struct rs_node){.kind = (uint8_t)kind, .at = m->op_at};
    return node;
}

/* Items above the topmost mark: what an opcode may pop. */
static inline uint32_t rs_available(const struct rs_machine *m)
{
    uint32_t fence = m->marks.count ? m->marks.items[m->marks.count - 1].height : 0;
    return m->stack.count - fence;
}

/* What each opcode does (opcodes.def), given the value from its line and what follows it. The few
 * that most of a pickle consists of are followed inline. */
#define RS_ACT(action)                                                                             \
    enum rs_reason rs_act_##action(struct rs_machine *m, unsigned value,                           \
                                   const struct rs_argument *argument)

RS_ACT(proto);
RS_ACT(frame);
RS_ACT(stop);
RS_ACT(nothing);
RS_ACT(mark);
RS_ACT(pop);
RS_ACT(pop_mark);
RS_ACT(dup);
RS_ACT(integer_line);
RS_ACT(long);
RS_ACT(get_line);
RS_ACT(put);
RS_ACT(put_line);
RS_ACT(empty);
RS_ACT(tuple_n);
RS_ACT(from_mark);
RS_ACT(add_n);
RS_ACT(add_mark);
RS_ACT(global);
RS_ACT(stack_global);
RS_ACT(call);
RS_ACT(obj);
RS_ACT(inst);
RS_ACT(build);
RS_ACT(persid);

static RS_INLINE RS_ACT(constant)
{
    (void)argument;
    return rs_push(m, value);
}

static RS_INLINE RS_ACT(integer)
{
    struct rs_node *node = rs_push_new(m, RS_NODE_INT);
    if (!node) {
        return RS_REFUSED_limit;
    }
    node->flags = value ? RS_FLAG_BYTE : 0;
    node->a = argument->number < RS_NO_INTEGER ? (uint32_t)argument->number : RS_NO_INTEGER;
    return RS_OK;
}

static RS_INLINE RS_ACT(blob)
{
    struct rs_node *node = rs_push_new(m, (enum rs_node_kind)value);
    if (!node) {
        return RS_REFUSED_limit;
    }
    node->a = argument->content;
    node->b = argument->size;
    const uint8_t *text = m->graph->data + argument->content;
    if (value == RS_NODE_STR) {
        node->word = (uint8_t)rs_word_of(text, argument->size);
    }
    /* Protocol 2 writes bytes as text, and then a pickle begins with the two bytes of U+0080. */
    if (value != RS_NODE_BYTES && (argument->size < RS_TEXT_MIN || text[0] != 0xc2)) {
        return RS_OK;
    }
    if (!RS_VEC_ROOM(m->arena, &m->graph->inner)) {
        return RS_REFUSED_limit;
    }
    m->graph->inner.items[m->graph->inner.count++] = m->graph->nodes.count - 1;
    return RS_OK;
}

static RS_INLINE RS_ACT(get)
{
    (void)value;
    if (argument->number >= m->memo.count) {
        return RS_REFUSED_malformed;
    }
    uint32_t node = m->memo.items[argument->number];
    rs_node(m->graph, node)->flags |= RS_FLAG_FETCHED;
    return rs_push(m, node);
}

static RS_INLINE RS_ACT(memoize)
{
    (void)value;
    (void)argument;
    if (!rs_available(m)) {
        return RS_REFUSED_malformed;
    }
    if (!RS_VEC_ROOM(m->arena, &m->memo)) {
        return RS_REFUSED_limit;
    }
    m->memo.items[m->memo.count++] = m->stack.items[m->stack.count - 1];
    return RS_OK;
}

#endif
