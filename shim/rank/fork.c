/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/fork.h"

#include "rank/env.h"
#include "rank/known.h"
#include "rank/node.h"
#include "rank/wait.h"

#include <pthread.h>

/* Takes no lock and makes no system call: the child may have been forked by a thread while any
 * other was anywhere. vfork and posix_spawn children run no handler and call no hook before exec
 * that minds. */
static void in_child(void)
{
    rs_env_forked();
    rs_known_forked();
    rs_node_forked();
    rs_wait_forked();
}

void rs_fork_init(void)
{
    (void)pthread_atfork(NULL, NULL, in_child);
}
