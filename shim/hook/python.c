/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/python.h"

#include "hook/digest.h"
#include "hook/next.h"
#include "hook/python_image.h"
#include "rank/count.h"

#include <string.h>

typedef rs_py *init_function(void);

/* One hash module: its name, the wrapper of its initialiser, and whether there is nothing left to
 * do. */
struct module {
    const char *name;
    struct rs_swap init;
    _Atomic(bool) settled;
};

static init_function init_hashlib, init_sha2, init_sha256;

enum { HASHLIB, SHA2, SHA256, MODULES };
static struct module modules[MODULES] = {
    [HASHLIB] = {.name = "_hashlib", .init = {.wrapper = (void *)init_hashlib}},
    [SHA2] = {.name = "_sha2", .init = {.wrapper = (void *)init_sha2}},
    [SHA256] = {.name = "_sha256", .init = {.wrapper = (void *)init_sha256}},
};

_Atomic(bool) rs_python_found;

/* The table of built-in modules. Weak, so that the loader's own relocation finds it, as a look-up
 * of RTLD_DEFAULT would; failing look-ups allocate and would leave an error in every other program.
 */
struct inittab {
    const char *name;
    void *init;
};
extern struct inittab *PyImport_Inittab __attribute__((weak, visibility("default")));

enum { INITTAB_MAX = 1024 };

static struct module *module_of(const char *name)
{
    for (size_t i = 0; i < MODULES; i++)
        if (strcmp(modules[i].name, name) == 0)
            return &modules[i];
    return NULL;
}

/* ---- the modules
 * --------------------------------------------------------------------------------- */

static void take(const struct rs_python *py, struct module *module, rs_py *result)
{
    enum rs_swapped swapped =
        py != NULL ? rs_digest_take(py, module->name, result) : RS_SWAP_REFUSED;
    atomic_store(&module->settled, true);
    if (swapped == RS_SWAPPED)
        rs_count(RS_C_digest_modules, 1);
    else if (swapped == RS_SWAP_REFUSED)
        rs_count(RS_C_digest_refused, 1);
    if (swapped != RS_SWAP_REFUSED)
        atomic_store(&rs_python_found, true);
}

/* In the place of an initialiser: the import lock is held and nobody else sees the module yet. */
static rs_py *init(struct module *module)
{
    rs_py *result = ((init_function *)atomic_load(&module->init.original))();
    if (result != NULL)
        take(rs_python_resolve(NULL), module, result);
    return result;
}

static rs_py *init_hashlib(void)
{
    return init(&modules[HASHLIB]);
}

static rs_py *init_sha2(void)
{
    return init(&modules[SHA2]);
}

static rs_py *init_sha256(void)
{
    return init(&modules[SHA256]);
}

/* ---- the built-in table
 * -------------------------------------------------------------------------- */

static void take_table(struct inittab *table)
{
    struct rs_region region;
    if (!rs_region_of(table, &region))
        return;
    size_t room = (region.end - (uintptr_t)table) / sizeof *table;
    for (size_t i = 0; i < room && i < INITTAB_MAX && table[i].name != NULL; i++) {
        struct module *module = module_of(table[i].name);
        if (module == NULL || table[i].init == NULL)
            continue;
        enum rs_swapped swapped = RS_SWAP_REFUSED;
        if (region.writable)
            swapped = rs_swap_slot(&module->init, &table[i].init);
        if (swapped == RS_SWAPPED)
            rs_count(RS_C_digest_builtin, 1);
        else if (swapped == RS_SWAP_REFUSED)
            rs_count(RS_C_digest_refused, 1);
        if (swapped != RS_SWAP_REFUSED)
            atomic_store(&rs_python_found, true);
    }
}

bool rs_python_linked(void)
{
    return &PyImport_Inittab != NULL;
}

void rs_python_init(void)
{
    if (rs_python_linked())
        take_table(PyImport_Inittab);
}

/* ---- from the dlsym hook
 * ------------------------------------------------------------------------- */

void *rs_python_swap_init(void *handle, const char *name, void *found)
{
    struct module *module = module_of(name + strlen("PyInit_"));
    if (module == NULL || found == module->init.wrapper)
        return found;
    void *known = NULL;
    if (rs_python_resolve(handle) == NULL ||
        (!atomic_compare_exchange_strong(&module->init.original, &known, found) &&
         known != found)) {
        rs_count(RS_C_digest_refused, 1);
        return found;
    }
    rs_count(RS_C_digest_init, 1);
    return module->init.wrapper;
}

void *rs_python_swap_late(void *handle, const char *name, void *found)
{
    (void)name;
    rs_dlsym_fn *real = rs_real_dlsym();
    struct inittab **table = real != NULL ? real(handle, "PyImport_Inittab") : NULL;
    if (table != NULL && rs_python_resolve(handle) != NULL)
        take_table(*table);
    return found;
}

/* Built-in modules without an exported table: they are in sys.modules once they have been imported,
 * and the import machinery, which is what looks up initialisers, runs with the GIL held. */
void *rs_python_look(void *handle, const char *name, void *found)
{
    (void)name;
    const struct rs_python *py = rs_python_resolve(handle);
    if (py == NULL || !py->Py_IsInitialized() || !py->PyGILState_Check())
        return found;
    rs_py *loaded = py->PySys_GetObject("modules");
    for (size_t i = 0; i < MODULES && loaded != NULL; i++) {
        if (atomic_load(&modules[i].settled))
            continue;
        rs_py *module = py->PyDict_GetItemString(loaded, modules[i].name);
        if (module != NULL && module != py->_Py_NoneStruct)
            take(py, &modules[i], module);
    }
    return found;
}
