/* SPDX-License-Identifier: Apache-2.0
 *
 * What each pickle opcode does to the stack, the marks and the memo.
 */
#include "ordinal/machine.h"

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
    uint32_t count = m->stack.count - height, first = graph->edges.count;
    if (!count) {
        return RS_OK;
    }
    while (graph->edges.capacity - first < count) {
        if (!RS_VEC_GROW(m->arena, &graph->edges)) {
            return RS_REFUSED_limit;
        }
    }
    const uint32_t *children = m->stack.items + height;
    struct rs_edge *edges = graph->edges.items;
    for (uint32_t i = 0; i < count; i++) {
        edges[first + i] = (struct rs_edge){children[i], first + i + 1};
    }
    graph->edges.count += count;
    edges[first + count - 1].next = 0;
    for (uint32_t i = 0; pairs && i < count; i += 2) {
        rs_node(graph, children[i])->flags |= RS_FLAG_KEY;
    }
    if (node->last) {
        edges[node->last].next = first;
    } else {
        node->first = first;
    }
    node->last = first + count - 1;
    if (node->kind != RS_NODE_CALL) {
        node->a += count;
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
    *rs_node(m->graph, node) =
        (struct rs_node){.kind = (uint8_t)kind, .flags = pairs ? RS_FLAG_PAIRS : 0, .at = m->op_at};
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
    if (index == m->memo.count) {
        return rs_act_memoize(m, 0, NULL);
    }
    if (!rs_available(m) || index > m->memo.count) {
        return RS_REFUSED_malformed;
    }
    m->memo.items[index] = m->stack.items[m->stack.count - 1];
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

RS_ACT(long)
{
    const uint8_t *bytes = m->graph->data + argument->content;
    struct rs_argument number = {.number = 0};
    (void)value;
    for (uint32_t i = argument->size; i-- > 0 && argument->size <= 4;) {
        number.number = number.number << 8 | bytes[i];
    }
    number.number = argument->size <= 4 ? number.number : RS_NO_INTEGER;
    return rs_act_integer(m, false, &number);
}

RS_ACT(integer_line)
{
    (void)value;
    return rs_act_integer(m, false, &(struct rs_argument){.number = decimal(m, argument)});
}

RS_ACT(get_line)
{
    return rs_act_get(m, value, &(struct rs_argument){.number = decimal(m, argument)});
}

RS_ACT(put)
{
    (void)value;
    return put(m, argument->number);
}

RS_ACT(put_line)
{
    (void)value;
    return put(m, decimal(m, argument));
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

static enum rs_reason push_line(struct rs_machine *m, uint32_t begin, uint32_t end)
{
    return rs_act_blob(m, RS_NODE_STR,
                       &(struct rs_argument){.content = begin, .size = end - begin});
}

/* GLOBAL and INST name module and class on two lines. */
RS_ACT(global)
{
    (void)value;
    uint32_t end = argument->content + argument->size;
    enum rs_reason reason = push_line(m, argument->content, end);
    if (reason == RS_OK) {
        reason = push_line(m, end + 1, m->at - 1);
    }
    if (reason != RS_OK) {
        return reason;
    }
    uint32_t name = pop(m);
    uint32_t module = pop(m);
    return push_named(m, module, name);
}

RS_ACT(stack_global)
{
    (void)value;
    (void)argument;
    if (rs_available(m) < 2) {
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

/* VALUE: with keyword arguments. */
RS_ACT(call)
{
    (void)argument;
    if (rs_available(m) < (value ? 3u : 2u)) {
        return RS_REFUSED_malformed;
    }
    uint32_t extra = value ? pop(m) : RS_NODE_AT_NONE;
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

RS_ACT(obj)
{
    (void)value;
    (void)argument;
    return call_from_mark(m, true);
}

RS_ACT(inst)
{
    enum rs_reason reason = rs_act_global(m, value, argument);
    return reason == RS_OK ? call_from_mark(m, false) : reason;
}

RS_ACT(build)
{
    (void)value;
    (void)argument;
    if (rs_available(m) < 2) {
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

RS_ACT(mark)
{
    (void)value;
    (void)argument;
    if (!RS_VEC_ROOM(m->arena, &m->marks)) {
        return RS_REFUSED_limit;
    }
    m->marks.items[m->marks.count++] = (struct rs_mark){m->stack.count, m->graph->saves.count};
    return RS_OK;
}

RS_ACT(pop_mark)
{
    (void)value;
    (void)argument;
    uint32_t height;
    if (!pop_mark(m, false, &height)) {
        return RS_REFUSED_malformed;
    }
    m->stack.count = height;
    return RS_OK;
}

/* Of containers of items, only tuples and frozen sets begin with their mark; for the others it
 * comes when the container has been saved. */
RS_ACT(from_mark)
{
    (void)argument;
    uint32_t height;
    if (!pop_mark(m, value == RS_NODE_TUPLE || value == RS_NODE_SET, &height)) {
        return RS_REFUSED_malformed;
    }
    return gather(m, (enum rs_node_kind)value, height);
}

RS_ACT(add_mark)
{
    (void)argument;
    uint32_t height;
    if (!pop_mark(m, false, &height)) {
        return RS_REFUSED_malformed;
    }
    return add(m, height, value != 0);
}

RS_ACT(empty)
{
    (void)argument;
    return gather(m, (enum rs_node_kind)value, m->stack.count);
}

RS_ACT(tuple_n)
{
    (void)argument;
    return rs_available(m) < value ? RS_REFUSED_malformed
                                   : gather(m, RS_NODE_TUPLE, m->stack.count - value);
}

RS_ACT(add_n)
{
    (void)argument;
    return rs_available(m) < value + 1 ? RS_REFUSED_malformed
                                       : add(m, m->stack.count - value, value == 2);
}

/* On a mark it removes the mark: pickle.py's own rule. */
RS_ACT(pop)
{
    if (!rs_available(m)) {
        return rs_act_pop_mark(m, value, argument);
    }
    m->stack.count--;
    return RS_OK;
}

RS_ACT(dup)
{
    (void)value;
    (void)argument;
    if (!rs_available(m)) {
        return RS_REFUSED_malformed;
    }
    uint32_t top = m->stack.items[m->stack.count - 1];
    rs_node(m->graph, top)->flags |= RS_FLAG_FETCHED;
    return rs_push(m, top);
}

RS_ACT(persid)
{
    (void)value;
    (void)argument;
    if (!rs_available(m)) {
        return RS_REFUSED_malformed;
    }
    m->stack.items[m->stack.count - 1] = RS_NODE_AT_OPAQUE;
    return RS_OK;
}

/* READONLY_BUFFER changes nothing that matters here. */
RS_ACT(nothing)
{
    (void)value;
    (void)argument;
    return rs_available(m) ? RS_OK : RS_REFUSED_malformed;
}

/* It stands at the beginning and nowhere else. */
RS_ACT(proto)
{
    (void)m;
    (void)value;
    (void)argument;
    return RS_REFUSED_malformed;
}
