/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/root.h"

#include "base/state.h"
#include "rank/env.h"
#include "rank/node.h"
#include "store/job_root.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { IN_VAIN_MAX = 3, TRIES = 1000 };

struct home {
    _Atomic(int) state;
    uint64_t dev, ino;               /* of the directory */
    uint64_t leased_dev, leased_ino; /* of the one that leases are about */
};
enum { NONE, ENTERING, ENTERED };

static struct home homes[RS_ROOTS];
static _Atomic(int) in_vain;

static enum rs_root root_of(const struct rs_where *where)
{
    switch (where->shape) {
    case RS_SHAPE_TRITON_DIR:
    case RS_SHAPE_TRITON_GROUP:
    case RS_SHAPE_TRITON_FILE:
    case RS_SHAPE_TRITON_TMP:
    case RS_SHAPE_TRITON_TUNED:
        return RS_ROOT_TRITON;
    default:
        return RS_ROOT_INDUCTOR;
    }
}

/* Triton's own default: kernels outside of torch.compile, before torch sets TRITON_CACHE_DIR. */
static bool nobodys(const struct rs_where *where)
{
    static const char tail[] = "/.triton/cache";
    enum { TAIL = sizeof(tail) - 1 };
    return where->root >= TAIL && memcmp(where->path + where->root - TAIL, tail, TAIL) == 0;
}

/* torch then gives each graph a directory that it removes: the first one is no more the rank's than
 * the next, and what the user wants compiled anew must not come from another rank. */
static bool switched_off(void)
{
    return rs_env_switch(RS_ENV_TORCHINDUCTOR_FORCE_DISABLE_CACHES) ||
           rs_env_switch(RS_ENV_TORCH_COMPILE_FORCE_DISABLE_CACHES);
}

void rs_root_enter(const struct rs_where *where)
{
    struct home *home = &homes[root_of(where)];
    struct rs_node *node = rs_node();
    int none = NONE;
    if (atomic_load_explicit(&home->state, memory_order_acquire) != NONE || !node || !node->slot ||
        nobodys(where) || switched_off() ||
        !atomic_compare_exchange_strong(&home->state, &none, ENTERING)) {
        return;
    }
    home->dev = home->leased_dev = where->dev;
    home->ino = home->leased_ino = where->ino;
    if (rs_config.size != 0) { /* without a store there is nothing to be had from other ranks */
        (void)rs_job_root(&node->store, node->slot, root_of(where), &home->leased_dev,
                          &home->leased_ino);
    }
    atomic_store_explicit(&home->state, ENTERED, memory_order_release);
}

/* The home that WHERE lies in, or NULL. */
static const struct home *home_of(const struct rs_where *where)
{
    const struct home *home = &homes[root_of(where)];
    int state = atomic_load_explicit(&home->state, memory_order_acquire);
    for (int i = 0; state == ENTERING && i < TRIES; i++) { /* another thread: two system calls */
        sched_yield();
        state = atomic_load_explicit(&home->state, memory_order_acquire);
    }
    return state == ENTERED && home->dev == where->dev && home->ino == where->ino ? home : NULL;
}

bool rs_root_home(const struct rs_where *where)
{
    return home_of(where) != NULL;
}

void rs_root_leased(const struct rs_where *where, uint64_t *dev, uint64_t *ino)
{
    const struct home *home = home_of(where);
    *dev = home ? home->leased_dev : where->dev;
    *ino = home ? home->leased_ino : where->ino;
}

bool rs_root_several(const struct rs_where *where)
{
    struct rs_node *node = rs_node();
    return node && node->slot && home_of(where) &&
           rs_job_several(&node->store, node->slot, root_of(where));
}

void rs_root_in_vain(void)
{
    atomic_fetch_add(&in_vain, 1);
}

bool rs_root_may_wait(const struct rs_where *where)
{
    return atomic_load_explicit(&in_vain, memory_order_relaxed) < IN_VAIN_MAX ||
           !rs_root_several(where);
}

/* Ranks may be fork siblings whose directories are set behind the fork. */
void rs_root_forked(void)
{
    for (unsigned i = 0; i < RS_ROOTS; i++) {
        atomic_store(&homes[i].state, NONE);
    }
    atomic_store(&in_vain, 0);
}
