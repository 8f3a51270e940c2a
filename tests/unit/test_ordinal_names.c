/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that follow the text, names that hold the ordinal, pickles inside bytes, marks.
 */
#include "unit/test_ordinal_pickle.h"

#include "ordinal/engine.h"
#include "ordinal/sha256.h"
#include "route/key.h"

/* c and base32(sha256(text)), independent of names.c but for the hash itself. */
static void name_of(const char *text, char name[RS_NAME + 1])
{
    struct rs_sha256 sha;
    uint8_t digest[RS_DIGEST_SIZE];
    rs_sha256_init(&sha);
    rs_sha256_add(&sha, text, strlen(text));
    rs_sha256_end(&sha, digest);
    name[0] = 'c';
    rs_key_name51(digest, name + 1);
}

/* An entry with one kernel on ORDINAL; ESCAPED: its literal holds escapes. */
static void make_entry(struct pickle *p, int ordinal, bool escaped)
{
    char kernel[256], source[1024], name[RS_NAME + 1], path[128], wrapper[RS_NAME + 1];
    const char *line = escaped ? "x = \\'a\\\\n\\''" : "x = 1";
    const char *real = escaped ? "x = 'a\\n''" : "x = 1";
    snprintf(kernel, sizeof(kernel), "import triton\nDeviceProperties(type='cuda', index=%d)\n%s",
             ordinal, real);
    name_of(kernel, name);
    snprintf(path, sizeof(path), "/tmp/c/%.2s/%s.py", name + 1, name);
    snprintf(source, sizeof(source),
             "# kernel path: %s\nk = async_compile.triton('k', '''\nimport triton\n"
             "DeviceProperties(type='cuda', index=%d)\n%s\n''', device_str='cuda')\nset_device(%d)",
             path, ordinal, line, ordinal);
    name_of(source, wrapper);
    begin_object(p, FX_ENTRY);
    put_str(p, "cache_key");
    put_str(p, wrapper);
    put_str(p, "source_code");
    char padded[1100];
    snprintf(padded, sizeof(padded), "\n%s \n", source); /* hashed without */
    put_str(p, padded);
    put_str(p, "filename");
    put_str(p, path);
    put_str(p, "module");
    snprintf(padded, sizeof(padded), "torch._inductor.runtime.compile_tasks.%s.k", name);
    put_str(p, padded);
    put_str(p, "constant");
    put_str(p, "/tmp/zz/another.py");
    put_str(p, "device_idxs");
    OPS(p, "\x8f(");
    put_int(p, ordinal);
    OPS(p, "\x90");
    end_object(p);
}

Test(names, follow_the_text)
{
    static struct pickle from, to, expected;
    for (int escaped = 0; escaped < 2; escaped++) {
        for (int a = 0; a <= RS_ORDINAL_MAX; a += 9) {
            make_entry(&from, a, escaped);
            cr_assert_eq(scan_as(&from, RS_KIND_fx_entry).reason, RS_OK);
            for (int b = 0; b <= RS_ORDINAL_MAX; b++) {
                make_entry(&expected, b, escaped);
                cr_assert_eq(rewrite_as(&from, RS_KIND_fx_entry, b, &to), RS_OK);
                cr_assert(same_pickle(&to, &expected), "escaped %d, %d to %d", escaped, a, b);
            }
        }
    }
}

Test(names, wrapper_of_another_text)
{
    struct pickle p;
    make_entry(&p, 3, false);
    uint8_t *name = memmem(p.data, p.size, "cache_key\x8c\x34", 11);
    cr_assert_not_null(name);
    name[20] = name[20] == 'a' ? 'b' : 'a';
    cr_assert_eq(scan_as(&p, RS_KIND_fx_entry).reason, RS_REFUSED_wrapper_name);
}

/* A source that holds no ordinal keeps its name, however short it is: the device stands elsewhere.
 */
