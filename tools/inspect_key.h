/* SPDX-License-Identifier: Apache-2.0
 *
 * Artifacts in the segment, for `inspect`.
 */
#ifndef RS_TOOLS_INSPECT_KEY_H
#define RS_TOOLS_INSPECT_KEY_H

#include "tool.h"

/* Whether ARGUMENT is meant as a key: 4 to 64 hexadecimal digits, and no file of that name. */
bool inspect_is_key(const char *argument);

/* Calls EACH with every file of the artifacts whose key begins with KEY, as "<kind>/<name>", which
 * lasts for the call. SEGMENT: NULL, or the name that an option gives. False: EACH said so, or
 * there is no such artifact or segment, or it can't be read (a message says which). */
bool inspect_key(const char *key, const char *segment,
                 bool (*each)(const char *name, struct rs_bytes bytes, void *context),
                 void *context);

#endif
