/* SPDX-License-Identifier: Apache-2.0
 *
 * What the segment's table of modules says: rankshare stats --modules.
 */
#ifndef RS_TOOLS_MODULES_H
#define RS_TOOLS_MODULES_H

#include "store/modules.h"

#include <stdio.h>

/* The table copied out: one entry for each module, those in which the driver has spent the most
 * time first. */
struct modules {
    struct rs_module_view *list;
    size_t count;
};
void modules_read(const struct rs_store *store, struct modules *modules);
void modules_free(struct modules *modules);

/* COUNTERS: of all jobs together. */
void modules_print(const struct modules *modules, const uint64_t *counters, FILE *out);
void modules_print_json(const struct modules *modules, const uint64_t *counters);

/* Says of each module that was refused for its architecture what it is and where. */
void modules_explain(const struct modules *modules,
                     void (*say)(void *context, const char *sentence), void *context);

#endif
