/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of the engine over one artifact, shared by the files of shim/ordinal.
 *
 *   read    pickles and the pickles inside them into graphs; finds typed sites and text sites
 *   names   what follows from the text: the wrapper's name, the kernels' files and keys
 *   write   edits in the order of their offsets, new frames, pieces
 */
#ifndef RS_ORDINAL_ENGINE_H
#define RS_ORDINAL_ENGINE_H

#include "ordinal/graph.h"
#include "ordinal/text.h"

enum {
    RS_NESTING = 4, /* pickles inside pickles */
};

/* REMOVE bytes of the input at AT give way to INSERT bytes. */
struct rs_edit {
    uint32_t at;
    uint32_t remove;
    uint32_t insert;
    const uint8_t *bytes;
};

typedef RS_VEC(struct rs_edit) rs_edits;

struct rs_engine {
    struct rs_arena *arena;
    const uint8_t *data;
    uint32_t size; /* without a private mark */
    struct rs_report *report;
    RS_VEC(struct rs_graph) graphs; /* 0 is the artifact's own, the others lie in bytes objects */
    rs_text_sites texts;            /* of the whole artifact, in the order of their offsets */
    /* fx_entry: the wrapper */
    struct rs_bytes source;
    struct rs_bytes wrapper; /* its name: RS_NAME characters, or empty */
    uint8_t *new_wrapper;    /* filled in when the source has been rewritten */
    /* for a rewrite */
    const uint8_t *torch_key;
    uint8_t to;
    char digits[4]; /* the new ordinal as text */
    uint8_t digit_count;
    const struct rs_roots *roots; /* not NULL: paths are moved, ordinals stay */
    RS_VEC(struct rs_name) names;
    uint32_t *name_index; /* hash table of names by old_file: index + 1, 0 for none */
    uint32_t name_mask;
    uint32_t text_at; /* next of texts to be written */
    rs_edits edits;
};

/* read.c: a pickle of the engine's data as a new graph, with everything in it. */
enum rs_reason rs_read_pickle(struct rs_engine *engine, uint32_t begin, uint32_t limit,
                              unsigned depth);

/* sites.c: typed sites of one graph; INT nodes that name an ordinal get RS_FLAG_SITE. */
enum rs_reason rs_find_sites(struct rs_engine *engine, struct rs_graph *graph);

/* facts.c: what the caller wants to know beside sites, from the artifact's own graph. */
enum rs_reason rs_find_facts(struct rs_engine *engine, const struct rs_graph *graph);

/* flags.c: which rows of flags.def the details hold, and whether they are off. */
void rs_find_flags(struct rs_engine *engine, const struct rs_graph *graph);

/* names.c */
bool rs_wrapper_named(const struct rs_engine *engine);
enum rs_reason rs_find_names(struct rs_engine *engine, struct rs_bytes source);
void rs_name_wrapper(struct rs_engine *engine, uint32_t first);
const struct rs_name *rs_name_by_file(const struct rs_engine *engine, const uint8_t *file);
const struct rs_name *rs_name_by_key(const struct rs_engine *engine, const uint8_t *key);
const struct rs_name *rs_name_by_config(const struct rs_engine *engine, const uint8_t *config);

/* mark.c: length of the private mark at the end of IN and its ordinal; 0 where there is none. */
size_t rs_mark_read(struct rs_bytes in, int *ordinal);

/* reroot.c: whether the path in TEXT, a string of an entry, must follow the root (*MOVES); refused
 * where the old root stands in a place that is not understood. */
enum rs_reason rs_root_judge(const struct rs_roots *roots, struct rs_bytes text, bool *moves);

/* literal.c: what Python makes of the inside of a string literal, in place; false for an escape
 * that is not followed. */
bool rs_literal_decode(uint8_t *text, size_t *size);

/* write.c: the edits of the whole artifact. */
enum rs_reason rs_write_pickle(struct rs_engine *engine, struct rs_graph *graph);
enum rs_reason rs_write_text(struct rs_engine *engine, uint32_t begin, uint32_t end);

/* edits.c */
bool rs_edit_add(struct rs_engine *engine, uint32_t at, uint32_t remove, const void *bytes,
                 uint32_t insert);
int64_t rs_edits_delta(const rs_edits *edits, uint32_t first);
enum rs_reason rs_edits_apply(const struct rs_engine *engine, size_t total, struct rs_pieces *out);

/* frames.c: cuts the frames of a graph again, whose edits are those from FIRST on. */
enum rs_reason rs_frames_cut(struct rs_engine *engine, const struct rs_graph *graph,
                             uint32_t first);

/* kinds.c: length of the version in front of the 64 hex digits and the `-` that Triton's key begins
 * with; 0 for other text. */
size_t rs_triton_version(const uint8_t *text, size_t size);

/* kinds.c: the class that the pickle's first opcodes name. */
bool rs_first_global(struct rs_bytes bytes, struct rs_bytes *module, struct rs_bytes *name);

/* Notes a place that names ORDINAL; several ordinals are judged at the end. */
static inline void rs_report_site(struct rs_report *report, unsigned ordinal)
{
    report->sites++;
    report->ordinals[ordinal / 64] |= UINT64_C(1) << (ordinal % 64);
}

static inline enum rs_reason rs_refuse(struct rs_report *report, enum rs_reason reason,
                                       size_t where)
{
    report->reason = reason;
    report->where = where;
    return reason;
}

#endif
