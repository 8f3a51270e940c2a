/* SPDX-License-Identifier: Apache-2.0
 *
 * libcuda.so.1 for tests. FAKE_VERSION: the CUDA version it is of; what came later it does not have
 * (the version script of the link hides those names).
 */
#include "fake.h"
#include "hook/cuda_types.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID_VALUE = 1, FILE_NOT_FOUND = 301, NOT_FOUND = 500 };
static __thread struct fake told;
static uintptr_t handles;

API fake_state_function fake_state;
API fake_function_function fake_function;

struct fake *fake_state(void)
{
    return &told;
}

#define RS_CUDA(name, base, since, role, parameters, arguments, made, about, subject)              \
    API CUresult name parameters;
#include "hook/cuda_api.def"
#undef RS_CUDA

struct row {
    const char *name, *base;
    int since;
    void *function;
};
static const struct row rows[] = {
#define RS_CUDA(name, base, since, role, parameters, arguments, made, about, subject)              \
    {#name, base, since, (void *)name},
#include "hook/cuda_api.def"
#undef RS_CUDA
};

void *fake_function(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].function;
    return NULL;
}

static bool per_thread(const struct row *row)
{
    return strstr(row->name, "_ptsz") != NULL;
}

/* The newest one that the caller may know, for per-thread streams where there is such a one. */
static void *answer(const char *symbol, int version, cuuint64_t flags)
{
    enum { PER_THREAD = 2 };
    const struct row *best = NULL;
    for (size_t i = 0; symbol && i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        if (strcmp(row->base, symbol) != 0 || row->since > version || row->since > FAKE_VERSION ||
            (per_thread(row) && flags != PER_THREAD))
            continue;
        if (!best || row->since > best->since || (row->since == best->since && per_thread(row)))
            best = row;
    }
    return best ? best->function : NULL;
}

static CUresult query(const char *symbol, void **function, int version, cuuint64_t flags,
                      CUdriverProcAddressQueryResult *status, bool second)
{
    *function = answer(symbol, version, flags);
    if (status)
        *status = *function ? 0 : answer(symbol, FAKE_VERSION, flags) ? 2 : 1;
    return *function || second ? SUCCESS : NOT_FOUND;
}

static bool readable(const char *path)
{
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (file)
        fclose(file);
    return file != NULL;
}

/* A driver that is made of its own functions. */
static void call_itself(unsigned way)
{
    typedef CUresult load(CUmodule * module, const void *image);
    struct fake kept = told;
    CUmodule module;
    told.within = 0;
    void *self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    load *function = (load *)dlsym(way == 1 ? self : RTLD_DEFAULT, "cuModuleLoadData");
    if (function)
        function(&module, (const void *)&kept);
    dlclose(self);
    told = kept;
}

static void trace(const char *name)
{
    size_t length = strlen(told.trace);
    snprintf(told.trace + length, sizeof told.trace - length, " %s", name);
}

/* What NAME answers because a test wants just that function to fail; SUBJECT: an image, or NULL. */
static CUresult failure(const char *name, const char *image)
{
    bool now = told.failing &&
               (strcmp(told.failing, "ELF") == 0 ? image != NULL && memcmp(image, "\177ELF", 4) == 0
                                                 : strcmp(told.failing, name) == 0);
    if (now)
        errno = 77; /* as a driver may leave it */
    return now ? told.failing_result : SUCCESS;
}

static CUresult act(const char *name, int role, void **made, const void *subject,
                    const uint64_t *arguments, unsigned count)
{
    trace(name);
    told.name = name;
    told.calls++;
    told.count = count;
    memcpy(told.arguments, arguments, count * sizeof *arguments);
    if (told.slow_ms)
        nanosleep(&(struct timespec){0, (long)told.slow_ms * 1000000}, NULL);
    if (told.overwritten && role == ROLE_linking)
        ++*told.overwritten;
    if (told.within && (role == ROLE_image || role == ROLE_file))
        call_itself(told.within);
    if (told.writes && made)
        *made = (void *)(uintptr_t)0xbad;
    CUresult result = failure(name, role == ROLE_image ? subject : NULL);
    if (result == SUCCESS)
        result = told.result;
    if (result)
        return result;
    if (role == ROLE_file && !readable(subject))
        return FILE_NOT_FOUND;
    if (made)
        *made = (void *)(0x100000 + __atomic_add_fetch(&handles, 16, __ATOMIC_RELAXED));
    bool makes_nothing = role == ROLE_unload || role == ROLE_linking || role == ROLE_capture;
    return made || makes_nothing ? SUCCESS : INVALID_VALUE;
}

