/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as an artifact: whatever the engine accepts goes to another ordinal and comes back the
 * same, and a refusal leaves nothing behind.
 */
#include "fuzz/fuzz.h"

#include "ordinal/ordinal.h"

#include <string.h>

enum { ARENA = 256 << 20, OTHER = 104 };

static const uint8_t torch_key[RS_TORCH_KEY_SIZE] = "0123456789abcdef0123456789abcdef";

static bool same(struct rs_bytes a, struct rs_bytes b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static void there_and_back(struct rs_arena *arena, struct rs_bytes in, enum rs_kind kind)
{
    struct rs_report report, there_report, back_report;
    struct rs_pieces pieces;
    if (rs_ordinal_rewrite(arena, in, kind, torch_key, OTHER, &pieces, &report) != RS_OK) {
        FUZZ_CHECK(pieces.count == 0 && report.reason != RS_OK);
        return;
    }
    int ordinal = rs_report_ordinal(&report);
    struct rs_bytes there = rs_pieces_flatten(arena, &pieces);
    FUZZ_CHECK(there.data != NULL && ordinal != -2);
    if (ordinal == -1) {
        FUZZ_CHECK(same(in, there));
        return;
    }
    FUZZ_CHECK(rs_ordinal_scan(arena, there, kind, &there_report) == RS_OK);
    FUZZ_CHECK(rs_report_ordinal(&there_report) == OTHER && there_report.sites == report.sites);
    FUZZ_CHECK(rs_ordinal_rewrite(arena, there, kind, torch_key, ordinal, &pieces, &back_report) ==
               RS_OK);
    FUZZ_CHECK(same(in, rs_pieces_flatten(arena, &pieces)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum rs_kind pickles[] = {RS_KIND_fx_details, RS_KIND_aot_details,
                                           RS_KIND_fx_entry, RS_KIND_aot_entry};
    struct rs_bytes in = {data, size};
    enum rs_kind kind = rs_kind_of(in);
    rs_hashed_kind(data, size);
    for (unsigned i = 0; i < sizeof(pickles) / sizeof(pickles[0]); i++) {
        struct rs_arena arena;
        struct rs_report report;
        rs_arena_init(&arena, ARENA);
        rs_ordinal_scan(&arena, in, pickles[i], &report);
        if (kind == pickles[i]) {
            there_and_back(&arena, in, kind);
        }
        rs_arena_free(&arena);
    }
    return 0;
}
