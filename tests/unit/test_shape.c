/* SPDX-License-Identifier: Apache-2.0 */
#include "route/shape.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Names out of the recordings. */
#define FX        "fukmxkijjakgojrgnhc6xijmrr2cmtcl6i4wdy5oftyuxjcfiqgs"
#define FILE_NAME "cukmxkijjakgojrgnhc6xijmrr2cmtcl6i4wdy5oftyuxjcfiqgs"
#define AOT       "axiazhnopjoygwqfihirod7qncce2yrdixuw3rrcb5q4xodhdjcz"
#define CONTENT   "zoixljpdfhjzvib5mqojakc3cf4gjyugr3qyzkcl74k2kbxindl"
#define B32       "AAAQEAYEAUDAOCAJBIFQYDIOB4IBCEQTCQKRMFYYDENBWHA5DYPQ"
#define HEX       "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define HEX63     "00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define B64       "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
#define UUID      "tmp.01234567-89ab-cdef-0123-456789abcdef"

struct example {
    const char *path;
    enum rs_shape shape;
    const char *root;
};

static const struct example examples[] = {
    {"/c/fxgraph/uk/" FX, RS_SHAPE_FX_DIR, "/c"},
    {"/c/fxgraph/uk/" FX "/", RS_SHAPE_FX_DIR, "/c"},
    {"/a/b/c/fxgraph/uk/" FX "/" CONTENT, RS_SHAPE_FX_FILE, "/a/b/c"},
    {"/c/fxgraph/uk/" FX "/.12.34.tmp", RS_SHAPE_FX_FILE, "/c"},
    {"/c/fxgraph/uk/" FX "/" CONTENT ".bak", RS_SHAPE_FX_FILE, "/c"}, /* torch would read it */
    {"/c/aotautograd/" AOT "/x", RS_SHAPE_AOT_FILE, "/c"},
    {"/c/fxgraph/xx/" FX, RS_SHAPE_NONE, NULL},  /* not the key's own letters */
    {"/c/fxgraphs/uk/" FX, RS_SHAPE_NONE, NULL}, /* a component, not a substring */
    {"/c/aotautograd/" AOT, RS_SHAPE_AOT_DIR, "/c"},
    {"/c/aotautograd/" AOT "/" CONTENT, RS_SHAPE_AOT_FILE, "/c"},
    {"/c/aotautograd/" AOT "/entry", RS_SHAPE_AOT_FILE, "/c"},
    {"/c/aotautograd/" FX "/entry", RS_SHAPE_NONE, NULL}, /* an f key under aotautograd */
    {"/c/triton/3/" B32 "/__grp__k.json", RS_SHAPE_TRITON_GROUP, "/c/triton/3"},
    {"/c/" HEX "/__grp__k.json", RS_SHAPE_TRITON_GROUP, "/c"},
    {"/c/" HEX "/__grp__k.jsonx", RS_SHAPE_TRITON_FILE, "/c"},
    {"/c/triton/3/" B32 "/kernel.cubin", RS_SHAPE_TRITON_FILE, "/c/triton/3"},
    {"/c/triton/3/" B64 "/kernel.json", RS_SHAPE_TRITON_FILE, "/c/triton/3"},
    {"/c/triton/3/" B32 "/.kernel.cubin", RS_SHAPE_NONE, NULL},
    {"/c/triton/3/" B32 "/tmp.pid_1_x/kernel.cubin", RS_SHAPE_NONE, NULL},
    {"/c/triton/3/x/kernel.cubin", RS_SHAPE_NONE, NULL},
    {"/c/triton/3/" B32, RS_SHAPE_TRITON_DIR, "/c/triton/3"},
    {"/c/triton/3/" UUID, RS_SHAPE_TRITON_TMP, "/c/triton/3"},
    {"/c/triton/3/tmp.pid_12345_89ab-cdef-0123-456789abcdef", RS_SHAPE_NONE, NULL},
    {"/c/triton/3/tmp.01234567-89ab-cdef-0123-456789abcdeg", RS_SHAPE_NONE, NULL},
    {"/c/triton/3", RS_SHAPE_TRITON_LINK, "/c"},
    {"/c/triton/None", RS_SHAPE_TRITON_LINK, "/c"},
    {"/c/triton/3x", RS_SHAPE_NONE, NULL},
    {"/c/e" HEX63, RS_SHAPE_TRITON_DIR, "/c"}, /* a letter that other names begin with, too */
    {"/c/triton/0/" B32 "/kernel.autotune.json", RS_SHAPE_TRITON_TUNED, "/c/triton/0"},
    {"/c/triton/0/" B32 "/.autotune.json", RS_SHAPE_TRITON_TUNED, "/c/triton/0"},
    {"/c/triton/0/" B32 "/tmp.pid_1_x/kernel.autotune.json", RS_SHAPE_NONE, NULL},
    {"/c/triton/0/x/kernel.autotune.json", RS_SHAPE_NONE, NULL},
    {"/c/00/" HEX ".best_config", RS_SHAPE_CONFIG, "/c"},
    {"/c/ab/e" HEX63 ".best_config", RS_SHAPE_CONFIG, "/c"},
    {"/c/abc/" HEX ".best_config", RS_SHAPE_NONE, NULL},
    {"/c/ab/" HEX ".best_confih", RS_SHAPE_NONE, NULL},
    {"/c/ab/g" HEX63 ".best_config", RS_SHAPE_NONE, NULL},
    {"/c/ab/" FILE_NAME ".best_config", RS_SHAPE_CONFIG, "/c"}, /* torch 2.4 and 2.5 */
    {"/c/abc/" FILE_NAME ".best_config", RS_SHAPE_NONE, NULL},
    {"/c/ab/" FX ".best_config", RS_SHAPE_NONE, NULL},
    {"/c/tritons/3", RS_SHAPE_NONE, NULL},
    {"/c/fxgraph/uk/../uk/" FX, RS_SHAPE_NONE, NULL}, /* the caller resolves it */
    {"fxgraph/uk/" FX, RS_SHAPE_NONE, NULL},
    {"/", RS_SHAPE_NONE, NULL},
    {"/entry", RS_SHAPE_NONE, NULL},
    {"/etc/passwd", RS_SHAPE_NONE, NULL},
    {"/" B32, RS_SHAPE_TRITON_DIR, ""},
};

