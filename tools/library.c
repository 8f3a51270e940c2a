/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds librankshare.so and puts it into the environment.
 */
#include "library.h"

#include "tool.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
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

/* Reads the part of an ELF header that is the same in both classes. */
static bool read_header(const char *path, Elf64_Ehdr *header)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, header, sizeof(*header));

    if (fd >= 0)
        close(fd);
    return got == (ssize_t)sizeof(*header) && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0;
}

const char *library_flaw(const char *path)
{
    Elf64_Ehdr ours, theirs;

    if (access(path, F_OK) != 0)
        return "is not there";
    if (access(path, R_OK) != 0)
        return "can't be read";
    if (!read_header(path, &theirs))
        return "is no shared object";
    bool same = read_header("/proc/self/exe", &ours) &&
                ours.e_ident[EI_CLASS] == theirs.e_ident[EI_CLASS] &&
                ours.e_machine == theirs.e_machine;
    return same ? NULL : "is made for another architecture";
}

void library_enable(const char *path)
{
    const char *old = getenv("LD_PRELOAD");
    char *preload = old && *old ? tool_format("%s:%s", path, old) : tool_format("%s", path);

    setenv("LD_PRELOAD", preload, 1);
    setenv("RANKSHARE", "1", 1);
    free(preload);
}
