/* SPDX-License-Identifier: Apache-2.0 */
#include "ordinal/flags.h"
#include "ordinal/engine.h"

enum off {
    OFF_FALSE,
    OFF_NONE,
    OFF_NONE_OR_FALSE,
    OFF_TEXT,
    OFF_TEXT_NONE,
    OFF_TEXT_DEFAULT,
    OFF_TEXTS,
    OFF_NONES,
    OFF_EMPTY,
};
enum place { PLACE_inductor, PLACE_comms, PLACE_autograd, PLACE_details, PLACES };
enum { FX = 1, AOT = 2, AOT_TRAINING = 4 };
enum { MINOR_FIRST = 4, MINOR_LAST = 15, NEVER = MINOR_LAST + 1, ITEMS_MAX = 64 };

struct row {
    const char *name;
    uint8_t length;
    uint8_t place;
    uint8_t off;
    uint8_t since, until;
    uint8_t keys;
    uint16_t bits;
};

static const struct row rows[] = {
#define RS_DETAIL_FLAG(place, name, off, since, until, keys, bits)                                 \
    {name, sizeof(name) - 1, PLACE_##place, OFF_##off, since, until, keys, bits},
#include "ordinal/flags.def"
#undef RS_DETAIL_FLAG
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
_Static_assert(ROWS <= 64, "struct rs_flag_rows has a bit for each row");

static bool is_text(const struct rs_graph *graph, uint32_t value, const char *text)
{
    if (rs_node(graph, value)->kind != RS_NODE_STR) {
        return false;
    }
    struct rs_bytes found = rs_node_text(graph, value);
    return !text || (found.size == strlen(text) && memcmp(found.data, text, found.size) == 0);
}

/* A list or tuple whose items are None or, with TEXTS, text. */
static bool plain_items(const struct rs_graph *graph, uint32_t value, bool texts)
{
    const struct rs_node *node = rs_node(graph, value);
    const struct rs_edge *edges = graph->edges.items;
    if ((node->kind != RS_NODE_LIST && node->kind != RS_NODE_TUPLE) || node->a > ITEMS_MAX) {
        return false;
    }
    for (uint32_t at = node->first; at; at = edges[at].next) {
        if (edges[at].node != RS_NODE_AT_NONE && !(texts && is_text(graph, edges[at].node, NULL))) {
            return false;
        }
    }
    return true;
}

static bool is_empty(const struct rs_node *node)
{
    return node->kind >= RS_NODE_TUPLE && node->kind <= RS_NODE_SET && node->a == 0;
}

static bool means_off(const struct rs_graph *graph, uint32_t value, enum off off)
{
    bool none = value == RS_NODE_AT_NONE;
    switch (off) {
    case OFF_FALSE:
        return value == RS_NODE_AT_FALSE;
    case OFF_NONE:
        return none;
    case OFF_NONE_OR_FALSE:
        return none || value == RS_NODE_AT_FALSE;
    case OFF_TEXT:
        return is_text(graph, value, NULL);
    case OFF_TEXT_NONE:
        return is_text(graph, value, "none");
    case OFF_TEXT_DEFAULT:
        return is_text(graph, value, "default");
    case OFF_TEXTS:
        return none || plain_items(graph, value, true);
    case OFF_NONES:
        return plain_items(graph, value, false);
    case OFF_EMPTY:
        return is_empty(rs_node(graph, value));
    }
    return false;
}

static void read_pair(struct rs_flag_rows *found, const struct rs_graph *graph, enum place place,
                      struct rs_bytes name, uint32_t value)
{
    for (unsigned i = 0; i < ROWS; i++) {
        if (rows[i].place == place && rows[i].length == name.size &&
            memcmp(rows[i].name, name.data, name.size) == 0) {
            bool off = means_off(graph, value, (enum off)rows[i].off);
            *(off ? &found->off : &found->on) |= UINT64_C(1) << i;
        }
    }
}

/* The pairs of a dictionary. */
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
    static const enum rs_word words[] = {
        [PLACE_inductor] = RS_WORD_inductor_config,
        [PLACE_comms] = RS_WORD_inductor_config_comms,
        [PLACE_autograd] = RS_WORD_autograd_config,
    };
    struct rs_flag_rows *found = &engine->report->flags;
    read_place(found, graph, PLACE_details, rs_node(graph, graph->root)->state);
    for (unsigned place = 0; place < PLACE_details; place++) {
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
        read_place(found, in, (enum place)place, value);
    }
    found->off &= ~found->on; /* a name that stands there twice says nothing */
}

int rs_flags_minor(const char *version)
{
    int minor = 0;
    if (strncmp(version, "2.", 2) != 0) {
        return 0;
    }
    const char *at = version + 2;
    for (; *at >= '0' && *at <= '9' && minor <= MINOR_LAST; at++) {
        minor = minor * 10 + (*at - '0');
    }
    if (*at++ != '.' || minor < MINOR_FIRST || minor > MINOR_LAST || *at < '0' || *at > '9') {
        return 0;
    }
    at += strspn(at, "0123456789");
    return *at == 0 || *at == '+' || strncmp(at, ".post", 5) == 0 ? minor : 0;
}

static unsigned keys_of(const struct rs_report *report)
{
    if (report->kind == RS_KIND_fx_details) {
        return FX;
    }
    return report->grad_enabled == 0 ? AOT : AOT | AOT_TRAINING;
}

unsigned rs_flags_of(const struct rs_report *report, const char *torch_version)
{
    int minor = rs_flags_minor(torch_version);
    unsigned keys = keys_of(report), flags = minor ? 0 : RS_FLAG_UNKNOWN_TORCH;
    bool unreadable = !(report->flags.on | report->flags.off);
    for (unsigned i = 0; i < ROWS; i++) {
        bool on = report->flags.on >> i & 1, off = report->flags.off >> i & 1;
        bool due = minor ? minor >= rows[i].since && minor <= rows[i].until : unreadable;
        if ((rows[i].keys & keys) && (on || (due && !off))) {
            flags |= rows[i].bits;
        }
    }
    if (unreadable) { /* what its entry holds is seen when it is stored */
        flags &= ~(unsigned)RS_FLAG_BUNDLED;
    }
    if ((flags & RS_FLAG_REORDERS) && (flags & RS_FLAG_COMPARES)) {
        flags |= RS_FLAG_TALKS;
    }
    flags &= ~(unsigned)(RS_FLAG_REORDERS | RS_FLAG_COMPARES);
    if (report->kind == RS_KIND_aot_details) {
        /* The joint passes measure matrix products (shape_padding) and fold constants. */
        flags |= RS_FLAG_BENCHMARKS | (report->grad_enabled == 0 ? RS_FLAG_INFERENCE : 0);
    }
    return flags;
}

enum rs_reason rs_flags_refusal(unsigned flags)
{
    if (flags & RS_FLAG_UNKNOWN_TORCH) {
        return RS_REFUSED_torch_unknown;
    }
    if (flags & RS_FLAG_CUSTOM_PASS) {
        return RS_REFUSED_custom_pass;
    }
    return flags & RS_FLAG_BAKES ? RS_REFUSED_rank_specific : RS_OK;
}
