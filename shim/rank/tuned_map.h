/* SPDX-License-Identifier: Apache-2.0
 *
 * Which name an autotuning result has for this rank, and which for cuda:0. The name is a hash of a
 * hash of the kernel's source, so it is known only to who has seen the source for both ordinals:
 * the process that moved the graph's entry from one to the other. Lock-free; thread and fork safe:
 * what it holds follows from the names alone and is as true in a child.
 */
#ifndef RS_RANK_TUNED_MAP_H
#define RS_RANK_TUNED_MAP_H

#include "ordinal/ordinal.h"
#include "route/key.h"

#include <stdbool.h>

enum { RS_TUNED_NAME = 3 + RS_HEX + 12 }; /* "xx/", the digits, ".best_config" */

/* Whether torch 2.N, MINOR of rs_torch_minor(), writes results in place: 2.4 to 2.7. They name them
 * after the kernel's file, or after a hash of that; later ones after torch_key, too. */
bool rs_tuned_in_place(int minor);

/* Remembers the kernels that REPORT (of a rewrite to ordinal TO) names, by the names of versions
 * that write IN_PLACE or of later ones. Where the table is full they stay unknown, and the rank's
 * results its own. */
void rs_tuned_learn(const struct rs_report *report, int to, bool in_place);

/* The name, below the cache root, under which all ranks share the result that is KEY's here. False:
 * not known, the own name counts. */
bool rs_tuned_shared(const struct rs_key *key, char name[RS_TUNED_NAME + 1]);

/* Notes that this process has saved KEY's result. */
void rs_tuned_saved_here(const struct rs_key *key);
bool rs_tuned_is_ours(const struct rs_key *key);

/* KEY's result belongs to the measurement of GRAPH (any number but 0). True: it was not noted yet,
 * or there is no room to note it. */
bool rs_tuned_expect(const struct rs_key *key, uint32_t graph);

/* Whether KEY's result was expected of GRAPH; it is not any longer. */
bool rs_tuned_came(const struct rs_key *key, uint32_t graph);

#endif
