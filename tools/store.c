/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include "format.h"
#include "tool.h"
#include "view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool store_open(const struct store_arguments *arguments, bool writable, struct rs_store *store,
                int *status)
{
    char segment[RS_SEGMENT_NAME_MAX];

    *status = TOOL_USAGE;
    if (!view_segment_name(arguments->segment, segment))
        return false;
    enum rs_store_status opened = rs_store_open(segment, false, writable, store);
    if (opened != RS_STORE_OK) {
        tool_error(segment, "%s", rs_store_status_text(opened));
        *status = TOOL_UNREADABLE;
        return false;
    }
    store->dir = getenv("RANKSHARE_DIR");
    *status = TOOL_OK;
    return true;
}

const char *store_key(char out[STORE_KEY_MAX], const struct rs_key *key)
{
    for (size_t i = 0; i < sizeof(key->bytes); i++)
        snprintf(out + 2 * i, 3, "%02x", key->bytes[i]);
    return out;
}

const char *store_place(enum rs_store_place place)
{
    static const char *const names[] = {"none", "shm", "file"};

    return (unsigned)place < 3 ? names[place] : "?";
}

void store_print_sums(const struct rs_artifact_sums *sums)
{
    char count[FORMAT_MAX], objects[FORMAT_MAX], used[FORMAT_MAX], size[FORMAT_MAX],
        reserved[FORMAT_MAX], raw[FORMAT_MAX], percent[FORMAT_MAX];

    if (sums->place == RS_PLACE_NONE)
        return;
    printf("artifacts: %s, %s objects in %s of at most %s (%s reserved in %s)",
           format_count(count, sums->groups), format_count(objects, sums->objects),
           format_bytes(used, sums->used), format_bytes(size, sums->size),
           format_bytes(reserved, sums->reserved),
           sums->place == RS_PLACE_FILE ? "a file" : "memory");
    if (sums->raw)
        printf("; %s of files, stored in %s of that", format_bytes(raw, sums->raw),
               format_percent(percent, sums->used, sums->raw));
    putchar('\n');
}
