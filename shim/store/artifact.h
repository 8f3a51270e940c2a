/* SPDX-License-Identifier: Apache-2.0
 *
 * The artifact store: one copy per node of what compilers leave, in the segment or, where /dev/shm
 * has too little room, in a file under RANKSHARE_DIR. A *group* is all files of one artifact, from
 * one producer, found by kind, key and class; it is readable once it is complete. The bytes of a
 * file are an *object*, stored once under their XXH3-128 (or under a hash of what they mean, which
 * the caller gives), compressed where that pays.
 *
 * Nothing here trusts the segment: what is read is compared with its check sum, and what does not
 * hold is absent. Killed at any instruction the store stays usable. All functions may be called by
 * any thread at once; errno is kept; no function calls malloc, raises a signal or holds a lock
 * across a wait. Put may wait up to a second for other writers; find and read wait for nobody. A
 * process that never finds or puts anything pays nothing, and until somebody puts something nobody
 * reserves memory.
 *
 * Fork: a child must not use its parent's open handles but to release them, which leaves the
 * parent's pins alone.
 */
#ifndef RS_STORE_ARTIFACT_H
#define RS_STORE_ARTIFACT_H

#include "base/arena.h"
#include "base/hash128.h"
#include "store/store.h"

struct rs_artifact_key {
    enum rs_kind kind;
    struct rs_key key;
    uint64_t class_id; /* GPUs that may use it; 0: any */
};

/* Where a group was published from: the cache root, and the run of a job (of the slot that the
 * process has). */
struct rs_origin {
    uint64_t dev, ino;
    uint32_t job, run;
};
/* The origin of the root (DEV, INO) for the process of SLOT, which is not NULL. */
struct rs_origin rs_origin_of(const struct rs_store *store, const struct rs_slot *slot,
                              uint64_t dev, uint64_t ino);

/* A file when it was published. Who serves its bytes for it compares them with what stat says. */
struct rs_file_id {
    uint64_t ino, size, mtime_ns;
};

enum {
    RS_PARTS_MAX = RS_GROUP_OBJECTS - 1,
    RS_PART_NAME_MAX = 256, /* with the zero byte */
};
#define RS_PART_SIZE_MAX (UINT64_C(1) << 30)

/* ---- put ------------------------------------------------------------------------------------ */

/* A stretch of a file's bytes that other artifacts hold, too: it becomes an object of its own, and
 * is stored once. */
struct rs_run {
    size_t at, size;
    const struct rs_hash128 *meaning; /* as in rs_part_in */
};

struct rs_part_in {
    const char *name; /* relative to where the group is put; no zero length, no repetition */
    const void *data;
    size_t size;
    uint32_t mode; /* permission bits */
    struct rs_file_id file;
    const struct rs_hash128 *meaning; /* NULL, or what stands for equal bytes: the first ones that
                                         came with it are kept for all */
    const struct rs_run *runs;        /* in order, apart; a whim that the store may ignore */
    unsigned run_count;
};

enum rs_put_flags {
    RS_PUT_WARM = 1,      /* for every job, not only the producer's: the user asked for it */
    RS_PUT_IF_WANTED = 2, /* only if another process has looked for this key (autotuning's losers
                             are looked for by nobody) */
    RS_PUT_PROMISED = 4,  /* somebody waits for it: it is not evicted for ten minutes, for one where
                             nothing else can be */
    RS_PUT_FIRST = 8,  /* not if a group stands there that it would replace: that one is as good */
    RS_PUT_EXACT = 16, /* the very bytes: what only means the same won't do */
};

enum rs_put_result {
    RS_PUT_STORED,
    RS_PUT_THERE,    /* the same parts of the same origin were there, or RS_PUT_FIRST */
    RS_PUT_BUSY,     /* another process is putting it, or holds the store for too long */
    RS_PUT_NO_ROOM,  /* no memory, or RANKSHARE_SIZE is full of what can't be evicted */
    RS_PUT_UNWANTED, /* RS_PUT_IF_WANTED */
    RS_PUT_REFUSED,  /* no parts, too many, too large, a name that is empty or too long */
};

/* Publishes a group: all parts or nothing. A group of the same key, root and run, or of a run that
 * is over, is replaced. DATA need not outlive the call. SLOT is this process's; NULL: busy. */
enum rs_put_result rs_artifact_put(struct rs_store *store, struct rs_slot *slot,
                                   const struct rs_artifact_key *key,
                                   const struct rs_origin *origin, unsigned flags,
                                   const struct rs_part_in *parts, unsigned count);

/* ---- find and read -------------------------------------------------------------------------- */

/* Which rule let the group be found; the first that holds. */
enum rs_match {
    RS_MATCH_ROOT = 1, /* published from the same root, which still is the same directory */
    RS_MATCH_JOB,      /* another root, in this run of this job */
    RS_MATCH_WARM,     /* put for everybody, or the caller asks for it */
};

struct rs_part {
    const char *name;
    uint32_t size; /* of the bytes that rs_artifact_read() gives */
    uint32_t mode;
    bool exact; /* they are the very bytes that were put; else bytes that mean the same */
    struct rs_file_id file;
    struct rs_hash128 hash; /* of its object, as CHECK is */
    uint64_t check;
    uint32_t recipe; /* 0, or the object is a recipe (store/recipe.h) of so many bytes */
};

/* An open group: its parts, pinned so that it is not evicted. Plain memory of the caller's. */
struct rs_artifact {
    struct rs_store *store;
    struct rs_slot *slot;
    enum rs_match match;
    struct rs_origin origin;
    unsigned count;
    struct rs_part *parts; /* in MEMORY */
    int fd, pid, pin;
    uint32_t group;
    struct rs_group *entry; /* of that number: looked up once, since the segment may be damaged */
    uint64_t word;
    bool unable; /* what is missing is memory, a descriptor or a readable disk, not bytes */
    struct rs_arena memory;
    void *work, *packed; /* in MEMORY, from the first packed part on */
    size_t packed_size;
};

/* Finds the group of KEY that ORIGIN may have: of the same root; else, with ANYWHERE, of another
 * root of the same run, or a warm one, or, with WARM, of any. True: *ARTIFACT is open until
 * rs_artifact_release(). Who finds nothing is remembered for RS_PUT_IF_WANTED, but for QUIET. */
enum rs_find_flags { RS_FIND_ANYWHERE = 1, RS_FIND_WARM = 2, RS_FIND_QUIET = 4 };
bool rs_artifact_find(struct rs_store *store, struct rs_slot *slot,
                      const struct rs_artifact_key *key, const struct rs_origin *origin,
                      unsigned flags, struct rs_artifact *artifact);

/* The bytes of part number I into BUFFER, which has room for parts[I].size. False: they are not to
 * be had, and BUFFER holds anything; the group is forgotten when they were damaged (counted) or
 * some of their runs have been evicted. */
bool rs_artifact_read(struct rs_artifact *artifact, unsigned i, void *buffer);

/* Ends the use of ARTIFACT, also after a failed read. */
void rs_artifact_release(struct rs_artifact *artifact);

/* Forgets the groups of KEY from the root of ORIGIN, of every run: their files were found changed
 * or gone. Returns how many. */
unsigned rs_artifact_forget(struct rs_store *store, struct rs_slot *slot,
                            const struct rs_artifact_key *key, const struct rs_origin *origin);

#endif