Test(shape, table)
{
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        const struct example *example = &examples[i];
        struct rs_parts parts;
        rs_shape_split(example->path, &parts);
        cr_assert(parts.shape == example->shape, "%s: shape %d", example->path, parts.shape);
        if (example->root) {
            cr_assert(parts.root == strlen(example->root) &&
                          strncmp(example->path, example->root, parts.root) == 0,
                      "%s: root of %zu characters", example->path, parts.root);
        }
        /* The filter may say yes to more, never to less. */
        cr_assert(example->shape == RS_SHAPE_NONE || rs_shape_maybe(example->path), "%s",
                  example->path);
    }
}

Test(shape, the_filter_passes_the_common_names)
{
    static const char *const common[] = {"/usr/lib/python3.11/os.py",
                                         "a.c",
                                         "/tmp",
                                         ".",
                                         "..",
                                         "/proc/self/maps",
                                         "/dev/null",
                                         "",
                                         "/",
                                         "3",
                                         "/x/3",
                                         "/c/fxgraph/uk/" FX "x/name",
                                         FX "x/name",
                                         "/c/z" CONTENT "/name",
                                         "/tmp/.crash_1234",
                                         "/home/.cache/.12.34.tmp",
                                         "/..x/.12.34.tmp",
                                         "x../.12.34.tmp",
                                         "/src/entry"};
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
        cr_assert(!rs_shape_maybe(common[i]), "%s", common[i]);
    }
}

Test(shape, keys_of_all_spellings_are_one)
{
    struct rs_parts hex, base32;
    rs_shape_split("/c/" HEX, &hex);
    rs_shape_split("/c/" B32, &base32);
    cr_assert(rs_key_equal(&hex.key, &base32.key));
    cr_assert(hex.key.bytes[0] == 0 && hex.key.bytes[30] == 0x1e && hex.key.bytes[31] == 0x1e,
              "the last bit is cleared");
}

Test(shape, temporary_names_are_no_entries)
{
    cr_assert(!rs_shape_entry_name(".12.34.tmp"));
    cr_assert(!rs_shape_entry_name(".rs.12.34"));
    cr_assert(rs_shape_entry_name(CONTENT));
    cr_assert(rs_shape_entry_name("entry"));
    cr_assert(rs_shape_entry_name(CONTENT ".bak"));
}

Test(shape, names_that_torch_gives_to_entries)
{
    cr_assert(rs_shape_entry_hash(CONTENT) && rs_shape_entry_hash("entry"));
    cr_assert(!rs_shape_entry_hash(CONTENT ".bak") && !rs_shape_entry_hash("") &&
              !rs_shape_entry_hash(".12.34.tmp") && !rs_shape_entry_hash(FX));
}

Test(shape, directories_above_the_keys)
{
    static const struct {
        const char *path;
        enum rs_shape above;
    } cases[] = {
        {"/c/fxgraph", RS_SHAPE_FX_DIR},
        {"/c/fxgraph/ab", RS_SHAPE_FX_DIR},
        {"/c/aotautograd", RS_SHAPE_AOT_DIR},
        {"/c/fxgraph/abc", RS_SHAPE_NONE},
        {"/c/fxgraph/a", RS_SHAPE_NONE},
        {"/c/myfxgraph", RS_SHAPE_NONE},
        {"/c/fxgraph/ab/" FX, RS_SHAPE_NONE},
        {"", RS_SHAPE_NONE},
        {"/ab", RS_SHAPE_NONE},
        {"ab", RS_SHAPE_NONE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_assert_eq(rs_shape_above(cases[i].path), cases[i].above, "%s", cases[i].path);
    }
    cr_assert(rs_shape_maybe_directory("/c/fxgraph/ab"));
    cr_assert_not(rs_shape_maybe("/c/fxgraph/ab"), "files there are nobody's business");
}
