/* SPDX-License-Identifier: Apache-2.0
 *
 * compile ROAD PTX CUBIN: loads of PTX by every function, with options of every kind and failures
 * of every kind, and prints what came back. Run plain and with RANKSHARE_PTX=1, where the driver's
 * linker makes CUBIN of the text, the output is the same.
 * compile ROAD PTX CUBIN STEP...: does the steps, and prints what the driver was asked for each.
 * Built twice, like roads.c.
 */
#include "fake.h"
#include "hook/cuda_types.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef CUresult load_data(void **module, const void *image);
typedef CUresult load_data_ex(void **module, const void *image, unsigned count, CUjit_option *,
                              void **);
typedef CUresult load_library(void **library, const void *image, CUjit_option *, void **, unsigned,
                              CUlibraryOption *, void **, unsigned);
typedef CUresult begin_capture(void *stream, unsigned mode);
typedef CUresult end_capture(void *stream, void **graph);

#ifdef LINKED
load_data cuModuleLoadData;
load_data_ex cuModuleLoadDataEx;
load_library cuLibraryLoadData;
begin_capture cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz;
end_capture cuStreamEndCapture, cuStreamEndCapture_ptsz;
#endif

enum { NONE = 0x5e7, OPTIONS = 9 };
enum {
    MAX_REGISTERS = 0,
    WALL_TIME = 2,
    LOG = 3,
    LOG_SIZE = 4,
    LEVEL = 7,
    CONTEXT = 8,
    LINES = 13
};

static void *driver;
static struct fake *fake;
static load_data *data_of;
static load_data_ex *data_ex_of;
static load_library *library_of;
static begin_capture *begin_of;
static end_capture *end_of;
static char *text, *cubin;
static size_t cubin_size;

/* ---- one load ---------------------------------------------------------------------------------
 */

static char log_buffer[16] = "untouched";

/* What a program says about how to compile. */
static const struct options {
    const char *name;
    unsigned count, extra; /* options of the compiler, of the library */
    CUjit_option option[OPTIONS];
    void *value[OPTIONS];
    bool nowhere; /* the pointers lead nowhere */
} options[] = {
    {"none", 0, 0, {0}, {0}, false},
    {"registers", 1, 0, {MAX_REGISTERS}, {(void *)32}, false},
    {"level", 2, 0, {LEVEL, CONTEXT}, {(void *)2, (void *)77}, false},
    {"lines", 1, 0, {LINES}, {(void *)1}, false},
    {"log", 2, 0, {LOG, LOG_SIZE}, {log_buffer, (void *)sizeof log_buffer}, false},
    {"time", 2, 0, {MAX_REGISTERS, WALL_TIME}, {(void *)32, (void *)7}, false},
    {"unknown", 1, 0, {99}, {(void *)1}, false},
    {"many", 9, 0, {7, 7, 7, 7, 7, 7, 7, 7, 7}, {0}, false},
    {"nowhere", 3, 0, {0}, {0}, true},
    {"library", 0, 1, {0}, {0}, false},
};
enum { SETS = sizeof options / sizeof options[0] };

static void tell(const char *function, const struct options *set, const char *what, CUresult result,
                 const void *made, const CUjit_option *option, void *const *value)
{
    int error = errno;
    printf("%s, options %s, %s: %u, made %s, errno %d, log %s", function, set->name, what, result,
           made == (void *)NONE    ? "kept"
           : made == (void *)0xbad ? "bad"
           : made                  ? "new"
                                   : "nothing",
           error, log_buffer);
    for (unsigned i = 0; i < set->count && !set->nowhere; i++)
        printf(" %u=%p", option[i], value[i] == log_buffer ? NULL : value[i]);
    putchar('\n');
}

