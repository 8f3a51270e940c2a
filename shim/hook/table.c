/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/table.h"

#include "hook/next.h"

#include <dlfcn.h>
#include <string.h>

struct rs_next rs_next;

#ifdef __aarch64__
static const char oldest[] = "GLIBC_2.17";
#else
static const char oldest[] = "GLIBC_2.2.5";
#endif

/* Symbols that glibc keeps for old programs alone (the __xstat family since 2.33) have no default
 * version, and only dlvsym finds them. */
static void *find(const char *name)
{
    void *symbol = rs_next_symbol(name);
    return symbol ? symbol : dlvsym(RTLD_NEXT, name, oldest);
}

void rs_next_init(void)
{
#define RS_HOOK(name, type, parameters)                                                            \
    {                                                                                              \
        void *symbol = find(#name);                                                                \
        memcpy(&rs_next.name, &symbol, sizeof(symbol));                                            \
    }
#include "hook/hooks.def"
#undef RS_HOOK
}
