/* SPDX-License-Identifier: Apache-2.0
 *
 * What each pickle opcode does to the stack, the marks and the memo.
 */
#include "ordinal/machine.h"

/* Items above the topmost mark: what an opcode may pop. */
static uint32_t available(const struct rs_machine *m)
{
    uint32_t fence = m->marks.count ? m->marks.items[m->marks.count - 1].height : 0;
    return m->stack.count - fence;
}

static uint32_t pop(struct rs_machine *m)
{
    return m->stack.items[--m->stack.count];
}

/* Takes the topmost mark. Where SAVED is false the mark was written in the middle of an object and
 * no frame can begin at it. */
static bool pop_mark(struct rs_machine *m, bool saved, uint32_t *height)
{
    if (!m->marks.count) {
        return false;
    }
    struct rs_mark mark = m->marks.items[--m->marks.count];
    *height = mark.height;
    if (m->large && !saved) {
        uint32_t *saves = m->graph->saves.items;
        saves[mark.save - 1] = mark.save > 1 ? saves[mark.save - 2] : 0;
    }
    return true;
}

/* Makes the stack from HEIGHT up children of OWNER and takes them off. */
static enum rs_reason adopt(struct rs_machine *m, uint32_t owner, uint32_t height, bool pairs)
{
    struct rs_graph *graph = m->graph;
    struct rs_node *node = rs_node(graph, owner);
    for (uint32_t i = height; i < m->stack.count; i++) {
        if (!RS_VEC_ROOM(m->arena, &graph->edges)) {
            return RS_REFUSED_limit;
        }
        uint32_t edge = graph->edges.count++;
        graph->edges.items[edge] = (struct rs_edge){m->stack.items[i], 0};
        if (node->last) {
            graph->edges.items[node->last].next = edge;
        } else {
            node->first = edge;
        }
        node->last = edge;
        if (pairs && (i - height) % 2 == 0) {
            rs_node(graph, m->stack.items[i])->flags |= RS_FLAG_KEY;
        }
    }
    if (node->kind != RS_NODE_CALL) {
        node->a += m->stack.count - height;
    }
    m->stack.count = height;
    return RS_OK;
}

/* A container of KIND made of the stack from HEIGHT up. */
static enum rs_reason gather(struct rs_machine *m, enum rs_node_kind kind, uint32_t height)
{
    bool pairs = kind == RS_NODE_DICT;
    if (pairs && (m->stack.count - height) % 2) {
        return RS_REFUSED_malformed;
    }
    if (!RS_VEC_ROOM(m->arena, &m->graph->nodes)) {
        return RS_REFUSED_limit;
    }
    uint32_t node = m->graph->nodes.count++;
    struct rs_node *made = rs_node(m->graph, node);
    made->kind = (uint8_t)kind;
    made->flags = pairs ? RS_FLAG_PAIRS : 0;
    made->at = m->op_at;
    if (height == m->stack.count) {
        return rs_push(m, node);
    }
    enum rs_reason reason = adopt(m, node, height, pairs);
    return reason == RS_OK ? rs_push(m, node) : reason;
}

/* Adds the stack from HEIGHT up to the container below. An object whose children are items once and
 * pairs the next time is nothing that a pickler writes. */
static enum rs_reason add(struct rs_machine *m, uint32_t height, bool pairs)
{
    uint32_t fence = m->marks.count ? m->marks.items[m->marks.count - 1].height : 0;
    if (height <= fence || (pairs && (m->stack.count - height) % 2)) {
        return RS_REFUSED_malformed;
    }
    uint32_t owner = m->stack.items[height - 1];
    struct rs_node *node = rs_node(m->graph, owner);
    bool fits = node->kind == RS_NODE_CALL
                    ? !node->first || pairs == ((node->flags & RS_FLAG_PAIRS) != 0)
                    : (pairs ? node->kind == RS_NODE_DICT
                             : node->kind == RS_NODE_LIST || node->kind == RS_NODE_SET);
    if (!fits) {
        return RS_REFUSED_malformed;
    }
    if (pairs) {
        node->flags |= RS_FLAG_PAIRS;
    }
    return adopt(m, owner, height, pairs);
}

/* Picklers number the memo from 0 without gaps, which also bounds its memory. */
static enum rs_reason put(struct rs_machine *m, uint64_t index)
{
    if (!available(m) || index > m->memo.count) {
        return RS_REFUSED_malformed;
    }
    uint32_t node = m->stack.items[m->stack.count - 1];
    if (index < m->memo.count) {
        m->memo.items[index] = node;
        return RS_OK;
    }
    if (!RS_VEC_ROOM(m->arena, &m->memo)) {
        return RS_REFUSED_limit;
    }
    m->memo.items[m->memo.count++] = node;
    return RS_OK;
}

