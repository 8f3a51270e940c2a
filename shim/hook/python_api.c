/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/python_api.h"

#include "hook/next.h"

#include <stdatomic.h>

/* Threads may resolve at the same time (free-threaded Pythons, other runtimes). Each fills a copy
 * of its own, and the first to publish one wins; a place is taken only by a complete copy. */
enum { PLACES = 4 };
static struct rs_python places[PLACES];
static _Atomic(int) places_taken;
static _Atomic(const struct rs_python *) published;

/* PyType_Type is its own type, so the place of ob_type can be read off it. */
static size_t measure_head(const rs_py *type)
{
    const rs_py *const *words = (const rs_py *const *)type;
    if (words[1] == type)
        return 2 * sizeof(void *);
    if (words[3] == type)
        return 4 * sizeof(void *);
    return 0;
}

static bool fill(struct rs_python *py, void *handle)
{
#define LOOK_UP(name)                                                                              \
    py->name = (__typeof__(py->name))rs_find_symbol(handle, #name);                                \
    if (py->name == NULL)                                                                          \
        return false;
#define FUNCTION(type, name, parameters) LOOK_UP(name)
    RS_PY_FUNCTIONS(FUNCTION)
    RS_PY_OBJECTS(LOOK_UP)
#undef FUNCTION
#undef LOOK_UP
    py->head = measure_head(py->PyType_Type);
    return py->head != 0;
}

const struct rs_python *rs_python_api(void)
{
    return atomic_load_explicit(&published, memory_order_acquire);
}

const struct rs_python *rs_python_resolve(void *handle)
{
    const struct rs_python *py = rs_python_api();
    struct rs_python mine;
    if (py != NULL || !fill(&mine, handle))
        return py;
    int place = atomic_load_explicit(&places_taken, memory_order_relaxed);
    do
        if (place == PLACES)
            return rs_python_api();
    while (!atomic_compare_exchange_weak(&places_taken, &place, place + 1));
    places[place] = mine;
    if (atomic_compare_exchange_strong(&published, &py, &places[place]))
        py = &places[place];
    return py;
}
