/* SPDX-License-Identifier: Apache-2.0
 *
 * The abstract pickle machine: follows stack, marks, memo and frames of a pickle and records what
 * would be built. It executes nothing, imports nothing and never recurses.
 */
#include "ordinal/machine.h"
#include "ordinal/graph.h"

enum argument { NOTHING, U1, U2, U4, U8, EIGHT, LINE, LINES2, BYTES1, BYTES4, BYTES8 };

static inline uint64_t little_endian(const uint8_t *from, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = size; i-- > 0;) {
        value = value << 8 | from[i];
    }
    return value;
}

/* A number of SIZE bytes at the machine's position. */
static inline bool take_number(struct rs_machine *m, unsigned size, uint64_t *number)
{
    if (m->limit - m->at < size) {
        return false;
    }
    *number = little_endian(m->graph->data + m->at, size);
    m->at += size;
    return true;
}

static bool take_line(struct rs_machine *m, struct rs_argument *argument)
{
    const uint8_t *begin = m->graph->data + m->at;
    const uint8_t *newline = memchr(begin, '\n', m->limit - m->at);
    if (!newline) {
        return false;
    }
    argument->content = m->at;
    argument->size = (uint32_t)(newline - begin);
    m->at += argument->size + 1;
    return true;
}

static inline bool take_bytes(struct rs_machine *m, unsigned size_of_size,
                              struct rs_argument *argument)
{
    uint64_t size;
    if (!take_number(m, size_of_size, &size) || size > m->limit - m->at) {
        return false;
    }
    argument->content = m->at;
    argument->size = (uint32_t)size;
    m->at += (uint32_t)size;
    return true;
}

static inline bool take_argument(struct rs_machine *m, enum argument kind,
                                 struct rs_argument *argument)
{
    switch (kind) {
    case NOTHING:
        return true;
    case U1:
        return take_number(m, 1, &argument->number);
    case U2:
        return take_number(m, 2, &argument->number);
    case U4:
        return take_number(m, 4, &argument->number);
    case U8:
    case EIGHT:
        return take_number(m, 8, &argument->number);
    case LINE:
        return take_line(m, argument);
    case LINES2: /* the second is read again by the action */
        return take_line(m, argument) && take_line(m, &(struct rs_argument){.number = 0});
    case BYTES1:
        return take_bytes(m, 1, argument);
    case BYTES4:
        return take_bytes(m, 4, argument);
    case BYTES8:
        return take_bytes(m, 8, argument);
    }
    return false;
}

/* CPython starts a new frame only where it begins to save an object; frames.c needs those places to
 * cut a rewritten pickle as the pickler would have cut it. */
static RS_INLINE bool note_save(struct rs_machine *m, bool save, const struct rs_argument *argument)
{
    struct rs_graph *graph = m->graph;
    if (save) {
        if (!RS_VEC_ROOM(m->arena, &graph->saves)) {
            return false;
        }
        graph->saves.items[graph->saves.count++] = m->op_at;
    }
    if (argument->size >= RS_BULK_MIN) {
        if (!RS_VEC_ROOM(m->arena, &graph->bulks)) {
            return false;
        }
        graph->bulks.items[graph->bulks.count++] =
            (struct rs_bulk){m->op_at, argument->content, argument->size};
    }
    return true;
}

RS_ACT(frame)
{
    (void)value;
    struct rs_graph *graph = m->graph;
    uint64_t size = argument->number;
    if (graph->protocol < 4 || m->frame_end || size == 0 || size > m->limit - m->at) {
        return RS_REFUSED_malformed;
    }
    if (!RS_VEC_ROOM(m->arena, &graph->frames)) {
        return RS_REFUSED_limit;
    }
    graph->frames.items[graph->frames.count++] = (struct rs_frame){m->at, (uint32_t)size};
    m->frame_end = m->at + (uint32_t)size;
    return RS_OK;
}

RS_ACT(stop)
{
    (void)value;
    (void)argument;
    m->stopped = true;
    return m->stack.count == 1 && m->marks.count == 0 ? RS_OK : RS_REFUSED_malformed;
}

/* A frame ends between two opcodes, never inside one. */
static inline bool frame_holds(struct rs_machine *m)
{
    if (m->frame_end && m->at >= m->frame_end) {
        if (m->at > m->frame_end) {
            return false;
        }
        m->frame_end = 0;
    }
    return true;
}

