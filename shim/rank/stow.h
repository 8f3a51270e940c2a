/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs load onto GPUs, in the artifact store of the node: one copy of each cubin and each
 * bare PTX that two processes have loaded, under its content; and for a cubin in a cache directory
 * also under its file, so that the next rank that names the file gets the bytes from memory.
 * docs/loads.md has the rules. Nothing here calls the driver or fails a load. Thread and fork safe;
 * errno is not preserved.
 */
#ifndef RS_RANK_STOW_H
#define RS_RANK_STOW_H

#include "base/arena.h"
#include "image/image.h"
#include "rank/node.h"
#include "store/artifact.h"
#include "store/modules.h"

#include <sys/stat.h>

/* Larger images are neither hashed nor looked into: what a program makes while it runs is smaller,
 * and a load must not become slower by a share that one would notice. */
enum { RS_MODULE_MAX = 8 << 20 };

/* What an arena may take in which one of them lies: more than the chunk that waits for the next. */
enum { RS_STOW_MEMORY = 32 << 20 };

/* A file that a program names to the driver. All zero: nothing is known of it. */
struct rs_module_file {
    struct rs_arena arena;
    bool managed; /* a cubin in a kernel's directory of a managed cache */
    bool stored;  /* the store knows this file, with its bytes or such that mean the same */
    struct rs_bytes
        bytes; /* what the store has for it, and a zero byte behind; DATA NULL: nothing */
};

/* Looks at the file PATH before the driver does. The file must be there, readable, and the very one
 * whose bytes were put; it is opened, but not read. FILE goes to rs_module_file_close(). */
void rs_module_file_look(const char *path, struct rs_module_file *file);
void rs_module_file_close(struct rs_module_file *file);

/* The module called NAME was loaded and counted: puts IMAGE, whose bytes can be read, into the
 * store if it belongs there and nobody has done so. */
void rs_stow_image(struct rs_node *node, struct rs_module *module, const struct rs_hash128 *name,
                   const struct rs_image *image);

/* The same for the bytes of the managed file PATH, which has shown ST. */
void rs_stow_file(struct rs_node *node, const struct rs_module *module, const char *path,
                  const struct stat *st, struct rs_bytes bytes);

/* One part under KEY, for every process of this node, unless there is one. */
enum rs_put_result rs_stow(struct rs_node *node, const struct rs_artifact_key *key,
                           const struct rs_part_in *part);

/* The one part that lies under KEY into ARENA, with a zero byte behind; *ID is what came with it.
 */
bool rs_stow_find(struct rs_node *node, const struct rs_artifact_key *key, struct rs_arena *arena,
                  struct rs_bytes *bytes, struct rs_file_id *id);

/* In a fork child. */
void rs_stow_forked(void);

#endif
