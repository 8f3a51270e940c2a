/* SPDX-License-Identifier: Apache-2.0 */
#include "ordinal/graph.h"

size_t rs_ordinal_blobs(struct rs_arena *arena, struct rs_bytes in, size_t least,
                        struct rs_bytes **out)
{
    struct rs_graph graph = {0};
    size_t count = 0;
    *out = NULL;
    if (in.size > RS_PICKLE_MAX ||
        rs_graph_read(arena, in.data, 0, (uint32_t)in.size, &graph) != RS_OK) {
        return 0;
    }
    *out = rs_arena_alloc(arena, graph.inner.count * sizeof(**out) + 1);
    for (uint32_t i = 0; *out && i < graph.inner.count; i++) {
        struct rs_bytes blob = rs_node_text(&graph, graph.inner.items[i]);
        if (rs_node(&graph, graph.inner.items[i])->kind == RS_NODE_BYTES && blob.size >= least) {
            (*out)[count++] = blob;
        }
    }
    return count;
}
