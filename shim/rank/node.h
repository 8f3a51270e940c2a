/* SPDX-License-Identifier: Apache-2.0
 *
 * This process's tie to the node's segment: mapped when the first key is recognised, never before,
 * so that `gcc` and `ls` under the library leave no trace in shared memory. Thread safe; a fork
 * child is untied and ties itself anew, when it hashes or when it first does something in a cache.
 */
#ifndef RS_RANK_NODE_H
#define RS_RANK_NODE_H

#include "store/store.h"

struct rs_node {
    struct rs_store store;
    struct rs_slot *slot; /* NULL: no slot was free */
};

/* The tie, made when it is not there yet; NULL when there is no segment to be had (counted once).
 */
struct rs_node *rs_node_tie(void);

/* The tie if there is one, or if a fork parent had one and this process makes its own now; else
 * NULL. */
struct rs_node *rs_node(void);

/* The tie if there is one: for what is not worth making one. */
struct rs_node *rs_node_if_tied(void);

/* The environment says other numbers (RANK, WORLD_SIZE): the statistics follow. The job is that of
 * the first key for good. */
void rs_node_identify(void);

/* Records an event if the process is tied. */
void rs_node_event(enum rs_event_type type, enum rs_kind kind, const struct rs_key *key,
                   uint64_t value);

/* This process hashes, or touches a managed file: who waits for its process group sees that it
 * works. Cheap. */
void rs_node_beat(void);

/* In a fork child, before anything else. */
void rs_node_forked(void);

#endif
