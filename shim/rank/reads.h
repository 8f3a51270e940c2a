/* SPDX-License-Identifier: Apache-2.0
 *
 * Where files are read that the segment has, too. On this machine's own disks the file: its pages
 * are in the page cache, and reading them costs half of what a read from the segment does, which
 * copies smaller pages and compares a check sum (docs/speed.md). On any other file system each
 * artifact is read once for the node: by its producer, by `rankshare warm`, or by the first rank
 * that opens it. RANKSHARE_READS says otherwise. Thread and fork safe.
 */
#ifndef RS_RANK_READS_H
#define RS_RANK_READS_H

#include "rank/node.h"
#include "store/turn.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether the bytes of files in the file system DEV, to which FD belongs, are to come from the
 * segment. errno is not preserved. */
bool rs_reads_from_memory(int fd, uint64_t dev);

/* Takes the turn at reading the artifact KEY for all, waiting some seconds at most for who has it.
 * True: it must be ended (store/turn.h). False: each for himself. NODE has a slot. */
bool rs_reads_take_turn(struct rs_node *node, const struct rs_artifact_key *key,
                        const struct rs_origin *origin, struct rs_turn *turn);

#endif
