/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for autotuning results, so that ranks choose alike in a cold job, too. Torch stores a
 * graph before the graph runs, and measures its kernels when they are launched first. So the rank
 * that stored it holds a second lease from then on, and ranks that have loaded the graph wait at
 * the look-up of each result until the result is there or that rank goes on to other details.
 * Triton's own autotuner looks a result up and then measures at once: there the first to look holds
 * the lease.
 *
 * Between store and launch the program may do anything: these waits are short of patience. Who sees
 * no sign of work of the thread that measures for a few seconds measures for itself. Graphs with
 * collectives have no such lease. docs/directory.md has the rules.
 *
 * Thread and fork safe; errno is preserved.
 */
#ifndef RS_RANK_TUNING_H
#define RS_RANK_TUNING_H

#include "ordinal/ordinal.h"
#include "rank/where.h"

/* This thread is about to store the graph that REPORT describes, and will measure its kernels. */
void rs_tuning_expects(const struct rs_report *report);

/* It has stored that graph at WHERE, for which it held the lease. */
void rs_tuning_begin(const struct rs_where *where);

/* This thread has opened the graph at WHERE: what it looks up next are its kernels' results. */
void rs_tuning_reads(const struct rs_where *where);

/* This thread goes on to other details: what it still measures is no longer waited for. */
void rs_tuning_over(void);

/* This thread looks for something in a managed cache: where it measures, that is a sign of work. */
void rs_tuning_works(void);

/* Before a look-up of the result at WHERE (RS_SHAPE_CONFIG): returns when it is there, or when it
 * must be measured here. */
void rs_tuning_look(struct rs_where *where);

/* The same for RS_SHAPE_TRITON_TUNED. */
void rs_tuning_look_triton(struct rs_where *where);

/* A result has been saved at WHERE. */
void rs_tuning_saved(const struct rs_where *where);

/* In a fork child: it measures nothing for anybody. */
void rs_tuning_forked(void);

#endif
