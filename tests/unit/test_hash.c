/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/hash.h"
#include "rank/known.h"

#include <criterion/criterion.h>
#include <string.h>

static const uint8_t digest[32] = {1, 2, 3};

struct example {
    const char *name;
    enum rs_treatment planned;
    enum rs_hashed hashed;
    bool known;                   /* the digest could be had */
    enum rs_treatment key, other; /* what is known of the key then, and of one never seen */
};

static const struct example examples[] = {
    {"planned", RS_TREAT_CANONICAL, RS_HASHED_PLANNED, true, RS_TREAT_CANONICAL, RS_TREAT_UNKNOWN},
    {"native", RS_TREAT_NATIVE, RS_HASHED_PLANNED, true, RS_TREAT_NATIVE, RS_TREAT_UNKNOWN},
    {"private", RS_TREAT_PRIVATE, RS_HASHED_PLANNED, true, RS_TREAT_PRIVATE, RS_TREAT_UNKNOWN},
    {"failed", RS_TREAT_NATIVE, RS_HASHED_NOTHING, false, RS_TREAT_UNKNOWN, RS_TREAT_UNKNOWN},
    {"no memory for the canonical bytes", RS_TREAT_CANONICAL, RS_HASHED_NATIVE, true,
     RS_TREAT_NATIVE, RS_TREAT_UNKNOWN},
    {"no memory for the salted bytes", RS_TREAT_PRIVATE, RS_HASHED_NATIVE, true, RS_TREAT_NATIVE,
     RS_TREAT_UNKNOWN},
    {"shared, no digest", RS_TREAT_CANONICAL, RS_HASHED_PLANNED, false, RS_TREAT_UNKNOWN,
     RS_TREAT_UNKNOWN},
    {"native, no digest", RS_TREAT_NATIVE, RS_HASHED_PLANNED, false, RS_TREAT_FORGOTTEN,
     RS_TREAT_FORGOTTEN},
    {"private, no digest", RS_TREAT_PRIVATE, RS_HASHED_PLANNED, false, RS_TREAT_FORGOTTEN,
     RS_TREAT_FORGOTTEN},
    {"neither memory nor digest", RS_TREAT_CANONICAL, RS_HASHED_NATIVE, false, RS_TREAT_FORGOTTEN,
     RS_TREAT_FORGOTTEN},
};

Test(hash, what_is_remembered)
{
    struct rs_key key = rs_key_of_digest(digest), other = key;
    other.bytes[5] ^= 1;
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        const struct example *example = &examples[i];
        struct rs_hash_plan plan;
        memset(&plan, 0, sizeof(plan));
        rs_arena_init(&plan.arena, 1 << 20);
        plan.kind = RS_KIND_fx_details;
        plan.treatment = example->planned;
        plan.ordinal = 3;
        rs_known_forked(); /* forgets */
        rs_hash_done(&plan, example->hashed, example->known ? digest : NULL);
        cr_expect_eq(rs_known_find(&key).treatment, example->key, "%s", example->name);
        cr_expect_eq(rs_known_find(&other).treatment, example->other, "%s", example->name);
    }
}
