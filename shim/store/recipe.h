/* SPDX-License-Identifier: Apache-2.0
 *
 * A file some stretches of which are objects of their own, because other artifacts hold the same
 * bytes. What is stored in its place is a *recipe*: where these *runs* lie, and the bytes between
 * them. The runs are parts of further groups, whose keys follow from the file's bytes. Pure; thread
 * and fork safe.
 */
#ifndef RS_STORE_RECIPE_H
#define RS_STORE_RECIPE_H

#include "store/artifact.h"

enum {
    RS_RUNS_MAX = 2048,
    RS_RUNS_PER_GROUP = RS_PARTS_MAX,
};

/* A recipe as it was read; it points into its bytes. */
struct rs_recipe {
    struct rs_hash128 hash; /* of the whole file */
    uint32_t size;          /* of the whole file */
    unsigned count;         /* of runs */
    const unsigned char *table, *literals;
};

struct rs_span {
    uint32_t at, size; /* in the whole file */
    uint64_t check;    /* low half of its XXH3-128 */
};

/* The recipe of PART, which has runs, in MEMORY; NULL: no memory, or the runs are not in order, not
 * apart, empty or too many. */
void *rs_recipe_write(struct rs_arena *memory, const struct rs_part_in *part, size_t *size);

/* Reads SIZE bytes of anything. False: they are no recipe. */
bool rs_recipe_read(const void *data, size_t size, struct rs_recipe *recipe);

/* Run number I, below the count. */
struct rs_span rs_recipe_run(const struct rs_recipe *recipe, unsigned i);

/* Puts the bytes between the runs where they belong in OUT, which has room for the whole file. */
void rs_recipe_fill(const struct rs_recipe *recipe, void *out);

/* The key of the group that holds the runs from number N * RS_RUNS_PER_GROUP on. */
struct rs_artifact_key rs_recipe_key(const struct rs_recipe *recipe, unsigned n);

#endif
