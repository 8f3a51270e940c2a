/* SPDX-License-Identifier: Apache-2.0
 *
 * What the verbs about artifacts in the segment share.
 */
#ifndef RS_TOOLS_STORE_H
#define RS_TOOLS_STORE_H

#include "store/inspect.h"

/* The arguments --segment NAME and --json of such a verb. */
struct store_arguments {
    const char *segment;
    bool json;
};

/* Opens the segment that ARGUMENTS and the environment name. False, with a message: *STATUS is the
 * exit status. */
bool store_open(const struct store_arguments *arguments, bool writable, struct rs_store *store,
                int *status);

enum { STORE_KEY_MAX = 65 };
/* A key in hexadecimal. Returns OUT. */
const char *store_key(char out[STORE_KEY_MAX], const struct rs_key *key);

/* "artifacts: 12 (40 objects) in 3.4 MB of at most 256 MB ...", a line; nothing when there is no
 * store. */
void store_print_sums(const struct rs_artifact_sums *sums);

/* "none", "shm", "file". */
const char *store_place(enum rs_store_place place);

#endif