/* One case for each opcode, so that the processor learns what follows what, and so that the
 * compiler knows how to read its argument. */
#define RS_OPCODE(byte, kind, action, value, save)                                                 \
    case (uint8_t)(byte):                                                                          \
        if (!take_argument(m, kind, &argument)) {                                                  \
            return RS_REFUSED_malformed;                                                           \
        }                                                                                          \
        if (m->large && !note_save(m, save, &argument)) {                                          \
            return RS_REFUSED_limit;                                                               \
        }                                                                                          \
        return rs_act_##action(m, value, &argument);

static inline enum rs_reason step(struct rs_machine *m)
{
    struct rs_argument argument = {.number = 0};
    m->op_at = m->at;
    switch (m->graph->data[m->at++]) {
#include "ordinal/opcodes.def"
    default:
        return RS_REFUSED_opcode;
    }
}
#undef RS_OPCODE

static enum rs_reason run(struct rs_machine *m)
{
    while (!m->stopped) {
        if (m->at >= m->limit) {
            return RS_REFUSED_malformed;
        }
        enum rs_reason reason = step(m);
        if (reason == RS_OK && !frame_holds(m)) {
            reason = RS_REFUSED_malformed;
        }
        if (reason != RS_OK) {
            return reason;
        }
    }
    return m->frame_end ? RS_REFUSED_malformed : RS_OK;
}

/* Most opcodes of real pickles take more than ITEM_BYTES on average. */
static bool reserve(struct rs_machine *m)
{
    enum { ITEM_BYTES = 12, RESERVE_MAX = 128 * 1024 };
    uint32_t items = RS_VEC_FIRST + (m->limit - m->at) / ITEM_BYTES;
    items = items < RESERVE_MAX ? items : RESERVE_MAX;
    return RS_VEC_RESERVE(m->arena, &m->graph->nodes, items) &&
           RS_VEC_RESERVE(m->arena, &m->graph->edges, items) &&
           (!m->large || RS_VEC_RESERVE(m->arena, &m->graph->saves, items));
}

static enum rs_reason begin(struct rs_machine *m)
{
    struct rs_graph *graph = m->graph;
    if (m->limit - m->at < 3 || graph->data[m->at] != 0x80 || graph->data[m->at + 1] < 2 ||
        graph->data[m->at + 1] > 5) {
        return RS_REFUSED_malformed;
    }
    graph->protocol = graph->data[m->at + 1];
    m->at += 2;
    m->large = graph->protocol >= 4 && m->limit - graph->begin >= RS_BULK_MIN;
    if (!reserve(m)) {
        return RS_REFUSED_limit;
    }
    for (unsigned i = 0; i < RS_NODES_FIXED; i++) {
        static const uint8_t kinds[RS_NODES_FIXED] = {
            [RS_NODE_AT_NONE] = RS_NODE_NONE,
            [RS_NODE_AT_FALSE] = RS_NODE_BOOL,
            [RS_NODE_AT_TRUE] = RS_NODE_BOOL,
            [RS_NODE_AT_OPAQUE] = RS_NODE_OPAQUE,
        };
        if (!RS_VEC_ROOM(m->arena, &graph->nodes)) {
            return RS_REFUSED_limit;
        }
        graph->nodes.items[graph->nodes.count++] = (struct rs_node){.kind = kinds[i]};
    }
    if (!RS_VEC_ROOM(m->arena, &graph->edges)) {
        return RS_REFUSED_limit;
    }
    graph->edges.items[graph->edges.count++] = (struct rs_edge){0, 0};
    return RS_OK;
}

enum rs_reason rs_graph_read(struct rs_arena *arena, const uint8_t *data, uint32_t begin_at,
                             uint32_t limit, struct rs_graph *graph)
{
    *graph = (struct rs_graph){.data = data, .begin = begin_at, .where = begin_at};
    struct rs_machine m = {.arena = arena, .graph = graph, .at = begin_at, .limit = limit};
    enum rs_reason reason = begin(&m);
    if (reason == RS_OK) {
        reason = run(&m);
        graph->where = m.op_at;
    }
    if (reason == RS_OK) {
        graph->root = m.stack.items[0];
        graph->end = m.at;
    }
    return reason;
}
