/* SPDX-License-Identifier: Apache-2.0
 *
 * Which device runs which code: NVIDIA's rules, one row each (docs/images.md names the sources).
 */
#include "image/arch.h"

#include <criterion/criterion.h>

enum { RUNS = RS_FIT_RUNS, NEVER = RS_FIT_NEVER, UNKNOWN = RS_FIT_UNKNOWN };

struct row {
    struct rs_arch arch;
    unsigned major, minor;
    int runs;     /* the cubin */
    int compiles; /* the PTX */
};

static const struct row rows[] = {
    /* the same minor version or a later one of the same major version, never an earlier one */
    {{80, 0}, 8, 0, RUNS, RUNS},
    {{80, 0}, 8, 6, RUNS, RUNS},
    {{80, 0}, 8, 9, RUNS, RUNS},
    {{86, 0}, 8, 0, NEVER, NEVER},
    {{86, 0}, 8, 9, RUNS, RUNS},
    {{89, 0}, 8, 6, NEVER, NEVER},
    {{70, 0}, 7, 5, RUNS, RUNS},
    {{75, 0}, 7, 0, NEVER, NEVER},
    {{50, 0}, 5, 2, RUNS, RUNS},
    {{90, 0}, 9, 0, RUNS, RUNS},
    {{100, 0}, 10, 0, RUNS, RUNS},
    {{100, 0}, 10, 3, RUNS, RUNS},
    {{103, 0}, 10, 0, NEVER, NEVER},
    {{120, 0}, 12, 1, RUNS, RUNS},
    {{121, 0}, 12, 0, NEVER, NEVER},
    /* never across major versions; PTX can be compiled for any later one */
    {{80, 0}, 9, 0, NEVER, RUNS},
    {{90, 0}, 8, 0, NEVER, NEVER},
    {{75, 0}, 8, 0, NEVER, RUNS},
    {{90, 0}, 10, 0, NEVER, RUNS},
    {{100, 0}, 12, 0, NEVER, RUNS},
    {{120, 0}, 10, 3, NEVER, NEVER},
    {{52, 0}, 12, 0, NEVER, RUNS},
    /* "a": that compute capability alone, PTX, too */
    {{90, 'a'}, 9, 0, RUNS, RUNS},
    {{90, 'a'}, 10, 0, NEVER, NEVER},
    {{90, 'a'}, 12, 0, NEVER, NEVER},
    {{90, 'a'}, 8, 0, NEVER, NEVER},
    {{100, 'a'}, 10, 0, RUNS, RUNS},
    {{100, 'a'}, 10, 3, NEVER, NEVER},
    {{103, 'a'}, 10, 0, NEVER, NEVER},
    {{120, 'a'}, 12, 1, NEVER, NEVER},
    {{121, 'a'}, 12, 1, RUNS, RUNS},
    {{110, 'a'}, 11, 0, RUNS, RUNS},
    /* "f": later ones of the family, PTX, too */
    {{100, 'f'}, 10, 0, RUNS, RUNS},
    {{100, 'f'}, 10, 3, RUNS, RUNS},
    {{100, 'f'}, 11, 0, UNKNOWN, UNKNOWN},
    {{100, 'f'}, 12, 0, NEVER, NEVER},
    {{103, 'f'}, 10, 3, RUNS, RUNS},
    {{103, 'f'}, 10, 0, NEVER, NEVER},
    {{110, 'f'}, 11, 0, RUNS, RUNS},
    {{120, 'f'}, 12, 0, RUNS, RUNS},
    {{120, 'f'}, 12, 1, RUNS, RUNS},
    {{121, 'f'}, 12, 0, NEVER, NEVER},
    {{120, 'f'}, 10, 0, NEVER, NEVER},
    /* systems on a chip: nothing is promised from or to their minor versions */
    {{87, 0}, 8, 7, RUNS, RUNS},
    {{80, 0}, 8, 7, UNKNOWN, RUNS},
    {{87, 0}, 8, 9, UNKNOWN, RUNS},
    {{86, 0}, 8, 7, UNKNOWN, RUNS},
    {{72, 0}, 7, 5, UNKNOWN, RUNS},
    {{100, 0}, 10, 1, UNKNOWN, RUNS},
    /* but nothing leads from one major version to another: seen on an H200 */
    {{87, 0}, 9, 0, NEVER, RUNS},
    {{110, 0}, 9, 0, NEVER, NEVER},
    {{110, 'f'}, 9, 0, NEVER, NEVER},
    {{87, 0}, 12, 1, NEVER, RUNS},
    /* 10.1 was renamed 11.0 */
    {{101, 0}, 11, 0, UNKNOWN, RUNS},
    {{101, 'a'}, 11, 0, UNKNOWN, UNKNOWN},
    {{101, 'f'}, 11, 0, UNKNOWN, UNKNOWN},
    {{110, 0}, 10, 1, UNKNOWN, NEVER},
    {{101, 'a'}, 10, 0, NEVER, NEVER},
    /* suffixes that nobody has seen yet; nothing known at all */
    {{130, 'z'}, 13, 0, RUNS, RUNS},
    {{130, 'z'}, 13, 1, UNKNOWN, UNKNOWN},
    {{0, 0}, 9, 0, UNKNOWN, UNKNOWN},
};

Test(arch, runs_where_nvidia_says)
{
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        char text[RS_ARCH_TEXT];
        rs_arch_text(row->arch, text);
        cr_expect_eq((int)rs_arch_runs(row->arch, row->major, row->minor), row->runs,
                     "cubin for %s on %u.%u", text, row->major, row->minor);
        cr_expect_eq((int)rs_arch_compiles(row->arch, row->major, row->minor), row->compiles,
                     "PTX for %s on %u.%u", text, row->major, row->minor);
    }
}

Test(arch, has_a_name)
{
    char text[RS_ARCH_TEXT];
    cr_assert_str_eq(rs_arch_text((struct rs_arch){90, 'a'}, text), "sm_90a");
    cr_assert_str_eq(rs_arch_text((struct rs_arch){100, 0}, text), "sm_100");
    cr_assert_str_eq(rs_arch_text((struct rs_arch){0, 0}, text), "unknown");
    cr_assert_str_eq(rs_arch_text((struct rs_arch){4294967295U, 'a'}, text), "sm_4294967295a");
}
