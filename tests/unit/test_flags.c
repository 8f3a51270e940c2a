/* SPDX-License-Identifier: Apache-2.0 */
#include "ordinal/flags.h"
#include "unit/test_ordinal_pickle.h"

/* FX details whose inductor_config holds what OPS says, flags by torch VERSION. */
#define FLAGS_OF(version, ...)                                                                     \
    ({                                                                                             \
        static struct pickle p;                                                                    \
        begin_object(&p, FX_DETAILS);                                                              \
        put_str(&p, "inductor_config");                                                            \
        OPS(&p, "}(");                                                                             \
        __VA_ARGS__;                                                                               \
        OPS(&p, "u");                                                                              \
        end_object(&p);                                                                            \
        struct rs_report report = scan_as(&p, RS_KIND_fx_details);                                 \
        cr_assert_eq(report.reason, RS_OK);                                                        \
        rs_flags_of(&report.flags, version);                                                       \
    })

static void setting(struct pickle *p, const char *name, const char *opcode)
{
    put_str(p, name);
    put(p, opcode, 1);
}

static void benchmarks(struct pickle *p, const char *max_autotune)
{
    setting(p, "coordinate_descent_tuning", "\x89");
    setting(p, "benchmark_fusion", "\x89");
    setting(p, "benchmark_combo_kernel", "\x89");
    setting(p, "max_autotune", max_autotune);
}

Test(flags, off_is_one_value_and_everything_else_is_on)
{
    cr_assert(!(FLAGS_OF("2.15.0+cu132", benchmarks(&p, "\x89")) & RS_FLAG_BENCHMARKS));
    cr_assert(FLAGS_OF("2.15.0+cu132", benchmarks(&p, "\x88")) & RS_FLAG_BENCHMARKS);
    cr_assert(FLAGS_OF("2.15.0+cu132", benchmarks(&p, "N")) & RS_FLAG_BENCHMARKS);
    cr_assert(FLAGS_OF("2.15.0+cu132", benchmarks(&p, "]")) & RS_FLAG_BENCHMARKS);
}
