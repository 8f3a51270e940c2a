/* SPDX-License-Identifier: Apache-2.0
 *
 * _blake2.blake2b is a type, so its constructor is tp_new. The type exists once the module has run:
 * the exec function in the module's slots is swapped to be there when it has.
 */
#include "hook/digest.h"

#include "base/state.h"
#include "rank/count.h"
#include "rank/node.h"

typedef int exec_function(rs_py *module);
typedef rs_py *new_function(rs_py *type, rs_py *args, rs_py *keywords);
typedef rs_py *update_function(rs_py *self, rs_py *arg);

static exec_function blake2_exec;
static new_function blake2b_new;
static update_function blake2b_update;

static struct rs_swap exec_swap = {.wrapper = (void *)blake2_exec};
static struct rs_swap new_swap = {.wrapper = (void *)blake2b_new};
static struct rs_swap update_swap = {.wrapper = (void *)blake2b_update};

enum { ARENA_LIMIT = 1 << 20 };

/* A new bytes object to be hashed instead of OBJECT, or NULL. */
static rs_py *replacement_of(const struct rs_python *py, rs_py *object)
{
    struct rs_bytes in, out;
    struct rs_arena arena;
    rs_py *replacement = NULL;
    rs_node_beat();
    if (!rs_digest_bytes(py, object, &in) || !rs_on())
        return NULL;
    rs_arena_init(&arena, ARENA_LIMIT);
    if (rs_blake2_replace(&arena, in, &out)) {
        replacement = py->PyBytes_FromStringAndSize((const char *)out.data, (ssize_t)out.size);
        if (replacement == NULL)
            py->PyErr_Clear();
    }
    rs_arena_free(&arena);
    return replacement;
}

/* A new tuple like ARGS with FIRST (whose reference it takes) at 0, or NULL. */
static rs_py *with_first(const struct rs_python *py, rs_py *args, ssize_t count, rs_py *first)
{
    rs_py *tuple = py->PyTuple_New(count);
    if (tuple == NULL) {
        py->PyErr_Clear();
        py->Py_DecRef(first);
        return NULL;
    }
    py->PyTuple_SetItem(tuple, 0, first);
    for (ssize_t i = 1; i < count; i++) {
        rs_py *item = py->PyTuple_GetItem(args, i);
        py->Py_IncRef(item);
        py->PyTuple_SetItem(tuple, i, item);
    }
    return tuple;
}

static rs_py *blake2b_new(rs_py *type, rs_py *args, rs_py *keywords)
{
    const struct rs_python *py = rs_python_api();
    new_function *original = (new_function *)atomic_load(&new_swap.original);
    ssize_t count = py->PyTuple_Size(args);
    rs_py *first = count > 0 ? replacement_of(py, py->PyTuple_GetItem(args, 0)) : NULL;
    rs_py *tuple = first != NULL ? with_first(py, args, count, first) : NULL;
    rs_py *result = original(type, tuple != NULL ? tuple : args, keywords);
    if (tuple != NULL)
        py->Py_DecRef(tuple);
    return result;
}

static rs_py *blake2b_update(rs_py *self, rs_py *arg)
{
    const struct rs_python *py = rs_python_api();
    update_function *original = (update_function *)atomic_load(&update_swap.original);
    rs_py *replacement = replacement_of(py, arg);
    rs_py *result = original(self, replacement != NULL ? replacement : arg);
    if (replacement != NULL)
        py->Py_DecRef(replacement);
    return result;
}

static enum rs_swapped take_type(const struct rs_python *py, rs_py *module)
{
    rs_py *type = py->PyObject_GetAttrString(module, "blake2b");
    if (type == NULL) {
        py->PyErr_Clear();
        return RS_SWAP_REFUSED;
    }
    enum rs_swapped result = rs_swap_new(py, type, &new_swap);
    if (result != RS_SWAP_REFUSED)
        result = rs_swapped_both(result, rs_swap_method_of_type(py, type, "update", &update_swap));
    py->Py_DecRef(type);
    return result;
}

static int blake2_exec(rs_py *module)
{
    exec_function *original = (exec_function *)atomic_load(&exec_swap.original);
    int result = original(module);
    /* Every interpreter gets a type of its own, so this is not a matter of once per process. */
    if (result == 0 && take_type(rs_python_api(), module) == RS_SWAP_REFUSED)
        rs_count(RS_C_digest_refused, 1);
    return result;
}

enum rs_swapped rs_blake2_take(const struct rs_python *py, rs_py *result)
{
    bool finished;
    rs_py *def = rs_module_def(py, result, &finished);
    if (def == NULL)
        return RS_SWAP_REFUSED;
    if (finished)
        return take_type(py, result);
    return rs_swap_exec(py, def, "_blake2", &exec_swap);
}