static void load(const char *function, const struct options *set, const char *image,
                 const char *what)
{
    CUjit_option option[OPTIONS];
    CUlibraryOption extra = 1;
    void *value[OPTIONS], *made = (void *)NONE, *extra_value = NULL;
    memcpy(option, set->option, sizeof option);
    memcpy(value, set->value, sizeof value);
    CUjit_option *to_option = set->nowhere ? (CUjit_option *)0x1001 : option;
    void **to_value = set->nowhere ? (void **)0x2001 : value;
    CUresult result;
    errno = 4321;
    if (strcmp(function, "data") == 0)
        result = data_of(&made, image);
    else if (strcmp(function, "ex") == 0)
        result = data_ex_of(&made, image, set->count, to_option, to_value);
    else
        result =
            library_of(&made, image, to_option, to_value, set->count, set->extra ? &extra : NULL,
                       set->extra ? &extra_value : NULL, set->extra);
    tell(function, set, what, result, made, option, value);
}

/* ---- the product ------------------------------------------------------------------------------
 */

static const char *const functions[] = {"data", "ex", "library"};
static const char *const failing[] = {"nothing",          "cuDriverGetVersion",
                                      "cuCtxGetDevice",   "cuDeviceGetAttribute",
                                      "cuDeviceGetCount", "cuLinkCreate_v2",
                                      "cuLinkAddData_v2", "cuLinkComplete",
                                      "cuLinkDestroy",    "ELF",
                                      "everything"};
static const unsigned codes[] = {1, 2, 200, 201, 209, 218, 221, 222, 999};
enum {
    FAILING = sizeof failing / sizeof failing[0],
    CODES = sizeof codes / sizeof codes[0],
    FUNCTIONS = sizeof functions / sizeof functions[0],
};

/* No two texts are equal, so each is compiled at its first load. */
static void twice(const char *function, const struct options *set, const char *what)
{
    static unsigned number;
    static char own[1 << 20];
    snprintf(own, sizeof own, "// %u %d\n%s", number++, (int)getenv("SAME")[0], text);
    load(function, set, own, what);
    load(function, set, own, what);
}

static void fail(const char *function, const struct options *set)
{
    char what[64];
    for (unsigned f = 0; f < FAILING; f++)
        for (unsigned c = 0; c < (f ? CODES : 1u); c++) {
            bool everything = strcmp(failing[f], "everything") == 0;
            fake->failing = everything || f == 0 ? NULL : failing[f];
            fake->failing_result = codes[c];
            fake->result = everything ? codes[c] : 0;
            fake->writes = c & 1;
            snprintf(what, sizeof what, "%s fails with %u", failing[f], codes[c]);
            twice(function, set, what);
        }
    fake->failing = NULL;
    fake->result = fake->writes = 0;
}

/* A linker that makes nonsense, and a second device. */
static void other_code(const char *function, const struct options *set)
{
    static const char garbage[64] = "\177ELF and no more";
    const struct {
        const char *name;
        const void *code;
        size_t size;
    } made[] = {{"nowhere", (void *)0x1001, 100}, {"garbage", garbage, sizeof garbage},
                {"text", text, strlen(text)},     {"empty", cubin, 0},
                {"cut", cubin, cubin_size / 2},   {"endless", cubin, SIZE_MAX}};
    for (unsigned i = 0; i < sizeof made / sizeof made[0]; i++) {
        fake->linked = made[i].code;
        fake->linked_size = made[i].size;
        twice(function, set, made[i].name);
    }
    fake->linked = cubin;
    fake->linked_size = cubin_size;
    for (fake->second = 1; fake->second < 3; fake->second++)
        twice(function, set, "two devices");
    fake->second = 0;
}

static void product(void)
{
    for (unsigned f = 0; f < FUNCTIONS; f++)
        for (unsigned o = 0; o < SETS; o++) {
            fail(functions[f], &options[o]);
            other_code(functions[f], &options[o]);
        }
    errno = 4321;
    printf("nowhere: %u %u %u, errno %d\n", data_of(NULL, text),
           data_ex_of(NULL, text, 0, NULL, NULL),
           library_of(NULL, text, NULL, NULL, 0, NULL, NULL, 0), errno);
    load("data", &options[0], NULL, "no image");
    load("data", &options[0], (const char *)0x1001, "image nowhere");
    load("data", &options[0], ".version 8.0\n", "half a text");
    load("data", &options[0], cubin, "a cubin");
}

