/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *json_text(const char *text)
{
    json_t *string = json_string(text);

    if (string)
        return string;
    char *utf8 = tool_alloc(2 * strlen(text) + 1);
    size_t used = 0;
    for (const char *c = text; *c; c++) {
        unsigned char byte = (unsigned char)*c;

        if (byte < 0x80) {
            utf8[used++] = (char)byte;
        } else {
            utf8[used++] = (char)(0xc0 | byte >> 6);
            utf8[used++] = (char)(0x80 | (byte & 0x3f));
        }
    }
    string = json_string(utf8);
    free(utf8);
    return string;
}

void json_print(json_t *value)
{
    json_dumpf(value, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(value);
}
