/* SPDX-License-Identifier: Apache-2.0
 *
 * Ordinals in text: every form, and what only looks like one.
 */
#include "unit/test_ordinal_pickle.h"

#include "ordinal/text.h"

struct example {
    const char *text; /* every `3` of a site is an ordinal */
    int sites;        /* -1: refused as an unknown site */
};

static const struct example examples[] = {
    /* devices as they are printed */
    {"device='cuda:3'", 1},
    {"torch.device(\"cuda:3\")", 1},
    {"FixedLayout('cuda:3', torch.float32)", 1},
    {"%arg0 : Tensor \"f32[4][1]cuda:3\" = PlaceHolder", 1},
    {"%sum : Tensor \"f32[][]cuda:3\"[num_users=1]", 1},
    {"kwargs = {dtype: torch.int64, device: cuda:3, pin_memory: False}", 1},
    {"xpu:3", 1},
    {"hip:3", 1},
    {"cuda:3", 1},
    {"device(type='cuda', index=3)", 1},
    {"torch.device(type='cuda', index=3)", 1},
    {"device(type=\"cuda\", index=3)", 1},
    {"device(type=\\'cuda\\', index=3)", 1},
    {"'device': DeviceProperties(type='cuda', index=3, multi_processor_count=132, cc=90)", 1},
    {"device(type='xpu', index=3)", 1},
    {"device(type='cpu', index=3)", 0},
    {"device(type='npu', index=3)", -1},
    {"device('cuda', 3)", 1},
    {"'device': 3, 'constants': {}", 1},
    /* calls */
    {"with torch.cuda._DeviceGuard(3):", 1},
    {"torch.cuda.set_device(3)", 1},
    {"raw_stream3 = get_raw_stream(3)", 2},
    {"torch.cuda.default_generators[3].graphsafe_get_state()", 1},
    {"with torch.cuda.use_mem_pool(get_external_object_by_index(7), device=3):", 1},
    {"fx_kwargs[boxed_forward_device_index]: BoxedDeviceIndex(value=3)", 1},
    {"default_cuda_device_index: 3", 1},
    {"torch.cuda.synchronize(3)", -1},
    {"torch.cuda.manual_seed(3)", 0},
    {"AOTICudaGuard device_guard(3);", -1},
    {"aoti_torch_get_current_cuda_stream(3, &s)", -1},
    {"f(x, cached_torch_device_type_cuda, 3)", -1},
    {"g(current_device_index=3)", -1},
    /* the cache directory of a graph that can be run */
    {"os.environ['TRITON_CACHE_DIR'] = '/tmp/c/triton/3'", 1},
    {"x = 1\nos.environ['TRITON_CACHE_DIR'] = '/tmp/c/triton/3'\n", 1},
    {"os.environ['OTHER_DIR'] = '/tmp/c/triton/3'", 0},
    {"# see os.environ['TRITON_CACHE_DIR'] = '/tmp/c/triton/3'", 0},
    {"/tmp/c/triton/3/ABC", 0},
    /* names */
    {"weight_cuda3", 1},
    {"semaphores_cuda_3", 1},
    {"buffers_cuda_3", 0},
    {"weight_cuda3d", 0},
    {"_cuda3", 0},
    {"cuda3", 0},
    /* decoys */
    {"GPUTarget cuda:90:32", 0},
    {"cuda:3:32", 0},
    {"mycuda:3", 0},
    {"cuda:x3", 0},
    {"torch.ops.aten.select.int(x, 0, index=3)", 0},
    {"mystream3", 0},
    {"triton_poi_fused_add_3", 0},
    {"primals_3, (3, 3), [3], 'num_warps': 3, num_stages=3", 0},
    {"_coor_device_idx = torch.cuda.current_device()", 0},
    {"device(type='cuda', index=None)", 0},
    {"device(type='cuda')", 0},
    {"scale_device=3", 0},
    {"3", 0},
    {"", 0},
    /* numbers that are no ordinal that can be written back */
    {"cuda:128", -1},
    {"cuda:03", -1},
    {"cuda:1000", -1},
};

static int sites_in(const char *text, rs_text_sites *sites, struct rs_arena *arena)
{
    uint32_t where = 0;
    uint32_t size = (uint32_t)strlen(text);
    uint8_t *exact = malloc(size + 1); /* so that a sanitizer sees a read past the end */
    memcpy(exact + 1, text, size);
    enum rs_reason reason = rs_text_scan(arena, exact, 1, 1, size + 1, sites, &where);
    free(exact);
    cr_assert(reason == RS_OK || reason == RS_REFUSED_unknown_site);
    cr_assert_leq(where, size + 1);
    return reason == RS_OK ? (int)sites->count : -1;
}

Test(text, forms)
{
    for (unsigned i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        struct rs_arena arena;
        rs_text_sites sites = {.items = NULL};
        rs_arena_init(&arena, PICKLE_ARENA);
        int found = sites_in(examples[i].text, &sites, &arena);
        cr_expect_eq(found, examples[i].sites, "%s: %d", examples[i].text, found);
        for (uint32_t s = 0; found > 0 && s < sites.count; s++) {
            cr_expect_eq(sites.items[s].ordinal, 3, "%s", examples[i].text);
            cr_expect_eq(examples[i].text[sites.items[s].at - 1], '3');
        }
        rs_arena_free(&arena);
    }
}

