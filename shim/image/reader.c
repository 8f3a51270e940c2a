/* SPDX-License-Identifier: Apache-2.0
 *
 * Which memory can be read: asked of the kernel with a call that fails the same way whatever it is
 * given, but says EFAULT when it can't read its argument.
 */
#include "image/reader.h"

#include "base/sys.h"

/* The kernel's smallest page on the architectures we build for; a larger one is asked for twice. */
enum { PAGE = 4096 };

/* rt_sigprocmask() copies the set in before it looks at HOW, and no HOW is -1: EINVAL where it
 * could read, EFAULT where not; nothing is changed. Other ways: process_vm_readv() may be
 * forbidden, and to use it can mean SIGSYS then; mincore() takes PROT_NONE for mapped; a pipe or a
 * file needs a descriptor. This one is allowed wherever threads are (docs/images.md has the times).
 */
static bool page_readable(uintptr_t page)
{
    enum { NO_SUCH_HOW = -1, KERNEL_SET = 8 };
    return syscall(SYS_rt_sigprocmask, NO_SUCH_HOW, page, NULL, KERNEL_SET) != 0 && errno == EINVAL;
}

/* Many pages at once, from Linux 5.14 on; an error says nothing. */
static bool pages_readable(uintptr_t page, size_t size)
{
    enum { POPULATE_READ = 22, FEW = 4 };
    return size > FEW * PAGE && syscall(SYS_madvise, page, size, POPULATE_READ) == 0;
}

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
    if (from < last && pages_readable(from, last - from)) {
        from = page_of(last - 1) + PAGE;
    }
    while (from < last && page_readable(from)) {
        from += PAGE;
    }
    errno = (int)saved;
    reader->begin = (const uint8_t *)(joined ? known : page_of(begin));
    reader->end = (const uint8_t *)from;
    return from >= last;
}

size_t rs_reader_left(const struct rs_reader *reader, const void *at)
{
    uintptr_t begin = (uintptr_t)reader->begin, end = (uintptr_t)reader->end;
    return (uintptr_t)at >= begin && (uintptr_t)at < end ? end - (uintptr_t)at : 0;
}
