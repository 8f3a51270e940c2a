/* SPDX-License-Identifier: Apache-2.0
 *
 * The constructor. It reads the environment, looks up the next definitions and, when RANKSHARE=1,
 * takes Python's built-in hash modules. It opens nothing, maps nothing and makes no system call
 * while the library is off.
 */
#include "base/state.h"
#include "hook/musl.h"
#include "hook/python.h"
#include "hook/table.h"
#include "rank/env.h"
#include "rank/fork.h"
#include "rank/redirect.h"

#include <sys/auxv.h>

static __attribute__((constructor)) void rs_init(int argc, char **argv, char **envp)
{
    (void)argc;
    (void)argv;
    rs_next_init();
    if (!rs_glibc()) { /* the arguments are whatever the registers held */
        atomic_store_explicit(&rs_phase, RS_OFF, memory_order_release);
        return;
    }
    rs_config_read(&rs_config, envp);
    /* A program that runs with more rights than its user (setuid) must not follow the user's
     * variables. */
    bool on = rs_config.on && getauxval(AT_SECURE) == 0;
    if (on) {
        if (rs_python_linked()) {
            rs_redirect_init(envp);
        }
        rs_env_init(envp);
        rs_fork_init();
        rs_python_init();
    }
    atomic_store_explicit(&rs_phase, on ? RS_ON : RS_OFF, memory_order_release);
}
