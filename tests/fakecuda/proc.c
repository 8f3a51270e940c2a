/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda.so.1: functions asked for by name. */
#include "fake.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"

#define FK_FUNCTION(function, version) FK_API int function();
#define FK_UNSUPPORTED(function)                                                                   \
    FK_API int function(void)                                                                      \
    {                                                                                              \
        fk_log("unsupported call=" #function);                                                     \
        return FK_NOT_SUPPORTED;                                                                   \
    }
#include "driver_names.def"
#undef FK_FUNCTION
#undef FK_UNSUPPORTED

struct row {
    const char *name;
    int version;
    void *function;
};

static const struct row rows[] = {
#define FK_FUNCTION(function, version) {#function, version, (void *)function},
#define FK_UNSUPPORTED(function)       FK_FUNCTION(function, 0)
#include "driver_names.def"
#undef FK_FUNCTION
#undef FK_UNSUPPORTED
};

/* "cuMemAlloc" asks for cuMemAlloc_v2, "cuMemAlloc_v2" for itself. */
static bool answers_to(const char *name, const char *symbol)
{
    size_t length = strlen(symbol);
    if (strncmp(name, symbol, length) != 0)
        return false;
    return name[length] == '\0' || (name[length] == '_' && name[length + 1] == 'v');
}

void *fk_entry_point(const char *symbol, int version)
{
    const struct row *best = NULL;
    for (size_t i = 0; symbol && i < sizeof(rows) / sizeof(*rows); i++) {
        const struct row *row = &rows[i];
        if (row->version > version || !answers_to(row->name, symbol))
            continue;
        if (!best || row->version > best->version)
            best = row;
    }
    return best ? best->function : NULL;
}

int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
    (void)flags;
    *function = fk_entry_point(symbol, version);
    return *function ? FK_OK : FK_NOT_FOUND;
}

int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
                        int *status)
{
    (void)flags;
    *function = fk_entry_point(symbol, version);
    if (status)
        *status = *function ? 0 : 1;
    return *function ? FK_OK : FK_NOT_FOUND;
}
