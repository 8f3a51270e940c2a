/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/fork.h"

#include "rank/env.h"
#include "rank/known.h"
#include "rank/node.h"
#include "rank/root.h"
#include "rank/stow.h"
#include "rank/tuning.h"
#include "rank/wait.h"

#include <stddef.h>

/* What pthread_atfork calls; weak, since musl's loader ends a program at a name that it lacks, and
 * there nothing of ours is on. The last argument names an object whose unloading takes the handlers
 * back; this library is never unloaded. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                             void *object) __attribute__((weak));

/* Takes no lock and makes no system call: the child may have been forked by a thread while any
 * other was anywhere. vfork and posix_spawn children run no handler and call no hook before exec
 * that minds. */
static void in_child(void)
{
    rs_env_forked();
    rs_known_forked();
    rs_node_forked();
    rs_root_forked();
    rs_stow_forked();
    rs_wait_forked();
    rs_tuning_forked();
}

void rs_fork_init(void)
{
    if (__register_atfork) {
        (void)__register_atfork(NULL, NULL, in_child, NULL);
    }
}
