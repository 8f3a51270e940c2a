/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/next.h"

#include "hook/dlsym.h"
#include "hook/musl.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

/* Read by the assembly entry too. Every thread that finds it empty looks for itself and stores the
 * same answer: a pthread_once would deadlock between a thread that is inside it and wants the
 * loader lock and another that runs a constructor under that lock. */
_Atomic(void *) rs_dlsym_real;

rs_dlsym_fn *rs_dlsym_resolve(void)
{
    /* dlvsym is not hooked, and with a version it cannot find our unversioned dlsym. */
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    void *found = rs_glibc() ? NULL : rs_musl_dlsym();
    for (size_t i = 0; rs_glibc() && i < sizeof versions / sizeof versions[0] && found == NULL; i++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    if (found != NULL)
        atomic_store_explicit(&rs_dlsym_real, found, memory_order_relaxed);
    return (rs_dlsym_fn *)found;
}

rs_dlsym_fn *rs_real_dlsym(void)
{
    void *real = atomic_load_explicit(&rs_dlsym_real, memory_order_relaxed);
    return real != NULL ? (rs_dlsym_fn *)real : rs_dlsym_resolve();
}

void *rs_next_symbol(const char *name)
{
    rs_dlsym_fn *real = rs_real_dlsym();
    void *found = real != NULL ? real(RTLD_NEXT, name) : NULL;
    /* RTLD_NEXT means "after the caller", so this must stay a call from here, never a tail jump. */
    __asm__ volatile("" : "+r"(found));
    return found;
}

void *rs_find_symbol(void *handle, const char *name)
{
    rs_dlsym_fn *real = rs_real_dlsym();
    if (real == NULL)
        return NULL;
    void *found = real(RTLD_DEFAULT, name);
    if (found == NULL && handle != NULL)
        found = real(handle, name);
    return found;
}
