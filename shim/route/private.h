/* SPDX-License-Identifier: Apache-2.0
 *
 * The private directory that stands in for a cache directory in which nothing can be written: its
 * name below RANKSHARE_DIR, and how it tells what it stands in for. Pure; thread and fork safe.
 */
#ifndef RS_ROUTE_PRIVATE_H
#define RS_ROUTE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

/* A link in the private directory that leads to the other one. */
#define RS_PRIVATE_SOURCE ".rankshare-source"

enum { RS_PRIVATE_NAME = 32 };

/* The name for the directory ROOT (absolute, without a slash behind it): the same in every process
 * and every job, so that what one has compiled or copied the next finds. */
void rs_private_name(const char *root, char name[RS_PRIVATE_NAME]);

/* Whether NAME looks like one of these. */
bool rs_private_is_name(const char *name);

/* Whether SUFFIX, what follows a root in a path and begins with a slash, stays below that root: no
 * empty name in it, no "." and "..", no name of the link. */
bool rs_private_suffix(const char *suffix);

/* Where a kernel of <root>/triton/<ordinal> lies, too, when another process has put it there: the
 * part of SUFFIX behind /triton/<ordinal>, which begins with a slash; NULL: SUFFIX is nothing of
 * the kind, or the ordinal is 0 anyway. */
const char *rs_private_kernel(const char *suffix);

#endif
