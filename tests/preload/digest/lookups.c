/* SPDX-License-Identifier: Apache-2.0
 *
 * What dlsym gives, printed; the runner compares a plain run with runs under the library, switched
 * off and on. Linked with libscope_one and libscope_two; argv[1] is a directory with
 * libscope_plugin (which needs libscope_private) and libfake_init (a library that is no Python but
 * defines PyInit__hashlib).
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

const char *one_next(void);
const char *one_default(void);
const char *two_next(void);
const char *ompt_start_tool(int depth);

static void *load(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        printf("cannot load: %s\n", dlerror());
    return handle;
}

static const char *call(void *handle, const char *name)
{
    const char *(*function)(void) = (const char *(*)(void))dlsym(handle, name);
    return function != NULL ? function() : "missing";
}

static void scopes(const char *directory)
{
    printf("one: next %s, default %s\n", one_next(), one_default());
    printf("two: next %s\n", two_next());
    printf("ompt: %s\n", ompt_start_tool(0));
    void *plugin = load(directory, "libscope_plugin.so");
    if (plugin == NULL)
        return;
    printf("plugin: who %s, next %s, default %s\n", call(plugin, "rs_scope_who"),
           call(plugin, "plugin_next"), call(plugin, "plugin_default"));
    printf("private: next %s, default %s\n", call(plugin, "private_next"),
           call(plugin, "private_default"));
    const char *(*ompt)(int) = (const char *(*)(int))dlsym(plugin, "ompt_start_tool");
    printf("plugin ompt: %s\n", ompt(0));
    void *self = dlopen(NULL, RTLD_NOW);
    printf("main handle: %s\n", call(self, "rs_scope_who"));
    printf("next of main: %d\n", dlsym(RTLD_NEXT, "rs_scope_who") != NULL);
    printf("versioned: %d\n", dlvsym(RTLD_NEXT, "dlsym", "GLIBC_9.9") == NULL);
    dlerror();
}

static void show_error(const char *what)
{
    const char *error = dlerror();
    printf("%s: %s\n", what, error != NULL ? error : "no error");
    printf("again: %s\n", dlerror() != NULL ? "still" : "gone");
}

static void errors(const char *directory)
{
    show_error("at the start");
    void *libc = dlopen("libc.so.6", RTLD_NOW), *self = dlopen(NULL, RTLD_NOW);
    static const char *const names[] = {"rs_no_such", "PyInit__hashlib", "PyInit_x",
                                        "Py_Initialize"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        printf("null %d\n", dlsym(libc, names[i]) == NULL);
        show_error(names[i]);
        printf("null %d\n", dlsym(RTLD_DEFAULT, names[i]) == NULL);
        show_error(names[i]);
    }
    void *fake = load(directory, "libfake_init.so");
    for (size_t i = 1; i < sizeof names / sizeof names[0] && fake != NULL; i++) {
        dlsym(libc, "rs_no_such"); /* an old error goes with the next success */
        errno = 77;
        const char *(*found)(void) = (const char *(*)(void))dlsym(fake, names[i]);
        printf("errno %d, %s\n", errno, found != NULL ? found() : "missing");
        show_error(names[i]);
    }
    dlsym(libc, "rs_no_such");
    dlsym(self, "puts");
    show_error("after a success");
    printf("empty name: %d\n", dlsym(libc, "") == NULL);
    show_error("empty name");
}

static const char *const hot_names[] = {"malloc", "PyInit__hashlib", "PyInit_other",
                                        "Py_Initialize"};
static void *hot_wanted[4];

static void *look_up(void *handle)
{
    long wrong = 0;
    for (int i = 0; i < 10000; i++)
        for (int n = 0; n < 4; n++)
            wrong += dlsym(handle, hot_names[n]) != hot_wanted[n];
    return (void *)wrong;
}

static void threads(const char *directory)
{
    void *fake = load(directory, "libfake_init.so");
    pthread_t workers[8];
    long wrong = 0;
    for (int n = 0; n < 4 && fake != NULL; n++)
        hot_wanted[n] = dlsym(fake, hot_names[n]);
    for (int i = 0; i < 8; i++)
        pthread_create(&workers[i], NULL, look_up, fake);
    for (int i = 0; i < 8; i++) {
        void *result;
        pthread_join(workers[i], &result);
        wrong += (long)result;
    }
    printf("wrong answers: %ld\n", wrong);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    if (strcmp(argv[2], "scopes") == 0)
        scopes(argv[1]);
    else if (strcmp(argv[2], "errors") == 0)
        errors(argv[1]);
    else
        threads(argv[1]);
    return 0;
}
