/* SPDX-License-Identifier: Apache-2.0 */
#include "ordinal/flags.h"
#include "ordinal/text.h"
#include "unit/test_ordinal_pickle.h"

/* What the table asks for in each version, written down a second time: the value that means "off"
 * as opcodes. */
struct setting {
    const char *place; /* NULL: a field of the details */
    const char *name;
    const char *off;
    int since, until;
};

static const struct setting settings[] = {
    {"inductor_config", "bucket_all_gathers_fx", "\x8c\4none", 9, 15},
    {"inductor_config", "aten_distributed_optimizations.allow_comms_decompositions", "\x89", 13,
     15},
    {"inductor_config", "aten_distributed_optimizations.enable_overlap_scheduling", "\x89", 10, 15},
    {"inductor_config", "reorder_for_compute_comm_overlap", "\x89", 4, 15},
    {"inductor_config_comms", "runtime_estimations_align_across_all_distributed_ranks", "\x89", 13,
     15},
    {"inductor_config", "aten_distributed_optimizations.spmd_check", "\x89", 13, 15},
    {"inductor_config", "distributed_max_autotune_gemm", "\x89", 10, 15},
    {"inductor_config", "max_autotune", "\x89", 4, 15},
    {"inductor_config", "max_autotune_gemm", "\x89", 4, 15},
    {"inductor_config", "search_autotune_cache", "\x89", 4, 15},
    {"inductor_config", "benchmark_fusion", "\x89", 4, 15},
    {"inductor_config", "benchmark_combo_kernel", "\x89", 5, 15},
    {"inductor_config", "combo_kernel_compile_time_autotune", "\x89", 14, 15},
    {"inductor_config", "b2b_gemm_pass", "\x89", 5, 15},
    {"inductor_config", "runtime_estimations_mms_benchmark", "\x89", 9, 15},
    {"inductor_config", "triton.autotune_at_compile_time", "N", 5, 15},
    {"inductor_config", "_post_fusion_custom_pass", "N", 8, 15},
    {"inductor_config", "reorder_for_compute_comm_overlap_passes", "]", 4, 15},
    {"inductor_config", "estimate_op_runtime", "\x8c\7default", 4, 15},
    {"inductor_config", "joint_custom_pre_pass", "N", 5, 8},
    {"inductor_config", "joint_custom_post_pass", "N", 5, 8},
    {NULL, "post_grad_custom_pre_pass", "N", 6, 15},
    {NULL, "post_grad_custom_post_pass", "N", 6, 15},
    {NULL, "_pre_fusion_custom_pass", "N", 8, 15},
    {NULL, "_fuse_ddp_communication_passes", "](\x8c\1a\x8c\1bNe", 8, 15},
    {NULL, "custom_backend_passes", "NN\x86", 8, 15},
    {NULL, "custom_backend_codegen_configs", "}", 9, 15},
    {NULL, "nested_inductor_config_patches", ")", 14, 15},
    {NULL, "joint_custom_pre_pass", "N", 9, 15},
    {NULL, "joint_custom_post_pass", "N", 9, 15},
    {NULL, "_custom_partitioner_fn", "N", 9, 15},
    {NULL, "custom_estimator_solver_uuids", "NN\x86", 11, 15},
};
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

/* One setting that is not as torch leaves it: VALUE instead of "off", NULL for none at all. */
struct change {
    const char *name;
    const char *value;
};

static void put_setting(struct pickle *p, const struct setting *setting,
                        const struct change *change)
{
    const char *value = setting->off;
    if (change && strcmp(change->name, setting->name) == 0) {
        if (!change->value) {
            return;
        }
        value = change->value;
    }
    put_str(p, setting->name);
    put(p, value, strlen(value));
}

static void put_settings(struct pickle *p, const char *place, int minor,
                         const struct change *change)
{
    for (unsigned i = 0; i < SETTINGS; i++) {
        const struct setting *s = &settings[i];
        bool here = place ? s->place && strcmp(s->place, place) == 0 : !s->place;
        if (here && minor >= s->since && minor <= s->until) {
            put_setting(p, s, change);
        }
    }
}