/* A decimal number on a line; RS_NO_INTEGER for what isn't a small one. */
static uint32_t decimal(const struct rs_machine *m, const struct rs_argument *argument)
{
    uint32_t value = 0;
    if (argument->size == 0 || argument->size > 9) {
        return RS_NO_INTEGER;
    }
    for (uint32_t i = 0; i < argument->size; i++) {
        uint8_t c = m->graph->data[argument->content + i];
        if (c < '0' || c > '9') {
            return RS_NO_INTEGER;
        }
        value = value * 10 + (c - '0');
    }
    return value;
}

static enum rs_reason push_long(struct rs_machine *m, const struct rs_argument *argument)
{
    const uint8_t *bytes = m->graph->data + argument->content;
    uint64_t value = 0;
    for (uint32_t i = argument->size; i-- > 0 && argument->size <= 4;) {
        value = value << 8 | bytes[i];
    }
    return rs_push_int(m, argument->size <= 4 ? value : RS_NO_INTEGER, false);
}

static enum rs_reason push_named(struct rs_machine *m, uint32_t module, uint32_t name)
{
    struct rs_node *node = rs_push_new(m, RS_NODE_GLOBAL);
    if (!node) {
        return RS_REFUSED_limit;
    }
    rs_make_global(m->graph, node, module, name);
    return RS_OK;
}

static enum rs_reason push_call(struct rs_machine *m, uint32_t callee, uint32_t arguments,
                                uint32_t extra)
{
    struct rs_node *node = rs_push_new(m, RS_NODE_CALL);
    if (!node) {
        return RS_REFUSED_limit;
    }
    node->a = callee;
    node->b = arguments;
    node->extra = extra;
    return RS_OK;
}

/* GLOBAL and INST name module and class on two lines. */
static enum rs_reason push_global(struct rs_machine *m, const struct rs_argument *argument)
{
    uint32_t name = argument->content + argument->size + 1;
    enum rs_reason reason = rs_push_blob(m, RS_NODE_STR, argument->content, argument->size);
    if (reason == RS_OK) {
        reason = rs_push_blob(m, RS_NODE_STR, name, m->at - 1 - name);
    }
    if (reason != RS_OK) {
        return reason;
    }
    uint32_t b = pop(m);
    uint32_t a = pop(m);
    return push_named(m, a, b);
}

static enum rs_reason stack_global(struct rs_machine *m)
{
    if (available(m) < 2) {
        return RS_REFUSED_malformed;
    }
    uint32_t name = pop(m);
    uint32_t module = pop(m);
    if (rs_node(m->graph, name)->kind != RS_NODE_STR ||
        rs_node(m->graph, module)->kind != RS_NODE_STR) {
        return RS_REFUSED_malformed;
    }
    return push_named(m, module, name);
}

static enum rs_reason call(struct rs_machine *m, bool keywords)
{
    if (available(m) < (keywords ? 3u : 2u)) {
        return RS_REFUSED_malformed;
    }
    uint32_t extra = keywords ? pop(m) : RS_NODE_AT_NONE;
    uint32_t arguments = pop(m);
    uint32_t callee = pop(m);
    if (rs_node(m->graph, arguments)->kind != RS_NODE_TUPLE) {
        return RS_REFUSED_malformed;
    }
    return push_call(m, callee, arguments, extra);
}

/* OBJ takes the class from the bottom of the mark, INST from the global pushed last. */
static enum rs_reason call_from_mark(struct rs_machine *m, bool class_on_stack)
{
    uint32_t callee = class_on_stack ? 0 : pop(m);
    uint32_t height;
    if (!pop_mark(m, true, &height)) {
        return RS_REFUSED_malformed;
    }
    if (class_on_stack) {
        if (height == m->stack.count) {
            return RS_REFUSED_malformed;
        }
        callee = m->stack.items[height];
        memmove(&m->stack.items[height], &m->stack.items[height + 1],
                (m->stack.count - height - 1) * sizeof(m->stack.items[0]));
        m->stack.count--;
    }
    enum rs_reason reason = gather(m, RS_NODE_TUPLE, height);
    if (reason != RS_OK) {
        return reason;
    }
    return push_call(m, callee, pop(m), RS_NODE_AT_NONE);
}

static enum rs_reason build(struct rs_machine *m)
{
    if (available(m) < 2) {
        return RS_REFUSED_malformed;
    }
    uint32_t state = pop(m);
    struct rs_node *object = rs_node(m->graph, m->stack.items[m->stack.count - 1]);
    if (object->kind != RS_NODE_CALL || object->state) {
        return RS_REFUSED_malformed;
    }
    object->state = state;
    return RS_OK;
}

