/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX loads with RANKSHARE_PTX=1: the driver's linker makes a cubin of the text once per node, and
 * the driver is given that. All that is asked of the driver besides the program's own call is here.
 */
#include "hook/cuda_instead.h"

#include "base/sys.h"
#include "rank/compile.h"

#include <errno.h>

enum { CUDA_SUCCESS = 0, CU_JIT_INPUT_PTX = 1 };

/* A load by one of the three functions. MADE: a CUmodule or CUlibrary. */
struct target {
    const struct rs_cuda_call *call;
    enum rs_cuda function;
    void *made;
};

static bool load_code(struct target *target, const void *code)
{
    target->made = rs_cuda_load_code(target->call, target->function, code);
    return target->made != NULL;
}

/* A library belongs to no context: on a device of another kind the driver would compile the text
 * once more. */
static bool know_class(enum rs_cuda function, struct rs_compile_class *class_of)
{
    typedef CUresult get_version(int *version);
    get_version *get = (get_version *)rs_cuda_symbol("cuDriverGetVersion");
    int version;
    if (get == NULL || get(&version) != CUDA_SUCCESS || version <= 0)
        return false;
    class_of->driver = (unsigned)version;
    rs_cuda_capability(&class_of->major, &class_of->minor);
    return class_of->major > 0 && (function != RS_CUDA_cuLibraryLoadData ||
                                   rs_cuda_all_devices(class_of->major, class_of->minor));
}

/* The driver's linker with the options of the load; it gets copies, as some drivers write to them.
 */
static CUlinkState begin_link(const struct rs_compile *load)
{
    typedef CUresult create(unsigned count, CUjit_option *options, void **values,
                            CUlinkState *state);
    create *make = (create *)rs_cuda_symbol("cuLinkCreate_v2");
    CUjit_option options[RS_JIT_MAX];
    void *values[RS_JIT_MAX];
    CUlinkState state = NULL;
    for (unsigned i = 0; i < load->jit.count; i++) {
        options[i] = load->jit.option[i];
        values[i] = (void *)(uintptr_t)load->jit.value[i];
    }
    return make != NULL && make(load->jit.count, options, values, &state) == CUDA_SUCCESS ? state
                                                                                          : NULL;
}

static void end_link(CUlinkState state)
{
    typedef CUresult destroy(CUlinkState state);
    destroy *end = (destroy *)rs_cuda_symbol("cuLinkDestroy");
    if (end != NULL)
        (void)end(state);
}

static bool link_text(const struct rs_compile *load, CUlinkState state, void **code, size_t *size)
{
    typedef CUresult add_data(CUlinkState state, CUjitInputType type, void *data, size_t size,
                              const char *name, unsigned count, CUjit_option *options,
                              void **values);
    typedef CUresult complete(CUlinkState state, void **image, size_t *size);
    add_data *add = (add_data *)rs_cuda_symbol("cuLinkAddData_v2");
    complete *finish = (complete *)rs_cuda_symbol("cuLinkComplete");
    void *text = (void *)(uintptr_t)load->text.data;
    *code = NULL;
    return add != NULL && finish != NULL &&
           add(state, CU_JIT_INPUT_PTX, text, load->text.size + 1, NULL, 0, NULL, NULL) ==
               CUDA_SUCCESS &&
           finish(state, code, size) == CUDA_SUCCESS;
}

/* The code belongs to the linker until its end. */
static bool compile(struct rs_compile *load, struct target *target)
{
    uint64_t began = rs_sys_clock_ns(CLOCK_MONOTONIC);
    CUlinkState state = begin_link(load);
    void *code;
    size_t size = 0;
    if (state == NULL)
        return false;
    bool done = link_text(load, state, &code, &size) &&
                rs_compile_made(load, code, size, rs_sys_clock_ns(CLOCK_MONOTONIC) - began) &&
                load_code(target, code);
    if (done)
        rs_compile_compiled(load);
    end_link(state);
    return done;
}

static bool load_compiled(struct rs_compile *load, struct rs_cuda_call *call, struct target *target)
{
    struct rs_compile_class class_of;
    bool done = false;
    call->began = rs_sys_clock_ns(CLOCK_MONOTONIC);
    bool known = know_class(target->function, &class_of);
    if (known && rs_compile_find(load, &class_of)) {
        done = load_code(target, load->code.data);
        if (done)
            rs_compile_taken(load);
    } else if (known) {
        done = compile(load, target);
        if (!done)
            rs_compile_failed(load);
    }
    if (!done)
        rs_compile_left();
    return done;
}

/* The driver's own call follows where this is false, with errno as the program has left it. */
static void *load_text(struct rs_cuda_call *call, enum rs_cuda function, const void *image,
                       unsigned count, const CUjit_option *options, void *const *values,
                       unsigned others)
{
    struct rs_compile load;
    struct target target = {call, function, NULL};
    int saved = errno;
    void *made = NULL;
    if (rs_compile_begin(&load, image, count, options, values, others)) {
        made = load_compiled(&load, call, &target) ? target.made : NULL;
        rs_compile_end(&load);
    }
    errno = saved;
    return made;
}

bool rs_instead_data(struct rs_cuda_call *call, CUmodule *module, const void *image)
{
    void *made =
        module == NULL ? NULL : load_text(call, RS_CUDA_cuModuleLoadData, image, 0, NULL, NULL, 0);
    if (made != NULL)
        *module = (CUmodule)made;
    return made != NULL;
}

bool rs_instead_data_ex(struct rs_cuda_call *call, CUmodule *module, const void *image,
                        unsigned count, CUjit_option *options, void **values)
{
    void *made = module == NULL ? NULL
                                : load_text(call, RS_CUDA_cuModuleLoadDataEx, image, count, options,
                                            values, 0);
    if (made != NULL)
        *module = (CUmodule)made;
    return made != NULL;
}

bool rs_instead_library_data(struct rs_cuda_call *call, CUlibrary *library, const void *image,
                             unsigned count, CUjit_option *options, void **values,
                             unsigned library_count)
{
    void *made = library == NULL ? NULL
                                 : load_text(call, RS_CUDA_cuLibraryLoadData, image, count, options,
                                             values, library_count);
    if (made != NULL)
        *library = (CUlibrary)made;
    return made != NULL;
}