/* AUTOGRAD: AOT details with that as the pickle of their autograd_config; else FX details. */
static void put_details(struct pickle *p, int minor, const struct change *change,
                        const struct pickle *autograd, bool grad)
{
    if (autograd) {
        begin_object(p, AOT_DETAILS);
        put_str(p, "grad_enabled");
        put(p, grad ? "\x88" : "\x89", 1);
        put_str(p, "autograd_config");
        put_bytes(p, autograd->data, autograd->size);
    } else {
        begin_object(p, FX_DETAILS);
    }
    put_settings(p, NULL, minor, change);
    static const char *const places[] = {"inductor_config", "inductor_config_comms"};
    for (unsigned i = 0; i < 2; i++) {
        put_str(p, places[i]);
        OPS(p, "}(");
        put_settings(p, places[i], minor, change);
        OPS(p, "u");
    }
    end_object(p);
}

static unsigned flags_of(const struct pickle *p, enum rs_kind kind, const char *version)
{
    struct rs_report report = scan_as(p, kind);
    cr_assert_eq(report.reason, RS_OK, "%s at %zu", rs_reason_name(report.reason), report.where);
    return rs_flags_of(&report, version);
}

static unsigned fx_flags(int minor, const char *name, const char *value)
{
    static struct pickle p;
    struct change change = {name, value};
    char version[32];
    snprintf(version, sizeof(version), "2.%d.1+cu130", minor);
    put_details(&p, minor, name ? &change : NULL, NULL, false);
    return flags_of(&p, RS_KIND_fx_details, version);
}

static unsigned aot_flags(int minor, const struct pickle *autograd, bool grad, const char *name,
                          const char *value)
{
    static struct pickle p;
    struct change change = {name, value};
    char version[32];
    snprintf(version, sizeof(version), "2.%d.0", minor);
    put_details(&p, minor, name ? &change : NULL, autograd, grad);
    return flags_of(&p, RS_KIND_aot_details, version);
}

Test(flags, a_default_job_of_each_version)
{
    for (int minor = 4; minor <= 15; minor++) {
        /* Private settings came into the details with 2.8. */
        unsigned expected = minor < 8 ? RS_FLAG_CUSTOM_PASS : 0;
        cr_assert_eq(fx_flags(minor, NULL, NULL), expected, "2.%d: %u", minor,
                     fx_flags(minor, NULL, NULL));
    }
}

Test(flags, what_is_missing_or_odd_is_on)
{
    static const char *const odd[] = {"\x88",
                                      "K\1",
                                      "\x8c\5"
                                      "False",
                                      "]\x89"
                                      "a",
                                      "\x8f",
                                      "}",
                                      "C\1x"};
    for (unsigned i = 0; i < SETTINGS; i++) {
        const struct setting *s = &settings[i];
        bool aot_only = strstr(s->name, "joint_") || strstr(s->name, "_partitioner") ||
                        strstr(s->name, "solver");
        bool alone = strstr(s->name, "reorder_for_compute_comm_overlap") == s->name ||
                     strstr(s->name, "_ranks") || strstr(s->name, "spmd");
        if (aot_only || (alone && !strstr(s->name, "_passes"))) {
            continue; /* below */
        }
        for (int minor = s->since < 8 ? 8 : s->since; minor <= s->until; minor++) {
            cr_expect(fx_flags(minor, s->name, NULL), "2.%d without %s", minor, s->name);
            for (unsigned o = 0; o < sizeof(odd) / sizeof(odd[0]); o++) {
                bool empty = strcmp(s->off, ")") == 0 || strcmp(s->off, "}") == 0;
                if (empty && (odd[o][0] == '}' || odd[o][0] == '\x8f')) {
                    continue;
                }
                cr_expect(fx_flags(minor, s->name, odd[o]), "2.%d: %s, value %u", minor, s->name,
                          o);
            }
        }
    }
}

Test(flags, which_follow)
{
    cr_expect_eq(fx_flags(9, "bucket_all_gathers_fx", "\x8c\3all"), RS_FLAG_BAKES);
    cr_expect_eq(fx_flags(15, "max_autotune", "\x88"), RS_FLAG_BENCHMARKS);
    cr_expect_eq(fx_flags(12, "aten_distributed_optimizations.enable_overlap_scheduling", "\x88"),
                 RS_FLAG_BAKES | RS_FLAG_TALKS | RS_FLAG_BENCHMARKS);
    cr_expect_eq(fx_flags(10, "distributed_max_autotune_gemm", "\x88"),
                 RS_FLAG_TALKS | RS_FLAG_BENCHMARKS);
    cr_expect_eq(fx_flags(11, "post_grad_custom_post_pass", "\x8c\4uuid"), RS_FLAG_CUSTOM_PASS);
    cr_expect_eq(fx_flags(11, "_fuse_ddp_communication_passes",
                          "]N"
                          "a"),
                 0);
    cr_expect_eq(fx_flags(11, "triton.autotune_at_compile_time", "\x89"), 0);
}

