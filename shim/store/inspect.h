/* SPDX-License-Identifier: Apache-2.0
 *
 * The artifact store as a program looks at it: sums, each group, and whether all of it holds. Works
 * on read-only mappings but for rs_index_check(). Thread safe; errno is kept.
 */
#ifndef RS_STORE_INSPECT_H
#define RS_STORE_INSPECT_H

#include "store/artifact.h"

struct rs_artifact_sums {
    enum rs_store_place place;     /* RS_PLACE_NONE: all is 0 */
    uint64_t size, reserved, used; /* bytes of the arena: it may have, it has, it holds */
    uint32_t groups, objects;
    uint64_t raw; /* bytes of all groups' parts, had each its own copy */
};
void rs_artifact_sums(struct rs_store *store, struct rs_artifact_sums *sums);

struct rs_artifact_view {
    struct rs_artifact_key key;
    struct rs_origin origin;
    unsigned parts;
    uint64_t raw, stored; /* bytes of its parts; of its objects, which it may share */
    uint64_t put_ns;      /* CLOCK_REALTIME */
    uint64_t unused_ms;   /* since its last use */
    int pid, rank;        /* of its producer; rank -1: none */
    bool warm, pinned;
};
/* Groups are numbered below this. */
unsigned rs_artifact_top(struct rs_store *store);
/* Copies group number I; false: there is none. */
bool rs_artifact_view(struct rs_store *store, unsigned i, struct rs_artifact_view *view);

/* Opens group number I for reading, whoever asks. On false ARTIFACT is released, but its word is
 * the one that was met, and it says whether this process was unable to read. */
bool rs_artifact_open(struct rs_store *store, unsigned i, struct rs_artifact *artifact);

/* rs_artifact_read(), not counted, with what was the matter. */
enum rs_reading {
    RS_READING_WHOLE,
    RS_READING_LACKS, /* runs of it have been evicted, or there is no memory to read them */
    RS_READING_DAMAGED,
};
enum rs_reading rs_artifact_read_part(struct rs_artifact *artifact, unsigned i, void *buffer);

/* Reads all of group number I. */
enum rs_artifact_state {
    RS_ARTIFACT_GONE, /* there is none, or it went meanwhile */
    RS_ARTIFACT_WHOLE,
    RS_ARTIFACT_MANIFEST, /* its manifest is not what was put */
    RS_ARTIFACT_PART,     /* a part is not: PART is its name */
    RS_ARTIFACT_LACKS,    /* runs of a part have been evicted: nobody gets it any more */
};
enum rs_artifact_state rs_artifact_check(struct rs_store *store, unsigned i,
                                         char part[RS_PART_NAME_MAX]);

/* What does not hold in the index itself: a sentence for each kind and how many. Takes the lock, so
 * that nobody changes it meanwhile; false: it can't be had (a read-only mapping, a busy store). */
enum rs_index_fault {
    RS_FAULT_CHAIN,     /* a READY entry that its chain does not lead to */
    RS_FAULT_REFERENCE, /* a group lists an object that is free */
    RS_FAULT_COUNT,     /* references that nobody holds, or too few */
    RS_FAULT_BLOCK,     /* blocks that lie outside, or in each other */
    RS_FAULT_BITMAP,    /* a block that is free in the bitmap, or a granule that nobody has */
    RS_FAULT_LIST,      /* a free entry that is on no list, or a used one that is */
    RS_FAULT_SUM,       /* sums that are not those of the entries */
    RS_FAULTS
};
const char *rs_index_fault_text(enum rs_index_fault fault);
bool rs_index_check(struct rs_store *store, unsigned faults[RS_FAULTS]);

/* Evicts until at most BYTES of the arena are in use or nothing is left that may go; how many
 * groups went, or -1: the store is busy. */
int rs_artifact_evict_to(struct rs_store *store, uint64_t bytes);

#endif
