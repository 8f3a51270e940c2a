/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RS_TOOLS_JSON_H
#define RS_TOOLS_JSON_H

#include <jansson.h>

/* A JSON string of any bytes: what isn't UTF-8 is read as Latin-1, so that every file name can be
 * printed. */
json_t *json_text(const char *text);

/* Prints VALUE to standard output with a newline, and releases it. */
void json_print(json_t *value);

#endif
