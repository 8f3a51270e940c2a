/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/parcel.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char name[] = "ab/" /* 64 digits */
                           "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
                           ".best_config";
static char root[] = "/tmp/rankshare-parcel-XXXXXX";
static int fd;

static void setup(void)
{
    cr_assert(mkdtemp(root));
    fd = open(root, O_RDONLY | O_DIRECTORY);
    cr_assert(fd >= 0 && mkdirat(fd, "ab", 0700) == 0);
}

static void teardown(void)
{
    unlinkat(fd, name, 0);
    unlinkat(fd, "ab", AT_REMOVEDIR);
    close(fd);
    rmdir(root);
}

TestSuite(parcel, .init = setup, .fini = teardown, .timeout = 60);

/* ---- written over ------------------------------------------------------------------------------
 */

enum { NUMBERS = 100000000 }; /* as times, all of them long ago */

static atomic_bool stop;

/* Writes a number, and makes the number its time, again and again. */
static void *write_over(void *argument)
{
    int file = *(int *)argument;
    for (unsigned number = 1; !atomic_load(&stop) && number < NUMBERS; number++) {
        const struct timespec times[2] = {{.tv_sec = number}, {.tv_sec = number}};
        if (pwrite(file, &number, sizeof(number), 0) != sizeof(number) ||
            futimens(file, times) != 0)
            abort();
    }
    return NULL;
}

/* Whether the number in PARCEL is the one that its time stands for, or it has no time yet. */
static bool agrees(const struct rs_parcel *parcel)
{
    const struct rs_part_in *part = &parcel->parts[0];
    uint64_t second = part->file.mtime_ns / 1000000000;
    unsigned number;
    memcpy(&number, part->data, sizeof(number));
    return second >= NUMBERS || second == number;
}

Test(parcel, bytes_that_were_written_over_meanwhile_are_not_the_files)
{
    enum { READS = 100000 };
    pthread_t writer;
    unsigned whole = 0, wrong = 0;
    int file = openat(fd, name, O_RDWR | O_CREAT, 0600);
    const struct timespec times[2] = {{0}, {0}};
    cr_assert(file >= 0 && pwrite(file, &(unsigned){0}, 4, 0) == 4 && futimens(file, times) == 0);
    cr_assert_eq(pthread_create(&writer, NULL, write_over, &file), 0);
    for (unsigned i = 0; i < READS; i++) {
        struct rs_parcel parcel;
        if (rs_parcel_result(&parcel, fd, name, root, strlen(root))) {
            whole++;
            wrong += !agrees(&parcel);
        }
        rs_parcel_free(&parcel);
    }
    atomic_store(&stop, true);
    pthread_join(writer, NULL);
    close(file);
    cr_assert_gt(whole, 0, "all were written over, so this shows nothing");
    cr_assert_eq(wrong, 0, "%u of %u", wrong, whole);
}

/* ---- pipes -------------------------------------------------------------------------------------
 */

/* A writer gets in only while somebody has the pipe open for reading. */
static void *knock(void *argument)
{
    unsigned *entered = argument;
    while (!atomic_load(&stop)) {
        int pipe = openat(fd, name, O_WRONLY | O_NONBLOCK);
        *entered += pipe >= 0;
        if (pipe >= 0)
            close(pipe);
        else if (errno != ENXIO)
            abort();
    }
    return NULL;
}

Test(parcel, a_pipe_is_never_opened)
{
    enum { READS = 20000 };
    pthread_t writer;
    unsigned entered = 0, whole = 0;
    cr_assert_eq(mkfifoat(fd, name, 0600), 0);
    cr_assert_eq(pthread_create(&writer, NULL, knock, &entered), 0);
    for (unsigned i = 0; i < READS; i++) {
        struct rs_parcel parcel;
        whole += rs_parcel_result(&parcel, fd, name, root, strlen(root));
        rs_parcel_free(&parcel);
    }
    atomic_store(&stop, true);
    pthread_join(writer, NULL);
    cr_assert_eq(whole, 0);
    cr_assert_eq(entered, 0, "%u times", entered);
}

/* ---- the kernels' files in an FX entry ---------------------------------------------------------
 */

enum { BLOB_SMALL = 4095, BLOB = 4096, BLOB_LARGE = 70000 };

/* Appends a bytes object of SIZE bytes that begin with TEXT; where its content begins. */
static size_t add_blob(uint8_t *pickle, size_t *at, const char *text, uint32_t size)
{
    pickle[*at] = 'B';
    memcpy(pickle + *at + 1, &size, sizeof(size));
    size_t content = *at + 1 + sizeof(size);
    memset(pickle + content, 'x', size);
    memcpy(pickle + content, text, strlen(text));
    *at = content + size;
    return content;
}

Test(parcel, kernels_in_an_entry_are_marked)
{
    static uint8_t pickle[4 * BLOB_LARGE] = {0x80, 4, ']', '('};
    static const char entry[] = "a/entry";
    size_t at = 4;
    add_blob(pickle, &at, "small", BLOB_SMALL);
    size_t first = add_blob(pickle, &at, "first", BLOB);
    size_t second = add_blob(pickle, &at,
                             "\x7f"
                             "ELF but no cubin",
                             BLOB_LARGE);
    pickle[at++] = 'e';
    pickle[at++] = '.';
    cr_assert(mkdirat(fd, "a", 0700) == 0);
    int file = openat(fd, entry, O_WRONLY | O_CREAT, 0600), dir = openat(fd, "a", O_RDONLY);
    cr_assert(file >= 0 && dir >= 0 && write(file, pickle, at) == (ssize_t)at);
    close(file);
    struct rs_parcel parcel;
    cr_assert(rs_parcel_entries(&parcel, dir, root, strlen(root), NULL));
    cr_assert_eq(parcel.parts[0].run_count, 0);
    rs_parcel_cut(&parcel);
    const struct rs_part_in *part = &parcel.parts[0];
    cr_assert_eq(part->run_count, 2);
    cr_assert(part->runs[0].at == first && part->runs[0].size == BLOB && !part->runs[0].meaning);
    cr_assert(part->runs[1].at == second && part->runs[1].size == BLOB_LARGE);
    cr_assert_null(part->runs[1].meaning);
    cr_assert_eq(parcel.parts[1].run_count, 0, "the root is no entry");
    rs_parcel_free(&parcel);

    /* What can't be read is left in one piece. */
    file = openat(fd, entry, O_WRONLY | O_TRUNC);
    cr_assert_eq(write(file, pickle, at - 1), (ssize_t)at - 1);
    close(file);
    cr_assert(rs_parcel_entries(&parcel, dir, root, strlen(root), NULL));
    rs_parcel_cut(&parcel);
    cr_assert_eq(parcel.parts[0].run_count, 0);
    rs_parcel_free(&parcel);
    close(dir);
    unlinkat(fd, entry, 0);
    unlinkat(fd, "a", AT_REMOVEDIR);
}
