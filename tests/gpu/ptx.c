/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx FUNCTION FILE KERNELS [AT]: loads the PTX in FILE by FUNCTION onto the first GPU, runs its
 * kernels scale_0 to scale_<KERNELS - 1>, and prints what came back: the driver's answer, a check
 * sum of all results, what the driver says of the first kernel, and how many microseconds it took
 * to load the text and to run every kernel once. AT: the second (CLOCK_REALTIME) at which to load
 * it. FUNCTION: data, ex, registers (ex with a limit), log (ex with a buffer for the compiler's
 * words), library, or capture (data while a stream is captured). Needs a driver, no toolkit.
 */
#include "device.h"

#include <stdint.h>
#include <string.h>

extern int cuCtxSynchronize(void);
extern int cuMemAlloc_v2(uint64_t *, size_t), cuMemcpyDtoH_v2(void *, uint64_t, size_t);
extern int cuMemcpyHtoD_v2(uint64_t, const void *, size_t);
extern int cuModuleLoadData(handle *, const void *), cuModuleUnload(handle);
extern int cuModuleLoadDataEx(handle *, const void *, unsigned, int *, void **);
extern int cuModuleGetFunction(handle *, handle, const char *);
extern int cuFuncGetAttribute(int *, int, handle);
extern int cuLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, handle, void **, void **);
extern int cuLibraryLoadData(handle *, const void *, int *, void **, unsigned, int *, void **,
                             unsigned);
extern int cuLibraryGetModule(handle *, handle);
extern int cuStreamCreate(handle *, unsigned), cuStreamBeginCapture_v2(handle, int);
extern int cuStreamEndCapture(handle, handle *);

enum { COUNT = 256, LOG = 5, LOG_SIZE = 6, MAX_REGISTERS = 0 };

static char log_text[4096];

static int load_captured(handle *module, const char *text)
{
    handle stream = NULL, graph = NULL;
    int made = cuStreamCreate(&stream, 1);
    int begun = made ? made : cuStreamBeginCapture_v2(stream, 0);
    int result = cuModuleLoadData(module, text);
    printf("capture: begun %d, ended %d\n", begun, cuStreamEndCapture(stream, &graph));
    return result;
}

static int load(const char *how, handle *module, const char *text)
{
    int limit = MAX_REGISTERS, log[] = {LOG, LOG_SIZE};
    void *registers = (void *)32, *words[] = {log_text, (void *)sizeof log_text};
    if (strcmp(how, "data") == 0)
        return cuModuleLoadData(module, text);
    if (strcmp(how, "ex") == 0)
        return cuModuleLoadDataEx(module, text, 0, NULL, NULL);
    if (strcmp(how, "registers") == 0)
        return cuModuleLoadDataEx(module, text, 1, &limit, &registers);
    if (strcmp(how, "capture") == 0)
        return load_captured(module, text);
    if (strcmp(how, "log") == 0) {
        int result = cuModuleLoadDataEx(module, text, 2, log, words);
        printf("log: %zu characters\n", strlen(log_text));
        return result;
    }
    handle library = NULL;
    int result = cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0);
    return result ? result : cuLibraryGetModule(module, library);
}

/* The results of kernel NUMBER go into the sum (FNV-1a). */
static int run(handle module, unsigned number, uint64_t memory, uint64_t *sum)
{
    char name[32];
    float values[COUNT], factor = 0.75f;
    int n = COUNT;
    handle function = NULL;
    void *parameters[] = {&memory, &factor, &n};
    for (int i = 0; i < n; i++)
        values[i] = (float)i * 0.125f;
    snprintf(name, sizeof name, "scale_%u", number);
    int result = cuModuleGetFunction(&function, module, name);
    result = result ? result : cuMemcpyHtoD_v2(memory, values, sizeof values);
    result =
        result ? result : cuLaunchKernel(function, 1, 1, 1, COUNT, 1, 1, 0, NULL, parameters, NULL);
    result = result ? result : cuMemcpyDtoH_v2(values, memory, sizeof values);
    for (size_t i = 0; i < sizeof values; i++)
        *sum = (*sum ^ ((unsigned char *)values)[i]) * UINT64_C(1099511628211);
    return result;
}

static void describe(handle module)
{
    enum { LOCAL = 3, REGISTERS = 4, PTX_VERSION = 5, BINARY_VERSION = 6 };
    handle function = NULL;
    int local = -1, registers = -1, ptx = -1, binary = -1;
    if (cuModuleGetFunction(&function, module, "scale_0") == 0) {
        cuFuncGetAttribute(&local, LOCAL, function);
        cuFuncGetAttribute(&registers, REGISTERS, function);
        cuFuncGetAttribute(&ptx, PTX_VERSION, function);
        cuFuncGetAttribute(&binary, BINARY_VERSION, function);
    }
    printf("kernel: registers %d, local %d, ptx %d, binary %d\n", registers, local, ptx, binary);
}

static void wait_until(const char *second)
{
    struct timespec at = {strtol(second, NULL, 10), 0};
    while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL) != 0)
        ;
}

int main(int argc, char **argv)
{
    static const char garbage[64] = "neither ELF nor fatbin nor PTX";
    if (argc != 4 && argc != 5)
        return 2;
    char *text = read_file(argv[2]);
    unsigned kernels = (unsigned)atoi(argv[3]);
    handle module = NULL;
    uint64_t memory = 0, sum = UINT64_C(14695981039346656037);
    int ran = 0;
    start();
    if (cuMemAlloc_v2(&memory, COUNT * sizeof(float)) != 0)
        return 3;
    /* The first load of a process finds the node's segment, or makes it: that is not the text's. */
    (void)cuModuleLoadData(&module, garbage);
    if (argc == 5)
        wait_until(argv[4]);
    double begin = now_us();
    int result = load(argv[1], &module, text);
    double loaded = now_us();
    for (unsigned i = 0; result == 0 && ran == 0 && i < kernels; i++)
        ran = run(module, i, memory, &sum);
    ran = ran ? ran : cuCtxSynchronize();
    double end = now_us();
    printf("answer: %d, module %s, ran %d, sum %016llx\n", result, module ? "made" : "none", ran,
           (unsigned long long)sum);
    if (result == 0)
        describe(module);
    printf("times: %.1f %.1f\n", loaded - begin, end - loaded);
    return fflush(stdout) != 0;
}
