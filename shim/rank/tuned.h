/* SPDX-License-Identifier: Apache-2.0
 *
 * Autotuning results of Inductor (`<xx>/<hash>.best_config`): one rank's choice is everybody's.
 * Torch names a result after the kernel's source, so each ordinal has a name of its own for what is
 * the same kernel. cuda:0's name is the one that all share; a rank's own name becomes another name
 * (a hard link) of that file, so that its compile workers, plain processes and every stat find it,
 * too, and nothing is ever redirected. docs/directory.md has the rules.
 *
 * Thread and fork safe. errno is preserved. Where anything is missing (no hard links, a read-only
 * directory, a name that is not known) results stay each rank's own.
 */
#ifndef RS_RANK_TUNED_H
#define RS_RANK_TUNED_H

#include "rank/keep.h"
#include "rank/where.h"

#include <stdbool.h>

/* Before WHERE, a RS_SHAPE_CONFIG, is looked up: what is shared gets this rank's name, or what this
 * rank has from elsewhere becomes the shared one. False: there is neither. */
bool rs_tuned_look(struct rs_where *where);

/* Whether the shared result of WHERE is there. */
bool rs_tuned_is_there(struct rs_where *where);

/* Before CALL gives a new result its name WHERE. True: another rank's result was first and has got
 * that name instead; the call is answered with success. */
bool rs_tuned_save(struct rs_where *where, const struct rs_keep_call *call);

/* After the call: the result may be had by all. */
void rs_tuned_saved(struct rs_where *where);

#endif