/* Reordering compares estimates where that is switched on, and where the details don't say. */
Test(flags, reordering_and_comparing)
{
    static const char reorder[] = "reorder_for_compute_comm_overlap";
    cr_expect_eq(fx_flags(8, reorder, "\x88"), 0);
    for (int minor = 9; minor <= 12; minor++) {
        cr_expect_eq(fx_flags(minor, reorder, "\x88"), RS_FLAG_TALKS, "2.%d", minor);
    }
    cr_expect_eq(fx_flags(13, reorder, "\x88"), 0);
    cr_expect_eq(fx_flags(13, "aten_distributed_optimizations.spmd_check", "\x88"), 0);
    cr_expect_eq(fx_flags(15, "runtime_estimations_align_across_all_distributed_ranks", "\x88"), 0);

    static struct pickle p;
    begin_object(&p, FX_DETAILS);
    put_settings(&p, NULL, 15, NULL);
    put_str(&p, "inductor_config_comms");
    OPS(&p, "}(");
    put_settings(&p, "inductor_config_comms", 15, NULL);
    OPS(&p, "u");
    put_str(&p, "inductor_config");
    OPS(&p, "}(");
    for (unsigned i = 0; i < SETTINGS; i++) {
        bool on = strcmp(settings[i].name, reorder) == 0 || strstr(settings[i].name, "spmd_check");
        struct change change = {settings[i].name, "\x88"};
        if (settings[i].place && strcmp(settings[i].place, "inductor_config") == 0) {
            put_setting(&p, &settings[i], on ? &change : NULL);
        }
    }
    OPS(&p, "u");
    end_object(&p);
    cr_expect_eq(flags_of(&p, RS_KIND_fx_details, "2.15.0"), RS_FLAG_TALKS);
}

/* The nested pickle of protocol 2 that torch makes of its AOTAutograd settings. */
static const struct pickle *autograd_config(const char *decision)
{
    static struct pickle p;
    p.size = 0;
    OPS(&p, "\x80\x02}q\0(X\x20\0\0\0_sync_cache_decision_cross_ranksq\1");
    put(&p, decision, 1);
    OPS(&p, "X\x0c\0\0\0some_settingq\2K\1u.");
    return &p;
}

#define AOT_INFERENCE (RS_FLAG_INFERENCE | RS_FLAG_BENCHMARKS)

Test(flags, of_aot_details)
{
    const struct pickle *off = autograd_config("\x89");
    cr_expect_eq(aot_flags(15, off, false, NULL, NULL), AOT_INFERENCE);
    cr_expect_eq(aot_flags(15, autograd_config("\x88"), false, NULL, NULL),
                 AOT_INFERENCE | RS_FLAG_CACHE_DECISION);
    off = autograd_config("\x89");
    cr_expect_eq(aot_flags(14, off, false, NULL, NULL), AOT_INFERENCE);
    /* The joint graph of a training graph may be changed by a pass that no details name. */
    cr_expect_eq(aot_flags(15, off, true, NULL, NULL), RS_FLAG_BENCHMARKS | RS_FLAG_CUSTOM_PASS);
    cr_expect_eq(aot_flags(9, off, true, "x", NULL), RS_FLAG_BENCHMARKS | RS_FLAG_CUSTOM_PASS);
    static const char *const passes[] = {"joint_custom_pre_pass", "joint_custom_post_pass",
                                         "_custom_partitioner_fn"};
    for (unsigned i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
        cr_expect_eq(aot_flags(15, off, false, passes[i], "\x8c\4uuid"),
                     AOT_INFERENCE | RS_FLAG_CUSTOM_PASS, "%s", passes[i]);
        cr_expect_eq(fx_flags(15, passes[i], "\x8c\4uuid"), 0, "%s shows in the FX key", passes[i]);
    }

    /* Text where the pickle should be. */
    static struct pickle text, none;
    text.size = none.size = 0;
    OPS(&text, "no pickle");
    OPS(&none, "\x80\x02N.");
    cr_expect(aot_flags(15, &text, false, NULL, NULL) & RS_FLAG_CACHE_DECISION);
    cr_expect(aot_flags(15, &none, false, NULL, NULL) & RS_FLAG_CACHE_DECISION);
}