static enum rs_reason mark(struct rs_machine *m)
{
    if (!RS_VEC_ROOM(m->arena, &m->marks)) {
        return RS_REFUSED_limit;
    }
    m->marks.items[m->marks.count++] = (struct rs_mark){m->stack.count, m->graph->saves.count};
    return RS_OK;
}

static enum rs_reason act_on_mark(struct rs_machine *m, enum rs_action action, unsigned value)
{
    uint32_t height;
    bool saved = action == RS_ACT_FROM_MARK && (value == RS_NODE_TUPLE || value == RS_NODE_SET);
    if (!pop_mark(m, saved, &height)) {
        return RS_REFUSED_malformed;
    }
    switch (action) {
    case RS_ACT_FROM_MARK:
        return gather(m, (enum rs_node_kind)value, height);
    case RS_ACT_ADD_MARK:
        return add(m, height, value != 0);
    default:
        m->stack.count = height;
        return RS_OK;
    }
}

/* Opcodes that put something on the stack, those that are not frequent. */
static enum rs_reason act_push(struct rs_machine *m, enum rs_action action, unsigned value,
                               const struct rs_argument *argument)
{
    switch (action) {
    case RS_ACT_INTEGER_LINE:
        return rs_push_int(m, decimal(m, argument), false);
    case RS_ACT_LONG:
        return push_long(m, argument);
    case RS_ACT_GET_LINE:
        return rs_get(m, decimal(m, argument));
    case RS_ACT_EMPTY:
        return gather(m, (enum rs_node_kind)value, m->stack.count);
    default:
        return RS_REFUSED_opcode;
    }
}

/* Opcodes that need something on the stack. */
static enum rs_reason act_top(struct rs_machine *m, enum rs_action action, unsigned value)
{
    uint32_t needed = action == RS_ACT_TUPLE_N ? value : action == RS_ACT_ADD_N ? value + 1 : 1;
    if (available(m) < needed) {
        /* POP on a mark removes the mark: pickle.py's own rule. */
        if (action == RS_ACT_POP && m->marks.count) {
            return act_on_mark(m, RS_ACT_POP_MARK, 0);
        }
        return RS_REFUSED_malformed;
    }
    switch (action) {
    case RS_ACT_POP:
        m->stack.count--;
        return RS_OK;
    case RS_ACT_DUP:
        rs_node(m->graph, m->stack.items[m->stack.count - 1])->flags |= RS_FLAG_FETCHED;
        return rs_push(m, m->stack.items[m->stack.count - 1]);
    case RS_ACT_TUPLE_N:
        return gather(m, RS_NODE_TUPLE, m->stack.count - value);
    case RS_ACT_ADD_N:
        return add(m, m->stack.count - value, value == 2);
    case RS_ACT_PERSID:
        m->stack.items[m->stack.count - 1] = RS_NODE_AT_OPAQUE;
        return RS_OK;
    default:
        return RS_REFUSED_opcode;
    }
}

enum rs_reason rs_machine_act(struct rs_machine *m, enum rs_action action, unsigned value,
                              const struct rs_argument *argument)
{
    switch (action) {
    case RS_ACT_NOTHING:
        return available(m) ? RS_OK : RS_REFUSED_malformed;
    case RS_ACT_MARK:
        return mark(m);
    case RS_ACT_PUT:
        return put(m, argument->number);
    case RS_ACT_PUT_LINE:
        return put(m, decimal(m, argument));
    case RS_ACT_MEMOIZE:
        return put(m, m->memo.count);
    case RS_ACT_POP_MARK:
    case RS_ACT_FROM_MARK:
    case RS_ACT_ADD_MARK:
        return act_on_mark(m, action, value);
    case RS_ACT_GLOBAL:
        return push_global(m, argument);
    case RS_ACT_STACK_GLOBAL:
        return stack_global(m);
    case RS_ACT_CALL:
        return call(m, value != 0);
    case RS_ACT_OBJ:
        return call_from_mark(m, true);
    case RS_ACT_INST: {
        enum rs_reason reason = push_global(m, argument);
        return reason == RS_OK ? call_from_mark(m, false) : reason;
    }
    case RS_ACT_BUILD:
        return build(m);
    case RS_ACT_POP:
    case RS_ACT_DUP:
    case RS_ACT_TUPLE_N:
    case RS_ACT_ADD_N:
    case RS_ACT_PERSID:
        return act_top(m, action, value);
    case RS_ACT_PROTO:
    case RS_ACT_FRAME:
    case RS_ACT_STOP:
        return RS_REFUSED_malformed; /* PROTO stands at the beginning; machine.c does the others */
    default:
        return act_push(m, action, value, argument);
    }
}
