/* SPDX-License-Identifier: Apache-2.0
 *
 * The artifact store's index: groups and objects, their chains and free lists. Reading takes no
 * lock and believes nothing: every number is compared with what it must be below, every walk ends.
 * Changes are made under the store's lock.
 */
#ifndef RS_STORE_INDEX_H
#define RS_STORE_INDEX_H

#include "store/artifact.h"
#include "store/blocks.h"
#include "store/layout.h"
#include "store/registry.h"

/* States of rs_group.word and rs_object.word, made with rs_word(). */
enum rs_entry_state {
    RS_ENTRY_FREE,
    RS_ENTRY_WRITING, /* its owner fills it; nobody else reads it */
    RS_ENTRY_READY,
    RS_ENTRY_LEAVING, /* a group that is being evicted, an object that is damaged */
};

enum {
    RS_GROUP_WARM = 1, /* rs_group.flags: for every job */
    RS_STEPS = 4096,   /* of a walk along a chain */
};

struct rs_index {
    struct rs_segment *segment;
    unsigned char *at; /* its mapping */
};

/* The index of STORE, mapped at the first call in a process. False while nothing was put by
 * anybody (no system call then), or when the segment has been removed or cut short. */
bool rs_index_open(struct rs_store *store, struct rs_index *index);

/* Entry number I; NULL when its memory is not reserved. */
struct rs_group *rs_group_at(const struct rs_index *index, uint32_t i);
struct rs_object *rs_object_at(const struct rs_index *index, uint32_t i);
_Atomic uint64_t *rs_stamps(const struct rs_index *index); /* per group: last use, milliseconds */
struct rs_pin *rs_pins(const struct rs_index *index);
_Atomic uint64_t *rs_wanted(const struct rs_index *index);
struct rs_blocks rs_index_blocks(const struct rs_index *index);

/* Used entries are below these. */
uint32_t rs_groups_top(const struct rs_index *index);
uint32_t rs_objects_top(const struct rs_index *index);

/* Heads of the chains. */
_Atomic uint32_t *rs_group_head(const struct rs_index *index, const struct rs_artifact_key *key);
_Atomic uint32_t *rs_object_head(const struct rs_index *index, uint64_t low);

bool rs_group_has_key(const struct rs_group *group, const struct rs_artifact_key *key);
struct rs_artifact_key rs_group_key(const struct rs_group *group);
struct rs_origin rs_group_origin(const struct rs_group *group);

/* The READY object of HASH: its number, or RS_NO_ENTRY. When CHECKED, its check and size must be
 * those, too. */
#define RS_NO_ENTRY UINT32_MAX
uint32_t rs_object_find(const struct rs_index *index, struct rs_hash128 hash, bool checked,
                        uint64_t check, uint32_t raw);

/* Granules that hold BYTES, one at least. */
static inline uint32_t rs_granules(uint64_t bytes)
{
    return bytes ? (uint32_t)((bytes + RS_GRANULE - 1) / RS_GRANULE) : 1;
}

/* Whether object I (any number) is READY and has these. */
bool rs_object_is(const struct rs_index *index, uint32_t i, struct rs_hash128 hash, uint64_t check,
                  uint32_t raw);

/* Milliseconds of CLOCK_MONOTONIC, coarse. */
uint64_t rs_now_ms(void);

/* ---- under the lock ------------------------------------------------------------------------- */

/* Takes and gives back the store's lock for the process of TAG; after a writer's death the index is
 * mended first. False: busy. */
bool rs_index_lock(struct rs_index *index, uint64_t tag);
void rs_index_unlock(struct rs_index *index, uint64_t tag);

/* Puts entry I in front of its chain, or takes it out. */
void rs_chain_add(_Atomic uint32_t *head, _Atomic uint32_t *next, uint32_t i);
void rs_group_unchain(const struct rs_index *index, uint32_t i);
void rs_object_unchain(const struct rs_index *index, uint32_t i);

/* A free entry, taken off its list or from behind the used ones; RS_NO_ENTRY: none. It is still in
 * state FREE. */
uint32_t rs_group_vacant(struct rs_index *index);
uint32_t rs_object_vacant(struct rs_index *index);

/* Drops one reference to object I (number + 1, as groups have it); the last one frees it. */
void rs_object_drop(struct rs_index *index, uint32_t one_more);
/* READY object I (or RS_NO_ENTRY) holds other bytes than it says: it is found no more, and goes
 * with the last group that lists it. */
void rs_object_condemn(struct rs_index *index, uint32_t i);
/* Frees group I, whatever its state, with its references. */
void rs_group_free(struct rs_index *index, uint32_t i);

/* Whether group I was begun by a process that has died, or ten minutes ago. */
bool rs_group_abandoned(const struct rs_index *index, uint32_t i);

/* Makes lists, chains, references, bits and sums anew from the entries' words. What a dead writer
 * left half done goes. */
void rs_index_mend(struct rs_index *index);

#endif
