/* SPDX-License-Identifier: Apache-2.0
 *
 * Typed sites: the integers of a pickle that are device indices, known by class and field. A device
 * index in a field that isn't known refuses the artifact: what can't be explained isn't shared.
 */
#include "ordinal/engine.h"
#include "ordinal/search.h"

enum {
    INSIDE_MAX = 64,
    WORK_MAX = 1 << 26, /* children looked at again because their container is used again */
};

struct finder {
    struct rs_engine *engine;
    struct rs_graph *graph;
    uint64_t work;
    RS_VEC(uint32_t) suspects; /* values whose key says "device" */
};

static enum rs_reason refuse(struct finder *f, uint32_t node)
{
    return rs_refuse(f->engine->report, RS_REFUSED_unknown_site, rs_node(f->graph, node)->at);
}

/* NODE stands where a device index may stand. */
static enum rs_reason site(struct finder *f, uint32_t index)
{
    struct rs_node *node = rs_node(f->graph, index);
    if (node->kind != RS_NODE_INT || (node->flags & RS_FLAG_SITE)) {
        return RS_OK;
    }
    /* An integer that is pushed twice might be something else the other time; picklers never do
     * that, nor write a small integer in a long form. */
    if ((node->flags & RS_FLAG_FETCHED) || !(node->flags & RS_FLAG_BYTE) ||
        node->a > RS_ORDINAL_MAX) {
        return refuse(f, index);
    }
    node->flags |= RS_FLAG_SITE;
    rs_report_site(f->engine->report, node->a);
    return RS_OK;
}

/* NODE stands where only compile_on_one_rank leaves None. */
static enum rs_reason device_site(struct finder *f, uint32_t index)
{
    f->engine->report->none_sites += rs_node(f->graph, index)->kind == RS_NODE_NONE;
    return site(f, index);
}

/* Pays for a search of one container. */
static bool spend(struct finder *f, uint32_t index)
{
    const struct rs_node *node = rs_node(f->graph, index);
    bool container = node->kind >= RS_NODE_TUPLE && node->kind <= RS_NODE_SET;
    f->work += container ? 1 + node->a : 1;
    return f->work <= WORK_MAX;
}

static enum rs_reason exhausted(struct finder *f, uint32_t node)
{
    return rs_refuse(f->engine->report, RS_REFUSED_limit, rs_node(f->graph, node)->at);
}

static enum rs_reason site_of_key(struct finder *f, uint32_t dict, enum rs_word key)
{
    uint32_t value;
    if (!spend(f, dict)) {
        return exhausted(f, dict);
    }
    return rs_dict_get(f->graph, dict, key, &value) ? device_site(f, value) : RS_OK;
}

/* Value of a field; false where the object has none. */
static bool field(struct finder *f, uint32_t object, enum rs_word key, uint32_t *value)
{
    uint32_t state = rs_node(f->graph, object)->state;
    uint32_t part;
    for (unsigned i = 0; i < 2 && rs_child(f->graph, state, i, &part); i++) {
        spend(f, part);
    }
    return spend(f, state) && rs_state_get(f->graph, object, key, value);
}

static enum rs_reason site_of_field(struct finder *f, uint32_t object, enum rs_word key)
{
    uint32_t value;
    if (!field(f, object, key, &value)) {
        return f->work > WORK_MAX ? exhausted(f, object) : RS_OK;
    }
    /* An empty box says nothing: the forward of a graph without CUDA graphs has one. */
    return key == RS_WORD_value ? site(f, value) : device_site(f, value);
}

static bool is_accelerator(enum rs_word word)
{
    return word == RS_WORD_cuda || word == RS_WORD_xpu || word == RS_WORD_hip;
}

/* ARGUMENTS are (type, index, ...) of torch.device or DeviceProperties. */
static enum rs_reason typed_pair(struct finder *f, uint32_t call, uint32_t arguments)
{
    uint32_t type, index = RS_NODE_AT_NONE;
    if (!rs_child(f->graph, arguments, 0, &type)) {
        return RS_OK; /* all by name */
    }
    if (rs_node(f->graph, arguments)->flags & RS_FLAG_FETCHED) {
        return refuse(f, call); /* the same tuple may be plain data elsewhere */
    }
    rs_child(f->graph, arguments, 1, &index);
    if (is_accelerator(rs_node_word(f->graph, type))) {
        return device_site(f, index);
    }
    bool harmless = rs_node(f->graph, index)->kind == RS_NODE_NONE ||
                    rs_node_word(f->graph, type) == RS_WORD_cpu ||
                    rs_node_word(f->graph, type) == RS_WORD_meta;
    return harmless ? RS_OK : refuse(f, call);
}

static enum rs_reason properties(struct finder *f, uint32_t call)
{
    const struct rs_node *node = rs_node(f->graph, call);
    enum rs_reason reason = typed_pair(f, call, node->b);
    if (reason == RS_OK && node->extra) {
        reason = site_of_key(f, node->extra, RS_WORD_index);
    }
    return reason == RS_OK && node->state ? site_of_field(f, call, RS_WORD_index) : reason;
}

