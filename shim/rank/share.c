/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/share.h"

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
    case RS_SHAPE_TRITON_FILE:
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
