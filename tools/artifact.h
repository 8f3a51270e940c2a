/* SPDX-License-Identifier: Apache-2.0
 *
 * An artifact file as `key`, `ordinals` and `rewrite` look at it: read, told apart, scanned.
 */
#ifndef RS_TOOLS_ARTIFACT_H
#define RS_TOOLS_ARTIFACT_H

#include "json.h"
#include "tool.h"

struct artifact {
    const char *path;
    struct rs_bytes bytes;
    void *memory; /* owns what BYTES points to */
    struct rs_arena arena;
    enum rs_kind kind;
    struct rs_report report;
};

/* Reads and scans PATH ("-": standard input). On failure says why and returns false; artifact_free
 * is needed only after success. */
bool artifact_open(struct artifact *artifact, const char *path);
void artifact_free(struct artifact *artifact);

/* Fills in kind and report of an artifact whose bytes are there; its arena is to be freed. */
void artifact_scan(struct artifact *artifact);

/* Whether an artifact holds ORDINAL (0 to RS_ORDINAL_MAX); all that it holds. */
bool artifact_has_ordinal(const struct artifact *artifact, int ordinal);
json_t *artifact_ordinals(const struct artifact *artifact);

/* Why ARTIFACT is not shared between ranks under this torch.__version__ ("": not known), or RS_OK:
 * the engine's reason, else what the ranks themselves refuse. */
enum rs_reason artifact_reason(const struct artifact *artifact, const char *torch_version);

/* For argp: what both verbs that judge take. */
#define ARTIFACT_TORCH                                                                             \
    {                                                                                              \
        "torch", 'T', "VERSION", 0, "judge details with collectives as this torch would", 0        \
    }

/* Says on standard error why the artifact is refused. */
void artifact_refusal(const struct artifact *artifact, enum rs_reason reason);

#endif
