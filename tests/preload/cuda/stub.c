/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that brings the driver's names itself, and loads libcuda when the first of them is
 * called.
 */
#include <dlfcn.h>
#include <stdio.h>

typedef unsigned load(void **module, const void *image);

unsigned cuModuleLoadData(void **module, const void *image);
void use_the_driver(void);

unsigned cuModuleLoadData(void **module, const void *image)
{
    static load *real;
    if (!real) {
        puts("the stub loads libcuda");
        real = (load *)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuModuleLoadData");
    }
    return real ? real(module, image) : 999;
}

void use_the_driver(void)
{
    for (int i = 0; i < 3; i++) {
        void *module = NULL;
        unsigned result = cuModuleLoadData(&module, "x");
        printf("%u %d\n", result, module != NULL);
    }
    fflush(stdout);
}
