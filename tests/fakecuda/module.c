/* SPDX-License-Identifier: Apache-2.0 */
/* Modules, libraries and functions: loading, refusing, launching. */
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULE_MAGIC   0x664d6f64u
#define FUNCTION_MAGIC 0x6646756eu

/* A library belongs to no device; a function got from it runs wherever it is launched. */
struct module {
    uint32_t magic;
    int device;
    struct fk_image image;
};

struct function {
    uint32_t magic;
    struct module *module;
    int device;
    struct function *next;
    char name[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct function *functions;
static unsigned char globals[65536];

static struct module *module_of(void *handle)
{
    struct module *module = handle;
    return module && module->magic == MODULE_MAGIC ? module : NULL;
}

static void log_load(const struct fk_image *image, const char *road, int device, const char *path)
{
    char kernels[4096] = "";
    size_t used = 0;
    for (size_t i = 0; i < image->count && used < sizeof(kernels) - 1; i++)
        used += (size_t)snprintf(kernels + used, sizeof(kernels) - used, "%s%s", i ? "," : "",
                                 image->kernels[i]);
    fk_log("load road=%s device=%d physical=%d arch=%d bytes=%zu kernels=%s path=%s", road, device,
           fk_physical(device), image->arch, image->size, image->count ? kernels : "?",
           path ? path : "");
}

static int load(void *out, const void *data, size_t limit, const char *road, bool on_device,
                const char *path)
{
    if (on_device && !fk_context())
        return fk_fail(road, FK_INVALID_CONTEXT);
    struct module *module = calloc(1, sizeof(*module));
    if (!module)
        return FK_OUT_OF_MEMORY;
    int rc = fk_image_parse(data, limit, &module->image);
    if (rc == FK_OK && !fk_image_fits(&module->image, fk_capability())) {
        fk_image_free(&module->image);
        rc = FK_NO_BINARY_FOR_GPU;
    }
    if (rc != FK_OK) {
        free(module);
        return fk_fail(road, rc);
    }
    module->magic = MODULE_MAGIC;
    module->device = on_device ? fk_device() : -1;
    log_load(&module->image, road, module->device, path);
    memcpy(out, &module, sizeof(module));
    return FK_OK;
}

int fk_load_data(void *out, const void *data, const char *road, bool on_device)
{
    return load(out, data, SIZE_MAX, road, on_device, NULL);
}

/* The whole file with a zero byte behind it, which ends PTX. */
char *fk_read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *data = NULL;
    size_t capacity = 0;
    *size = 0;
    do {
        capacity = capacity ? capacity * 2 : 65536;
        char *grown = realloc(data, capacity + 1);
        if (!grown) {
            free(data);
            fclose(file);
            return NULL;
        }
        data = grown;
        *size += fread(data + *size, 1, capacity - *size, file);
    } while (*size == capacity);
    data[*size] = '\0';
    fclose(file);
    return data;
}

/* As in the real driver, the file is opened with the C library's fopen. */
int fk_load_file(void *out, const char *path, const char *road, bool on_device)
{
    size_t size;
    if (!path)
        return fk_fail(road, FK_INVALID_VALUE);
    char *data = fk_read_file(path, &size);
    if (!data)
        return fk_fail(road, FK_FILE_NOT_FOUND);
    int rc = load(out, data, size, road, on_device, path);
    free(data);
    return rc;
}

/* Functions of the module stay as dead handles, so that a late launch is an error and no crash. */
int fk_unload(void *handle, const char *call)
{
    struct module *module = module_of(handle);
    if (!module)
        return fk_fail(call, FK_INVALID_HANDLE);
    pthread_mutex_lock(&lock);
    for (struct function *function = functions; function; function = function->next) {
        if (function->module != module)
            continue;
        function->magic = 0;
        function->module = NULL;
    }
    module->magic = 0;
    pthread_mutex_unlock(&lock);
    fk_image_free(&module->image);
    free(module);
    return FK_OK;
}

int fk_get_function(void *out, void *handle, const char *name, const char *call)
{
    struct module *module = module_of(handle);
    if (!module)
        return fk_fail(call, FK_INVALID_HANDLE);
    if (!name || !fk_image_has(&module->image, name))
        return fk_fail(call, FK_NOT_FOUND);
    struct function *function = calloc(1, sizeof(*function) + strlen(name) + 1);
    if (!function)
        return FK_OUT_OF_MEMORY;
    function->magic = FUNCTION_MAGIC;
    function->module = module;
    function->device = module->device;
    strcpy(function->name, name);
    pthread_mutex_lock(&lock);
    function->next = functions;
    functions = function;
    pthread_mutex_unlock(&lock);
    memcpy(out, &function, sizeof(function));
    return FK_OK;
}

int fk_function_count(void *handle, unsigned *out, const char *call)
{
    struct module *module = module_of(handle);
    if (!module)
        return fk_fail(call, FK_INVALID_HANDLE);
    *out = (unsigned)module->image.count;
    return FK_OK;
}

const char *fk_function_name(void *handle)
{
    struct function *function = handle;
    return function && function->magic == FUNCTION_MAGIC ? function->name : NULL;
}

/* grid_block: grid x, y, z, block x, y, z */
int fk_launch(void *handle, void *stream, const unsigned *grid_block, const char *call)
{
    struct function *function = handle;
    if (!fk_context())
        return fk_fail(call, FK_INVALID_CONTEXT);
    if (!function || function->magic != FUNCTION_MAGIC)
        return fk_fail(call, FK_INVALID_HANDLE);
    if (function->device >= 0 && function->device != fk_device())
        return fk_fail(call, FK_INVALID_HANDLE);
    if (fk_stream_check(stream, call) != FK_OK)
        return FK_INVALID_HANDLE;
    fk_log("launch device=%d kernel=%s grid=%ux%ux%u block=%ux%ux%u", fk_device(), function->name,
           grid_block[0], grid_block[1], grid_block[2], grid_block[3], grid_block[4],
           grid_block[5]);
    return FK_OK;
}

/* CUfunction_attribute: threads per block, then registers; nothing spills. */
int fk_function_attribute(int attribute, int *value)
{
    *value = 0;
    if (attribute == 0)
        *value = 1024;
    else if (attribute == 4)
        *value = 32;
    else if (attribute == 5 || attribute == 6)
        *value = fk_capability();
    return FK_OK;
}

/* Every global variable of every module is the same zeroed memory: nobody reads it. */
void *fk_global(void *handle, size_t *size)
{
    if (handle && !module_of(handle))
        return NULL;
    if (size)
        *size = sizeof(globals);
    return globals;
}