/* The same forms behind and before other text, at every alignment. */
Test(text, forms_anywhere)
{
    for (unsigned i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        if (strncmp(examples[i].text, "os.env", 6) == 0) {
            continue; /* counts at the start of a line only */
        }
        for (unsigned shift = 0; shift < 18; shift++) {
            char text[256];
            struct rs_arena arena;
            rs_text_sites sites = {.items = NULL};
            rs_arena_init(&arena, PICKLE_ARENA);
            snprintf(text, sizeof(text), "%.*s %s ; y", (int)shift, "(((((((((((((((((((",
                     examples[i].text);
            int found = sites_in(text, &sites, &arena);
            cr_expect_eq(found, examples[i].sites, "%s: %d", text, found);
            rs_arena_free(&arena);
        }
    }
}

Test(text, streams_by_version)
{
    static const struct example texts[] = {
        {"stream3 = get_raw_stream(3)\nk.run(x, stream=stream3)\nf(stream3)", 4},
        {"raw_stream3 = get_raw_stream(3)\nk.run(x, stream=raw_stream3)\nwait(stream3)", 3},
        {"raw_stream3 = get_raw_stream(3)\nstream7 = torch.cuda.Stream()\nwait(stream7)", 2},
        {"wait(stream3)", 0},
        {"raw_stream = get_raw_stream(_coor_device_idx)\nk.run(x, stream=raw_stream)\nstream5", 0},
    };
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct rs_arena arena;
        rs_text_sites sites = {.items = NULL};
        rs_arena_init(&arena, PICKLE_ARENA);
        cr_expect_eq(sites_in(texts[i].text, &sites, &arena), texts[i].sites, "%s", texts[i].text);
        rs_arena_free(&arena);
    }
}

Test(text, all_ordinals_there_and_back)
{
    static const char format[] =
        "with torch.cuda._DeviceGuard(%d):\n    stream%d = get_raw_stream(%d)\n"
        "    x = f(device='cuda:%d', index=3); k.run(stream=stream%d)\n";
    static struct pickle from, to, back, expected;
    for (int a = 0; a <= RS_ORDINAL_MAX; a++) {
        from.size = (size_t)sprintf((char *)from.data, format, a, a, a, a, a);
        for (int b = 0; b <= RS_ORDINAL_MAX; b += 1 + (a % 7)) {
            expected.size = (size_t)sprintf((char *)expected.data, format, b, b, b, b, b);
            cr_assert_eq(rewrite_as(&from, RS_KIND_python, b, &to), RS_OK);
            cr_assert(same_pickle(&to, &expected), "%d to %d", a, b);
            cr_assert_eq(rewrite_as(&to, RS_KIND_python, a, &back), RS_OK);
            cr_assert(same_pickle(&from, &back), "%d to %d and back", a, b);
        }
    }
    cr_assert_eq(rewrite_as(&from, RS_KIND_python, RS_ORDINAL_MAX + 1, &to), RS_REFUSED_limit);
    cr_assert_eq(rewrite_as(&from, RS_KIND_python, -1, &to), RS_REFUSED_limit);
}

Test(text, collectives)
{
    static const struct {
        const char *text;
        unsigned comms;
    } texts[] = {
        {"torch.ops._c10d_functional.all_reduce.default(x)", RS_COMMS_COLLECTIVES},
        {"torch.ops.c10d.allreduce_(x)", RS_COMMS_COLLECTIVES},
        {"torch.ops._dtensor.shard_dim_alltoall.default(x)", RS_COMMS_COLLECTIVES},
        {"torch.ops.symm_mem.one_shot_all_reduce(x)", RS_COMMS_COLLECTIVES | RS_COMMS_SYMM_MEM},
        {"buf = empty_strided_p2p((4,), (1,))", RS_COMMS_COLLECTIVES | RS_COMMS_SYMM_MEM},
        {"empty_strided_p2p = torch._C._distributed_c10d._SymmetricMemory.empty_strided_p2p\n", 0},
        {"torch.ops.aten.mm(x)", 0},
        {"", 0},
    };
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct rs_bytes text = {(const uint8_t *)texts[i].text, strlen(texts[i].text)};
        cr_expect_eq(rs_text_comms(text, true), texts[i].comms, "%s", texts[i].text);
    }
}

/* Long words, lines and runs of digits must not be looked at again for each digit in them. */
Test(text, hostile_text_is_linear, .timeout = 20)
{
    static struct pickle p;
    static const char *const units[] = {"m1", "/triton/1'", "_cuda1", "cuda:1\\",
                                        "1",  "a_cuda_1",   "''' '"};
    for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        p.size = 0;
        while (p.size + 16 < sizeof(p.data)) {
            put(&p, units[i], strlen(units[i]));
        }
        scan_as(&p, RS_KIND_python);
    }
}
