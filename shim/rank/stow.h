/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs load onto GPUs, in the artifact store of the node: one copy of each cubin and each
 * bare PTX that two processes have loaded, under its content; and cubins of a cache directory, out
 * of the store. docs/loads.md has the rules. Nothing here calls the driver or fails a load. Thread
 * and fork safe; errno is not preserved.
 */
#ifndef RS_RANK_STOW_H
#define RS_RANK_STOW_H

#include "base/arena.h"
#include "image/image.h"
#include "rank/node.h"
#include "store/artifact.h"
#include "store/modules.h"

/* Larger images are neither hashed nor looked into: what a program makes while it runs is smaller,
 * and a load must not become slower by a share that one would notice. */
enum { RS_MODULE_MAX = 8 << 20 };

/* What an arena may take in which one of them lies: more than the chunk that waits for the next. */
enum { RS_STOW_MEMORY = 32 << 20 };

/* A file that a program names to the driver, and its bytes with a zero byte behind them where they
 * are to come from memory; else DATA is NULL. */
struct rs_module_file {
    struct rs_arena arena;
    struct rs_bytes bytes;
};

/* Looks at the file PATH before the driver does: a cubin in a kernel's directory of a managed cache
 * is read from the store where files are (rank/reads.h), as an open of it would be. FILE goes to
 * rs_module_file_close(). May wait for another rank that reads it, but not while this process
 * captures a stream. */
void rs_module_file_look(const char *path, struct rs_module_file *file);
void rs_module_file_close(struct rs_module_file *file);

/* The module called NAME was loaded and counted: puts IMAGE, whose bytes can be read, into the
 * store if it belongs there and nobody has done so. */
void rs_stow_image(struct rs_node *node, struct rs_module *module, const struct rs_hash128 *name,
                   const struct rs_image *image);

/* One part under KEY, for every process of this node, unless there is one. A cubin is known by what
 * the GPU runs of it. */
enum rs_put_result rs_stow(struct rs_node *node, const struct rs_artifact_key *key,
                           const struct rs_part_in *part);

/* The one part that lies under KEY into ARENA, with a zero byte behind; *ID is what came with it.
 */
bool rs_stow_find(struct rs_node *node, const struct rs_artifact_key *key, struct rs_arena *arena,
                  struct rs_bytes *bytes, struct rs_file_id *id);

/* In a fork child. */
void rs_stow_forked(void);

#endif
