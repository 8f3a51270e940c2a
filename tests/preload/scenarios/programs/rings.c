/* SPDX-License-Identifier: Apache-2.0
 *
 * rings FILE: reads by POSIX asynchronous input and output, and by an io_uring without a library:
 * calls that no preloaded library sees.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void by_aio(const char *path)
{
    char bytes[16] = {0};
    struct aiocb block = {.aio_fildes = open(path, O_RDONLY), .aio_buf = bytes, .aio_nbytes = 8};
    const struct aiocb *list[] = {&block};
    if (aio_read(&block) != 0) {
        puts("no aio");
        return;
    }
    while (aio_error(&block) == EINPROGRESS) {
        aio_suspend(list, 1, NULL);
    }
    printf("aio %zd %02x%02x\n", aio_return(&block), (unsigned char)bytes[0],
           (unsigned char)bytes[1]);
    close(block.aio_fildes);
}

static char *map(int ring, size_t size, off_t what)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, what);
    return at == MAP_FAILED ? NULL : at;
}

static void by_uring(const char *path)
{
    struct io_uring_params set = {0};
    int ring = (int)syscall(SYS_io_uring_setup, 4, &set);
    if (ring < 0) {
        puts("no io_uring");
        return;
    }
    char *requests = map(ring, set.sq_off.array + set.sq_entries * 4, IORING_OFF_SQ_RING);
    char *answers = map(ring, set.cq_off.cqes + set.cq_entries * sizeof(struct io_uring_cqe),
                        IORING_OFF_CQ_RING);
    struct io_uring_sqe *request =
        (void *)map(ring, set.sq_entries * sizeof(*request), IORING_OFF_SQES);
    if (!requests || !answers || !request) {
        puts("no memory");
        return;
    }
    request->opcode = IORING_OP_OPENAT;
    request->fd = AT_FDCWD;
    request->addr = (uintptr_t)path;
    request->open_flags = O_RDONLY;
    *(uint32_t *)(void *)(requests + set.sq_off.array) = 0;
    __atomic_store_n((uint32_t *)(void *)(requests + set.sq_off.tail), 1, __ATOMIC_RELEASE);
    long entered = syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    struct io_uring_cqe *answer = (void *)(answers + set.cq_off.cqes);
    char bytes[2] = {0};
    ssize_t got = answer->res >= 0 ? read(answer->res, bytes, 2) : -1;
    printf("io_uring %ld %d %zd %02x%02x\n", entered, answer->res, got, (unsigned char)bytes[0],
           (unsigned char)bytes[1]);
    close(ring);
}

int main(int count, char **arguments)
{
    if (count != 2) {
        return 2;
    }
    by_aio(arguments[1]);
    by_uring(arguments[1]);
    fflush(stdout);
    return 3;
}
