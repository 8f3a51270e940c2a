/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect_key.h"

#include "store.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

bool inspect_is_key(const char *argument)
{
    size_t length = strlen(argument);

    return length >= 4 && length < STORE_KEY_MAX &&
           strspn(argument, "0123456789abcdefABCDEF") == length && access(argument, F_OK) != 0;
}

struct visit {
    const char *key;
    bool (*each)(const char *name, struct rs_bytes bytes, void *context);
    void *context;
    unsigned found;
    bool fine;
};

static void visit_part(struct visit *visit, struct rs_artifact *artifact, unsigned i,
                       enum rs_kind kind)
{
    const struct rs_part *part = &artifact->parts[i];
    char *name = tool_format("%s/%s", rs_kind_name(kind), part->name);
    uint8_t *data = malloc(part->size ? part->size : 1);

    if (!data || !rs_artifact_read(artifact, i, data)) {
        tool_error(name, "its bytes in the segment are not to be had");
        visit->fine = false;
    } else {
        visit->fine &=
            visit->each(name, (struct rs_bytes){.data = data, .size = part->size}, visit->context);
    }
    free(data);
    free(name);
}

static void visit_group(struct visit *visit, struct rs_store *store, unsigned i)
{
    struct rs_artifact_view view;
    struct rs_artifact artifact;
    char key[STORE_KEY_MAX];

    if (!rs_artifact_view(store, i, &view) ||
        strncasecmp(store_key(key, &view.key.key), visit->key, strlen(visit->key)) != 0 ||
        !rs_artifact_open(store, i, &artifact))
        return;
    visit->found++;
    for (unsigned part = 0; part < artifact.count; part++)
        visit_part(visit, &artifact, part, view.key.kind);
    rs_artifact_release(&artifact);
}

bool inspect_key(const char *key, const char *segment,
                 bool (*each)(const char *name, struct rs_bytes bytes, void *context),
                 void *context)
{
    const struct store_arguments arguments = {.segment = segment};
    struct visit visit = {key, each, context, 0, true};
    struct rs_store store;
    int status;

    if (!store_open(&arguments, false, &store, &status))
        return false;
    unsigned top = rs_artifact_top(&store);
    for (unsigned i = 0; i < top; i++)
        visit_group(&visit, &store, i);
    rs_store_close(&store);
    if (visit.found == 0)
        tool_error(key, "no file, and no artifact in the segment has a key that begins so");
    return visit.found > 0 && visit.fine;
}
