/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/digest.h"

#include <string.h>

/* sys.modules[NAME] (borrowed), or NULL when it is not there or blocked by None. */
static rs_py *loaded(const struct rs_python *py, rs_py *modules, const char *name)
{
    rs_py *module = py->PyDict_GetItemString(modules, name);
    return module != py->_Py_NoneStruct ? module : NULL;
}

/* Straight from the module's dictionary: an attribute look-up could run a module's __getattr__. */
static void read_version(const struct rs_python *py, rs_py *module, char *out, size_t size)
{
    rs_py *dict = module != NULL ? py->PyModule_GetDict(module) : NULL;
    rs_py *version = dict != NULL ? py->PyDict_GetItemString(dict, "__version__") : NULL;
    ssize_t length;
    const char *text = version != NULL ? py->PyUnicode_AsUTF8AndSize(version, &length) : NULL;
    if (text != NULL) {
        size_t count = (size_t)length < size - 1 ? (size_t)length : size - 1;
        memcpy(out, text, count);
    }
    py->PyErr_Clear();
}

void rs_digest_facts(const struct rs_python *py, struct rs_python_facts *facts)
{
    memset(facts, 0, sizeof *facts);
    /* Not PyImport_GetModuleDict: that aborts the process when sys.modules is gone. */
    rs_py *modules = py->PySys_GetObject("modules");
    if (modules == NULL)
        return;
    read_version(py, loaded(py, modules, "torch"), facts->torch_version,
                 sizeof facts->torch_version);
    read_version(py, loaded(py, modules, "triton"), facts->triton_version,
                 sizeof facts->triton_version);
    facts->redis = loaded(py, modules, "redis") != NULL;
    facts->vllm = loaded(py, modules, "vllm") != NULL;
    py->PyErr_Clear();
}
