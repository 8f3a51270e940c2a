/* SPDX-License-Identifier: Apache-2.0
 *
 * What the hook uses of CPython's API, resolved at run time: no Python.h, no link to libpython.
 * Only functions and types that every CPython from 3.5 on exports, with the same meaning.
 */
#ifndef RS_HOOK_PYTHON_API_H
#define RS_HOOK_PYTHON_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct rs_py rs_py; /* a PyObject */

/* X(return type, name, parameters). Py_ssize_t is ssize_t on every platform we know. */
#define RS_PY_FUNCTIONS(X)                                                                         \
    X(int, PyBytes_AsStringAndSize, (rs_py *, char **, ssize_t *))                                 \
    X(rs_py *, PyBytes_FromStringAndSize, (const char *, ssize_t))                                 \
    X(rs_py *, PyDict_GetItemString, (rs_py *, const char *))                                      \
    X(void, PyErr_Clear, (void))                                                                   \
    X(int, PyGILState_Check, (void))                                                               \
    X(rs_py *, PyModule_GetDef, (rs_py *))                                                         \
    X(rs_py *, PyModule_GetDict, (rs_py *))                                                        \
    X(rs_py *, PyObject_CallObject, (rs_py *, rs_py *))                                            \
    X(rs_py *, PyObject_GetAttrString, (rs_py *, const char *))                                    \
    X(rs_py *, PySys_GetObject, (const char *))                                                    \
    X(rs_py *, PyTuple_GetItem, (rs_py *, ssize_t))                                                \
    X(ssize_t, PyTuple_Size, (rs_py *))                                                            \
    X(const char *, PyUnicode_AsUTF8AndSize, (rs_py *, ssize_t *))                                 \
    X(void, Py_DecRef, (rs_py *))                                                                  \
    X(int, Py_IsInitialized, (void))

#define RS_PY_OBJECTS(X)                                                                           \
    X(PyBytes_Type)                                                                                \
    X(PyMethodDescr_Type)                                                                          \
    X(PyModuleDef_Type)                                                                            \
    X(PyType_Type)                                                                                 \
    X(_Py_NoneStruct)

struct rs_python {
#define FUNCTION(type, name, parameters) type(*name) parameters;
    RS_PY_FUNCTIONS(FUNCTION)
#undef FUNCTION
#define OBJECT(name) rs_py *name;
    RS_PY_OBJECTS(OBJECT)
#undef OBJECT
    size_t head; /* size of a PyObject: 16, or 32 where ob_type comes last in a longer one */
};

/* The API, resolved on the first call: as the program sees it, else as HANDLE does (NULL: not
 * asked). NULL when something is missing or an object's layout is not one we know. Thread safe. */
const struct rs_python *rs_python_resolve(void *handle);

/* The API once it has been resolved: never NULL inside a wrapper. */
const struct rs_python *rs_python_api(void);

static inline rs_py *rs_py_type(const struct rs_python *py, const rs_py *object)
{
    return *(rs_py *const *)((uintptr_t)object + py->head - sizeof(void *));
}

/* The word at OFFSET bytes after the head of OBJECT. */
static inline void **rs_py_field(const struct rs_python *py, rs_py *object, size_t offset)
{
    return (void **)((uintptr_t)object + py->head + offset);
}

#endif
