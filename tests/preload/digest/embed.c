/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that loads libpython late: embed LIBPYTHON global|local ROUNDS CODE runs CODE in ROUNDS
 * interpreters, one after the other, initialised and finalised each time.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    int scope = strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
    void *python = dlopen(argv[1], RTLD_NOW | scope);
    if (python == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    void (*initialize)(int) = (void (*)(int))dlsym(python, "Py_InitializeEx");
    int (*run)(const char *, void *) =
        (int (*)(const char *, void *))dlsym(python, "PyRun_SimpleStringFlags");
    int (*finalize)(void) = (int (*)(void))dlsym(python, "Py_FinalizeEx");
    if (initialize == NULL || run == NULL || finalize == NULL)
        return 3;
    for (int i = 0; i < atoi(argv[3]); i++) {
        initialize(0);
        if (run(argv[4], NULL) != 0 || finalize() != 0)
            return 1;
    }
    return 0;
}
