/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/dlsym.h"

#include "base/state.h"
#include "hook/cuda.h"
#include "hook/python.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* dlsym_entry.S compares with this number. */
_Static_assert(RS_ON == 2, "dlsym_entry.S knows the value of RS_ON");

struct entry {
    const char *name;
    rs_dlsym_swap *swap;
};

static const struct entry entries[] = {
#define ENTRY(name, swap) {#name, swap},
    RS_DLSYM_NAMES(ENTRY)
#undef ENTRY
};

static rs_dlsym_swap *swap_of(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (entries[i].name[0] == name[0] && strcmp(entries[i].name, name) == 0)
            return entries[i].swap;
    /* The import machinery asks for some extension module: not swapped, but a moment to look. */
    if (strncmp(name, "PyInit_", 7) == 0)
        return rs_python_look;
    return rs_cuda_named(name) ? rs_cuda_swap : NULL;
}

void *rs_dlsym_on_handle(void *handle, const char *name)
{
    rs_dlsym_fn *real = rs_real_dlsym();
    void *found = real != NULL ? real(handle, name) : NULL;
    if (found == NULL || name == NULL)
        return found;
    rs_dlsym_swap *swap = swap_of(name);
    if (swap == NULL)
        return found;
    int saved = errno;
    found = swap(handle, name, found);
    /* A lookup of our own may have failed on the way; the caller's succeeded, so there is no error
     * for it to see. */
    dlerror();
    errno = saved;
    return found;
}
