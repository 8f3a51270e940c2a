/* SPDX-License-Identifier: Apache-2.0
 *
 * The ordinal engine: finds every place of an artifact that names a CUDA device by its ordinal,
 * and makes the same artifact for another ordinal. Pure: no I/O, no global state, nothing of a
 * pickle is ever executed. All functions are thread and fork safe; memory comes from the arena.
 *
 * Formats: pickles of torch 2.4 to 2.15 as measured (docs/formats.md).
 */
#ifndef RS_ORDINAL_ORDINAL_H
#define RS_ORDINAL_ORDINAL_H

#include "base/arena.h"
#include "base/bytes.h"
#include "ordinal/flags.h"
#include <rankshare/names.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
    RS_ORDINAL_MAX = 127,   /* largest ordinal that is rewritten */
    RS_TORCH_KEY_SIZE = 32, /* torch_key(): a raw SHA-256 */
    RS_KEY_SIZE = 32,
    RS_KEYS_MAX = 16,
    RS_DIGITS_MAX = 3,
    RS_NAME = 52, /* a code name: `c` and 51 characters of base32 */
    RS_HEX = 64,  /* a .best_config's name */
};

/* A kernel (or the wrapper) whose name is the hash of its source, and the name that the source has
 * for the new ordinal. */
struct rs_name {
    const uint8_t *old_file; /* RS_NAME characters each */
    const uint8_t *new_file;
    const uint8_t *old_key; /* of its static autotuner; NULL without torch_key */
    const uint8_t *new_key;
    const uint8_t *old_config; /* RS_HEX characters: its .best_config; NULL without torch_key */
    const uint8_t *new_config;
};

/* What a walk over an artifact found. */
struct rs_report {
    enum rs_kind kind;
    enum rs_reason reason; /* RS_OK, or why this artifact can't be shared */
    uint64_t ordinals[2];  /* bit N: ordinal N occurs */
    uint32_t sites;        /* places that name an ordinal */
    uint32_t none_sites;   /* places where the device index is None (compile_on_one_rank) */
    unsigned comms;        /* what the graph's code does with other ranks: enum rs_comms */
    bool dtensor;          /* details: distributed tensors or meshes are among the inputs */
    bool has_torch_key;    /* details: torch_key is filled in */
    uint8_t torch_key[RS_TORCH_KEY_SIZE];
    /* details: grad_enabled, -1 where the details don't say */
    int grad_enabled;
    struct rs_flag_rows flags; /* details: the settings of flags.def that they hold */
    /* details: system information, empty where absent; NUL-terminated, for people and statistics */
    char device_name[64];
    char triton_version[32];
    /* fx_entry: static autotuners whose name is / isn't the hash of their kernel's source */
    uint32_t kernels_named;
    uint32_t kernels_left;
    /* fx_entry: the kernels' files (RS_NAME characters each, in the input; the list is in the
     * arena) of static autotuners with several configurations: each will be measured and saved */
    const uint8_t **choices;
    uint32_t choice_count;
    /* fx_entry, after a rewrite: its kernels (in the arena) */
    const struct rs_name *names;
    uint32_t name_count;
    /* aot_entry: the FX keys it names, 255 bits each (the last bit of the last byte is 0);
     * key_count > RS_KEYS_MAX: there were more than fit */
    uint32_t key_count;
    uint8_t keys[RS_KEYS_MAX][RS_KEY_SIZE];
    /* a private mark after STOP (see rs_mark_write): its ordinal, or -1 */
    int private_ordinal;
    /* set when reason is not RS_OK: byte offset of the place, for the tool */
    size_t where;
};

/* The ordinal of a report: -1 when it has none, -2 when it has several. */
int rs_report_ordinal(const struct rs_report *report);

/* Kind of an artifact by its first bytes (and, for pickles, by the class they build). Never reads
 * past SIZE. */
enum rs_kind rs_kind_of(struct rs_bytes bytes);

/* Whether BYTES begin as pickles of the protocols that caches use do (2 to 5). Two bytes suffice.
 */
