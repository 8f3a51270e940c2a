/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads an artifact and asks the engine about it.
 */
#include "artifact.h"

#include "ordinal/flags.h"
#include "ordinal/text.h"

#include <stdlib.h>
#include <string.h>

/* Memory of the engine for one artifact: it stays well below, whatever the file says. */
static size_t arena_limit(size_t size)
{
    return ((size_t)64 << 20) + size * 16;
}

bool artifact_open(struct artifact *artifact, const char *path)
{
    memset(artifact, 0, sizeof(*artifact));
    artifact->path = path;
    if (!tool_read(path, &artifact->bytes, &artifact->memory))
        return false;
    artifact_scan(artifact);
    return true;
}

void artifact_scan(struct artifact *artifact)
{
    rs_arena_init(&artifact->arena, arena_limit(artifact->bytes.size));
    artifact->kind = rs_kind_of(artifact->bytes);
    rs_ordinal_scan(&artifact->arena, artifact->bytes, artifact->kind, &artifact->report);
}

bool artifact_has_ordinal(const struct artifact *artifact, int ordinal)
{
    return artifact->report.ordinals[ordinal / 64] >> (ordinal % 64) & 1;
}

json_t *artifact_ordinals(const struct artifact *artifact)
{
    json_t *ordinals = json_array();

    for (int i = 0; i <= RS_ORDINAL_MAX; i++)
        if (artifact_has_ordinal(artifact, i))
            json_array_append_new(ordinals, json_integer(i));
    return ordinals;
}

void artifact_free(struct artifact *artifact)
{
    rs_arena_free(&artifact->arena);
    free(artifact->memory);
}

enum rs_reason artifact_reason(const struct artifact *artifact, const char *torch_version)
{
    const struct rs_report *report = &artifact->report;
    bool details = artifact->kind == RS_KIND_fx_details || artifact->kind == RS_KIND_aot_details;

    if (report->reason != RS_OK)
        return report->reason;
    if (report->private_ordinal >= 0)
        return RS_REFUSED_second_ordinal;
    if (report->comms & RS_COMMS_SYMM_MEM)
        return RS_REFUSED_symm_mem;
    if (details && report->dtensor)
        return RS_REFUSED_dtensor;
    /* An entry with collectives is as good as its key. */
    return details && report->comms ? rs_flags_refusal(rs_flags_of(report, torch_version)) : RS_OK;
}

void artifact_refusal(const struct artifact *artifact, enum rs_reason reason)
{
    const char *name = tool_file_name(artifact->path);

    if (artifact->report.reason == reason)
        tool_error(name, "refused (%s): %s, at byte %zu", rs_reason_name(reason),
                   rs_reason_text(reason), artifact->report.where);
    else
        tool_error(name, "refused (%s): %s", rs_reason_name(reason), rs_reason_text(reason));
}
