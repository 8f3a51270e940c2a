/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as generated Python: what the engine accepts goes to another ordinal and comes back,
 * and everything that it saw there it sees here.
 */
#include "fuzz/fuzz.h"

#include "ordinal/ordinal.h"

#include <string.h>

enum { ARENA = 64 << 20, OTHER = 104 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rs_bytes in = {data, size};
    struct rs_arena arena;
    struct rs_report report;
    struct rs_pieces pieces;
    rs_arena_init(&arena, ARENA);
    if (rs_ordinal_rewrite(&arena, in, RS_KIND_python, NULL, OTHER, &pieces, &report) == RS_OK &&
        rs_report_ordinal(&report) >= 0) {
        int ordinal = rs_report_ordinal(&report);
        uint32_t sites = report.sites;
        struct rs_bytes there = rs_pieces_flatten(&arena, &pieces);
        FUZZ_CHECK(rs_ordinal_rewrite(&arena, there, RS_KIND_python, NULL, ordinal, &pieces,
                                      &report) == RS_OK);
        FUZZ_CHECK(report.sites == sites && rs_report_ordinal(&report) == OTHER);
        struct rs_bytes back = rs_pieces_flatten(&arena, &pieces);
        bool same = back.size == size && memcmp(back.data, data, size) == 0;
        /* A fuzzer that sees the new name compared writes it into the old text beforehand, and then
         * both ways lead to one text. No generated source knows another ordinal's hash. */
        FUZZ_CHECK(same || memmem(data, size, "async_compile.triton(", 21) != NULL);
    }
    rs_arena_free(&arena);
    return 0;
}