Test(names, of_a_source_without_sites)
{
    static struct pickle p, to;
    static const char *const sources[] = {
        "x = 1", "x = 1 # longer than any name is, but without a device in it at all"};
    for (unsigned i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        char wrapper[RS_NAME + 1];
        name_of(sources[i], wrapper);
        begin_object(&p, FX_ENTRY);
        put_str(&p, "cache_key");
        put_str(&p, wrapper);
        put_str(&p, "source_code");
        put_str(&p, sources[i]);
        put_str(&p, "device_idxs");
        OPS(&p, "\x8f(");
        put_int(&p, 3);
        OPS(&p, "\x90");
        end_object(&p);
        cr_assert_eq(rewrite_as(&p, RS_KIND_fx_entry, 5, &to), RS_OK);
        cr_assert_eq(to.size, p.size);
        cr_assert_not_null(memmem(to.data, to.size, wrapper, RS_NAME), "%s", sources[i]);
        cr_assert_not_null(memmem(to.data, to.size, "(K\5\x90", 4));
    }
}

static void make_constant(struct pickle *p, const char *key)
{
    char source[] = "with torch.cuda._DeviceGuard(3):\n    f(weight_cuda3)";
    char wrapper[RS_NAME + 1];
    name_of(source, wrapper);
    begin_object(p, FX_ENTRY);
    put_str(p, "cache_key");
    put_str(p, wrapper);
    put_str(p, "source_code");
    put_str(p, source);
    put_str(p, "constants");
    OPS(p, "}");
    put_str(p, key);
    OPS(p, "Ns");
    end_object(p);
}

Test(names, that_hold_the_ordinal)
{
    struct pickle p, to;
    make_constant(&p, "weight_cuda3");
    cr_assert_eq(scan_as(&p, RS_KIND_fx_entry).sites, 3);
    cr_assert_eq(rewrite_as(&p, RS_KIND_fx_entry, 11, &to), RS_OK);
    cr_assert_not_null(memmem(to.data, to.size, "f(weight_cuda11)", 16));
    cr_assert_not_null(memmem(to.data, to.size, "\x8c\x0dweight_cuda11N", 16));
    make_constant(&p, "weight");
    cr_assert_eq(scan_as(&p, RS_KIND_fx_entry).reason, RS_REFUSED_text_site);
}

Test(names, literals)
{
    static const struct {
        const char *text, *value; /* NULL: can't be followed */
    } literals[] = {
        {"plain", "plain"},
        {"a\\nb", "a\nb"},
        {"a\\\\n", "a\\n"},
        {"\\'\\\"", "'\""},
        {"\\x41\\101", "AA"},
        {"\\u00e9", "\xc3\xa9"},
        {"\\U0001f600", "\xf0\x9f\x98\x80"},
        {"\\q", "\\q"},
        {"a\\\nb", "ab"},
        {"\\N{DASH}", NULL},
        {"\\x4", NULL},
        {"\\u12", NULL},
        {"\\", NULL},
        {"\\Uffffffff", NULL},
    };
    for (unsigned i = 0; i < sizeof(literals) / sizeof(literals[0]); i++) {
        size_t size = strlen(literals[i].text);
        uint8_t *exact = malloc(size);
        memcpy(exact, literals[i].text, size);
        bool known = rs_literal_decode(exact, &size);
        cr_expect_eq(known, literals[i].value != NULL, "%s", literals[i].text);
        if (known && literals[i].value) {
            cr_expect(size == strlen(literals[i].value) &&
                          memcmp(exact, literals[i].value, size) == 0,
                      "%s", literals[i].text);
        }
        free(exact);
    }
}

static void make_nested(struct pickle *p, const struct pickle *inner, int outer_ordinal)
{
    begin_object(p, FX_DETAILS);
    put_str(p, "inner");
    put_bytes(p, inner->data, inner->size);
    put_str(p, "device");
    put_device(p, "cuda", outer_ordinal);
    end_object(p);
}

static void make_inner(struct pickle *p, int ordinal, size_t padding)
{
    char text[512];
    p->size = 0;
    OPS(p, "\x80\x04\x95\0\0\0\0\0\0\0\0](");
    put_device(p, "cuda", ordinal);
    snprintf(text, sizeof(text), "%*s cuda:%d", (int)padding, "", ordinal);
    put_str(p, text);
    OPS(p, "e.");
    fill_frame(p);
}

