/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens to a buffer that Python hashes. The digest hook asks here and decides nothing
 * itself.
 *
 *     kind = rs_hashed_kind(data, size);               (ordinal/ordinal.h)
 *     if (kind != RS_KIND_other) {
 *         rs_hash_plan(&plan, kind, data, size, &facts);
 *         hash plan.bytes instead of data when plan.replace is set
 *         rs_hash_done(&plan, what was hashed, digest or NULL);
 *     }
 *
 * Thread safe (free-threaded Pythons hash in parallel); fork safe.
 */
#ifndef RS_RANK_HASH_H
#define RS_RANK_HASH_H

#include "base/arena.h"
#include "ordinal/ordinal.h"
#include "rank/known.h"

#include <stdbool.h>

/* What the interpreter says about itself, read under the GIL from sys.modules when details are
 * seen. */
struct rs_python_facts {
    char torch_version[32];  /* torch.__version__, "" when torch isn't loaded */
    char triton_version[32]; /* triton.__version__, likewise */
    bool redis;              /* `redis` is among the loaded modules: a remote cache may be in use */
    bool vllm;               /* `vllm` is among the loaded modules */
};

struct rs_hash_plan {
    struct rs_arena arena;
    bool replace;          /* hash BYTES instead of what the program gave */
    struct rs_bytes bytes; /* valid until rs_hash_done */
    enum rs_kind kind;
    int ordinal;    /* of the details; -1 none */
    int treatment;  /* enum rs_treatment of rank/known.h */
    unsigned flags; /* enum rs_flags of ordinal/flags.h */
};

/* Decides for one recognised buffer. Never fails: in doubt PLAN says "hash what you have". */
void rs_hash_plan(struct rs_hash_plan *plan, enum rs_kind kind, const uint8_t *data, size_t size,
                  const struct rs_python_facts *facts);

enum rs_hashed {
    RS_HASHED_NOTHING, /* the call failed */
    RS_HASHED_PLANNED,
    RS_HASHED_NATIVE, /* the program's own bytes, although plan.replace was set */
};

/* Must follow every rs_hash_plan. DIGEST: the 32 bytes that the hash object gives after hashing the
 * planned bytes, or NULL when they could not be had (then nothing is remembered). */
void rs_hash_done(struct rs_hash_plan *plan, enum rs_hashed hashed, const uint8_t *digest);

#endif