#define COUNT_(a, b, c, d, e, f, g, h, n, ...) n
#define COUNT(...)                             COUNT_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1)
#define WORDS(...)                             WORDS_(COUNT(__VA_ARGS__), __VA_ARGS__)
#define WORDS_(n, ...)                         WORDS__(n, __VA_ARGS__)
#define WORDS__(n, ...)                        WORDS_##n(__VA_ARGS__)
#define W(a)                                   (uint64_t)(uintptr_t)(a)
#define WORDS_1(a)                             W(a)
#define WORDS_2(a, ...)                        W(a), WORDS_1(__VA_ARGS__)
#define WORDS_3(a, ...)                        W(a), WORDS_2(__VA_ARGS__)
#define WORDS_4(a, ...)                        W(a), WORDS_3(__VA_ARGS__)
#define WORDS_5(a, ...)                        W(a), WORDS_4(__VA_ARGS__)
#define WORDS_6(a, ...)                        W(a), WORDS_5(__VA_ARGS__)
#define WORDS_7(a, ...)                        W(a), WORDS_6(__VA_ARGS__)
#define WORDS_8(a, ...)                        W(a), WORDS_7(__VA_ARGS__)

/* The resolvers write where they are told and to their status; everything else through act(). */
#define EXTRA_image(...)    SUCCESS
#define EXTRA_file(...)     SUCCESS
#define EXTRA_unload(...)   SUCCESS
#define EXTRA_lookup(...)   SUCCESS
#define EXTRA_linking(...)  SUCCESS
#define EXTRA_capture(...)  SUCCESS
#define EXTRA_captured(...) SUCCESS
#define EXTRA_linked(...)   linked(__VA_ARGS__)
#define EXTRA_query(...)    QUERY(COUNT(__VA_ARGS__), __VA_ARGS__)
#define QUERY(n, ...)       QUERY_(n, __VA_ARGS__)
#define QUERY_(n, ...)      QUERY_##n(__VA_ARGS__)
#define QUERY_4(symbol, function, version, flags)                                                  \
    query(symbol, function, version, flags, NULL, false)
#define QUERY_5(symbol, function, version, flags, status)                                          \
    query(symbol, function, version, flags, status, true)

/* What else the library may ask: the one device is of compute capability 9.0, unless a test says
 * otherwise. */
API CUresult cuCtxGetDevice(int *device);
API CUresult cuDeviceGetAttribute(int *value, int attribute, int device);
API CUresult cuDeviceGetCount(int *count);
API CUresult cuDriverGetVersion(int *version);
API CUresult cuLinkCreate_v2(unsigned count, CUjit_option *options, void **values,
                             CUlinkState *state);
API CUresult cuLinkDestroy(CUlinkState state);

static CUresult question(const char *name)
{
    trace(name);
    told.asked++;
    return failure(name, NULL);
}

CUresult cuCtxGetDevice(int *device)
{
    *device = 0;
    return question("cuCtxGetDevice");
}

CUresult cuDeviceGetAttribute(int *value, int attribute, int device)
{
    enum { MAJOR = 75 };
    *value = attribute == MAJOR ? 9 : (int)(device ? told.second - 1 : told.minor);
    return device <= (told.second != 0) ? question("cuDeviceGetAttribute") : INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count)
{
    *count = told.second ? 2 : 1;
    return question("cuDeviceGetCount");
}

CUresult cuDriverGetVersion(int *version)
{
    *version = FAKE_VERSION;
    return question("cuDriverGetVersion");
}

CUresult cuLinkCreate_v2(unsigned count, CUjit_option *options, void **values, CUlinkState *state)
{
    (void)count;
    (void)options;
    (void)values;
    trace("cuLinkCreate_v2");
    *state = (CUlinkState)(uintptr_t)0x11;
    return failure("cuLinkCreate_v2", NULL);
}

CUresult cuLinkDestroy(CUlinkState state)
{
    (void)state;
    trace("cuLinkDestroy");
    return failure("cuLinkDestroy", NULL);
}

/* Says that it is here, and waits for the file FAKE_GATE, so that a test can have several at once.
 */
static void gate(void)
{
    const char *path = getenv("FAKE_GATE");
    char own[4096];
    if (!path)
        return;
    snprintf(own, sizeof own, "%s.%d", path, (int)getpid());
    FILE *mark = fopen(own, "w");
    if (mark)
        fclose(mark);
    for (int i = 0; i < 2000 && access(path, F_OK) != 0; i++)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
}

static CUresult linked(CUlinkState link, void **image, size_t *size)
{
    (void)link;
    gate();
    if (told.linked && image)
        *image = (void *)(uintptr_t)told.linked;
    if (size)
        *size = told.linked ? told.linked_size : 4711;
    return SUCCESS;
}

#define RS_CUDA(symbol_, base, since, role, parameters, arguments, made, about, subject)           \
    CUresult symbol_ parameters                                                                    \
    {                                                                                              \
        const uint64_t words[] = {WORDS arguments};                                                \
        CUresult done = act(#symbol_, ROLE_##role, (void **)(made), subject, words,                \
                            sizeof words / sizeof words[0]);                                       \
        return done ? done : EXTRA_##role arguments;                                               \
    }
#include "hook/cuda_api.def"
#undef RS_CUDA
