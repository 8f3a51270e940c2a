/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a GPU image, at the very end of what can be read: as a buffer of known size and as
 * memory of unknown extent they are the same image, and a cubin has the same hash at another
 * address.
 */
#include "fuzz/fuzz.h"

#include "image/cubin.h"
#include "image/image.h"
#include "image/ptx.h"

#include <string.h>
#include <sys/mman.h>

enum { ROOM = 1 << 20, PAGE = 4096, SHIFT = 3 };

/* ROOM bytes, and behind them a page that nobody may touch. */
static uint8_t *edge(void)
{
    static uint8_t *end;
    if (!end) {
        uint8_t *begin =
            mmap(NULL, ROOM + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        FUZZ_CHECK(begin != MAP_FAILED && mprotect(begin + ROOM, PAGE, PROT_NONE) == 0);
        end = begin + ROOM;
    }
    return end;
}

static bool use(void *context, const struct rs_kernel *kernel)
{
    *(size_t *)context += strlen(kernel->name);
    return true;
}

static void check_cubin(struct rs_bytes bytes)
{
    struct rs_hash128 here, there;
    struct rs_cubin cubin;
    size_t sum = 0;
    bool read = rs_cubin_read(bytes, &cubin, use, &sum);
    bool hashed = rs_cubin_hash(bytes, &here);
    FUZZ_CHECK(!read || memchr(cubin.version, 0, sizeof(cubin.version)));
    uint8_t *moved = edge() - bytes.size - SHIFT;
    memmove(moved, bytes.data, bytes.size);
    FUZZ_CHECK(rs_cubin_hash((struct rs_bytes){moved, bytes.size}, &there) == hashed);
    FUZZ_CHECK(!hashed || (here.low == there.low && here.high == there.high));
}

static void check_entries(struct rs_reader *reader, const struct rs_image *image)
{
    struct rs_entries entries;
    struct rs_entry entry;
    const uint8_t *end = image->bytes.data + image->bytes.size;
    rs_entries_begin(&entries, reader, image);
    while (rs_entries_next(&entries, &entry)) {
        FUZZ_CHECK(entry.bytes.data > image->bytes.data && entry.bytes.data <= end &&
                   entry.bytes.size <= (size_t)(end - entry.bytes.data));
    }
}

static void check_ptx(struct rs_bytes text)
{
    struct rs_bytes name;
    struct rs_ptx ptx;
    size_t at = 0;
    FUZZ_CHECK(rs_ptx_head(text, &ptx));
    while (rs_ptx_kernel(text, &at, &name)) {
        FUZZ_CHECK(name.data >= text.data && name.data + name.size <= text.data + text.size);
    }
}

/* As memory of unknown extent. Not for wrappers: they lead anywhere, also to where the sanitizers
 * keep their own. */
static void check_process(const uint8_t *at, size_t size, const struct rs_image *image, bool whole)
{
    static const uint32_t wrapper = 0x466243b1;
    struct rs_reader process;
    struct rs_image again;
    if (size >= sizeof(wrapper) && memcmp(at, &wrapper, sizeof(wrapper)) == 0) {
        return;
    }
    rs_reader_process(&process);
    rs_image_find(&process, at, ROOM, &again);
    FUZZ_CHECK(!whole || (again.kind == image->kind && again.bytes.data == image->bytes.data &&
                          again.bytes.size == image->bytes.size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rs_reader reader;
    struct rs_image image;
    if (size == 0 || size > ROOM - SHIFT) {
        return 0;
    }
    uint8_t *at = edge() - size;
    memcpy(at, data, size);
    rs_reader_bytes(&reader, (struct rs_bytes){at, size});
    bool whole = rs_image_find(&reader, at, ROOM, &image) &&
                 rs_reader_has(&reader, image.bytes.data, image.bytes.size);
    check_process(at, size, &image, whole);
    if (!whole) {
        return 0;
    }
    rs_image_runs(&reader, &image, 9, 0);
    switch (image.kind) {
    case RS_KIND_cubin:
        check_cubin(image.bytes);
        break;
    case RS_KIND_fatbin:
        check_entries(&reader, &image);
        break;
    default:
        check_ptx(image.bytes);
    }
    return 0;
}
