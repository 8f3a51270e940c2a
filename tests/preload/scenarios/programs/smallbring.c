/* SPDX-License-Identifier: Apache-2.0
 *
 * smallbring LOOK PATH...: threads with the smallest stack that glibc gives look for each PATH, as
 * the letter of LOOK says: s(tat), o(pen), d(irectory). Prints what they saw. A guard page lies
 * below the stack, so whoever needs more ends the program.
 */
#include "small.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char letter;
static const char *path;
static int seen;

static void *look(void *unused)
{
    struct stat st;
    DIR *found;
    (void)unused;
    switch (letter) {
    case 's':
        seen = stat(path, &st) == 0;
        break;
    case 'o':
        seen = open(path, O_RDONLY | O_CLOEXEC) >= 0;
        break;
    default:
        found = opendir(path);
        seen = found && readdir(found) && readdir(found) && readdir(found);
        break;
    }
    return NULL;
}

int main(int count, char **arguments)
{
    if (count < 3 || strlen(arguments[1]) != (size_t)count - 2) {
        return 2;
    }
    for (int i = 2; i < count; i++) {
        letter = arguments[1][i - 2];
        path = arguments[i];
        if (run_small(look, (size_t)sysconf(_SC_THREAD_STACK_MIN))) {
            return 4;
        }
        printf("%c: %s\n", letter, seen ? "there" : strerror(errno));
    }
    return 3;
}
