/* SPDX-License-Identifier: Apache-2.0
 *
 * Another preloaded library whose constructor uses what we hook, perhaps before our own constructor
 * has run. Prints one line; the same with and without us.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static __attribute__((constructor)) void early(void)
{
    struct stat st;
    char line[128];
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    FILE *stream = fopen("/dev/null", "r");
    DIR *directory = opendir("/");
    int found = stat("/", &st) == 0 && access("/", R_OK) == 0;
    int set = setenv("RANKSHARE_TEST_EARLY", "1", 1) == 0 && unsetenv("RANKSHARE_TEST_EARLY") == 0;
    int length = snprintf(line, sizeof(line), "early: %d %d %d %d %d %d\n", fd >= 0, stream != NULL,
                          directory != NULL, found, set, dlsym(RTLD_NEXT, "getpid") != NULL);
    if (stream) {
        fclose(stream);
    }
    if (directory) {
        closedir(directory);
    }
    close(fd);
    if (write(STDOUT_FILENO, line, (size_t)length) < 0) {
        _exit(9);
    }
}
