/* SPDX-License-Identifier: Apache-2.0
 *
 * Typed sites, and the integers beside them that only look like one.
 */
#include "unit/test_ordinal_pickle.h"

static void expect(const struct pickle *p, enum rs_kind kind, unsigned sites, int ordinal)
{
    struct rs_report report = scan_as(p, kind);
    cr_expect_eq(report.reason, RS_OK, "%s", rs_reason_name(report.reason));
    cr_expect_eq(report.sites, sites, "%u sites", report.sites);
    cr_expect_eq(rs_report_ordinal(&report), ordinal, "ordinal %d", rs_report_ordinal(&report));
}

static void expect_refused(const struct pickle *p, enum rs_kind kind, enum rs_reason reason)
{
    struct rs_report report = scan_as(p, kind);
    cr_expect_eq(report.reason, reason, "%s", rs_reason_name(report.reason));
}

/* Integers of all sizes in places of no interest; 3 among them. */
static void put_decoys(struct pickle *p)
{
    put_str(p, "configs");
    OPS(p, "](K\3K\0M\3\1J\3\0\0\0}(K\3\x85]K\3aue");
    put_str(p, "multi_processor_count");
    put_int(p, 3);
    put_str(p, "cc");
    put_int(p, 90);
    put_str(p, "index");
    put_int(p, 5);
    put_str(p, "value");
    put_int(p, 6);
    put_str(p, "device_count");
    put_int(p, 8);
    put_str(p, "device_interface");
    OPS(p, "\x88");
}

Test(sites, device_among_decoys)
{
    struct pickle p;
    begin_object(&p, FX_DETAILS);
    put_decoys(&p);
    put_str(&p, "example_inputs");
    OPS(&p, "](");
    put_device(&p, "cuda", 7);
    put_device(&p, "cpu", 0);
    put_global(&p, "torch", "Size");
    OPS(&p, "K\3K\3\x86\x85R");
    OPS(&p, "e");
    end_object(&p);
    expect(&p, RS_KIND_fx_details, 1, 7);
}

Test(sites, every_field)
{
    struct pickle p;
    begin_object(&p, FX_ENTRY);
    put_decoys(&p);
    put_str(&p, "default_cuda_device_index");
    put_int(&p, 5);
    put_str(&p, "graphsafe_rng_state_index");
    put_int(&p, 5);
    put_str(&p, "graphsafe_rng_device");
    put_device(&p, "cuda", 5);
    put_str(&p, "boxed_forward_device_index");
    put_global(&p, "torch._inductor.cudagraph_utils", "BoxedDeviceIndex");
    OPS(&p, ")\x81}");
    put_str(&p, "value");
    put_int(&p, 5);
    OPS(&p, "sb");
    put_str(&p, "artifacts");
    put_global(&p, "torch._inductor.triton_bundler", "TritonKernelArtifacts");
    OPS(&p, ")\x81N}"); /* a class with slots: (None, state) */
    put_str(&p, "device");
    put_int(&p, 5);
    OPS(&p, "s\x86"
            "b");
    put_str(&p, "compile_meta");
    OPS(&p, "}(");
    put_str(&p, "device");
    put_int(&p, 5);
    put_str(&p, "num_warps");
    put_int(&p, 4);
    OPS(&p, "u");
    put_str(&p, "triton_meta");
    OPS(&p, "}");
    put_str(&p, "device");
    put_global(&p, "torch._inductor.runtime.hints", "DeviceProperties");
    OPS(&p, "(");
    put_str(&p, "cuda");
    OPS(&p, "K\5K\x84KZt\x81s"); /* index, processors, capability */
    end_object(&p);
    struct rs_report report = scan_as(&p, RS_KIND_fx_entry);
    cr_assert_eq(report.reason,
                 RS_REFUSED_wrapper_name); /* it has none; the sites are what counts */
    cr_assert_eq(report.sites, 7, "%u", report.sites);
    cr_assert_eq(rs_report_ordinal(&report), 5);
}

Test(sites, device_properties_by_name)
{
    struct pickle p;
    begin_object(&p, AOT_ENTRY);
    put_str(&p, "props");
    put_global(&p, "torch._inductor.runtime.hints", "DeviceProperties");
    OPS(&p, ")}(");
    put_str(&p, "type");
    put_str(&p, "cuda");
    put_str(&p, "index");
    put_int(&p, 4);
    put_str(&p, "major");
    put_int(&p, 9);
    OPS(&p, "u\x92");
    end_object(&p);
    expect(&p, RS_KIND_aot_entry, 1, 4);
}

