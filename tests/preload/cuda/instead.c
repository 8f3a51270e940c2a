/* SPDX-License-Identifier: Apache-2.0
 *
 * instead ROAD PATH: cuModuleLoad and cuLibraryLoadFromFile of PATH, with failures of every kind,
 * and prints what came back. Run plain and under the library, where the driver is given the bytes
 * instead, the output is the same. Built twice, like roads.c.
 */
#include "fake.h"
#include "hook/cuda_types.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef CUresult module_load(void **module, const char *path);
typedef CUresult library_load(void **library, const char *path, CUjit_option *, void **, unsigned,
                              CUlibraryOption *, void **, unsigned);

#ifdef LINKED
CUresult cuModuleLoad(void **module, const char *path);
CUresult cuLibraryLoadFromFile(void **library, const char *path, CUjit_option *, void **, unsigned,
                               CUlibraryOption *, void **, unsigned);
#endif

static const unsigned codes[] = {1, 2, 200, 201, 209, 218, 301, 700, 901, 999};
/* Which function of the driver fails: none, one, or all of them ("*"). */
static const char *const failing[] = {NULL, "cuModuleLoadData", "cuLibraryLoadData", "ELF", "*"};
enum { CODES = sizeof codes / sizeof codes[0], FAILING = sizeof failing / sizeof failing[0] };

static void *driver;
static struct fake *fake;

static void *find(const char *road, const char *name)
{
    typedef unsigned query(const char *, void **, int, uint64_t, unsigned *);
    void *function = NULL;
    if (strcmp(road, "query") == 0)
        ((query *)dlsym(driver, "cuGetProcAddress_v2"))(name, &function, 13000, 0, NULL);
    else if (strcmp(road, "dlsym") == 0)
        function = dlsym(driver, name);
#ifdef LINKED
    else
        function = strcmp(name, "cuModuleLoad") == 0 ? (void *)cuModuleLoad
                                                     : (void *)cuLibraryLoadFromFile;
#endif
    return function ? function : (exit(2), NULL);
}

static module_load *module_of;
static library_load *library_of;

static void tell(const char *name, CUresult result, const void *made)
{
    int error = errno;
    printf("%s, %s fails with %u, writes %u: %u, made %s, errno %d\n", name,
           fake->failing  ? fake->failing
           : fake->result ? "all"
                          : "nothing",
           fake->failing ? fake->failing_result : fake->result, fake->writes, result,
           made == (void *)0x5e7   ? "kept"
           : made == (void *)0xbad ? "bad"
                                   : "new",
           error);
}

static void each(const char *path)
{
    CUjit_option option = 7;
    void *value = NULL, *made = (void *)0x5e7;
    errno = 4321;
    CUresult result = module_of(&made, path);
    tell("module", result, made);
    made = (void *)0x5e7;
    errno = 4321;
    result = library_of(&made, path, NULL, NULL, 0, NULL, NULL, 0);
    tell("library", result, made);
    made = (void *)0x5e7;
    errno = 4321;
    result = library_of(&made, path, &option, &value, 1, NULL, NULL, 0);
    tell("library with an option", result, made);
    errno = 4321;
    tell("nowhere", module_of(NULL, path), NULL);
    made = (void *)0x5e7;
    errno = 4321;
    result = module_of(&made, (const char *)0x1001);
    tell("a path nowhere", result, made);
}

int main(int argc, char **argv)
{
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    fake_state_function *state = driver ? (fake_state_function *)dlsym(driver, "fake_state") : NULL;
    if (!state || argc != 3)
        return 2;
    fake = state();
    module_of = (module_load *)find(argv[1], "cuModuleLoad");
    library_of = (library_load *)find(argv[1], "cuLibraryLoadFromFile");
    for (unsigned f = 0; f < FAILING; f++)
        for (unsigned c = 0; c < (failing[f] ? CODES : 1u); c++)
            for (fake->writes = 0; fake->writes < 2; fake->writes++) {
                int all = failing[f] && failing[f][0] == '*';
                fake->failing = all ? NULL : failing[f];
                fake->failing_result = codes[c];
                fake->result = all ? codes[c] : 0;
                each(argv[2]);
            }
    return fflush(stdout) != 0;
}
