/* SPDX-License-Identifier: Apache-2.0
 *
 * roads MODE: calls every function of the table on the roads of MODE and prints, for each call,
 * what the driver was asked and what came back. Run plain and under the library the output is the
 * same. Built twice: with -DLINKED, bound to libcuda by the loader, and without.
 */
#include "fake.h"
#include "hook/cuda_types.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned generic(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                         uint64_t);

struct row {
    const char *name, *base;
    int since;
    enum role role;
};
static const struct row rows[] = {
#define RS_CUDA(name, base, since, role, parameters, arguments, made, about, subject)              \
    {#name, base, since, ROLE_##role},
#include "hook/cuda_api.def"
#undef RS_CUDA
};
enum { ROWS = sizeof rows / sizeof rows[0] };

#ifdef LINKED
#define RS_CUDA(name, base, since, role, parameters, arguments, made, about, subject)              \
    CUresult name parameters;
#include "hook/cuda_api.def"
#undef RS_CUDA
static void *const linked[ROWS] = {
#define RS_CUDA(name, base, since, role, parameters, arguments, made, about, subject) (void *)name,
#include "hook/cuda_api.def"
#undef RS_CUDA
};
#endif

static const unsigned codes[] = {0,   1,   2,   3,   100, 200, 201, 209, 218, 221, 222, 223,
                                 300, 301, 302, 400, 500, 700, 716, 801, 803, 900, 901, 999};
enum { CODES = sizeof codes / sizeof codes[0] };

static void *driver;
static fake_state_function *state_of;
static char image[4096] =
    "//\n.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {}\n";

/* Arguments of one call, and where the driver may write. */
struct call {
    uint64_t word[FAKE_ARGUMENTS];
    unsigned made_at; /* which argument points to MADE; FAKE_ARGUMENTS: none */
    void *made;
    size_t size;
    unsigned status;
};

static void prepare(struct call *call, const struct row *row, const char *path)
{
    for (unsigned i = 0; i < FAKE_ARGUMENTS; i++)
        call->word[i] = 0x1001 + i;
    call->made = (void *)0x5e7;
    call->size = 77;
    call->status = 88;
    bool second = row->role == ROLE_linked || row->role == ROLE_query || row->role == ROLE_captured;
    call->made_at = second ? 1 : 0;
    if (row->role == ROLE_unload || row->role == ROLE_linking || row->role == ROLE_capture)
        call->made_at = FAKE_ARGUMENTS;
    else
        call->word[call->made_at] = (uintptr_t)&call->made;
    if (row->role == ROLE_image)
        call->word[1] = (uintptr_t)image;
    else if (row->role == ROLE_file)
        call->word[1] = (uintptr_t)path;
    else if (row->role == ROLE_lookup)
        call->word[2] = (uintptr_t) "k";
    else if (row->role == ROLE_linked)
        call->word[2] = (uintptr_t)&call->size;
    else if (row->role == ROLE_query) {
        call->word[0] = (uintptr_t) "cuInit"; /* not there: what is found has a test of its own */
        call->word[2] = 13000;
        call->word[3] = 0;
        call->word[4] = (uintptr_t)&call->status;
    }
}

static unsigned invoke(void *function, const struct call *call)
{
    const uint64_t *w = call->word;
    return ((generic *)function)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]);
}

static const char *kind_of(const struct call *call, void *before)
{
    return call->made == before ? "kept" : call->made == (void *)0xbad ? "bad" : "new";
}

/* One call and its line. */
static void tell(const char *road, const struct row *row, void *function, unsigned code,
                 const char *path)
{
    struct call call;
    struct fake *fake = state_of();
    prepare(&call, row, path);
    void *before = call.made;
    fake->result = code;
    fake->name = "nothing";
    fake->count = 0;
    errno = 4321;
    unsigned result = invoke(function, &call);
    int after = errno;
    unsigned same = 0;
    for (unsigned i = 0; i < fake->count; i++)
        same += (uint32_t)fake->arguments[i] == (uint32_t)call.word[i];
    printf("%s %s %u: %s, %u of %u arguments, %u, made %s, size %zu, status %u, errno %d\n", road,
           row->name, code, fake->name, same, fake->count, result, kind_of(&call, before),
           call.size, call.status, after);
    fake->result = 0;
}

