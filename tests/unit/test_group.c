/* SPDX-License-Identifier: Apache-2.0
 *
 * Group files of Triton kernels.
 */
#include "route/group.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "DMXOSH3OBBGCYVPEMB5ZRFEA6J4M6AIYARKMRWSP77VP36LFNA2A"

static bool reads(const char *text, struct rs_children *group)
{
    return rs_group_read(text, strlen(text), KEY, group);
}

Test(group, moves_to_another_directory)
{
    static const char old[] = "{\"child_paths\": {\"k.source\": \"/a/triton/0/" KEY
                              "/k.source\", \"k.cubin\": \"/a/triton/0/" KEY "/k.cubin\"}}";
    static const char new[] = "{\"child_paths\": {\"k.source\": \"/other place/3/" KEY
                              "/k.source\", \"k.cubin\": \"/other place/3/" KEY "/k.cubin\"}}";
    struct rs_children group, again;
    char out[512], back[512];
    cr_assert(reads(old, &group));
    cr_assert_eq(group.count, 2);
    size_t size = rs_group_write(&group, "/other place/3/" KEY, out, sizeof(out));
    cr_assert_eq(size, sizeof(new) - 1);
    cr_assert_eq(memcmp(out, new, size), 0);
    cr_assert(rs_group_read(out, size, KEY, &again));
    cr_assert_eq(rs_group_write(&again, "/a/triton/0/" KEY, back, sizeof(back)), sizeof(old) - 1);
    cr_assert_eq(memcmp(back, old, sizeof(old) - 1), 0, "there and back");
    for (size_t room = 0; room < sizeof(old) - 1; room++) {
        cr_assert_eq(rs_group_write(&again, "/a/triton/0/" KEY, back, room), 0);
    }
}

Test(group, empty)
{
    struct rs_children group;
    char out[64];
    cr_assert(reads("{\"child_paths\": {}}", &group));
    cr_assert_eq(group.count, 0);
    cr_assert_eq(rs_group_write(&group, "/d", out, sizeof(out)), 19);
    cr_assert_eq(memcmp(out, "{\"child_paths\": {}}", 19), 0);
}

Test(group, refuses_what_it_does_not_understand)
{
    static const char *const bad[] = {
        "",
        "{}",
        "{\"child_paths\": {}",
        "{\"child_paths\": {}}\n",
        "{\"child_paths\": {}} ",
        "{\"child_paths\": [\"k.cubin\"]}",
        "{\"child_paths\": {}, \"more\": 1}",
        "{\"child_paths\": {\"k\": \"/x/" KEY "/k\" }}",
        "{\"child_paths\": {\"k\": \"/x/" KEY "/k\", }}",
        "{\"child_paths\": {\"k\": \"/x/" KEY "/other\"}}",
        "{\"child_paths\": {\"k\": \"/x/ANOTHER/k\"}}",
        "{\"child_paths\": {\"k\": \"x/" KEY "/k\"}}",
        "{\"child_paths\": {\"k\": \"" KEY "/k\"}}",
        "{\"child_paths\": {\"k\": \"/x" KEY "/k\"}}",
        "{\"child_paths\": {\"\": \"/x/" KEY "/\"}}",
        "{\"child_paths\": {\"..\": \"/x/" KEY "/..\"}}",
        "{\"child_paths\": {\".k\": \"/x/" KEY "/.k\"}}",
        "{\"child_paths\": {\"a/k\": \"/x/" KEY "/a/k\"}}",
        "{\"child_paths\": {\"k\": \"/x\\u00e4/" KEY "/k\"}}",
        "{\"child_paths\": {\"k\": \"/x/" KEY "/k\", \"k\": \"/x/" KEY "/k\"}}",
    };
    struct rs_children group;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_assert_not(reads(bad[i], &group), "%s", bad[i]);
    }
    char many[RS_CHILDREN_MAX * 160];
    for (unsigned count = RS_CHILDREN_MAX; count <= RS_CHILDREN_MAX + 1; count++) {
        size_t size = (size_t)sprintf(many, "{\"child_paths\": {");
        for (unsigned i = 0; i < count; i++) {
            size +=
                (size_t)sprintf(many + size, "%s\"k%u\": \"/x/" KEY "/k%u\"", i ? ", " : "", i, i);
        }
        strcpy(many + size, "}}");
        cr_assert_eq(reads(many, &group), count == RS_CHILDREN_MAX);
    }
}

Test(group, directories_that_need_escapes)
{
    static const char *const bad[] = {"/a\"b", "/a\\b", "/a\nb", "/a\xc3\xa4", "relative", ""};
    struct rs_children group;
    char out[512];
    cr_assert(reads("{\"child_paths\": {\"k\": \"/x/" KEY "/k\"}}", &group));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_assert_eq(rs_group_write(&group, bad[i], out, sizeof(out)), 0, "%s", bad[i]);
    }
}

/* Cut short or with one byte changed: nothing is read outside of the text, and names are names. */
Test(group, damaged)
{
    static const char good[] = "{\"child_paths\": {\"k.source\": \"/a/" KEY
                               "/k.source\", \"k.cubin\": \"/a/" KEY "/k.cubin\"}}";
    struct rs_children group;
    for (size_t size = 0; size < sizeof(good) - 1; size++) {
        char *exact = malloc(size + 1); /* its own allocation: sanitizers see a byte too many */
        memcpy(exact, good, size);
        cr_assert_not(rs_group_read(exact, size, KEY, &group));
        free(exact);
    }
    for (size_t at = 0; at < sizeof(good) - 1; at++) {
        for (int c = 0; c < 256; c++) {
            char text[sizeof(good)];
            memcpy(text, good, sizeof(good));
            text[at] = (char)c;
            if (!rs_group_read(text, sizeof(good) - 1, KEY, &group)) {
                continue;
            }
            for (unsigned i = 0; i < group.count; i++) {
                cr_assert_null(memchr(group.children[i].name, '/', group.children[i].size));
                cr_assert_neq(group.children[i].name[0], '.');
            }
        }
    }
}
