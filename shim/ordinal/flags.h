/* SPDX-License-Identifier: Apache-2.0
 *
 * What a graph's details say about the way it is compiled: settings under which ranks depend on
 * each other or on their own number. flags.def is the table, by torch version. Pure; thread safe.
 */
#ifndef RS_ORDINAL_FLAGS_H
#define RS_ORDINAL_FLAGS_H

#include <rankshare/names.h>

#include <stdint.h>

struct rs_report;

enum rs_flags {
    RS_FLAG_TALKS = 1, /* ranks talk to each other while they compile: the key is shared, but nobody
                          waits, since the producer may stand in a collective that waiters must join
                        */
    RS_FLAG_BAKES = 2, /* rank numbers are written into code after the key was made */
    RS_FLAG_BENCHMARKS = 4,     /* kernels run on the GPU between look-up and store: waiters leave
                                   a silent producer */
    RS_FLAG_CACHE_DECISION = 8, /* ranks agree on AOT hits by a collective: nobody waits for one */
    RS_FLAG_CUSTOM_PASS = 16,   /* code of the program's own changes the graph after the key */
    RS_FLAG_UNKNOWN_TORCH = 32, /* a torch version that the table does not cover */
    RS_FLAG_INFERENCE = 64,     /* AOT details without gradients: stored before it runs */
    /* in rows of the table only: TALKS is both of them */
    RS_FLAG_REORDERS = 128,
    RS_FLAG_COMPARES = 256,
    /* not of the table: the details name several devices */
    RS_FLAG_SEVERAL = 512,
    RS_FLAG_BUNDLED = 1024, /* the AOT entry will hold its FX graphs itself */
    /* not of the table: the graph's code talks to other ranks when it runs */
    RS_FLAG_COLLECTIVES = 2048,
};

/* Rows of flags.def that the details have, one bit each. */
struct rs_flag_rows {
    uint64_t off; /* with the value that means "off" */
    uint64_t on;  /* with any other value, or one that can't be read */
};

/* The minor number of a torch.__version__ that the table covers (2.4 to 2.15, releases); 0 for all
 * others: a build between two releases ("2.15.0a0+git...") may hold anything. */
int rs_flags_minor(const char *torch_version);

/* The flags (enum rs_flags) that follow from a REPORT on details under this torch.__version__. A
 * row that its version must have and the details lack is on. Under a version that the table does
 * not cover only the rows that are there count, unless none is: then all are on. That is for graphs
 * without collectives; the others are refused there. */
unsigned rs_flags_of(const struct rs_report *report, const char *torch_version);

/* Why a graph with collectives can't be shared under FLAGS; RS_OK when it can. */
enum rs_reason rs_flags_refusal(unsigned flags);

#endif
