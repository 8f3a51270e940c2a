/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/table.h"

#include "hook/musl.h"
#include "hook/next.h"

#include <dlfcn.h>
#include <string.h>

struct rs_next rs_next;

#ifdef __aarch64__
static const char oldest[] = "GLIBC_2.17";
#else
static const char oldest[] = "GLIBC_2.2.5";
#endif

/* musl has one function where glibc has two names: <name>64 is <name>. */
static void *find_without_64(const char *name)
{
    char shorter[32];
    size_t length = strlen(name);
    if (length < 3 || length >= sizeof(shorter) || strcmp(name + length - 2, "64") != 0) {
        return NULL;
    }
    memcpy(shorter, name, length - 2);
    shorter[length - 2] = '\0';
    return rs_next_symbol(shorter);
}

/* Symbols that glibc keeps for old programs alone (the __xstat family since 2.33) have no default
 * version, and only dlvsym finds them. */
static void *find(const char *name)
{
    void *symbol = rs_next_symbol(name);
    if (symbol) {
        return symbol;
    }
    return rs_glibc() ? dlvsym(RTLD_NEXT, name, oldest) : find_without_64(name);
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
