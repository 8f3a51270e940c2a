/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings of torch and Triton in this environment that leave nothing to share, or that bring in
 * another door for the bytes. They explain a job without look-ups, so `doctor` and `run` name them.
 */
#ifndef RS_TOOLS_FOREIGN_H
#define RS_TOOLS_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

struct foreign {
    const char *variable, *value; /* as set in the environment; not to be freed */
    const char *sentence;         /* what it does */
    bool wrong;                   /* stands against sharing; else it is only worth knowing */
};

/* Setting number INDEX of those that are in force. False: there are no more. Reads the environment;
 * not thread safe. */
bool foreign_setting(size_t index, struct foreign *found);

#endif
