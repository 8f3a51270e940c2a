/* SPDX-License-Identifier: Apache-2.0
 *
 * A group on its way into the artifact store: all files of one artifact, read whole. Of a kernel's
 * group file the paths are cut to what is the same in every directory. Thread and fork safe.
 */
#ifndef RS_RANK_PARCEL_H
#define RS_RANK_PARCEL_H

#include "store/artifact.h"

#include <sys/stat.h>

/* The part of a group that is no file: the path of the directory that it was published from. */
#define RS_PARCEL_ROOT ".root"
/* A kernel's group file as it lies there, with the paths of its own directory. */
#define RS_PARCEL_GROUP ".group"

struct rs_parcel {
    struct rs_arena arena;
    struct rs_part_in *parts;
    struct rs_artifact *known; /* NULL, or a former group of the same key and directory */
    unsigned count, most;
    bool whole; /* nothing was missing, too large or too many */
};

/* The identity of a file that fstat has shown. */
struct rs_file_id rs_file_id_of(const struct stat *st);

/* The part of ARTIFACT that is NAME and the very file ID, byte for byte; its count: none is. */
unsigned rs_parcel_part(const struct rs_artifact *artifact, const char *name,
                        const struct rs_file_id *id);

/* Each makes PARCEL, which rs_parcel_free() must get afterwards. True: it is whole, and holds
 * something. ROOT is the cache directory, ROOT_SIZE characters. KNOWN, which may be NULL, is an
 * open group: files that are among its parts are taken from there.
 *
 * All entries in a key's directory, open at FD. */
bool rs_parcel_entries(struct rs_parcel *parcel, int fd, const char *root, size_t root_size,
                       struct rs_artifact *known);
/* The kernel of group file NAME in the directory FOLDER (its name alone), open at FD. */
bool rs_parcel_kernel(struct rs_parcel *parcel, int fd, const char *folder, const char *name,
                      const char *root, size_t root_size);
/* The autotuning result NAME, "xx/<64 digits>.best_config", below the root open at FD. */
bool rs_parcel_result(struct rs_parcel *parcel, int fd, const char *name, const char *root,
                      size_t root_size);

/* Marks the kernels' files in PARCEL's FX entries: the store keeps them once, with the kernels'
 * own. For artifacts whose kernels will be in the store, too: to read an entry in one piece is
 * faster. */
void rs_parcel_cut(struct rs_parcel *parcel);

void rs_parcel_free(struct rs_parcel *parcel);

#endif
