/* SPDX-License-Identifier: Apache-2.0
 *
 * What a pickle builds, without building it: a graph of nodes that remember the opcode they came
 * from. Pure; memory from the caller's arena; thread and fork safe.
 */
#ifndef RS_ORDINAL_GRAPH_H
#define RS_ORDINAL_GRAPH_H

#include "ordinal/ordinal.h"
#include "ordinal/vec.h"

/* Pickles up to this size are read; offsets are 32 bits wide. */
enum { RS_PICKLE_MAX = 1 << 30 };

enum rs_node_kind {
    RS_NODE_NONE,
    RS_NODE_BOOL,
    RS_NODE_OPAQUE, /* a value whose inside can't matter: floats, persistent ids, extensions */
    RS_NODE_INT,
    RS_NODE_STR,
    RS_NODE_BYTES,
    RS_NODE_FOREIGN, /* text in a form that CPython's pickler doesn't write from protocol 2 on */
    RS_NODE_GLOBAL,
    RS_NODE_TUPLE,
    RS_NODE_LIST,
    RS_NODE_DICT,
    RS_NODE_SET,
    RS_NODE_CALL, /* an object: REDUCE, NEWOBJ, NEWOBJ_EX, OBJ, INST */
};

/* Nodes that every graph has; they carry no position. */
enum { RS_NODE_AT_NONE, RS_NODE_AT_FALSE, RS_NODE_AT_TRUE, RS_NODE_AT_OPAQUE, RS_NODES_FIXED };

enum {
    RS_FLAG_BYTE = 1,    /* INT written as BININT1 */
    RS_FLAG_FETCHED = 2, /* pushed a second time, through the memo or DUP */
    RS_FLAG_SITE = 4,    /* INT that names an ordinal */
    RS_FLAG_PAIRS = 8,   /* children are keys and values */
    RS_FLAG_KEY = 16,    /* STR used as a key of a dictionary */
    RS_FLAG_TUNER = 32,  /* STR: the name of a static autotuner */
    RS_FLAG_DEVICE = 64, /* GLOBAL whose last name contains "device", any case */
    RS_FLAG_READ = 128,  /* STR: graph code that has been searched for collectives */
};

enum rs_word {
    RS_WORD_none,
#define RS_WORD(name, text, first, last) RS_WORD_##name,
#include "ordinal/words.def"
#undef RS_WORD
};

struct rs_node {
    uint8_t kind;
    uint8_t flags;
    uint8_t word;   /* STR: enum rs_word; GLOBAL: that of a name in module torch or below */
    uint32_t at;    /* offset of its opcode */
    uint32_t a;     /* INT value; STR, BYTES content; GLOBAL module; CALL callee; else children */
    uint32_t b;     /* STR, BYTES size of the content; GLOBAL name; CALL arguments */
    uint32_t extra; /* CALL: keyword arguments */
    uint32_t state; /* CALL: what BUILD gave it */
    uint32_t first; /* children: indices into edges, 0 for none */
    uint32_t last;
};

struct rs_edge {
    uint32_t node;
    uint32_t next;
};

struct rs_frame {
    uint32_t at; /* first byte of the content */
    uint32_t size;
};

/* A string or bytes object large enough to matter for frames. */
struct rs_bulk {
    uint32_t at;      /* offset of its opcode */
    uint32_t content; /* first byte */
    uint32_t size;
};

struct rs_graph {
    const uint8_t *data;
    uint32_t begin; /* of the pickle in data */
    uint32_t end;   /* behind STOP */
    uint8_t protocol;
    uint32_t root;
    uint32_t where; /* offset of the trouble, when there was one */
    RS_VEC(struct rs_node) nodes;
    RS_VEC(struct rs_edge) edges; /* edge 0 is unused */
    RS_VEC(uint32_t) inner;       /* nodes in which another pickle may lie: bytes, odd strings */
    RS_VEC(struct rs_frame) frames;
    RS_VEC(uint32_t)
    saves; /* where CPython's pickler began to save an object; large pickles only */
    RS_VEC(struct rs_bulk) bulks;
};

/* Reads the pickle that begins at BEGIN and ends at or before LIMIT. RS_OK, or malformed, opcode,
 * limit; then graph->where says where. */
enum rs_reason rs_graph_read(struct rs_arena *arena, const uint8_t *data, uint32_t begin,
                             uint32_t limit, struct rs_graph *graph);

/* The word that these SIZE characters are, or RS_WORD_none. */
enum rs_word rs_word_of(const uint8_t *text, size_t size);

static inline struct rs_node *rs_node(const struct rs_graph *graph, uint32_t index)
{
    return &graph->nodes.items[index];
}

/* The word of a string, RS_WORD_none for anything else. */
static inline enum rs_word rs_node_word(const struct rs_graph *graph, uint32_t index)
{
    return (enum rs_word)rs_node(graph, index)->word;
}

/* Content of a STR, BYTES or FOREIGN node. */
static inline struct rs_bytes rs_node_text(const struct rs_graph *graph, uint32_t index)
{
    const struct rs_node *node = rs_node(graph, index);
    return (struct rs_bytes){graph->data + node->a, node->b};
}

/* Fills in the GLOBAL of MODULE and NAME, two STR nodes. */
void rs_make_global(const struct rs_graph *graph, struct rs_node *global, uint32_t module,
                    uint32_t name);

/* What an object calls: a GLOBAL in most cases. */
static inline const struct rs_node *rs_callee(const struct rs_graph *graph, uint32_t index)
{
    const struct rs_node *node = rs_node(graph, index);
    return rs_node(graph, node->kind == RS_NODE_CALL ? node->a : RS_NODE_AT_NONE);
}

/* The class of an object as a word (of its last name), if it lives in module torch or below. */
static inline enum rs_word rs_class_word(const struct rs_graph *graph, uint32_t index)
{
    const struct rs_node *callee = rs_callee(graph, index);
    return callee->kind == RS_NODE_GLOBAL ? (enum rs_word)callee->word : RS_WORD_none;
}

/* Value of KEY in the state of object INDEX (a dictionary, or a tuple of them). False if absent. */
bool rs_state_get(const struct rs_graph *graph, uint32_t index, enum rs_word key, uint32_t *value);

/* Value of KEY in a dictionary-like node. */
bool rs_dict_get(const struct rs_graph *graph, uint32_t dict, enum rs_word key, uint32_t *value);

/* Child number N of a node. */
bool rs_child(const struct rs_graph *graph, uint32_t index, unsigned n, uint32_t *child);

/* True when TEXT contains the word "device" (lower case, as fields are written). */
bool rs_says_device(struct rs_bytes text);

#endif
