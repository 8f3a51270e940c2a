/* SPDX-License-Identifier: Apache-2.0
 *
 * A Triton kernel out of the store.
 */
#ifndef RS_RANK_SHARE_KERNEL_H
#define RS_RANK_SHARE_KERNEL_H

#include "base/arena.h"
#include "ordinal/ordinal.h"
#include "store/artifact.h"

/* Puts all files of ARTIFACT, a triton_group, into DIRECTORY (<triton root>/<key>): they are
 * written beside it and get its name at once. Where it holds files already, those of the kernel are
 * replaced and the group file, which makes them a kernel, comes last. False: nothing is there that
 * was not before, but perhaps files without a group; *REASON is set where the artifact is to blame.
 * Killed on the way it leaves a directory .rs.<pid>.<tid>.<random> that nobody reads; the first
 * kernel that a process puts into a root takes away such directories of the user's that are more
 * than an hour old. */
bool rs_kernel_place(struct rs_arena *arena, struct rs_artifact *artifact, const char *directory,
                     enum rs_reason *reason);

#endif
