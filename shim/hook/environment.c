/* SPDX-License-Identifier: Apache-2.0
 *
 * setenv and its kin: cache roots change while a job runs (os.environ calls setenv). bash and other
 * shells bring their own definitions, which then never reach these.
 */
#include "base/state.h"
#include "hook/table.h"
#include "hook/wrap.h"
#include "rank/env.h"
#include "rank/node.h"

#include <stdlib.h>

/* Ranks may get their numbers after they have hashed. */
static void noted(bool ours)
{
    if (ours) {
        rs_node_identify();
    }
}

RS_EXPORT int setenv(const char *name, const char *value, int overwrite)
{
    int result = RS_NEXT(setenv)(name, value, overwrite);
    if (result == 0 && rs_on()) {
        /* Without OVERWRITE an old value may stand: take what is there now. */
        noted(rs_env_changed(name, overwrite ? value : __real_getenv(name)));
    }
    return result;
}

RS_EXPORT int putenv(char *string)
{
    int result = RS_NEXT(putenv)(string);
    if (result == 0 && rs_on()) {
        noted(rs_env_put(string));
    }
    return result;
}

RS_EXPORT int unsetenv(const char *name)
{
    int result = RS_NEXT(unsetenv)(name);
    if (result == 0 && rs_on()) {
        noted(rs_env_changed(name, NULL));
    }
    return result;
}

RS_EXPORT int clearenv(void)
{
    int result = RS_NEXT(clearenv)();
    if (result == 0 && rs_on()) {
        rs_env_cleared();
        noted(true);
    }
    return result;
}
