/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pretend CUDA: what the driver (libcuda.so.1), the runtime (libcudart.so.N) and the pretend NCCL
 * share.
 *
 * Nothing here computes. Devices are numbers, device memory is host memory, kernels never run. What
 * is real is what tests look at: which image was loaded, by which road, on which device, and what a
 * driver would have refused. The core (state.c, log.c, memory.c, object.c, image.c) lives in
 * libcuda.so.1; the functions of both programming interfaces are thin layers over it.
 *
 * Environment, read once per process:
 *   FAKECUDA_DEVICES  number of devices (default 1; 0 means "no device", as on a machine without a
 * GPU) FAKECUDA_CC       compute capability, two or three digits (default 90) FAKECUDA_NAME device
 * name (default "NVIDIA H200") FAKECUDA_SMS      multiprocessors (default 132) FAKECUDA_LOG      a
 * directory; each process appends to <pid>.log there CUDA_VISIBLE_DEVICES  a list of numbers, as
 * the real driver takes it
 */
#ifndef FAKECUDA_FAKE_H
#define FAKECUDA_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FK_API            __attribute__((visibility("default")))
#define FK_DRIVER_VERSION 13020
#define FK_MAX_DEVICES    128

/* Error numbers, the same in the driver and the runtime. */
enum {
    FK_OK = 0,
    FK_INVALID_VALUE = 1,
    FK_OUT_OF_MEMORY = 2,
    FK_NO_DEVICE = 100,
    FK_INVALID_DEVICE = 101,
    FK_INVALID_IMAGE = 200,
    FK_INVALID_CONTEXT = 201,
    FK_NO_BINARY_FOR_GPU = 209,
    FK_FILE_NOT_FOUND = 301,
    FK_INVALID_HANDLE = 400,
    FK_NOT_FOUND = 500,
    FK_PEER_ALREADY_ENABLED = 704,
    FK_NOT_SUPPORTED = 801,
};

/* state.c: devices and the calling thread's current one */
struct fk_context {
    uint32_t magic;
    int device;
    int retained;
};

FK_API int fk_device_count(void);
FK_API int fk_capability(void); /* 90 for 9.0, 120 for 12.0 */
FK_API int fk_multiprocessors(void);
FK_API const char *fk_device_name(void);
FK_API int fk_physical(int device); /* the number before CUDA_VISIBLE_DEVICES */
FK_API struct fk_context *fk_primary(int device);
FK_API struct fk_context *fk_context(void);
FK_API int fk_set_context(struct fk_context *context);
FK_API int fk_device(void); /* device of the current context, -1 without one */
FK_API int fk_bind(void);   /* as fk_device, but a thread without context gets device 0 first */
FK_API int fk_set_device(int device);
FK_API int fk_device_attribute(int attribute, int *value);

/* log.c */
FK_API void fk_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
FK_API int fk_fail(const char *call, int code); /* logs an error line, returns code */
FK_API const char *fk_error_name(int code);

/* memory.c: every allocation is known with its device */
enum fk_memory { FK_HOST = 1, FK_DEVICE = 2, FK_MANAGED = 3 };
struct fk_block {
    uintptr_t start;
    size_t size;
    enum fk_memory type;
    int device;
};

FK_API int fk_alloc(void **out, size_t size, enum fk_memory type);
FK_API int fk_free(void *pointer);
FK_API bool fk_find(const void *pointer, struct fk_block *out);
FK_API int fk_register_host(void *pointer, size_t size);
FK_API int fk_unregister_host(void *pointer);

/* object.c: streams, events, graphs and whatever else is only a handle */
enum fk_kind { FK_STREAM = 1, FK_EVENT, FK_GRAPH, FK_GRAPH_EXEC, FK_POOL, FK_USER_OBJECT, FK_LINK };
struct fk_object {
    uint32_t magic;
    enum fk_kind kind;
    int device;
    int value; /* a stream's priority */
    unsigned long long id;
    bool capturing;
    void (*destroy)(void *);
    void *data;
};

FK_API int fk_new(void *out, enum fk_kind kind);
FK_API int fk_drop(void *handle, enum fk_kind kind, const char *call);
FK_API struct fk_object *fk_object(void *handle, enum fk_kind kind); /* NULL: no such object */
FK_API int fk_stream_check(void *stream, const char *call);
FK_API int fk_capture_begin(void *stream);
FK_API int fk_capture_end(void *stream, void *graph_out);
FK_API bool fk_capturing(void *stream);

/* image.c: what a machine code image says about itself */
enum fk_image_kind { FK_CUBIN, FK_FATBIN, FK_PTX };
struct fk_image {
    enum fk_image_kind kind;
    int arch;       /* 90 for sm_90; 0 when unknown */
    bool exact;     /* sm_90a: this architecture only */
    bool open_list; /* the kernels could not be listed: any name will do */
    size_t size;
    char **kernels;
    size_t count;
};

/* Without a size (as cuModuleLoadData gets none) limit is SIZE_MAX. */
int fk_image_parse(const void *data, size_t limit, struct fk_image *out);
void fk_image_free(struct fk_image *image);
bool fk_image_fits(const struct fk_image *image, int capability);
bool fk_image_has(const struct fk_image *image, const char *kernel);

/* module.c: shared by cuModule*, cuLibrary* and the runtime's cudaLibrary* */
FK_API int fk_load_data(void *out, const void *data, const char *road, bool on_device);
FK_API int fk_load_file(void *out, const char *path, const char *road, bool on_device);
char *fk_read_file(const char *path, size_t *size); /* with malloc; NULL: can't be read */
FK_API int fk_unload(void *module, const char *call);
FK_API int fk_get_function(void *out, void *module, const char *name, const char *call);
FK_API int fk_function_count(void *module, unsigned *out, const char *call);
FK_API int fk_launch(void *function, void *stream, const unsigned *grid_block, const char *call);
FK_API const char *fk_function_name(void *function);
FK_API int fk_function_attribute(int attribute, int *value);
FK_API void *fk_global(void *module, size_t *size);

/* proc.c: cuGetProcAddress and the runtime's cudaGetDriverEntryPoint */
FK_API void *fk_entry_point(const char *symbol, int version);

#endif
