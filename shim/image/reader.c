/* SPDX-License-Identifier: Apache-2.0
 *
 * Which memory can be read: asked of the kernel with a call that fails the same way whatever it is
 * given, but says EFAULT when it can't read its argument.
 */
#include "image/reader.h"

#include "base/sys.h"

#include <signal.h>

/* rt_sigprocmask() copies the set in before it looks at HOW, and no HOW is -1: EINVAL where 8 bytes
 * at AT can be read, EFAULT where not; nothing is changed. Other ways: process_vm_readv() may be
 * forbidden, where to use it can mean SIGSYS; mincore() calls PROT_NONE mapped; a pipe or a file
 * needs a descriptor. This one is allowed wherever threads are (docs/images.md has the times). */
static bool readable(uintptr_t at)
{
    enum { NO_SUCH_HOW = -1, KERNEL_SET = 8 };
    return syscall(SYS_rt_sigprocmask, NO_SUCH_HOW, at & ~(uintptr_t)(KERNEL_SET - 1), NULL,
                   KERNEL_SET) != 0 &&
           errno == EINVAL;
}

/* The kernel's smallest page on the architectures we build for; a larger one is asked for twice. */
enum { PAGE = 4096 };

static uintptr_t page_of(uintptr_t at)
{
    return at & ~(uintptr_t)(PAGE - 1);
}

void rs_reader_process(struct rs_reader *reader)
{
    *reader = (struct rs_reader){.process = true};
}

void rs_reader_bytes(struct rs_reader *reader, struct rs_bytes bytes)
{
    *reader = (struct rs_reader){.begin = bytes.data, .end = bytes.data + bytes.size};
}

bool rs_reader_has(struct rs_reader *reader, const void *at, size_t size)
{
    uintptr_t begin = (uintptr_t)at, known = (uintptr_t)reader->begin, end = (uintptr_t)reader->end;
    if (size == 0 || size > UINTPTR_MAX - begin) {
        return size == 0;
    }
    uintptr_t last = begin + size;
    if (begin >= known && last <= end) {
        return true;
    }
    if (!reader->process || last > UINTPTR_MAX - PAGE) {
        return false;
    }
    /* What is known grows at its end, or begins anew. */
    bool joined = begin >= known && begin <= end;
    uintptr_t from = joined ? end : page_of(begin), saved = (uintptr_t)errno;
    while (from < last && readable(from)) {
        from += PAGE;
    }
    errno = (int)saved;
    reader->begin = (const uint8_t *)(joined ? known : page_of(begin));
    reader->end = (const uint8_t *)from;
    return from >= last;
}
