/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/digest.h"

#include "base/state.h"
#include "rank/count.h"
#include "rank/node.h"

#include <string.h>
#include <strings.h>

typedef rs_py *fastcall(rs_py *self, rs_py *const *args, ssize_t count, rs_py *keywords);
typedef rs_py *onecall(rs_py *self, rs_py *arg);

enum { ARGUMENTS_MAX = 8, DIGEST_SIZE = 32 };

static fastcall hashlib_sha256, hashlib_new, sha2_sha256;
static onecall hashlib_update, sha2_update;

static struct rs_swap hashlib_sha256_swap = {.wrapper = (void *)hashlib_sha256};
static struct rs_swap hashlib_new_swap = {.wrapper = (void *)hashlib_new};
static struct rs_swap hashlib_update_swap = {.wrapper = (void *)hashlib_update};
static struct rs_swap sha2_sha256_swap = {.wrapper = (void *)sha2_sha256};
static struct rs_swap sha2_update_swap = {.wrapper = (void *)sha2_update};

/* One constructor of hash objects. */
struct constructor {
    struct rs_swap *swap;
    struct rs_swap *update;     /* that of the objects it makes */
    _Atomic(bool) *update_seen; /* whether that swap has been tried */
    ssize_t position;           /* of the data among the positional arguments */
};

static _Atomic(bool) hashlib_update_seen, sha2_update_seen;
static const struct constructor hashlib_sha256_c = {&hashlib_sha256_swap, &hashlib_update_swap,
                                                    &hashlib_update_seen, 0};
static const struct constructor hashlib_new_c = {&hashlib_new_swap, &hashlib_update_swap,
                                                 &hashlib_update_seen, 1};
static const struct constructor sha2_sha256_c = {&sha2_sha256_swap, &sha2_update_swap,
                                                 &sha2_update_seen, 0};

/* ---- what is looked at
 * --------------------------------------------------------------------------- */

static bool text_of(const struct rs_python *py, rs_py *object, struct rs_bytes *out)
{
    ssize_t size;
    const char *text = py->PyUnicode_AsUTF8AndSize(object, &size);
    if (text == NULL) {
        py->PyErr_Clear();
        return false;
    }
    *out = (struct rs_bytes){(const uint8_t *)text, (size_t)size};
    return true;
}

/* Index in the vector of the argument at POSITION or with one of two names; -1 when it isn't given.
 */
static ssize_t find_argument(const struct rs_python *py, ssize_t count, rs_py *keywords,
                             ssize_t position, const char *name, const char *other)
{
    if (count > position)
        return position;
    ssize_t named = keywords != NULL ? py->PyTuple_Size(keywords) : 0;
    for (ssize_t i = 0; i < named; i++) {
        struct rs_bytes text;
        if (!text_of(py, py->PyTuple_GetItem(keywords, i), &text))
            continue;
        if (strcmp((const char *)text.data, name) == 0 ||
            strcmp((const char *)text.data, other) == 0)
            return count + i;
    }
    return -1;
}

static bool is_sha256(const struct rs_python *py, rs_py *name)
{
    struct rs_bytes text;
    return text_of(py, name, &text) && strcasecmp((const char *)text.data, "sha256") == 0;
}

/* The digest so far: the object's own method works on a copy of its state. */
static bool digest_of(const struct rs_python *py, rs_py *hash, uint8_t digest[DIGEST_SIZE])
{
    struct rs_bytes bytes = {NULL, 0};
    rs_py *method = py->PyObject_GetAttrString(hash, "digest");
    rs_py *result = method != NULL ? py->PyObject_CallObject(method, NULL) : NULL;
    if (result != NULL && rs_digest_bytes(py, result, &bytes) && bytes.size == DIGEST_SIZE)
        memcpy(digest, bytes.data, DIGEST_SIZE);
    else
        bytes.size = 0;
    if (result != NULL)
        py->Py_DecRef(result);
    if (method != NULL)
        py->Py_DecRef(method);
    py->PyErr_Clear();
    return bytes.size == DIGEST_SIZE;
}

/* Whether HASH is a SHA-256 that has hashed nothing yet: only then is its next input all of it. */
static bool is_fresh_sha256(const struct rs_python *py, rs_py *hash)
{
    static const uint8_t empty[DIGEST_SIZE] = {
        0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4,
        0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b,
        0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
    };
    uint8_t digest[DIGEST_SIZE];
    return digest_of(py, hash, digest) && memcmp(digest, empty, DIGEST_SIZE) == 0;
}

/* ---- the plan
 * ------------------------------------------------------------------------------------ */

/* Plans for BYTES. Returns a new bytes object to be hashed instead, or NULL. */
static rs_py *plan(const struct rs_python *py, struct rs_hash_plan *out, enum rs_kind kind,
                   struct rs_bytes bytes)
{
    struct rs_python_facts facts;
    rs_digest_facts(py, &facts);
    rs_hash_plan(out, kind, bytes.data, bytes.size, &facts);
    if (!out->replace)
        return NULL;
    rs_py *replacement =
        py->PyBytes_FromStringAndSize((const char *)out->bytes.data, (ssize_t)out->bytes.size);
    if (replacement == NULL)
        py->PyErr_Clear();
    return replacement;
}

/* RESULT: what the original returned. An error that it has set stays set. */
static void finish(const struct rs_python *py, struct rs_hash_plan *done, rs_py *replacement,
                   rs_py *result, rs_py *hash)
{
    uint8_t digest[DIGEST_SIZE];
    enum rs_hashed hashed = result == NULL                           ? RS_HASHED_NOTHING
                            : (replacement != NULL) == done->replace ? RS_HASHED_PLANNED
                                                                     : RS_HASHED_NATIVE;
    bool known = result != NULL && digest_of(py, hash, digest);
    rs_hash_done(done, hashed, known ? digest : NULL);
    if (replacement != NULL)
        py->Py_DecRef(replacement);
}

