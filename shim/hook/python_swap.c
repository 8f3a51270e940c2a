/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/python_swap.h"

#include "hook/python_image.h"

#include <string.h>

/* CPython's own structures as far as they are looked at: the same from 3.5 to 3.15. */
struct method_def {
    const char *name;
    void *function;
    int flags;
    const char *doc;
};

enum {
    DESCR_METHOD = 24, /* fields after the head: PyMethodDescrObject.d_method */
    DEF_NAME = 24,     /* PyModuleDef.m_name, m_methods */
    DEF_METHODS = 48,
    DEF_SIZE = 56, /* as much of it as is read */

    TABLE_MAX = 256, /* entries of a table that are looked at */
    WANTED_MAX = 4,
};

enum rs_swapped rs_swap_slot(struct rs_swap *swap, void **slot)
{
    void *old = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (old == swap->wrapper)
        return RS_SWAPPED_ALREADY;
    void *known = NULL;
    if (!atomic_compare_exchange_strong(&swap->original, &known, old) && known != old)
        return RS_SWAP_REFUSED;
    if (__atomic_compare_exchange_n(slot, &old, swap->wrapper, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return RS_SWAPPED;
    return old == swap->wrapper ? RS_SWAPPED_ALREADY : RS_SWAP_REFUSED;
}

/* Whether rs_swap_slot would go through, as far as can be told before. */
static bool slot_fits(const struct rs_swap *swap, void *const *slot)
{
    void *old = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    void *known = atomic_load(&swap->original);
    return old == swap->wrapper || (rs_image_executable(old) && (known == NULL || known == old));
}

rs_py *rs_module_def(const struct rs_python *py, rs_py *result)
{
    if (rs_py_type(py, result) == py->PyModuleDef_Type)
        return result;
    rs_py *def = py->PyModule_GetDef(result);
    if (def == NULL) {
        py->PyErr_Clear();
        return NULL;
    }
    /* A single-phase def gets its type from PyModule_Create: a def without one isn't one. */
    return rs_image_readable(def, py->head + DEF_SIZE) &&
                   rs_py_type(py, def) == py->PyModuleDef_Type
               ? def
               : NULL;
}

/* Whether DEF is the definition of the module NAME, as a static structure of some module's. */
static bool is_def_of(const struct rs_python *py, rs_py *def, const char *name)
{
    return rs_image_readable(def, py->head + DEF_SIZE) &&
           rs_image_text_is(*rs_py_field(py, def, DEF_NAME), name);
}

static bool is_named(const struct method_def *entry, const struct rs_region *texts,
                     const char *name)
{
    /* The names of a table are near each other: the region of the first spares most look-ups. */
    uintptr_t at = (uintptr_t)entry->name;
    size_t size = strlen(name) + 1;
    if (at >= texts->start && at < texts->end)
        return texts->end - at >= size && memcmp(entry->name, name, size) == 0;
    return rs_image_text_is(entry->name, name);
}

/* The entry NAME in the table at METHODS if it is as expected and may be written, else NULL. */
static struct method_def *find_method(struct method_def *methods, const char *name, int flags)
{
    struct rs_region table, texts;
    if (!rs_region_of(methods, &table) || !table.writable)
        return NULL;
    size_t room = (table.end - (uintptr_t)methods) / sizeof *methods;
    if (room == 0 || methods->name == NULL || !rs_region_of(methods->name, &texts))
        return NULL;
    for (size_t i = 0; i < room && i < TABLE_MAX && methods[i].name != NULL; i++)
        if (is_named(&methods[i], &texts, name))
            return methods[i].flags == flags ? &methods[i] : NULL;
    return NULL;
}

enum rs_swapped rs_swap_methods(const struct rs_python *py, rs_py *def, const char *name,
                                const struct rs_method *methods, size_t count)
{
    struct method_def *found[WANTED_MAX];
    if (count > WANTED_MAX || !is_def_of(py, def, name))
        return RS_SWAP_REFUSED;
    struct method_def *table = *rs_py_field(py, def, DEF_METHODS);
    for (size_t i = 0; i < count; i++) {
        found[i] = find_method(table, methods[i].name, RS_METH_FASTCALL_KEYWORDS);
        if (found[i] == NULL || !slot_fits(methods[i].swap, &found[i]->function))
            return RS_SWAP_REFUSED;
    }
    enum rs_swapped result = RS_SWAPPED_ALREADY;
    for (size_t i = 0; i < count; i++)
        result = rs_swapped_both(result, rs_swap_slot(methods[i].swap, &found[i]->function));
    return result;
}

enum rs_swapped rs_swap_method_of_type(const struct rs_python *py, rs_py *type, const char *name,
                                       struct rs_swap *swap)
{
    rs_py *descriptor = py->PyObject_GetAttrString(type, name);
    if (descriptor == NULL) {
        py->PyErr_Clear();
        return RS_SWAP_REFUSED;
    }
    enum rs_swapped result = RS_SWAP_REFUSED;
    if (rs_py_type(py, descriptor) == py->PyMethodDescr_Type) {
        struct method_def *entry = *rs_py_field(py, descriptor, DESCR_METHOD);
        if (rs_image_writable(entry, sizeof *entry) && entry->flags == RS_METH_O &&
            rs_image_text_is(entry->name, name) && slot_fits(swap, &entry->function))
            result = rs_swap_slot(swap, &entry->function);
    }
    py->Py_DecRef(descriptor);
    return result;
}
