/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/cuda.h"

#include "hook/next.h"
#include "rank/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

struct name {
    const char *text;
    size_t length;
};

static const struct name names[RS_CUDA_COUNT] = {
#define RS_CUDA(name, base, since, role, parameters, arguments, made, about, subject)              \
    {#name, sizeof(#name) - 1},
#include "hook/cuda_api.def"
#undef RS_CUDA
};

/* libcuda's functions (NULL: this driver has none), and what calls that were bound by the loader go
 * on to. Threads that find them empty look for themselves and store the same answers. */
static _Atomic(void *) libcuda[RS_CUDA_COUNT], next[RS_CUDA_COUNT];
static _Atomic(void *) libcuda_handle; /* NULL until the above are known */

static int find(const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; i < RS_CUDA_COUNT; i++)
        if (names[i].length == length && memcmp(names[i].text, name, length) == 0)
            return i;
    return -1;
}

bool rs_cuda_named(const char *name)
{
    return name[0] == 'c' && name[1] == 'u' && find(name) >= 0;
}

/* Libraries that programs load for themselves are in no scope that a preloaded library sees, so
 * libcuda is asked for by its soname. The reference is kept: our pointers into it stay valid
 * whatever the program closes. */
static bool know_libcuda(void)
{
    if (atomic_load_explicit(&libcuda_handle, memory_order_acquire) != NULL)
        return true;
    rs_dlsym_fn *look = rs_real_dlsym();
    void *handle = look != NULL ? dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) : NULL;
    for (int i = 0; handle != NULL && i < RS_CUDA_COUNT; i++)
        atomic_store_explicit(&libcuda[i], look(handle, names[i].text), memory_order_relaxed);
    if (handle != NULL)
        atomic_store_explicit(&libcuda_handle, handle, memory_order_release);
    return handle != NULL;
}

void *rs_cuda_swap(void *handle, const char *name, void *found)
{
    (void)handle;
    int function = find(name);
    if (function < 0 || rs_driver_inside() || !know_libcuda() ||
        atomic_load_explicit(&libcuda[function], memory_order_relaxed) != found)
        return found;
    return rs_cuda_wrappers[RS_ROAD_DLSYM][function];
}

void *rs_cuda_answer(void *found)
{
    int saved = errno;
    bool known = know_libcuda();
    for (int i = 0; known && i < RS_CUDA_COUNT; i++)
        if (atomic_load_explicit(&libcuda[i], memory_order_relaxed) == found)
            found = rs_cuda_wrappers[RS_ROAD_QUERY][i];
    errno = saved;
    return found;
}

/* Libraries bring stubs by the driver's names that load libcuda at the first call (XLA's are such):
 * a call that the loader would have bound to the caller's own library, were it not for us. */
static void *look_beside(enum rs_cuda function, void *caller)
{
    Dl_info info;
    rs_dlsym_fn *look = rs_real_dlsym();
    void *handle = NULL;
    if (look != NULL && dladdr(caller, &info) != 0 && info.dli_fname != NULL)
        handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void *found = handle != NULL ? look(handle, names[function].text) : NULL;
    return found != rs_cuda_wrappers[RS_ROAD_LINKED][function] ? found : NULL;
}

/* Failing look-ups leave an error behind that the program has not caused. */
static void *look_for_next(enum rs_cuda function, void *caller)
{
    int saved = errno;
    void *found = rs_next_symbol(names[function].text);
    if (found == NULL && know_libcuda())
        found = atomic_load_explicit(&libcuda[function], memory_order_relaxed);
    if (found != NULL)
        atomic_store_explicit(&next[function], found, memory_order_relaxed);
    else
        found = look_beside(function, caller);
    dlerror();
    errno = saved;
    return found;
}

void *rs_cuda_real(enum rs_cuda function, enum rs_road road, void *caller)
{
    if (road != RS_ROAD_LINKED)
        return atomic_load_explicit(&libcuda[function], memory_order_relaxed);
    void *found = atomic_load_explicit(&next[function], memory_order_relaxed);
    return found != NULL ? found : look_for_next(function, caller);
}

void *rs_cuda_symbol(const char *name)
{
    rs_dlsym_fn *look = rs_real_dlsym();
    if (look == NULL || !know_libcuda())
        return NULL;
    int saved = errno;
    void *found = look(atomic_load_explicit(&libcuda_handle, memory_order_acquire), name);
    if (found == NULL)
        dlerror();
    errno = saved;
    return found;
}

/* Of device number DEVICE. */
static bool capability_of(int device, unsigned *major, unsigned *minor)
{
    typedef CUresult get_attribute(int *value, int attribute, int device);
    enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 };
    get_attribute *attribute = (get_attribute *)rs_cuda_symbol("cuDeviceGetAttribute");
    int high, low;
    if (attribute == NULL || attribute(&high, CAPABILITY_MAJOR, device) != 0 ||
        attribute(&low, CAPABILITY_MINOR, device) != 0 || high <= 0 || low < 0)
        return false;
    *major = (unsigned)high;
    *minor = (unsigned)low;
    return true;
}

void rs_cuda_capability(unsigned *major, unsigned *minor)
{
    typedef CUresult get_device(int *device);
    get_device *current = (get_device *)rs_cuda_symbol("cuCtxGetDevice");
    int device;
    if (current == NULL || current(&device) != 0 || !capability_of(device, major, minor))
        *major = *minor = 0;
}

bool rs_cuda_all_devices(unsigned major, unsigned minor)
{
    typedef CUresult get_count(int *count);
    get_count *get = (get_count *)rs_cuda_symbol("cuDeviceGetCount");
    unsigned high, low;
    int count;
    if (get == NULL || get(&count) != 0)
        return false;
    for (int i = 0; i < count; i++)
        if (!capability_of(i, &high, &low) || high != major || low != minor)
            return false;
    return true;
}
