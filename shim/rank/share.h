/* SPDX-License-Identifier: Apache-2.0
 *
 * Between cache directories and the artifact store of the node: what a producer has stored is
 * published, complete; a rank with another directory gets it into its own, complete, and goes on as
 * with a hit; and a rank that opens an entry gets the bytes from memory while the file is still the
 * one that was published. docs/directory.md has the rules.
 *
 * Nothing here fails a job: where something is not to be had, the file system is all there is.
 * Thread and fork safe; errno is preserved.
 */
#ifndef RS_RANK_SHARE_H
#define RS_RANK_SHARE_H

#include "base/arena.h"
#include "ordinal/ordinal.h"
#include "rank/node.h"
#include "rank/parcel.h"
#include "rank/where.h"
#include "store/artifact.h"

/* What a group of WHERE's key is called in the store; false: nothing of its shape is kept there. */
bool rs_share_key(const struct rs_where *where, struct rs_artifact_key *key);

/* The artifact of WHERE (a *_FILE, or a group) has got its name: publishes all of its files. Before
 * the lease ends: whoever waited looks in the store next. */
void rs_share_publish(const struct rs_where *where);

enum rs_share {
    RS_SHARE_NOTHING, /* the store has nothing for this process */
    RS_SHARE_REFUSED, /* it has something that can't be used here */
    RS_SHARE_FETCHED,
};

/* Nothing lies at WHERE, at which this process looks: gets what another rank of the job (or the
 * user, with `rankshare warm`) has put into the store. */
enum rs_share rs_share_fetch(const struct rs_where *where);

/* The same for an autotuning result, by the name below the root that all ranks share. ROOTFD is the
 * root of WHERE. */
void rs_share_publish_result(const struct rs_where *where, int rootfd, const char *name);
bool rs_share_fetch_result(const struct rs_where *where, const char *name);

/* The same for a result of Triton's own autotuner, the file WHERE. */
void rs_share_publish_tuned(const struct rs_where *where);
bool rs_share_fetch_tuned(const struct rs_where *where);

/* What the result NAME ("xx/<64 digits>.best_config") is called in the store. */
bool rs_share_result_key(const char *name, struct rs_artifact_key *key);

/* Reads the artifact that the file WHERE belongs to, all its files. NODE has a slot. PARCEL must be
 * freed in any case. */
bool rs_share_pack(const struct rs_where *where, struct rs_node *node, struct rs_parcel *parcel);

/* The bytes of the file open at FD, an entry or a kernel's, into the arena, out of the store, where
 * they are to come from there: on file systems of other machines, each artifact is read by one
 * process of the node. May wait some seconds for that process. False: read the file. */
bool rs_share_read(int fd, const struct rs_where *where, struct rs_arena *arena,
                   struct rs_bytes *out);

#endif