/* True when an argument of the call, by position or name, is an integer (or can't be looked at). */
static bool takes_integer(struct finder *f, const struct rs_node *call)
{
    const struct rs_edge *edges = f->graph->edges.items;
    const uint32_t lists[2] = {call->b, call->extra};
    for (unsigned i = 0; i < 2; i++) {
        if (!spend(f, lists[i])) {
            return true;
        }
        for (uint32_t at = rs_node(f->graph, lists[i])->first; at; at = edges[at].next) {
            if (rs_node(f->graph, edges[at].node)->kind == RS_NODE_INT) {
                return true;
            }
        }
    }
    return false;
}

/* The graph's code is the value of `_code`, its imports an argument of reduce_graph_module. The
 * configuration beside them names collectives too and says nothing about the graph. */
static void graph_code(struct finder *f, uint32_t index)
{
    struct rs_node *node = rs_node(f->graph, index);
    struct rs_report *report = f->engine->report;
    if (node->kind == RS_NODE_STR && !(node->flags & RS_FLAG_READ)) {
        struct rs_bytes code = rs_node_text(f->graph, index);
        node->flags |= RS_FLAG_READ;
        report->comms |= rs_text_comms(code, false);
        report->dtensor |= RS_SEARCH(code, "torch_distributed_") != NULL;
    }
}

/* Details hold a subclass of Tensor as 32 hex digits: a BLAKE2 of what it says of itself. For a
 * DTensor that is its mesh, placements and global shape, and neither this rank's place in the mesh
 * nor its part's shape. */
static void subclass(struct finder *f, uint32_t arguments)
{
    enum { DIGEST_HEX = 32 };
    uint32_t argument;
    if (!rs_child(f->graph, arguments, 0, &argument) ||
        rs_node(f->graph, argument)->kind != RS_NODE_STR) {
        return;
    }
    struct rs_bytes text = rs_node_text(f->graph, argument);
    size_t hex = 0;
    while (hex < text.size && ((text.data[hex] >= '0' && text.data[hex] <= '9') ||
                               (text.data[hex] >= 'a' && text.data[hex] <= 'f'))) {
        hex++;
    }
    f->engine->report->dtensor |= text.size == DIGEST_HEX && hex == DIGEST_HEX;
}

/* A class of torch.distributed: a mesh (with this rank's number in it), a placement, a distributed
 * tensor's description. */
static void distributed(struct finder *f, const struct rs_node *global)
{
    static const char prefix[] = "torch.distributed.";
    struct rs_bytes module = rs_node_text(f->graph, global->a);
    f->engine->report->dtensor |= rs_node(f->graph, global->a)->kind == RS_NODE_STR &&
                                  module.size >= sizeof(prefix) - 1 &&
                                  memcmp(module.data, prefix, sizeof(prefix) - 1) == 0;
}

static void graph_imports(struct finder *f, const struct rs_node *call)
{
    uint32_t argument;
    for (unsigned i = 0; i < 4 && rs_child(f->graph, call->b, i, &argument); i++) {
        graph_code(f, argument);
    }
}

/* The name of a static autotuner follows its kernel's source. */
static enum rs_reason tuner(struct finder *f, uint32_t index)
{
    uint32_t key;
    if (field(f, index, RS_WORD_cache_key, &key) && rs_node(f->graph, key)->kind == RS_NODE_STR) {
        rs_node(f->graph, key)->flags |= RS_FLAG_TUNER;
    }
    return f->work > WORK_MAX ? exhausted(f, index) : RS_OK;
}

static enum rs_reason object_sites(struct finder *f, uint32_t index)
{
    const struct rs_node *node = rs_node(f->graph, index);
    switch (rs_class_word(f->graph, index)) {
    case RS_WORD_device:
        return typed_pair(f, index, node->b);
    case RS_WORD_DeviceProperties:
        return properties(f, index);
    case RS_WORD_BoxedDeviceIndex:
        return site_of_field(f, index, RS_WORD_value);
    case RS_WORD_TritonKernelArtifacts:
    case RS_WORD_StaticallyLaunchedCudaKernel:
    case RS_WORD_StaticallyLaunchedXpuKernel:
    case RS_WORD_StaticallyLaunchedTritonKernel:
        return site_of_field(f, index, RS_WORD_device);
    case RS_WORD_StaticallyLaunchedAutotuner:
        return tuner(f, index);
    case RS_WORD_reduce_graph_module:
        graph_imports(f, node);
        return RS_OK;
    case RS_WORD_ident:
        subclass(f, node->b);
        return RS_OK;
    default:
        return (rs_callee(f->graph, index)->flags & RS_FLAG_DEVICE) && takes_integer(f, node)
                   ? refuse(f, index)
                   : RS_OK;
    }
}

/* Every integer inside VALUE: device_idxs has been a set, an OrderedSet of a list, and an object
 * around a dictionary whose keys are the indices. */