static void every_code(const char *road, void *(*find)(const struct row *))
{
    for (unsigned i = 0; i < ROWS; i++) {
        void *function = find(&rows[i]);
        if (!function) {
            printf("%s %s absent\n", road, rows[i].name);
            continue;
        }
        for (unsigned c = 0; c < CODES; c++)
            tell(road, &rows[i], function, codes[c], "/dev/null");
        state_of()->writes = 1; /* a driver that writes before it fails */
        tell(road, &rows[i], function, 200, "/dev/null");
        state_of()->writes = 0;
        if (rows[i].role == ROLE_file) {
            tell(road, &rows[i], function, 0, "/no/such/file");
            tell(road, &rows[i], function, 0, NULL);
        }
    }
}

/* ---- where functions come from ----------------------------------------------------------------
 */

static void *by_dlsym(const struct row *row)
{
    return dlsym(driver, row->name);
}

static void *by_next(const struct row *row)
{
    return dlsym(RTLD_NEXT, row->name);
}

static void *by_default(const struct row *row)
{
    return dlsym(RTLD_DEFAULT, row->name);
}

#ifdef LINKED
static void *by_link(const struct row *row)
{
    return linked[row - rows];
}
#endif

typedef unsigned query_1(const char *, void **, int, uint64_t);
typedef unsigned query_2(const char *, void **, int, uint64_t, unsigned *);

static void *resolver(const char *name)
{
    void *function = dlsym(driver, name);
    return function;
}

/* As libcudart does: the resolver by dlsym, all else from it, this function's own version. */
static void *by_query(const struct row *row)
{
    void *function = NULL;
    query_2 *second = (query_2 *)resolver("cuGetProcAddress_v2");
    query_1 *first = (query_1 *)resolver("cuGetProcAddress");
    unsigned flags = strstr(row->name, "_ptsz") ? 2 : 0;
    if (second)
        second(row->base, &function, row->since, flags, NULL);
    else if (first)
        first(row->base, &function, row->since, flags);
    return function;
}

static void *by_first_query(const struct row *row)
{
    void *function = NULL;
    query_1 *first = (query_1 *)resolver("cuGetProcAddress");
    if (first)
        first(row->base, &function, row->since, 2);
    return function;
}

/* ---- what cuGetProcAddress answers ------------------------------------------------------------
 */

static void tell_answer(const char *road, const char *base, int version, unsigned flags,
                        unsigned result, void *function, unsigned status)
{
    struct fake *fake = state_of();
    struct call call;
    printf("%s %s@%d/%u: %u, status %u, ", road, base, version, flags, result, status);
    if (function == NULL || function == (void *)0x5e7) {
        printf("%s\n", function ? "kept" : "none");
        return;
    }
    for (unsigned i = 0; i < ROWS; i++)
        if (strcmp(rows[i].base, base) == 0)
            prepare(&call, &rows[i], "/dev/null");
    fake->name = "nothing";
    fake->result = 0;
    result = invoke(function, &call);
    printf("%s, %u\n", fake->name, result);
}

static void every_question(const char *road, query_1 *first, query_2 *second)
{
    static const int versions[] = {1999,  2000,  5049,  5050,  6050,  10000,
                                   11029, 11030, 11999, 12000, 12040, 13000};
    static const char *const none[] = {
        "cuInit", "cuModuleLoad_v2", "cublasCreate_v2", "cuda", "cu", "", "cuGetProcAddress_v2"};
    for (unsigned i = 0; i < ROWS + sizeof none / sizeof none[0]; i++)
        for (unsigned v = 0; v < sizeof versions / sizeof versions[0]; v++)
            for (unsigned flags = 0; flags < 3; flags++) {
                const char *base = i < ROWS ? rows[i].base : none[i - ROWS];
                void *function = (void *)0x5e7;
                unsigned status = 88, result;
                if (first) {
                    result = first(base, &function, versions[v], flags);
                    tell_answer(road, base, versions[v], flags, result, function, status);
                }
                if (second) {
                    function = (void *)0x5e7;
                    result = second(base, &function, versions[v], flags, v % 2 ? &status : NULL);
                    tell_answer(road, base, versions[v], flags, result, function, status);
                }
            }
}

static void questions(void)
{
    query_1 *first = (query_1 *)resolver("cuGetProcAddress");
    query_2 *second = (query_2 *)resolver("cuGetProcAddress_v2");
    void *inner = NULL;
    every_question("dlsym", first, second);
    if (second && second("cuGetProcAddress", &inner, 12000, 0, NULL) == 0 && inner)
        every_question("query", NULL, (query_2 *)inner);
    inner = NULL;
    if (first && first("cuGetProcAddress", &inner, 11030, 0) == 0 && inner)
        every_question("query", (query_1 *)inner, NULL);
    struct fake *fake = state_of();
    for (unsigned c = 1; c < CODES && second; c++) {
        void *function = (void *)0x5e7;
        unsigned status = 88;
        fake->result = codes[c];
        unsigned result = second("cuModuleLoad", &function, 13000, 0, &status);
        printf("failing %u: %u, %s, status %u\n", codes[c], result,
               function == (void *)0x5e7 ? "kept" : "changed", status);
        fake->result = 0;
    }
}

