/* SPDX-License-Identifier: Apache-2.0
 *
 * What this process loads onto GPUs, told by the driver hooks after each call has come back from
 * the driver: counted, and kept in the node's table of modules by content. Nothing here calls the
 * driver. Thread safe, fork safe, never fails; errno is not preserved.
 */
#ifndef RS_RANK_LOAD_H
#define RS_RANK_LOAD_H

#include "rank/stow.h"

#include <stdbool.h>
#include <stdint.h>

/* How the program came by the function. */
enum rs_road {
    RS_ROAD_LINKED, /* the loader bound it */
    RS_ROAD_DLSYM,  /* dlsym on a handle */
    RS_ROAD_QUERY,  /* cuGetProcAddress */
    RS_ROADS
};

/* A call as it ended. */
struct rs_load {
    enum rs_road road;
    bool good;             /* the driver did what it was asked */
    uint64_t ns;           /* how long it needed */
    unsigned major, minor; /* compute capability of the device that refused it; 0: not asked */
    const void *handle;    /* what the driver made; NULL: nothing. Never followed */
};

/* From memory: IMAGE is what the driver was given, and may be anything; the caller still holds it.
 */
void rs_loaded_image(const struct rs_load *load, const void *image);
/* From the file PATH, which may be NULL; FILE is what was known of it before. SERVED: the driver
 * was given FILE's bytes instead. */
void rs_loaded_file(const struct rs_load *load, const char *path, const struct rs_module_file *file,
                    bool served);

/* MODULE, or a library, was unloaded. */
void rs_unloaded(const struct rs_load *load, const void *module);
/* The kernel NAME of MODULE was looked up; NULL: the module of a library. */
void rs_looked_up(const struct rs_load *load, const void *module, const char *name);

/* A step of the driver's linker. LAST: it has made an image. */
void rs_linked(const struct rs_load *load, bool last);

#endif
