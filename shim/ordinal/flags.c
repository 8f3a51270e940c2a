/* SPDX-License-Identifier: Apache-2.0 */
#include "ordinal/flags.h"
#include "ordinal/engine.h"

enum off { OFF_FALSE, OFF_NONE };
enum place { PLACE_inductor, PLACE_comms, PLACE_autograd, PLACES };

struct row {
    const char *name;
    uint8_t length;
    uint8_t place; /* enum place */
    uint8_t off;   /* enum off */
    uint8_t since, until;
    uint8_t bits; /* enum rs_flags */
};

static const struct row rows[] = {
#define RS_DETAIL_FLAG(place, name, off, since, until, bits)                                       \
    {#name, sizeof(#name) - 1, PLACE_##place, OFF_##off, since, until, bits},
#include "ordinal/flags.def"
#undef RS_DETAIL_FLAG
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]), MINOR_FIRST = 4, MINOR_LAST = 15 };
_Static_assert(ROWS <= 64, "struct rs_flag_rows has a bit for each row");

static bool means_off(const struct rs_graph *graph, uint32_t value, uint8_t off)
{
    switch ((enum off)off) {
    case OFF_FALSE:
        return value == RS_NODE_AT_FALSE;
    case OFF_NONE:
        return rs_node(graph, value)->kind == RS_NODE_NONE;
    }
    return false;
}

static void read_pair(struct rs_flag_rows *found, const struct rs_graph *graph, enum place place,
                      struct rs_bytes name, uint32_t value)
{
    for (unsigned i = 0; i < ROWS; i++) {
        if (rows[i].place == place && rows[i].length == name.size &&
            memcmp(rows[i].name, name.data, name.size) == 0) {
            uint64_t *set = means_off(graph, value, rows[i].off) ? &found->off : &found->on;
            *set |= UINT64_C(1) << i;
        }
    }
}

/* A configuration is a dictionary. */
static void read_place(struct rs_flag_rows *found, const struct rs_graph *graph, enum place place,
                       uint32_t dict)
{
    const struct rs_node *node = rs_node(graph, dict);
    const struct rs_edge *edges = graph->edges.items;
    if (!(node->flags & RS_FLAG_PAIRS)) {
        return;
    }
    for (uint32_t at = node->first; at; at = edges[edges[at].next].next) {
        uint32_t key = edges[at].node;
        if (rs_node(graph, key)->kind == RS_NODE_STR) {
            read_pair(found, graph, place, rs_node_text(graph, key), edges[edges[at].next].node);
        }
    }
}

void rs_find_flags(struct rs_engine *engine, const struct rs_graph *graph)
{
    static const enum rs_word words[PLACES] = {
        [PLACE_inductor] = RS_WORD_inductor_config,
        [PLACE_comms] = RS_WORD_inductor_config_comms,
        [PLACE_autograd] = RS_WORD_autograd_config,
    };
    for (unsigned place = 0; place < PLACES; place++) {
        uint32_t value;
        if (!rs_state_get(graph, graph->root, words[place], &value)) {
            continue;
        }
        const struct rs_node *node = rs_node(graph, value);
        const struct rs_graph *in = graph;
        if (node->kind == RS_NODE_BYTES && node->extra) { /* a pickle of its own */
            in = &engine->graphs.items[node->extra];
            value = in->root;
        }
        read_place(&engine->report->flags, in, (enum place)place, value);
    }
    /* A name that stands there twice says nothing. */
    engine->report->flags.off &= ~engine->report->flags.on;
}

int rs_flags_minor(const char *torch_version)
{
    if (strncmp(torch_version, "2.", 2) != 0) {
        return 0;
    }
    int minor = 0;
    const char *at = torch_version + 2;
    while (*at >= '0' && *at <= '9' && minor < 100) {
        minor = minor * 10 + (*at++ - '0');
    }
    return *at == '.' && minor >= MINOR_FIRST && minor <= MINOR_LAST ? minor : 0;
}

unsigned rs_flags_of(const struct rs_flag_rows *found, const char *torch_version)
{
    int minor = rs_flags_minor(torch_version);
    unsigned flags = 0;
    for (unsigned i = 0; i < ROWS; i++) {
        bool due = !minor || (minor >= rows[i].since && minor <= rows[i].until);
        if ((found->on >> i & 1) || (due && !(found->off >> i & 1))) {
            flags |= rows[i].bits;
        }
    }
    return flags;
}
