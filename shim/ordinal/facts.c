/* SPDX-License-Identifier: Apache-2.0
 *
 * What an artifact says beside its ordinals: torch_key, system information, whether the graph calls
 * collectives, the wrapper, the FX keys that an AOT entry names.
 */
#include "ordinal/engine.h"
#include "route/key.h"

static void copy_text(char *to, size_t room, struct rs_bytes text)
{
    size_t size = text.size < room ? text.size : room - 1;
    memcpy(to, text.data, size);
    to[size] = 0;
}

static bool text_in(const struct rs_graph *graph, uint32_t dict, enum rs_word section,
                    enum rs_word key, struct rs_bytes *text)
{
    uint32_t inner, value;
    if (!rs_dict_get(graph, dict, section, &inner) || !rs_dict_get(graph, inner, key, &value) ||
        rs_node(graph, value)->kind != RS_NODE_STR) {
        return false;
    }
    *text = rs_node_text(graph, value);
    return true;
}

static void system_facts(struct rs_report *report, const struct rs_graph *graph, uint32_t info)
{
    struct rs_bytes text;
    if (text_in(graph, info, RS_WORD_device, RS_WORD_name, &text)) {
        copy_text(report->device_name, sizeof(report->device_name), text);
    }
    if (text_in(graph, info, RS_WORD_version, RS_WORD_triton, &text)) {
        size_t version = rs_triton_version(text.data, text.size);
        text.size = version ? version : text.size;
        copy_text(report->triton_version, sizeof(report->triton_version), text);
    }
}

static void details_facts(struct rs_report *report, const struct rs_graph *graph)
{
    uint32_t value;
    if (rs_state_get(graph, graph->root, RS_WORD_torch_version, &value)) {
        struct rs_bytes key = rs_node_text(graph, value);
        if (rs_node(graph, value)->kind == RS_NODE_BYTES && key.size == RS_TORCH_KEY_SIZE) {
            memcpy(report->torch_key, key.data, key.size);
            report->has_torch_key = true;
        }
    }
    if (report->kind == RS_KIND_aot_details &&
        rs_state_get(graph, graph->root, RS_WORD_grad_enabled, &value) &&
        rs_node(graph, value)->kind == RS_NODE_BOOL) {
        report->grad_enabled = value == RS_NODE_AT_TRUE;
    }
    if (rs_state_get(graph, graph->root, RS_WORD_system_info, &value)) {
        system_facts(report, graph, value);
    }
}

/* The file of the kernel whose autotuner INDEX is, if it waits for its first launch with more than
 * one configuration; else NULL. */
static const uint8_t *choice(const struct rs_graph *graph, uint32_t index)
{
    uint32_t results, second, file;
    if (rs_node(graph, index)->kind != RS_NODE_CALL ||
        rs_class_word(graph, index) != RS_WORD_CachingAutotuner ||
        !rs_state_get(graph, index, RS_WORD_compile_results, &results) ||
        rs_node(graph, results)->kind != RS_NODE_LIST || !rs_child(graph, results, 1, &second) ||
        !rs_state_get(graph, index, RS_WORD_filename, &file) ||
        rs_node(graph, file)->kind != RS_NODE_STR) {
        return NULL;
    }
    struct rs_bytes path = rs_node_text(graph, file);
    const uint8_t *end = path.data + path.size;
    return path.size > RS_NAME + 3 && memcmp(end - 3, ".py", 3) == 0 && end[-RS_NAME - 4] == '/'
               ? end - RS_NAME - 3
               : NULL;
}

static void find_choices(struct rs_engine *engine, const struct rs_graph *graph)
{
    struct rs_report *report = engine->report;
    RS_VEC(const uint8_t *) files = {0};
    for (uint32_t i = RS_NODES_FIXED; i < graph->nodes.count; i++) {
        const uint8_t *file = choice(graph, i);
        if (file && RS_VEC_ROOM(engine->arena, &files)) {
            files.items[files.count++] = file;
        }
    }
    report->choices = files.items;
    report->choice_count = files.count;
}

static void entry_facts(struct rs_engine *engine, const struct rs_graph *graph)
{
    uint32_t value;
    if (rs_state_get(graph, graph->root, RS_WORD_source_code, &value) &&
        rs_node(graph, value)->kind == RS_NODE_STR) {
        engine->source = rs_node_text(graph, value);
        engine->report->comms = rs_text_comms(engine->source, true);
    }
    if (rs_state_get(graph, graph->root, RS_WORD_cache_key, &value) &&
        rs_node(graph, value)->kind == RS_NODE_STR && rs_node_text(graph, value).size == RS_NAME) {
        engine->wrapper = rs_node_text(graph, value);
    }
    find_choices(engine, graph);
}

/* Every string of an AOT entry that is an FX key and nothing else. */
static void inner_keys(struct rs_report *report, const struct rs_graph *graph)
{
    for (uint32_t i = RS_NODES_FIXED; i < graph->nodes.count; i++) {
        const struct rs_node *node = rs_node(graph, i);
        struct rs_bytes text = {graph->data + node->a, node->b};
        struct rs_key key;
        if (node->kind != RS_NODE_STR || text.size != RS_NAME51 + 1 || text.data[0] != 'f' ||
            !rs_key_from_name51((const char *)text.data + 1, &key)) {
            continue;
        }
        bool known = false;
        for (uint32_t k = 0; k < report->key_count && k < RS_KEYS_MAX; k++) {
            known |= memcmp(report->keys[k], key.bytes, RS_KEY_SIZE) == 0;
        }
        if (!known) {
            if (report->key_count < RS_KEYS_MAX) {
                memcpy(report->keys[report->key_count], key.bytes, RS_KEY_SIZE);
            }
            report->key_count++;
        }
    }
}

enum rs_reason rs_find_facts(struct rs_engine *engine, const struct rs_graph *graph)
{
    struct rs_report *report = engine->report;
    enum rs_word class = rs_class_word(graph, graph->root);
    bool right = true;
    switch (report->kind) {
    case RS_KIND_fx_details:
    case RS_KIND_aot_details:
        right = class == (report->kind == RS_KIND_fx_details ? RS_WORD_FxGraphHashDetails
                                                             : RS_WORD_AOTAutogradCacheDetails);
        details_facts(report, graph);
        rs_find_flags(engine, graph);
        break;
    case RS_KIND_fx_entry:
        right = class == RS_WORD_CompiledFxGraph;
        entry_facts(engine, graph);
        break;
    default:
        right = rs_node(graph, graph->root)->kind == RS_NODE_CALL;
        inner_keys(report, graph);
        break;
    }
    return right ? RS_OK : rs_refuse(report, RS_REFUSED_malformed, graph->begin);
}
