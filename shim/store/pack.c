/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pack.h"

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

/* zstd calls these where somebody defines them: without our own it would be the program's, in every
 * process that has another zstd with traces. 0: no trace. */
#define NO_TRACE(name)                                                                             \
    unsigned long long ZSTD_trace_##name(const void *context);                                     \
    unsigned long long ZSTD_trace_##name(const void *context)                                      \
    {                                                                                              \
        (void)context;                                                                             \
        return 0;                                                                                  \
    }
#define NO_TRACE_END(name)                                                                         \
    void ZSTD_trace_##name(unsigned long long context, const void *trace);                         \
    void ZSTD_trace_##name(unsigned long long context, const void *trace)                          \
    {                                                                                              \
        (void)context;                                                                             \
        (void)trace;                                                                               \
    }
NO_TRACE(compress_begin)
NO_TRACE(decompress_begin)
NO_TRACE_END(compress_end)
NO_TRACE_END(decompress_end)

/* docs/segment.md has the measurement. A frame that saves less than a granule saves nothing. */
enum { LEVEL = 1, SMALLEST = 2 * RS_GRANULE };

const void *rs_pack(struct rs_arena *memory, const void *data, size_t size, size_t *packed)
{
    size_t bound = size < SMALLEST ? 0 : size - size / 8;
    if (bound == 0) {
        return NULL;
    }
    size_t room = ZSTD_estimateCCtxSize(LEVEL);
    void *work = rs_arena_alloc(memory, room);
    void *out = work ? rs_arena_alloc(memory, bound) : NULL;
    ZSTD_CCtx *context = out ? ZSTD_initStaticCCtx(work, room) : NULL;
    if (!context || ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL))) {
        return NULL;
    }
    size_t got = ZSTD_compress2(context, out, bound, data, size);
    if (ZSTD_isError(got)) { /* it would be larger than BOUND */
        return NULL;
    }
    *packed = got;
    return out;
}

size_t rs_unpack_work(void)
{
    return ZSTD_estimateDCtxSize();
}

bool rs_unpack(void *work, const void *packed, size_t size, void *out, size_t raw)
{
    ZSTD_DCtx *context = ZSTD_initStaticDCtx(work, rs_unpack_work());
    if (!context) {
        return false;
    }
    size_t got = ZSTD_decompressDCtx(context, out, raw, packed, size);
    return !ZSTD_isError(got) && got == raw;
}
