/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the ranks of a node read what the segment has, too. A file in this machine's page cache is
 * read faster than the segment; a read on any other file system may ask another machine, once for
 * each rank. Pure; thread and fork safe.
 */
#ifndef RS_ROUTE_DISK_H
#define RS_ROUTE_DISK_H

#include <stdbool.h>
#include <stdint.h>

/* Whether files on a file system of TYPE (f_type of statfs) are read out of this machine's page
 * cache. What is not known may be anything: no. */
bool rs_disk_local(uint32_t type);

/* What a file system of TYPE is called; NULL: not known here. */
const char *rs_disk_name(uint32_t type);

#endif
