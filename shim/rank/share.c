/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/share.h"

#include "base/sys.h"
#include "rank/count.h"
#include "rank/node.h"
#include "rank/parcel.h"

#include <string.h>

bool rs_share_key(const struct rs_where *where, struct rs_artifact_key *key)
{
    *key = (struct rs_artifact_key){.key = where->key};
    switch (where->shape) {
    case RS_SHAPE_FX_DIR:
    case RS_SHAPE_FX_FILE:
        key->kind = RS_KIND_fx_entry;
        return true;
    case RS_SHAPE_AOT_DIR:
    case RS_SHAPE_AOT_FILE:
        key->kind = RS_KIND_aot_entry;
        return true;
    case RS_SHAPE_TRITON_GROUP:
        key->kind = RS_KIND_triton_group;
        return true;
    default:
        return false;
    }
}

bool rs_share_result_key(const char *name, struct rs_artifact_key *key)
{
    *key = (struct rs_artifact_key){.kind = RS_KIND_best_config};
    return strlen(name) > 3 + RS_HEX && rs_key_from_triton(name + 3, RS_HEX, &key->key);
}

/* The part of ARTIFACT that is the file ID named NAME, or its count. */
static unsigned part_of(const struct rs_artifact *artifact, const char *name,
                        const struct rs_file_id *id)
{
    unsigned i = 0;
    while (i < artifact->count &&
           !(artifact->parts[i].exact && strcmp(artifact->parts[i].name, name) == 0 &&
             artifact->parts[i].size == id->size &&
             memcmp(&artifact->parts[i].file, id, sizeof(*id)) == 0)) {
        i++;
    }
    return i;
}

static bool read_part(struct rs_artifact *artifact, const char *name, const struct rs_file_id *id,
                      struct rs_arena *arena, struct rs_bytes *out)
{
    unsigned i = part_of(artifact, name, id);
    uint8_t *data = i < artifact->count ? rs_arena_alloc(arena, (size_t)id->size + 1) : NULL;
    if (!data || !rs_artifact_read(artifact, i, data)) {
        return false;
    }
    *out = (struct rs_bytes){data, (size_t)id->size};
    return true;
}

bool rs_share_read(int fd, const struct rs_where *where, struct rs_arena *arena,
                   struct rs_bytes *out)
{
    struct rs_node *node = rs_node_if_tied();
    struct rs_artifact_key key;
    struct rs_artifact artifact;
    struct stat st;
    int saved = errno;
    bool done = false;
    if (!node || !node->slot || !rs_share_key(where, &key)) {
        return false;
    }
    struct rs_origin origin = rs_origin_of(&node->store, node->slot, where->dev, where->ino);
    if (rs_artifact_find(&node->store, node->slot, &key, &origin, 0, &artifact)) {
        if (rs_sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
            struct rs_file_id id = rs_file_id_of(&st);
            done = read_part(&artifact, where->path + where->name, &id, arena, out);
        }
        rs_artifact_release(&artifact);
    }
    rs_count(RS_C_reads_served, done);
    errno = saved;
    return done;
}
