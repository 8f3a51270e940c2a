/* SPDX-License-Identifier: Apache-2.0
 *
 * What a graph's details say about the way it is compiled: settings under which ranks depend on
 * each other or on their own number. flags.def is the table, by torch version.
 */
#ifndef RS_ORDINAL_FLAGS_H
#define RS_ORDINAL_FLAGS_H

#include <stdint.h>

enum rs_flags {
    RS_FLAG_TALKS = 1, /* ranks talk to each other while they compile: the key is shared, but nobody
                          waits, since the producer may stand in a collective that waiters must join
                        */
    RS_FLAG_BAKES = 2, /* rank numbers are baked into code after the key: native if the graph has
                          collectives */
    RS_FLAG_BENCHMARKS = 4,     /* kernels run on the GPU between look-up and store: waiters leave a
                                   silent producer */
    RS_FLAG_CACHE_DECISION = 8, /* ranks agree on AOT hits by a collective: nobody waits for one */
};

/* Rows of flags.def that the details have, one bit each. */
struct rs_flag_rows {
    uint64_t off; /* with the value that means "off" */
    uint64_t on;  /* with any other value, or one that can't be read */
};

/* The flags (enum rs_flags) that follow from ROWS under this torch.__version__. A row that its
 * version must have and the details lack counts as on; of a version that the table does not cover
 * everything counts as on. Pure. */
unsigned rs_flags_of(const struct rs_flag_rows *rows, const char *torch_version);

/* Whether the table covers this torch.__version__. */
int rs_flags_minor(const char *torch_version);

#endif