static enum rs_reason inside(struct finder *f, uint32_t value)
{
    uint32_t pending[INSIDE_MAX] = {value};
    unsigned count = 1;
    const struct rs_edge *edges = f->graph->edges.items;
    for (unsigned done = 0; done < count; done++) {
        const struct rs_node *node = rs_node(f->graph, pending[done]);
        if (node->kind == RS_NODE_INT) {
            enum rs_reason reason = site(f, pending[done]);
            if (reason != RS_OK) {
                return reason;
            }
            continue;
        }
        uint32_t more[2] = {0, 0};
        if (node->kind == RS_NODE_CALL) {
            more[0] = node->b;
            more[1] = node->state;
        }
        for (uint32_t at = node->first; at || more[0] || more[1];) {
            if (count == INSIDE_MAX) {
                return refuse(f, value);
            }
            if (at) {
                pending[count++] = edges[at].node;
                at = edges[at].next;
            } else {
                unsigned which = more[0] ? 0 : 1;
                pending[count++] = more[which];
                more[which] = 0;
            }
        }
    }
    return RS_OK;
}

static enum rs_reason known_key(struct finder *f, uint32_t key, uint32_t value)
{
    switch (rs_node_word(f->graph, key)) {
    case RS_WORD_default_cuda_device_index:
    case RS_WORD_graphsafe_rng_state_index:
        return site(f, value);
    case RS_WORD_device_idxs:
        return inside(f, value);
    case RS_WORD_triton_meta:
    case RS_WORD_compile_meta:
    case RS_WORD_meta:
        return site_of_key(f, value, RS_WORD_device);
    case RS_WORD_code:
        graph_code(f, value);
        return RS_OK;
    default:
        return RS_OK;
    }
}

/* An integer, or a list of them, under a key that says "device". */
static bool suspicious(const struct finder *f, uint32_t key, uint32_t value)
{
    uint8_t kind = rs_node(f->graph, value)->kind;
    if (kind != RS_NODE_INT && kind != RS_NODE_TUPLE && kind != RS_NODE_LIST &&
        kind != RS_NODE_SET) {
        return false;
    }
    switch (rs_node_word(f->graph, key)) {
    case RS_WORD_device_count:
    case RS_WORD_num_devices:
    case RS_WORD_device_memory:
    case RS_WORD_device_capability:
    case RS_WORD_device_idxs:
        return false;
    default:
        return rs_says_device(rs_node_text(f->graph, key));
    }
}

/* A suspicious value that no rule has explained. */
static enum rs_reason unexplained(struct finder *f, uint32_t value)
{
    const struct rs_node *node = rs_node(f->graph, value);
    const struct rs_edge *edges = f->graph->edges.items;
    if (node->kind == RS_NODE_INT) {
        return node->flags & RS_FLAG_SITE ? RS_OK : refuse(f, value);
    }
    if (!spend(f, value)) {
        return exhausted(f, value);
    }
    for (uint32_t at = node->first; at; at = edges[at].next) {
        const struct rs_node *item = rs_node(f->graph, edges[at].node);
        if (item->kind == RS_NODE_INT && !(item->flags & RS_FLAG_SITE)) {
            return refuse(f, edges[at].node);
        }
    }
    return RS_OK;
}

static enum rs_reason pairs(struct finder *f, const struct rs_node *node)
{
    const struct rs_edge *edges = f->graph->edges.items;
    for (uint32_t at = node->first; at; at = edges[edges[at].next].next) {
        uint32_t key = edges[at].node, value = edges[edges[at].next].node;
        if (rs_node(f->graph, key)->kind != RS_NODE_STR) {
            continue;
        }
        enum rs_reason reason = known_key(f, key, value);
        if (reason != RS_OK) {
            return reason;
        }
        if (suspicious(f, key, value)) {
            if (!RS_VEC_ROOM(f->engine->arena, &f->suspects)) {
                return exhausted(f, value);
            }
            f->suspects.items[f->suspects.count++] = value;
        }
    }
    return RS_OK;
}

enum rs_reason rs_find_sites(struct rs_engine *engine, struct rs_graph *graph)
{
    struct finder f = {.engine = engine, .graph = graph};
    enum rs_reason reason = RS_OK;
    for (uint32_t i = RS_NODES_FIXED; i < graph->nodes.count && reason == RS_OK; i++) {
        const struct rs_node *node = rs_node(graph, i);
        if (node->kind == RS_NODE_CALL) {
            reason = object_sites(&f, i);
        } else if (node->kind == RS_NODE_GLOBAL) {
            distributed(&f, node);
        }
        if (reason == RS_OK && (node->flags & RS_FLAG_PAIRS)) {
            reason = pairs(&f, node);
        }
    }
    /* Only now is every site known: a field may be explained by the object around it. */
    for (uint32_t i = 0; i < f.suspects.count && reason == RS_OK; i++) {
        reason = unexplained(&f, f.suspects.items[i]);
    }
    return reason;
}