/* ---- steps ------------------------------------------------------------------------------------
 */

static bool numbered(const char *step, const char *name, unsigned *value)
{
    size_t length = strlen(name);
    bool is = strncmp(step, name, length) == 0 && step[length] == '=';
    if (is)
        *value = (unsigned)atoi(step + length + 1);
    return is;
}

static void step(const char *name)
{
    struct options set = {.name = "registers", .count = 1};
    unsigned value;
    void *graph;
    fake->trace[0] = '\0';
    if (numbered(name, "minor", &fake->minor) || numbered(name, "second", &fake->second)) {
        return;
    } else if (numbered(name, "fails", &fake->failing_result)) {
        fake->failing = fake->failing_result ? "cuLinkComplete" : NULL;
        return;
    } else if (numbered(name, "registers", &value)) {
        set.value[0] = (void *)(uintptr_t)value;
        load("ex", &set, text, name);
    } else if (strcmp(name, "overwritten") == 0) {
        char *last = text + strlen(text) - 1, kept = *last;
        fake->overwritten = last;
        load("data", &options[0], text, name);
        fake->overwritten = NULL;
        *last = kept;
    } else if (strcmp(name, "log") == 0) {
        load("ex", &options[4], text, name);
    } else if (numbered(name, "begin", &fake->result)) {
        printf("begin: %u\n", begin_of((void *)0x77, 0));
        fake->result = 0;
    } else if (numbered(name, "end", &fake->result)) {
        printf("end: %u\n", end_of((void *)0x77, &graph));
        fake->result = 0;
    } else {
        load(name, &options[0], text, name);
    }
    printf("asked:%s\n", fake->trace);
}

/* ---- beginnings -------------------------------------------------------------------------------
 */

static void *find(const char *road, const char *name, void *linked)
{
    typedef unsigned query(const char *, void **, int, uint64_t, unsigned *);
    void *function = linked;
    bool per_thread = strcmp(road, "query-ptsz") == 0;
    if (per_thread || strcmp(road, "query") == 0)
        ((query *)dlsym(driver, "cuGetProcAddress_v2"))(name, &function, 13000, per_thread ? 2 : 0,
                                                        NULL);
    else if (strcmp(road, "dlsym") == 0)
        function = dlsym(
            driver, strcmp(name, "cuStreamBeginCapture") == 0 ? "cuStreamBeginCapture_v2" : name);
    return function; /* NULL: this driver has none */
}

#ifdef LINKED
#define LINK(name) (void *)name
#else
#define LINK(name) NULL
#endif

static bool find_all(const char *road)
{
    data_of = (load_data *)find(road, "cuModuleLoadData", LINK(cuModuleLoadData));
    data_ex_of = (load_data_ex *)find(road, "cuModuleLoadDataEx", LINK(cuModuleLoadDataEx));
    library_of = (load_library *)find(road, "cuLibraryLoadData", LINK(cuLibraryLoadData));
    begin_of = (begin_capture *)find(road, "cuStreamBeginCapture", LINK(cuStreamBeginCapture_v2));
    end_of = (end_capture *)find(road, "cuStreamEndCapture", LINK(cuStreamEndCapture));
    return data_of && data_ex_of && begin_of && end_of;
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *content = calloc(1, 1 << 20);
    if (!file || !content)
        exit(2);
    *size = fread(content, 1, (1 << 20) - 1, file);
    fclose(file);
    return content;
}

int main(int argc, char **argv)
{
    size_t size;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    fake_state_function *state = driver ? (fake_state_function *)dlsym(driver, "fake_state") : NULL;
    if (!state || argc < 4 || !find_all(argv[1]))
        return 2;
    fake = state();
    text = read_file(argv[2], &size);
    cubin = read_file(argv[3], &cubin_size);
    fake->linked = cubin;
    fake->linked_size = cubin_size;
    if (argc == 4)
        product();
    for (int i = 4; i < argc; i++)
        step(argv[i]);
    return fflush(stdout) != 0;
}
