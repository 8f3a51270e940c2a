/* SPDX-License-Identifier: Apache-2.0
 *
 * load HOW FILE [HOW FILE ...]: loads images from files, kept in memory as HOW says, and prints
 * what came back.
 */
#include "fake.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

typedef unsigned load_data(void **module, const void *image);
typedef unsigned load_library(void **library, const void *image, int *, void **, unsigned, int *,
                              void **, unsigned);

enum { PAGE = 4096, STATIC = 1 << 20, LARGE = 9 << 20 };

static void *driver;
static struct fake *fake;
static char memory[STATIC];

static char *read_file(const char *path, size_t *size)
{
    struct stat found;
    FILE *file = stat(path, &found) == 0 && S_ISREG(found.st_mode) ? fopen(path, "rb") : NULL;
    *size = file ? (size_t)found.st_size : 0;
    char *data = calloc(1, *size + 1); /* PTX ends with a zero byte */
    if (file && fread(data, 1, *size, file) != *size)
        exit(2);
    if (file)
        fclose(file);
    return data;
}

/* SIZE bytes that end where the mapping does. */
static char *at_the_end(const char *data, size_t size)
{
    size_t room = (size + PAGE - 1) / PAGE * PAGE;
    char *pages =
        mmap(NULL, room + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + room, PAGE, PROT_NONE) != 0)
        exit(2);
    return memcpy(pages + room - size, data, size);
}

static void try(const char *how, const void *image)
{
    void *module = (void *)0x5e7;
    load_data *function = (load_data *)dlsym(driver, "cuModuleLoadData");
    unsigned result = function(&module, image);
    printf("%s %u %s\n", how, result, module == (void *)0x5e7 ? "kept" : "new");
}

static void inside(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    void *image = library ? dlsym(library, "embedded_image") : NULL;
    if (!image)
        exit(2);
    try("inside", image);
    try("inside", image);
}

/* Looks a kernel up, in a module and, through its module, in a library. */
static void look_up(const char *data, const char *other, const char *kernel)
{
    typedef unsigned get(void **function, void *module, const char *name);
    typedef unsigned get_module(void **module, void *library);
    void *module = NULL, *library = NULL, *function = NULL;
    unsigned loaded = ((load_data *)dlsym(driver, "cuModuleLoadData"))(&module, data);
    unsigned found = ((get *)dlsym(driver, "cuModuleGetFunction"))(&function, module, kernel);
    printf("look up %u %u\n", loaded, found);
    ((load_library *)dlsym(driver, "cuLibraryLoadData"))(&library, other, NULL, NULL, 0, NULL, NULL,
                                                         0);
    ((get_module *)dlsym(driver, "cuLibraryGetModule"))(&module, library);
    ((get *)dlsym(driver, "cuModuleGetFunction"))(&function, module, kernel);
    ((get *)dlsym(driver, "cuLibraryGetKernel"))(&function, library, "too late");
}

static void capture(const char *what)
{
    typedef unsigned begin(void *stream, unsigned mode);
    typedef unsigned end(void *stream, void **graph);
    void *graph;
    unsigned result = strcmp(what, "begin") == 0
                          ? ((begin *)dlsym(driver, "cuStreamBeginCapture_v2"))((void *)0x77, 0)
                          : ((end *)dlsym(driver, "cuStreamEndCapture"))((void *)0x77, &graph);
    printf("%s %u\n", what, result);
}

static void large(void)
{
    static const char head[] = "//\n.version 8.0\n.target sm_90\n.address_size 64\n//";
    char *text = malloc(LARGE + 1);
    memset(text, ' ', LARGE);
    memcpy(text, head, sizeof head - 1);
    text[LARGE] = '\0';
    try("large", text);
    free(text);
}

static void load_path(const char *how, const char *name, const char *path)
{
    void *module = (void *)0x5e7;
    unsigned result = ((load_data *)dlsym(driver, name))(&module, path);
    printf("%s %u %s\n", how, result, module == (void *)0x5e7 ? "kept" : "new");
}

/* A text's zero byte counts as its end. */
static size_t with_end(const char *data, size_t size)
{
    return data[0] == '/' || data[0] == '.' ? size + 1 : size;
}

static void step(const char *how, const char *path)
{
    static char garbage[64] = "neither ELF nor fatbin nor PTX";
    size_t size;
    char *data = read_file(path, &size);
    if (strcmp(how, "memory") == 0 && size < STATIC) {
        try(how, memcpy(memory, data, size));
    } else if (strcmp(how, "heap") == 0) {
        try(how, data);
    } else if (strcmp(how, "file") == 0) {
        load_path(how, "cuModuleLoad", path);
    } else if (strcmp(how, "file-library") == 0) {
        void *library = (void *)0x5e7;
        unsigned result = ((load_library *)dlsym(driver, "cuLibraryLoadFromFile"))(
            &library, path, NULL, NULL, 0, NULL, NULL, 0);
        printf("%s %u %s\n", how, result, library == (void *)0x5e7 ? "kept" : "new");
    } else if (strcmp(how, "library") == 0) {
        void *library;
        printf("%s %u\n", how,
               ((load_library *)dlsym(driver, "cuLibraryLoadData"))(&library, data, NULL, NULL, 0,
                                                                    NULL, NULL, 0));
    } else if (strcmp(how, "edge") == 0) {
        try(how, at_the_end(data, with_end(data, size)));
    } else if (strcmp(how, "cut") == 0) {
        try(how, at_the_end(data, size / 2));
    } else if (strcmp(how, "null") == 0) {
        try(how, NULL);
    } else if (strcmp(how, "garbage") == 0) {
        try(how, garbage);
    } else if (strcmp(how, "unmapped") == 0) {
        try(how, (void *)0x1001);
    } else if (strcmp(how, "inside") == 0) {
        inside(path);
    } else if (strncmp(how, "kernel-", 7) == 0) {
        size_t other_size;
        char *other = read_file(getenv("OTHER"), &other_size);
        look_up(data, other, how + 7);
        free(other);
    } else if (strcmp(how, "large") == 0) {
        large();
    } else if (strcmp(how, "questions") == 0) {
        printf("questions %u\n", fake->asked);
    } else if (strcmp(how, "capture") == 0) {
        capture(path);
    } else if (strcmp(how, "trace") == 0) {
        printf("trace%s\n", fake->trace);
        fake->trace[0] = '\0';
    } else if (strncmp(how, "refused", 7) == 0) {
        fake->result = (unsigned)atoi(how + 7);
        try(how, data);
        fake->result = 0;
    } else {
        exit(2);
    }
    free(data);
}

int main(int argc, char **argv)
{
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    fake_state_function *state = driver ? (fake_state_function *)dlsym(driver, "fake_state") : NULL;
    if (!state)
        return 2;
    fake = state();
    for (int i = 1; i + 1 < argc; i += 2)
        step(argv[i], argv[i + 1]);
    return fflush(stdout) != 0;
}
