/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/load.h"

#include "base/arena.h"
#include "base/library.h"
#include "base/log.h"
#include "base/sys.h"
#include "image/cubin.h"
#include "image/image.h"
#include "image/ptx.h"
#include "rank/count.h"
#include "rank/handle.h"
#include "rank/node.h"

#include <string.h>

/* ---- what an image holds -----------------------------------------------------------------------
 */

struct description {
    struct rs_module_facts facts;
    char kernel[RS_KERNEL_MAX];
};

static bool first_kernel(void *context, const struct rs_kernel *kernel)
{
    struct description *description = context;
    size_t length = strnlen(kernel->name, sizeof description->kernel - 1);
    memcpy(description->kernel, kernel->name, length);
    return false;
}

static void describe_arch(struct rs_module_facts *facts, struct rs_arch arch)
{
    facts->sm = arch.sm;
    facts->suffix = arch.suffix;
}

/* IMAGE's bytes can be read. */
static void describe(const struct rs_image *image, struct description *out)
{
    struct rs_cubin cubin;
    struct rs_ptx ptx;
    struct rs_bytes name;
    size_t at = 0;
    if (image->kind == RS_KIND_cubin && rs_cubin_read(image->bytes, &cubin, first_kernel, out)) {
        describe_arch(&out->facts, cubin.arch);
        out->facts.kernels = cubin.kernels;
    } else if (image->kind == RS_KIND_ptx && rs_ptx_head(image->bytes, &ptx)) {
        describe_arch(&out->facts, ptx.arch);
        for (; rs_ptx_kernel(image->bytes, &at, &name); out->facts.kernels++) {
            if (out->facts.kernels == 0)
                memcpy(out->kernel, name.data,
                       name.size < sizeof out->kernel ? name.size : sizeof out->kernel - 1);
        }
    }
}

/* ---- the table ---------------------------------------------------------------------------------
 */

/* Says by name what the driver's "no kernel image" is about. */
static void log_foreign(const struct rs_load *load, const struct description *module)
{
    char arch[RS_ARCH_TEXT];
    rs_log("module %s: a %s for %s, which devices of compute capability %u.%u do not run",
           module->kernel[0] ? module->kernel : "without a name", rs_kind_name(module->facts.kind),
           rs_arch_text((struct rs_arch){module->facts.sm, module->facts.suffix}, arch),
           load->major, load->minor);
}

static bool is_foreign(const struct rs_load *load, struct rs_reader *reader,
                       const struct rs_image *image)
{
    return !load->good && load->major > 0 &&
           rs_image_runs(reader, image, load->major, load->minor) == RS_FIT_NEVER;
}

/* The entry of the module that was loaded, or NULL. NAME stands for the image. LOOK: its bytes can
 * be read. */
static struct rs_module *enter(const struct rs_load *load, struct rs_reader *reader,
                               const struct rs_image *image, const struct rs_hash128 *name,
                               bool look)
{
    struct rs_node *node = rs_node_tie();
    bool foreign = look && is_foreign(load, reader, image);
    struct description description = {
        .facts = {.kind = image->kind, .size = image->bytes.size, .mapped = !look}};
    description.facts.kernel = description.kernel;
    struct rs_module *module = node ? rs_module_find(&node->store, name) : NULL;
    if (look && (foreign || !module))
        describe(image, &description);
    if (node && !module)
        module = rs_module_add(&node->store, name, &description.facts);
    if (module) {
        rs_module_count(module, node->slot, load->good, load->ns,
                        foreign ? load->major * 10 + load->minor : 0);
        rs_handle_note(load->handle, rs_module_ticket(&node->store, module));
    } else {
        rs_count(RS_C_modules_full, node != NULL);
    }
    if (foreign) {
        rs_count(RS_C_loads_foreign, 1);
        log_foreign(load, &description);
    }
    return module;
}