Test(flags, bundled_entries)
{
    static struct pickle p;
    for (unsigned bundled = 0; bundled < 2; bundled++) {
        p.size = 0;
        OPS(&p, "\x80\x02}q\0(X\x20\0\0\0_sync_cache_decision_cross_ranksq\1\x89X\x16\0\0\0");
        OPS(&p, "bundled_autograd_cacheq\2");
        put(&p, bundled ? "\x88" : "\x89", 1);
        OPS(&p, "u.");
        unsigned more = bundled ? RS_FLAG_BUNDLED : 0;
        cr_expect_eq(aot_flags(15, &p, false, NULL, NULL), AOT_INFERENCE | more);
        cr_expect_eq(aot_flags(9, &p, true, NULL, NULL) & RS_FLAG_BUNDLED, more);
        cr_expect_eq(aot_flags(99, &p, false, NULL, NULL) & RS_FLAG_BUNDLED, more);
    }
    /* Nothing can be read under a version that nobody knows. */
    begin_object(&p, AOT_DETAILS);
    end_object(&p);
    cr_expect_not(flags_of(&p, RS_KIND_aot_details, "9.9.0") & RS_FLAG_BUNDLED);
}

Test(flags, versions)
{
    static const struct {
        const char *version;
        int minor;
    } versions[] = {
        {"2.4.0", 4},
        {"2.15.0", 15},
        {"2.15.3+cu132", 15},
        {"2.11.0+git1234", 11},
        {"2.7.1.post2", 7},
        {"2.15.0a0+git1234", 0},
        {"2.16.0", 0},
        {"2.3.1", 0},
        {"3.0.0", 0},
        {"1.15.0", 0},
        {"2.15", 0},
        {"2.15.", 0},
        {"2.15.x", 0},
        {"2.15.0.dev2026", 0},
        {"2.15.0rc1", 0},
        {"2.150.0", 0},
        {"2.", 0},
        {"", 0},
        {"2.4294967300.0", 0},
        {"2.-5.0", 0},
        {" 2.15.0", 0},
    };
    for (unsigned i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        cr_expect_eq(rs_flags_minor(versions[i].version), versions[i].minor, "%s",
                     versions[i].version);
    }
    static struct pickle p;
    put_details(&p, 15, NULL, NULL, false);
    unsigned flags = flags_of(&p, RS_KIND_fx_details, "2.16.0");
    cr_expect_eq(flags, RS_FLAG_UNKNOWN_TORCH);
    cr_expect_eq(rs_flags_refusal(flags), RS_REFUSED_torch_unknown);
    struct change talks = {"distributed_max_autotune_gemm", "\x88"};
    put_details(&p, 15, &talks, NULL, false);
    cr_expect(flags_of(&p, RS_KIND_fx_details, "2.16.0") & RS_FLAG_TALKS);
    begin_object(&p, FX_DETAILS); /* settings in a form that is not known */
    put_str(&p, "inductor_config");
    OPS(&p, "]");
    end_object(&p);
    cr_expect(flags_of(&p, RS_KIND_fx_details, "2.16.0") & RS_FLAG_TALKS);
}

Test(flags, refusals)
{
    cr_expect_eq(rs_flags_refusal(0), RS_OK);
    cr_expect_eq(rs_flags_refusal(RS_FLAG_TALKS | RS_FLAG_BENCHMARKS | RS_FLAG_INFERENCE |
                                  RS_FLAG_CACHE_DECISION),
                 RS_OK);
    cr_expect_eq(rs_flags_refusal(RS_FLAG_BAKES), RS_REFUSED_rank_specific);
    cr_expect_eq(rs_flags_refusal(RS_FLAG_BAKES | RS_FLAG_CUSTOM_PASS), RS_REFUSED_custom_pass);
}
