/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds librankshare.so and puts it into the environment.
 */
#include "library.h"

#include "tool.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char LIBRARY[] = "librankshare.so";

/* Directory of this program, or NULL. */
static char *program_directory(void)
{
    char *path = realpath("/proc/self/exe", NULL);
    char *slash = path ? strrchr(path, '/') : NULL;

    if (slash)
        *slash = '\0';
    return path;
}

static char *search(void)
{
    char *directory = program_directory();
    char *candidates[] = {
        directory ? tool_format("%s/../lib/%s", directory, LIBRARY) : NULL,
        directory ? tool_format("%s/%s", directory, LIBRARY) : NULL,
        tool_format("%s/%s", RS_LIBDIR, LIBRARY),
    };
    char *found = NULL;

    for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
        if (!found && candidates[i])
            found = realpath(candidates[i], NULL);
        free(candidates[i]);
    }
    if (!found)
        tool_error(LIBRARY,
                   "not found beside this program, in ../lib, or in %s; --library names it",
                   RS_LIBDIR);
    free(directory);
    return found;
}

char *library_find(const char *given)
{
    char *path = given ? realpath(given, NULL) : search();

    if (given && !path)
        tool_error(given, "%s", strerror(errno));
    if (path && access(path, R_OK) != 0) {
        tool_error(path, "%s", strerror(errno));
        free(path);
        return NULL;
    }
    /* ld.so splits LD_PRELOAD at both and knows no way to quote them. */
    if (path && strpbrk(path, " :")) {
        tool_error(path, "LD_PRELOAD cannot hold a path with a space or a colon");
        free(path);
        return NULL;
    }
    return path;
}

void library_enable(const char *path)
{
    const char *old = getenv("LD_PRELOAD");
    char *preload = old && *old ? tool_format("%s:%s", path, old) : tool_format("%s", path);

    setenv("LD_PRELOAD", preload, 1);
    setenv("RANKSHARE", "1", 1);
    free(preload);
}
