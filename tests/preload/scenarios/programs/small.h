/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread on a stack of a given size. A guard page lies below it, so whoever needs more ends the
 * program.
 */
#ifndef SMALL_H
#define SMALL_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAINT = 0xa5 };

/* Runs WORK on a stack of SIZE bytes; how many of them were used goes to standard error when asked
 * for. */
static int run_small(void *(*work)(void *), size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
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
        pthread_create(&thread, &attributes, work, NULL) != 0) {
        return 1;
    }
    pthread_join(thread, NULL);
    if (getenv("SMALLSTACK_MEASURE")) {
        size_t untouched = page;
        while (memory[untouched] == (char)PAINT) {
            untouched++;
        }
        fprintf(stderr, "%zu of %zu bytes left\n", untouched - page, size);
    }
    munmap(memory, size + page);
    return 0;
}

#endif
