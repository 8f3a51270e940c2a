/* SPDX-License-Identifier: Apache-2.0
 *
 * A directory's names without libc's opendir, which is one of our hooks and allocates.
 */
#ifndef RS_BASE_DIR_H
#define RS_BASE_DIR_H

#include <stdbool.h>

/* Calls VISIT for each name but "." and ".." in the directory that is open for reading at FD, until
 * it says false. Entries that VISIT removes do not disturb it. Thread and fork safe. */
void rs_dir_each(int fd, bool (*visit)(int fd, const char *name, void *context), void *context);

#endif
