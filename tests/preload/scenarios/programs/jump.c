/* SPDX-License-Identifier: Apache-2.0
 *
 * jump ENTRY: a signal handler jumps out of a call of the driver. What ENTRY shows before and
 * afterwards. With -DDRIVER: the driver.
 */
#include <signal.h>

int cuModuleLoadData(void **module, const void *image);

#ifdef DRIVER
int cuModuleLoadData(void **module, const void *image)
{
    *module = (void *)image;
    raise(SIGUSR1);
    return 0;
}
#else
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static sigjmp_buf back;

static void handler(int number)
{
    siglongjmp(back, number);
}

static long long size_of(const char *path)
{
    struct stat st = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int failed = fd < 0 || fstat(fd, &st) != 0;
    close(fd);
    return failed ? -1 : (long long)st.st_size;
}

int main(int count, char **arguments)
{
    void *module;
    struct sigaction action = {.sa_handler = handler};
    if (count != 2 || sigaction(SIGUSR1, &action, NULL) != 0) {
        return 2;
    }
    long long before = size_of(arguments[1]);
    if (sigsetjmp(back, 1) == 0) {
        cuModuleLoadData(&module, "image");
        return 2;
    }
    printf("before %lld, after %lld\n", before, size_of(arguments[1]));
    return 3;
}
#endif