static rs_py *construct_planned(const struct rs_python *py, fastcall *original, rs_py *self,
                                rs_py *const *args, ssize_t count, rs_py *keywords, ssize_t at,
                                enum rs_kind kind, struct rs_bytes bytes)
{
    rs_py *vector[ARGUMENTS_MAX];
    ssize_t all = count + (keywords != NULL ? py->PyTuple_Size(keywords) : 0);
    if (all > ARGUMENTS_MAX)
        return original(self, args, count, keywords);
    struct rs_hash_plan planned;
    rs_py *replacement = plan(py, &planned, kind, bytes);
    if (replacement != NULL) {
        memcpy(vector, args, (size_t)all * sizeof *vector);
        vector[at] = replacement;
        args = vector;
    }
    rs_py *result = original(self, args, count, keywords);
    finish(py, &planned, replacement, result, result);
    return result;
}

/* ---- the wrappers
 * -------------------------------------------------------------------------------- */

/* The first object of a kind shows where its update method is. Marked as seen when it is done, so
 * that no other thread gets past this with an object that isn't watched. */
static void take_update(const struct rs_python *py, const struct constructor *c, rs_py *hash)
{
    enum rs_swapped swapped = rs_swap_method_of_type(py, rs_py_type(py, hash), "update", c->update);
    if (!atomic_exchange(c->update_seen, true) && swapped == RS_SWAP_REFUSED)
        rs_count(RS_C_digest_refused, 1);
}

static inline rs_py *construct(const struct constructor *c, rs_py *self, rs_py *const *args,
                               ssize_t count, rs_py *keywords)
{
    const struct rs_python *py = rs_python_api();
    fastcall *original = (fastcall *)atomic_load_explicit(&c->swap->original, memory_order_relaxed);
    struct rs_bytes bytes;
    enum rs_kind kind = RS_KIND_other;
    rs_node_beat();
    ssize_t at = find_argument(py, count, keywords, c->position, "data", "string");
    if (at >= 0 && rs_digest_bytes(py, args[at], &bytes))
        kind = rs_hashed_kind(bytes.data, bytes.size);
    if (kind != RS_KIND_other && c->position > 0) {
        ssize_t name = find_argument(py, count, keywords, 0, "name", "name");
        if (name < 0 || !is_sha256(py, args[name]))
            kind = RS_KIND_other;
    }
    rs_py *result =
        kind == RS_KIND_other || !rs_on()
            ? original(self, args, count, keywords)
            : construct_planned(py, original, self, args, count, keywords, at, kind, bytes);
    if (result != NULL && !atomic_load_explicit(c->update_seen, memory_order_relaxed))
        take_update(py, c, result);
    return result;
}

static rs_py *update_planned(const struct rs_python *py, onecall *original, rs_py *self, rs_py *arg,
                             enum rs_kind kind, struct rs_bytes bytes)
{
    struct rs_hash_plan planned;
    rs_py *replacement = plan(py, &planned, kind, bytes);
    rs_py *result = original(self, replacement != NULL ? replacement : arg);
    finish(py, &planned, replacement, result, self);
    return result;
}

static inline rs_py *update(struct rs_swap *swap, rs_py *self, rs_py *arg)
{
    const struct rs_python *py = rs_python_api();
    onecall *original = (onecall *)atomic_load_explicit(&swap->original, memory_order_relaxed);
    struct rs_bytes bytes;
    enum rs_kind kind = RS_KIND_other;
    rs_node_beat();
    if (rs_digest_bytes(py, arg, &bytes))
        kind = rs_hashed_kind(bytes.data, bytes.size);
    if (kind == RS_KIND_other || !rs_on() || !is_fresh_sha256(py, self))
        return original(self, arg);
    return update_planned(py, original, self, arg, kind, bytes);
}

static rs_py *hashlib_sha256(rs_py *self, rs_py *const *args, ssize_t count, rs_py *keywords)
{
    return construct(&hashlib_sha256_c, self, args, count, keywords);
}

static rs_py *hashlib_new(rs_py *self, rs_py *const *args, ssize_t count, rs_py *keywords)
{
    return construct(&hashlib_new_c, self, args, count, keywords);
}

static rs_py *sha2_sha256(rs_py *self, rs_py *const *args, ssize_t count, rs_py *keywords)
{
    return construct(&sha2_sha256_c, self, args, count, keywords);
}

static rs_py *hashlib_update(rs_py *self, rs_py *arg)
{
    return update(&hashlib_update_swap, self, arg);
}

static rs_py *sha2_update(rs_py *self, rs_py *arg)
{
    return update(&sha2_update_swap, self, arg);
}

enum rs_swapped rs_digest_take(const struct rs_python *py, const char *name, rs_py *result)
{
    static const struct rs_method hashlib[] = {{"openssl_sha256", &hashlib_sha256_swap},
                                               {"new", &hashlib_new_swap}};
    static const struct rs_method sha2[] = {{"sha256", &sha2_sha256_swap}};
    rs_py *def = rs_module_def(py, result);
    if (def == NULL)
        return RS_SWAP_REFUSED;
    if (strcmp(name, "_hashlib") == 0)
        return rs_swap_methods(py, def, name, hashlib, sizeof hashlib / sizeof hashlib[0]);
    return rs_swap_methods(py, def, name, sha2, sizeof sha2 / sizeof sha2[0]);
}