/* ---- modes ------------------------------------------------------------------------------------
 */

/* A driver that calls itself is asked once by the program. */
static void within(void)
{
    for (unsigned way = 1; way <= 2; way++)
        for (unsigned i = 0; i < ROWS; i++) {
            void *function = by_dlsym(&rows[i]);
            if (function && (rows[i].role == ROLE_image || rows[i].role == ROLE_file)) {
                state_of()->within = way;
                tell("within", &rows[i], function, 0, "/dev/null");
            }
        }
    state_of()->within = 0;
}

static void *thread(void *argument)
{
    static _Atomic unsigned at_work;
    long *wrong = argument;
    at_work++;
    while (at_work < 8)
        ;
    for (int round = 0; round < 300; round++)
        for (unsigned i = 0; i < ROWS; i++) {
            struct call call;
            void *function = round % 2 ? by_dlsym(&rows[i]) : by_query(&rows[i]);
            if (!function)
                continue;
            prepare(&call, &rows[i], "/dev/null");
            state_of()->result = round % 3 ? 0 : 209;
            invoke(function, &call);
            *wrong += strcmp(state_of()->name, rows[i].name) != 0;
            state_of()->result = 0;
        }
    return NULL;
}

static void threads(void)
{
    pthread_t all[8];
    long wrong[8] = {0}, sum = 0;
    for (int i = 0; i < 8; i++)
        pthread_create(&all[i], NULL, thread, &wrong[i]);
    for (int i = 0; i < 8; i++) {
        pthread_join(all[i], NULL);
        sum += wrong[i];
    }
    printf("threads: %ld wrong\n", sum);
}

/* The child counts for itself, and loads by what its parent looked up. */
static void forks(void)
{
    void *function = by_dlsym(&rows[1]);
    if (!function)
        return;
    tell("parent", &rows[1], function, 0, "");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        tell("child", &rows[1], function, 0, "");
        tell("child", &rows[1], by_dlsym(&rows[1]), 209, "");
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    tell("parent", &rows[1], function, 0, "");
}

static void slow(void)
{
    void *function = by_dlsym(&rows[1]);
    state_of()->slow_ms = 50;
    tell("slow", &rows[1], function, 0, "");
    state_of()->slow_ms = 0;
}

static void closed(void)
{
    void *function = by_dlsym(&rows[1]);
    tell("open", &rows[1], function, 0, "");
    dlclose(driver);
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    state_of = (fake_state_function *)dlsym(driver, "fake_state");
    tell("open again", &rows[1], by_dlsym(&rows[1]), 0, "");
}

static bool special(const char *mode)
{
    if (strcmp(mode, "questions") == 0)
        questions();
    else if (strcmp(mode, "within") == 0)
        within();
    else if (strcmp(mode, "threads") == 0)
        threads();
    else if (strcmp(mode, "fork") == 0)
        forks();
    else if (strcmp(mode, "slow") == 0)
        slow();
    else if (strcmp(mode, "closed") == 0)
        closed();
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void *(*find)(const struct row *);
    } roads[] = {
        {"dlsym", by_dlsym}, {"next", by_next},           {"default", by_default},
        {"query", by_query}, {"query-1", by_first_query},
#ifdef LINKED
        {"linked", by_link},
#endif
    };
    const char *mode = argc > 1 ? argv[1] : "";
    const char *library = argc > 2 ? argv[2] : "libcuda.so.1";
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    bool global = strcmp(mode, "default") == 0 || strcmp(mode, "next") == 0;
    driver = dlopen(library, global ? RTLD_NOW | RTLD_GLOBAL : RTLD_NOW);
    state_of = driver ? (fake_state_function *)dlsym(driver, "fake_state") : NULL;
    if (!state_of) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    if (special(mode))
        return fflush(stdout) != 0;
    for (size_t i = 0; i < sizeof roads / sizeof roads[0]; i++)
        if (strcmp(roads[i].name, mode) == 0) {
            every_code(mode, roads[i].find);
            return fflush(stdout) != 0;
        }
    return 2;
}
