/* SPDX-License-Identifier: Apache-2.0
 *
 * A small _hashlib of our own with OpenSSL's libcrypto.a inside, as standalone builds of Python
 * have it: no libcrypto.so takes part, so nothing that watches libcrypto's symbols would see a
 * thing. It has the shape of CPython's (names, flags, a HASH type, module state by multi-phase
 * initialisation), as far as hashlib.py and the canary need it.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <openssl/evp.h>

typedef struct {
    PyObject_HEAD EVP_MD_CTX *context;
} Hash;

static PyTypeObject *hash_type;

static int feed(EVP_MD_CTX *context, PyObject *data)
{
    Py_buffer view;
    if (PyUnicode_Check(data)) {
        PyErr_SetString(PyExc_TypeError, "Strings must be encoded before hashing");
        return -1;
    }
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) != 0)
        return -1;
    EVP_DigestUpdate(context, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    return 0;
}

static PyObject *make(const EVP_MD *method, const EVP_MD_CTX *from)
{
    Hash *self = PyObject_New(Hash, hash_type);
    if (self == NULL)
        return NULL;
    self->context = EVP_MD_CTX_new();
    if (from != NULL)
        EVP_MD_CTX_copy_ex(self->context, from);
    else
        EVP_DigestInit_ex(self->context, method, NULL);
    return (PyObject *)self;
}

static void hash_dealloc(Hash *self)
{
    PyTypeObject *type = Py_TYPE(self);
    EVP_MD_CTX_free(self->context);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *hash_update(Hash *self, PyObject *data)
{
    if (feed(self->context, data) != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *hash_digest(Hash *self, PyObject *unused)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_MD_CTX *copy = EVP_MD_CTX_new();
    (void)unused;
    EVP_MD_CTX_copy_ex(copy, self->context);
    EVP_DigestFinal_ex(copy, digest, &size);
    EVP_MD_CTX_free(copy);
    return PyBytes_FromStringAndSize((const char *)digest, size);
}

static PyObject *hash_hexdigest(Hash *self, PyObject *unused)
{
    PyObject *digest = hash_digest(self, unused);
    PyObject *text = digest != NULL ? PyObject_CallMethod(digest, "hex", NULL) : NULL;
    Py_XDECREF(digest);
    return text;
}

static PyObject *hash_copy(Hash *self, PyObject *unused)
{
    (void)unused;
    return make(NULL, self->context);
}

static PyObject *hash_size(Hash *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(EVP_MD_CTX_size(self->context));
}

static PyObject *construct(const EVP_MD *method, PyObject *data)
{
    PyObject *self = make(method, NULL);
    if (self != NULL && data != NULL && feed(((Hash *)self)->context, data) != 0)
        Py_CLEAR(self);
    return self;
}

/* The arguments of both constructors: NAMES in order, then usedforsecurity by keyword. */
static int parse(PyObject *const *args, Py_ssize_t count, PyObject *keywords,
                 const char *const *names, Py_ssize_t wanted, PyObject **out)
{
    Py_ssize_t named = keywords != NULL ? PyTuple_GET_SIZE(keywords) : 0;
    if (count > wanted)
        goto wrong;
    for (Py_ssize_t i = 0; i < count; i++)
        out[i] = args[i];
    for (Py_ssize_t i = 0; i < named; i++) {
        const char *keyword = PyUnicode_AsUTF8(PyTuple_GET_ITEM(keywords, i));
        Py_ssize_t at = 0;
        while (at < wanted && strcmp(names[at], keyword) != 0)
            at++;
        if (at < wanted && out[at] == NULL)
            out[at] = args[count + i];
        else if (at < wanted || strcmp(keyword, "usedforsecurity") != 0)
            goto wrong;
    }
    return 0;
wrong:
    PyErr_SetString(PyExc_TypeError, "wrong arguments");
    return -1;
}

static PyObject *openssl_sha256(PyObject *module, PyObject *const *args, Py_ssize_t count,
                                PyObject *keywords)
{
    static const char *const names[] = {"string"};
    PyObject *given[1] = {NULL};
    (void)module;
    if (parse(args, count, keywords, names, 1, given) != 0)
        return NULL;
    return construct(EVP_sha256(), given[0]);
}

static PyObject *hash_new(PyObject *module, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords)
{
    static const char *const names[] = {"name", "string"};
    PyObject *given[2] = {NULL, NULL};
    (void)module;
    if (parse(args, count, keywords, names, 2, given) != 0)
        return NULL;
    if (given[0] == NULL || !PyUnicode_Check(given[0])) {
        PyErr_SetString(PyExc_TypeError, "name must be a string");
        return NULL;
    }
    const EVP_MD *method = EVP_get_digestbyname(PyUnicode_AsUTF8(given[0]));
    if (method == NULL) {
        PyErr_SetString(PyExc_ValueError, "unsupported hash type");
        return NULL;
    }
    return construct(method, given[1]);
}

static PyMethodDef hash_methods[] = {
    {"update", (PyCFunction)hash_update, METH_O, NULL},
    {"digest", (PyCFunction)hash_digest, METH_NOARGS, NULL},
    {"hexdigest", (PyCFunction)hash_hexdigest, METH_NOARGS, NULL},
    {"copy", (PyCFunction)hash_copy, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef hash_attributes[] = {
    {"digest_size", (getter)hash_size, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot hash_slots[] = {
    {Py_tp_dealloc, (void *)hash_dealloc},
    {Py_tp_methods, hash_methods},
    {Py_tp_getset, hash_attributes},
    {0, NULL},
};

static PyType_Spec hash_spec = {"_hashlib.HASH", sizeof(Hash), 0, Py_TPFLAGS_DEFAULT, hash_slots};

static int exec_module(PyObject *module)
{
    hash_type = (PyTypeObject *)PyType_FromSpec(&hash_spec);
    if (hash_type == NULL)
        return -1;
    PyModule_AddStringConstant(module, "built", "with libcrypto.a");
    return PyModule_AddObject(module, "openssl_md_meth_names", PyFrozenSet_New(NULL));
}

#ifdef ODD_FLAGS
static PyObject *odd_sha256(PyObject *module, PyObject *data)
{
    (void)module;
    return construct(EVP_sha256(), data);
}
#define SHA256_ENTRY (PyCFunction) odd_sha256, METH_O
#else
#define SHA256_ENTRY (PyCFunction)(void *) openssl_sha256, METH_FASTCALL | METH_KEYWORDS
#endif

#ifdef READ_ONLY
#define TABLE const
#else
#define TABLE
#endif

static TABLE PyMethodDef module_methods[] = {
    {"new", (PyCFunction)(void *)hash_new, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"openssl_sha256", SHA256_ENTRY, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)exec_module},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_hashlib", NULL, 0,    (PyMethodDef *)module_methods,
    module_slots,          NULL,       NULL, NULL,
};

PyMODINIT_FUNC PyInit__hashlib(void)
{
    return PyModuleDef_Init(&definition);
}
