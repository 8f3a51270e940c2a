/* SPDX-License-Identifier: Apache-2.0 */
#include "route/private.h"

#include <criterion/criterion.h>
#include <string.h>

/* Written down: what another version of the library made must be found again. */
Test(private, names)
{
    char name[RS_PRIVATE_NAME], other[RS_PRIVATE_NAME];
    rs_private_name("/shared/cache", name);
    cr_assert_str_eq(name, "cache-a34ba5ab1feee2d7");
    rs_private_name("/shared/cache2", other);
    cr_assert_str_neq(name, other);
    cr_assert(rs_private_is_name(name));
}

Test(private, what_is_no_name)
{
    static const char *const other[] = {"",
                                        "cache",
                                        "cache-",
                                        "cache-a34ba5ab1feee2d",
                                        "cache-a34ba5ab1feee2d77",
                                        "cache-A34ba5ab1feee2d7",
                                        "xcache-a34ba5ab1feee2d7"};
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
        cr_expect(!rs_private_is_name(other[i]), "%s", other[i]);
    }
}

Test(private, suffixes_that_stay_below)
{
    static const char *const good[] = {
        "/a", "/a/b.c", "/..a/b", "/a/...", "/.rankshare-sourc", "/.rankshare-sources/a", "/.a"};
    static const char *const bad[] = {"",
                                      "a",
                                      "/",
                                      "//a",
                                      "/a/",
                                      "/a//b",
                                      "/.",
                                      "/..",
                                      "/../a",
                                      "/a/..",
                                      "/a/./b",
                                      "/.rankshare-source",
                                      "/.rankshare-source/a",
                                      "/a/.rankshare-source"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cr_expect(rs_private_suffix(good[i]), "%s", good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect(!rs_private_suffix(bad[i]), "%s", bad[i]);
    }
}

Test(private, kernels_of_other_ordinals)
{
    static const char *const none[] = {
        "/triton/0/K/f",  "/triton/3",     "/triton//K", "/triton/x/K",
        "/triton/None/K", "/a/triton/3/K", "/triton3/K", ""};
    cr_assert_str_eq(rs_private_kernel("/triton/3/K/f"), "/K/f");
    cr_assert_str_eq(rs_private_kernel("/triton/11/K"), "/K");
    cr_assert_str_eq(rs_private_kernel("/triton/00/K"), "/K");
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        cr_expect(rs_private_kernel(none[i]) == NULL, "%s", none[i]);
    }
}