Test(sites, device_idxs_in_every_form)
{
    static const struct {
        const char *ops;
        size_t size;
    } forms[] = {
#define FORM(ops) {ops, sizeof(ops) - 1}
        FORM("\x8f(K\2\x90"), /* set */
        FORM("(K\2\x91"),     /* frozenset */
        FORM("]K\2a"),        /* list */
        FORM("\x8c\x18torch.utils._ordered_set\x8c\x0aOrderedSet\x93]K\2a\x85R"),
        FORM("\x8c\x18torch.utils._ordered_set\x8c\x0aOrderedSet\x93)\x81}\x8c\5_dict}K\2Nssb"),
#undef FORM
    };
    for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct pickle p;
        begin_object(&p, AOT_ENTRY);
        put_str(&p, "device_types");
        OPS(&p, "K\1");
        put_str(&p, "device_idxs");
        put(&p, forms[i].ops, forms[i].size);
        end_object(&p);
        struct rs_report report = scan_as(&p, RS_KIND_aot_entry);
        cr_expect_eq(report.sites, 1, "form %u: %u sites", i, report.sites);
        cr_expect_eq(rs_report_ordinal(&report), 2, "form %u", i);
        p.data[p.size - 4]++; /* nothing but the pickle's end */
    }
}

/* Names, keys and strings fetched from the memo instead of written again. */
Test(sites, repeats_through_the_memo)
{
    struct pickle p;
    begin_object(&p, FX_ENTRY);
    put_str(&p, "a");
    OPS(&p, "](");
    put_str(&p, "torch");
    OPS(&p, "\x94");
    put_str(&p, "device");
    OPS(&p, "\x94\x93\x94");
    put_str(&p, "cuda");
    OPS(&p, "\x94K\3\x86\x94R\x94"); /* 0 torch, 1 device, 2 the class, 3 cuda, 4 tuple, 5 result */
    OPS(&p, "h\2h\3K\3\x86R");       /* class and type from the memo */
    OPS(&p, "h\0h\1\x93h\3K\3\x86R"); /* even module and name */
    OPS(&p, "h\5");                   /* the same object: no new site */
    OPS(&p, "e");
    put_str(&p, "compile_meta");
    OPS(&p, "}h\1K\3s"); /* key from the memo */
    put_str(&p, "triton_meta");
    OPS(&p, "}\x94h\1K\3s");
    put_str(&p, "more");
    OPS(&p, "}");
    put_str(&p, "triton_meta");
    OPS(&p, "h\6s"); /* the dictionary above again */
    end_object(&p);
    struct rs_report report = scan_as(&p, RS_KIND_fx_entry);
    cr_assert_eq(report.sites, 5, "%u", report.sites);
    cr_assert_eq(rs_report_ordinal(&report), 3);
}

Test(sites, shared_between_site_and_data)
{
    struct pickle p;
    begin_object(&p, FX_DETAILS);
    put_str(&p, "n");
    OPS(&p, "K\3\x94"); /* an integer in the memo, as data */
    put_str(&p, "default_cuda_device_index");
    OPS(&p, "h\0");
    end_object(&p);
    expect_refused(&p, RS_KIND_fx_details, RS_REFUSED_unknown_site);

    begin_object(&p, FX_DETAILS);
    put_str(&p, "n");
    put_str(&p, "cuda");
    OPS(&p, "K\3\x86\x94"); /* the tuple as data */
    put_str(&p, "d");
    put_global(&p, "torch", "device");
    OPS(&p, "h\0R");
    end_object(&p);
    expect_refused(&p, RS_KIND_fx_details, RS_REFUSED_unknown_site);

    begin_object(&p, FX_DETAILS);
    put_str(&p, "default_cuda_device_index");
    OPS(&p, "K\3\x94"); /* in the memo and never fetched: harmless */
    end_object(&p);
    expect(&p, RS_KIND_fx_details, 1, 3);
}

Test(sites, none_is_no_ordinal)
{
    struct pickle p;
    begin_object(&p, FX_DETAILS);
    put_str(&p, "a");
    put_global(&p, "torch", "device");
    put_str(&p, "cuda");
    OPS(&p, "\x85R");
    put_str(&p, "b");
    put_global(&p, "torch", "device");
    put_str(&p, "cuda");
    OPS(&p, "N\x86R");
    put_str(&p, "c");
    put_global(&p, "torch", "device");
    put_str(&p, "cpu");
    OPS(&p, "\x85R");
    put_str(&p, "boxed_forward_device_index");
    put_global(&p, "torch._inductor.cudagraph_utils", "BoxedDeviceIndex");
    OPS(&p, ")\x81}");
    put_str(&p, "value");
    OPS(&p, "Nsb");
    end_object(&p);
    struct rs_report report = scan_as(&p, RS_KIND_fx_details);
    cr_assert_eq(report.reason, RS_OK);
    cr_assert_eq(report.sites, 0);
    cr_assert_eq(report.none_sites, 2);
    cr_assert_eq(rs_report_ordinal(&report), -1);
    struct pickle copy;
    cr_assert_eq(rewrite_as(&p, RS_KIND_fx_details, 9, &copy), RS_OK);
    cr_assert(same_pickle(&p, &copy));
}

