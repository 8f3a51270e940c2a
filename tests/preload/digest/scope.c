/* SPDX-License-Identifier: Apache-2.0
 *
 * A library of the scope tests. WHO names it; each defines rs_scope_who, so that "next" and
 * "default" have several candidates, and looks for them from inside itself. ompt_start_tool is the
 * shape that LLVM's OpenMP has: a function that looks for the next one of its own name and must
 * never find itself.
 */
#include <dlfcn.h>
#include <stddef.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define TEXT2(a)    #a
#define TEXT(a)     TEXT2(a)

typedef const char *who_function(void);

const char *rs_scope_who(void);
const char *JOIN(WHO, _next)(void);
const char *JOIN(WHO, _default)(void);
const char *ompt_start_tool(int depth);

const char *rs_scope_who(void)
{
    return TEXT(WHO);
}

static const char *ask(void *scope)
{
    who_function *found = (who_function *)dlsym(scope, "rs_scope_who");
    return found != NULL ? found() : "none";
}

const char *JOIN(WHO, _next)(void)
{
    return ask(RTLD_NEXT);
}

const char *JOIN(WHO, _default)(void)
{
    return ask(RTLD_DEFAULT);
}

const char *ompt_start_tool(int depth)
{
    const char *(*next)(int) = (const char *(*)(int))dlsym(RTLD_NEXT, "ompt_start_tool");
    if (depth > 8)
        return "found itself";
    return next != NULL ? next(depth + 1) : "no tool after " TEXT(WHO);
}