/* Lengths of text, frames and of the bytes object around them, across 255 and 256. */
Test(names, nested_pickles)
{
    static struct pickle inner, from, to, expected;
    for (size_t padding = 150; padding < 260; padding++) {
        make_inner(&inner, 9, padding);
        make_nested(&from, &inner, 9);
        cr_assert_eq(scan_as(&from, RS_KIND_fx_details).sites, 3);
        for (int b = 8; b < 104; b += 5) {
            make_inner(&inner, b, padding);
            make_nested(&expected, &inner, b);
            cr_assert_eq(rewrite_as(&from, RS_KIND_fx_details, b, &to), RS_OK);
            cr_assert(same_pickle(&to, &expected), "padding %zu, 9 to %d", padding, b);
        }
    }
}

Test(names, bytes_that_begin_like_a_pickle)
{
    static const struct {
        const char *bytes;
        size_t size;
        enum rs_reason reason;
    } all[] = {
#define BYTES(bytes, reason) {bytes, sizeof(bytes) - 1, reason}
        BYTES("\x80\x02}q\0.", RS_OK),
        BYTES("\x80\x04 a digest that begins so", RS_OK),
        BYTES("\x80\x02\x8a\x01\x05.\x80\x02X\4\0\0\0cuda.", RS_REFUSED_nested_pickle),
        BYTES("\x80\x04\x8c\x06"
              "device",
              RS_REFUSED_nested_pickle),
        BYTES("PK\3\4 ... cuda:0", RS_REFUSED_nested_pickle),
        BYTES("PK\3\4 ... cpu", RS_OK),
        BYTES("\x7f"
              "ELF cuda:1 payload",
              RS_OK),
        BYTES(".version 8.7 // cuda:1", RS_OK),
        BYTES("", RS_OK),
#undef BYTES
    };
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct pickle p;
        begin_object(&p, FX_DETAILS);
        put_str(&p, "blob");
        put_bytes(&p, all[i].bytes, all[i].size);
        end_object(&p);
        struct rs_report report = scan_as(&p, RS_KIND_fx_details);
        cr_expect_eq(report.reason, all[i].reason, "%u: %s", i, rs_reason_name(report.reason));
        cr_expect_eq(report.sites, 0);
    }
}

Test(names, deeper_than_followed)
{
    static struct pickle p, q;
    make_inner(&p, 1, 1);
    for (int depth = 0; depth < 7; depth++) {
        make_nested(&q, &p, 1);
        struct rs_report report = scan_as(&q, RS_KIND_fx_details);
        cr_assert_eq(report.reason, depth < RS_NESTING ? RS_OK : RS_REFUSED_nested_pickle);
        p = q;
    }
}

Test(names, private_mark)
{
    struct pickle p, to;
    char mark[RS_MARK_MAX];
    begin_object(&p, FX_DETAILS);
    put_str(&p, "device");
    put_device(&p, "cuda", 2);
    end_object(&p);
    size_t plain = p.size;
    for (int ordinal = 0; ordinal <= RS_ORDINAL_MAX; ordinal++) {
        p.size = plain;
        size_t size = rs_mark_write(ordinal, mark);
        cr_assert(size > 0 && size <= RS_MARK_MAX);
        put(&p, mark, size);
        struct rs_report report = scan_as(&p, RS_KIND_fx_details);
        cr_assert_eq(report.reason, RS_OK);
        cr_assert_eq(report.private_ordinal, ordinal);
        cr_assert_eq(rewrite_as(&p, RS_KIND_fx_details, 5, &to), RS_OK);
        cr_assert(to.size == p.size && memcmp(to.data + plain, mark, size) == 0);
        p.size--; /* a mark cut short is no mark */
        cr_assert_eq(scan_as(&p, RS_KIND_fx_details).reason, RS_REFUSED_malformed);
    }
    p.size = plain;
    put(&p, mark, rs_mark_write(1, mark));
    put(&p, mark, rs_mark_write(1, mark)); /* nor are two */
    cr_assert_eq(scan_as(&p, RS_KIND_fx_details).reason, RS_REFUSED_malformed);
    cr_assert_eq(rs_mark_write(128, mark), strlen("\nrankshare:private:128\n"));
}

Test(names, salt)
{
    char salt[RS_SALT_MAX];
    cr_assert_eq(rs_salt_write(3, salt), sizeof("rankshare:ordinal:3"));
    cr_assert_str_eq(salt, "rankshare:ordinal:3");
}