Test(sites, what_refuses)
{
    static const struct {
        const char *key;
        int value;
        bool refused;
    } fields[] = {
        {"device", 3, true},
        {"my_device", 3, true},
        {"device_index", 0, true},
        {"current_device_id", 1, true},
        {"device_count", 3, false},
        {"num_devices", 3, false},
        {"multi_processor_count", 3, false},
        {"ordinal", 3, false},
        {"devic", 3, false},
        {"Device", 3, false},
    };
    struct pickle p;
    for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        begin_object(&p, FX_DETAILS);
        put_str(&p, fields[i].key);
        put_int(&p, fields[i].value);
        end_object(&p);
        struct rs_report report = scan_as(&p, RS_KIND_fx_details);
        cr_expect_eq(report.reason, fields[i].refused ? RS_REFUSED_unknown_site : RS_OK, "%s",
                     fields[i].key);
    }
    begin_object(&p, FX_DETAILS);
    put_str(&p, "device_ids");
    OPS(&p, "]K\1a");
    end_object(&p);
    expect_refused(&p, RS_KIND_fx_details, RS_REFUSED_unknown_site);
}

Test(sites, classes_that_say_device)
{
    static const struct {
        const char *module, *name, *type;
        enum rs_reason reason;
    } classes[] = {
        {"torch.cuda", "device", "cuda", RS_OK},
        {"torch.cuda", "SomeDevice", "cuda", RS_REFUSED_unknown_site},
        {"my.module", "device_like", "cuda", RS_REFUSED_unknown_site},
        {"torch", "device", "npu", RS_REFUSED_unknown_site},
        {"torch", "device", "xpu", RS_OK},
        {"torch", "device", "cpu", RS_OK},
        {"torch", "device", "meta", RS_OK},
        {"torch", "Size", "cuda", RS_OK},
    };
    for (unsigned i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        struct pickle p;
        begin_object(&p, FX_DETAILS);
        put_str(&p, "x");
        put_global(&p, classes[i].module, classes[i].name);
        put_str(&p, classes[i].type);
        OPS(&p, "K\0\x86R");
        end_object(&p);
        expect_refused(&p, RS_KIND_fx_details, classes[i].reason);
    }
}

Test(sites, integers_no_pickler_writes)
{
    static const struct {
        const char *ops;
        size_t size;
    } forms[] = {{"M\3\0", 3}, {"J\3\0\0\0", 5}, {"\x8a\1\3", 3},         {"I3\n", 3},
                 {"K\x80", 2}, {"K\xff", 2},     {"J\xff\xff\xff\xff", 5}};
    for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct pickle p;
        begin_object(&p, FX_DETAILS);
        put_str(&p, "default_cuda_device_index");
        put(&p, forms[i].ops, forms[i].size);
        end_object(&p);
        expect_refused(&p, RS_KIND_fx_details, RS_REFUSED_unknown_site);
    }
}

Test(sites, two_ordinals)
{
    struct pickle p;
    begin_object(&p, FX_DETAILS);
    put_str(&p, "a");
    put_device(&p, "cuda", 0);
    put_str(&p, "b");
    put_device(&p, "cuda", 1);
    end_object(&p);
    struct rs_report report = scan_as(&p, RS_KIND_fx_details);
    cr_assert_eq(report.reason, RS_REFUSED_several_ordinals);
    cr_assert_eq(rs_report_ordinal(&report), -2);
    cr_assert_eq(report.ordinals[0], 3);
    struct pickle out;
    cr_assert_eq(rewrite_as(&p, RS_KIND_fx_details, 0, &out), RS_REFUSED_several_ordinals);
    cr_assert_eq(out.size, 0);
}

/* Opaque values carry a number of their own by the name `ordinal`. */
Test(sites, hashable_opaque_value)
{
    struct pickle p;
    begin_object(&p, FX_DETAILS);
    put_str(&p, "x");
    put_global(&p, "torch._inductor.codecache", "HashableOpaqueValue");
    OPS(&p, ")\x81}");
    put_str(&p, "ordinal");
    put_int(&p, 1);
    OPS(&p, "sb");
    put_str(&p, "d");
    put_device(&p, "cuda", 6);
    end_object(&p);
    expect(&p, RS_KIND_fx_details, 1, 6);
}