static void look_at(const struct rs_load *load, struct rs_reader *reader, const void *at)
{
    struct rs_image image;
    struct rs_hash128 name;
    if (!at || !rs_image_find(reader, at, SIZE_MAX / 2, &image)) {
        rs_count(RS_C_loads_unknown, 1);
    } else if (reader->process && rs_library_place(image.bytes.data, &name)) {
        rs_count(RS_C_loads_mapped, 1);
        enter(load, reader, &image, &name, false);
    } else if (image.bytes.size > RS_MODULE_MAX) {
        rs_count(RS_C_loads_large, 1);
    } else if (!rs_reader_has(reader, image.bytes.data, image.bytes.size)) {
        rs_count(RS_C_loads_unknown, 1);
    } else {
        name = rs_hash128_of(image.bytes.data, image.bytes.size);
        struct rs_module *module = enter(load, reader, &image, &name, true);
        if (module && load->good)
            rs_stow_image(rs_node_if_tied(), module, &name, &image);
    }
}

/* ---- what the hooks tell -----------------------------------------------------------------------
 */

static void count_load(const struct rs_load *load)
{
    static const enum rs_counter roads[RS_ROADS] = {
        [RS_ROAD_LINKED] = RS_C_loads_linked,
        [RS_ROAD_DLSYM] = RS_C_loads_dlsym,
        [RS_ROAD_QUERY] = RS_C_loads_query,
    };
    /* A process that loads onto a GPU is one whose counts are wanted, whether it compiles or not.
     */
    rs_node_tie();
    rs_count(roads[load->road], 1);
    rs_count(RS_C_load_ns, load->ns);
    rs_count(RS_C_loads_failed, !load->good);
}

void rs_loaded_image(const struct rs_load *load, const void *image)
{
    struct rs_reader reader;
    count_load(load);
    rs_reader_process(&reader);
    look_at(load, &reader, image);
}

/* The bytes of a regular file of at most RS_MODULE_MAX, and a zero byte, as the driver reads PTX.
 */
static bool read_file(const char *path, struct rs_arena *arena, struct rs_bytes *bytes, bool *large)
{
    struct stat found;
    *large = false;
    if (!path || rs_sys_fstatat(AT_FDCWD, path, &found, 0) != 0 || !S_ISREG(found.st_mode))
        return false;
    int fd = rs_sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool regular = rs_sys_fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
    *large = regular && found.st_size > RS_MODULE_MAX;
    size_t size = regular && !*large ? (size_t)found.st_size : 0;
    unsigned char *data = size ? rs_arena_alloc(arena, size + 1) : NULL;
    ssize_t got = data ? rs_sys_pread(fd, data, size, 0) : -1;
    rs_sys_close(fd);
    if (got != (ssize_t)size)
        return false;
    data[size] = 0;
    *bytes = (struct rs_bytes){data, size + 1};
    return true;
}

/* The file that the driver has read is read once more, for what is in it. */
static void look_at_file(const struct rs_load *load, const char *path)
{
    struct rs_arena arena;
    struct rs_bytes bytes;
    bool large;
    rs_arena_init(&arena, RS_MODULE_MAX + (1 << 16));
    if (read_file(path, &arena, &bytes, &large)) {
        struct rs_reader reader;
        rs_reader_bytes(&reader, bytes);
        look_at(load, &reader, bytes.data);
    } else {
        rs_count(large ? RS_C_loads_large : RS_C_loads_unknown, 1);
    }
    rs_arena_free(&arena);
}

void rs_loaded_file(const struct rs_load *load, const char *path, const struct rs_module_file *file,
                    bool served)
{
    count_load(load);
    rs_count(RS_C_loads_file, 1);
    rs_count(RS_C_loads_served, served);
    if (served) {
        struct rs_reader reader;
        rs_reader_bytes(&reader, (struct rs_bytes){file->bytes.data, file->bytes.size + 1});
        look_at(load, &reader, file->bytes.data);
    } else {
        look_at_file(load, path);
    }
}

void rs_unloaded(const struct rs_load *load, const void *module)
{
    rs_count(RS_C_unloads, load->good);
    if (load->good)
        rs_handle_forget(module);
}

void rs_looked_up(const struct rs_load *load, const void *module, const char *name)
{
    uint32_t ticket;
    rs_count(RS_C_functions, load->good);
    rs_count(RS_C_function_ns, load->ns);
    if (!load->good || !rs_handle_find(module, &ticket))
        return;
    struct rs_node *node = rs_node();
    if (!name)
        rs_handle_note(load->handle, ticket);
    else if (node)
        rs_module_name(&node->store, ticket, name);
}

void rs_linked(const struct rs_load *load, bool last)
{
    rs_count(RS_C_links, load->good && last);
    rs_count(RS_C_link_ns, load->ns);
}
