/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX that a program hands to the driver, compiled once per node (RANKSHARE_PTX=1): whether this
 * load may be, under which key its code lies, and the code. The hooks do what the driver is needed
 * for. docs/loads.md has the rules. Thread and fork safe; errno is not preserved.
 */
#ifndef RS_RANK_COMPILE_H
#define RS_RANK_COMPILE_H

#include "base/arena.h"
#include "base/bytes.h"
#include "image/jit.h"
#include "store/artifact.h"

/* What decides, with text and options, which code comes out. */
struct rs_compile_class {
    unsigned major, minor; /* compute capability of the device */
    unsigned driver;       /* version, 13000 */
};

/* A load of PTX. */
struct rs_compile {
    struct rs_bytes text; /* the caller's, without the zero byte behind it */
    struct rs_jit jit;
    struct rs_artifact_key key;
    struct rs_arena arena;
    struct rs_bytes code; /* a cubin */
    uint64_t compile_ns;  /* what it cost to make */
};

/* True: IMAGE is PTX of which another process may have the code, and LOAD goes to rs_compile_end().
 * COUNT to VALUES: the options of this load, not yet read; OTHERS: how many it has of another kind.
 */
bool rs_compile_begin(struct rs_compile *load, const void *image, unsigned count,
                      const unsigned *options, void *const *values, unsigned others);
void rs_compile_end(struct rs_compile *load);

/* The code for CLASS from the store. */
bool rs_compile_find(struct rs_compile *load, const struct rs_compile_class *class_of);
/* The driver has taken it: a compile saved. */
void rs_compile_taken(const struct rs_compile *load);

/* The driver's linker has made SIZE bytes at CODE of it, in NS nanoseconds. False: that is no code
 * which can be used. */
bool rs_compile_made(struct rs_compile *load, const void *code, size_t size, uint64_t ns);
/* The driver has taken that: others may have it, unless somebody was faster. */
void rs_compile_compiled(struct rs_compile *load);
/* No code can be made of it that way, so the next load of it in this process won't try. */
void rs_compile_failed(const struct rs_compile *load);

/* A PTX load that could not be shared. */
void rs_compile_left(void);

#endif
