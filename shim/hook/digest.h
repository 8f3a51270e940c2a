/* SPDX-License-Identifier: Apache-2.0
 *
 * The wrappers that stand in the hash modules' tables. They look at exact bytes objects only, ask
 * rank/hash.h what to do with those that are key material, and leave everything else, errors and
 * keywords included, to the original function, which always runs exactly once.
 */
#ifndef RS_HOOK_DIGEST_H
#define RS_HOOK_DIGEST_H

#include "hook/python_swap.h"
#include "ordinal/ordinal.h"
#include "rank/hash.h"

/* Swaps what is watched in one hash module, by its name ("_hashlib", "_sha2", "_sha256"). RESULT:
 * what its initialiser returned, or the module. Called without an error set, leaves none. */
enum rs_swapped rs_digest_take(const struct rs_python *py, const char *name, rs_py *result);

/* Puts the contents of OBJECT into BYTES; false unless it is exactly a bytes object. */
static inline bool rs_digest_bytes(const struct rs_python *py, rs_py *object,
                                   struct rs_bytes *bytes)
{
    char *data;
    ssize_t size;
    if (rs_py_type(py, object) != py->PyBytes_Type ||
        py->PyBytes_AsStringAndSize(object, &data, &size) != 0)
        return false;
    *bytes = (struct rs_bytes){(const uint8_t *)data, (size_t)size};
    return true;
}

/* Reads what the interpreter has loaded. Imports nothing and runs no Python code; called without an
 * error set, leaves none. */
void rs_digest_facts(const struct rs_python *py, struct rs_python_facts *facts);

#endif
