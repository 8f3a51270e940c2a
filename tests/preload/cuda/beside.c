/* SPDX-License-Identifier: Apache-2.0
 *
 * Another preloaded library in front of the driver, as profilers bring one: it counts the loads and
 * goes on to the next definition. It says how many at the end.
 */
#include <dlfcn.h>
#include <stdio.h>

typedef unsigned load(void **module, const void *image);

unsigned cuModuleLoadData(void **module, const void *image);

static unsigned count;

unsigned cuModuleLoadData(void **module, const void *image)
{
    load *next = (load *)dlsym(RTLD_NEXT, "cuModuleLoadData");
    if (!next)
        next = (load *)dlsym(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), "cuModuleLoadData");
    count++;
    return next ? next(module, image) : 999;
}

static __attribute__((destructor)) void tell(void)
{
    printf("beside: %u\n", count);
}
