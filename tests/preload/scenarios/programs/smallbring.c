/* SPDX-License-Identifier: Apache-2.0
 *
 * smallbring LOOK PATH...: threads with the smallest stack that glibc gives look for each PATH, as
 * the letter of LOOK says: s(tat), o(pen), d(irectory). Prints what they saw. A guard page lies
 * below the stack, so whoever needs more ends the program.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAINT = 0xa5 };
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

static int run(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    pthread_attr_t attributes;
    pthread_t thread;
    char *memory =
        mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) {
        return 1;
    }
    memset(memory + page, PAINT, size);
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, memory + page, size) != 0 ||
        pthread_create(&thread, &attributes, look, NULL) != 0) {
        return 1;
    }
    pthread_join(thread, NULL);
    if (getenv("SMALLSTACK_MEASURE")) {
        size_t untouched = page;
        while (memory[untouched] == (char)PAINT) {
            untouched++;
        }
        fprintf(stderr, "%c: %zu of %zu bytes left\n", letter, untouched - page, size);
    }
    return munmap(memory, size + page);
}

int main(int count, char **arguments)
{
    if (count < 3 || strlen(arguments[1]) != (size_t)count - 2) {
        return 2;
    }
    for (int i = 2; i < count; i++) {
        letter = arguments[1][i - 2];
        path = arguments[i];
        if (run()) {
            return 4;
        }
        printf("%c: %s\n", letter, seen ? "there" : strerror(errno));
    }
    return 3;
}