bool rs_pickle_begins(struct rs_bytes bytes);

/* Kind of a buffer that Python hashes: fx_details, aot_details, triton_key, or other. Compares a
 * few bytes at fixed offsets and never searches: torch hashes its own sources through the same
 * call, and one false hit there changes every key (docs/formats.md). A few nanoseconds for other
 * buffers. */
enum rs_kind rs_hashed_kind(const uint8_t *data, size_t size);

/* Walks an artifact of a known kind and fills REPORT (always, also on refusal).
 * Returns report->reason. Kinds without sites (other, cubin, ...) give RS_OK and no sites. */
enum rs_reason rs_ordinal_scan(struct rs_arena *arena, struct rs_bytes in, enum rs_kind kind,
                               struct rs_report *report);

/* A rewritten artifact as a list of pieces: most point into the input, which must stay alive and
 * unchanged, the rest into the arena. Ready for writev. */
struct rs_pieces {
    struct iovec *pieces;
    size_t count;
    size_t size; /* sum of the pieces */
};

/* The same artifact for ordinal TO (0: the canonical form). Names that follow the text follow: the
 * wrapper's, the kernels' files, and with TORCH_KEY (32 bytes, or NULL) those of static autotuners.
 * An artifact without sites comes back as it is. A private mark is kept.
 * Returns RS_OK or the reason; on refusal OUT is empty. REPORT describes the input. */
enum rs_reason rs_ordinal_rewrite(struct rs_arena *arena, struct rs_bytes in, enum rs_kind kind,
                                  const uint8_t *torch_key, int to, struct rs_pieces *out,
                                  struct rs_report *report);

/* Two cache directories, without a slash behind them. */
struct rs_roots {
    const char *from, *to;
    size_t from_size, to_size;
};

/* The entry IN (fx_entry, aot_entry), which a process with the directory ROOTS->from has written,
 * for one with ROOTS->to: the paths of autotuned kernels follow, so that nobody reads or writes in
 * the other directory; comments stay. RS_REFUSED_other_root where a path is not understood, or
 * names a third directory. Otherwise as rs_ordinal_rewrite(). */
enum rs_reason rs_ordinal_reroot(struct rs_arena *arena, struct rs_bytes in, enum rs_kind kind,
                                 const struct rs_roots *roots, struct rs_pieces *out,
                                 struct rs_report *report);

/* The name of the autotuning result (RS_HEX characters, torch 2.8 to 2.15) of the kernel FILE,
 * whose name has RS_NAME characters. */
void rs_config_name(const uint8_t *file, const uint8_t torch_key[RS_TORCH_KEY_SIZE],
                    uint8_t hex[RS_HEX]);

/* The same for torch 2.6 and 2.7, whose names do not hold torch_key. */
void rs_config_name_keyless(const uint8_t *file, uint8_t hex[RS_HEX]);

/* The bytes objects of LEAST bytes and more that the pickle IN holds (not those inside of pickles
 * in it), as they lie there, in their order; how many. *OUT is in the arena. What can't be read
 * holds none. */
size_t rs_ordinal_blobs(struct rs_arena *arena, struct rs_bytes in, size_t least,
                        struct rs_bytes **out);

/* The pieces as one buffer from the arena, or {NULL, 0} when there is no memory. */
struct rs_bytes rs_pieces_flatten(struct rs_arena *arena, const struct rs_pieces *pieces);

/* Private mark: bytes put after a pickle's STOP, which unpickling ignores. An entry that carries it
 * belongs to ordinal ORDINAL alone and is handed out as it is. Writes at most RS_MARK_MAX bytes
 * (no NUL) and returns their number. */
enum { RS_MARK_MAX = 32 };
size_t rs_mark_write(int ordinal, char mark[RS_MARK_MAX]);

/* The salt put before the native bytes of a second ordinal's details: "rankshare:ordinal:N" and a
 * zero byte. Returns its length. */
enum { RS_SALT_MAX = 32 };
size_t rs_salt_write(int ordinal, char salt[RS_SALT_MAX]);

#endif
