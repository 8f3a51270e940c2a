/* SPDX-License-Identifier: Apache-2.0
 *
 * What an autotuning result (`.best_config`, a small JSON object that torch writes) says. Pure;
 * thread and fork safe. Format: docs/formats.md.
 */
#ifndef RS_RANK_TUNED_TEXT_H
#define RS_RANK_TUNED_TEXT_H

#include "ordinal/ordinal.h"

#include <stdbool.h>

struct rs_tuned_text {
    struct rs_bytes configs; /* configs_hash: which configurations were to choose from */
    bool refined; /* found_by_coordesc: a second search has gone on from a first result */
};

/* Reads TEXT; OUT points into it. False when it is not one complete JSON object that names its
 * configurations: cut short, two writers' bytes in one file (pytorch#153791), or something else. */
bool rs_tuned_read(struct rs_bytes text, struct rs_tuned_text *out);

/* Whether two results were chosen from the same configurations. */
bool rs_tuned_alike(const struct rs_tuned_text *a, const struct rs_tuned_text *b);

#endif
