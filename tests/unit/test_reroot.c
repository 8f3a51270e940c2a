/* SPDX-License-Identifier: Apache-2.0
 *
 * Entries that move to another cache directory.
 */
#include "unit/test_ordinal_pickle.h"

#include "ordinal/sha256.h"
#include "route/key.h"

#define NAME   "cts3mzfqjih7e4birysy4yqea5ofcnlc4rwc46z6iles6fabycrp"
#define DIGITS "2ba5abadaef008631236630bddc7a24dd2da86f0e59f24c894f14045dd68a775"

static const char *const roots_of[] = {"/tmp/a", "/tmp/another/and/longer/directory"};

#define SOURCE "# kernel path: /tmp/a/ts/" NAME ".py\nimport torch\n  # /tmp/a is a directory"

/* An entry on cuda:3 that a process with ROOT writes; ODD is a further string, or NULL. */
static void make_entry(struct pickle *p, const char *root, const char *odd)
{
    char text[4096], padding[301];
    memset(padding, 'p', 300);
    padding[300] = '\0';
    struct rs_sha256 sha;
    uint8_t digest[RS_DIGEST_SIZE];
    char wrapper[RS_NAME + 1] = "c";
    rs_sha256_init(&sha);
    rs_sha256_add(&sha, SOURCE, sizeof(SOURCE) - 1);
    rs_sha256_end(&sha, digest);
    rs_key_name51(digest, wrapper + 1);
    begin_object(p, FX_ENTRY);
    put_str(p, "cache_key");
    put_str(p, wrapper);
    put_str(p, "source_code");
    put_str(p, SOURCE);
    put_str(p, "runnable_graph_str");
    put_str(p, "\nos.environ['TORCHINDUCTOR_CACHE_DIR'] = '/tmp/a'\n");
    put_str(p, "filename");
    snprintf(text, sizeof(text), "%s/ts/" NAME ".py", root);
    put_str(p, text);
    put_str(p, "key");
    snprintf(text, sizeof(text), "%s/ts/" DIGITS ".best_config", root);
    put_str(p, text);
    put_str(p, "near_the_length_of_a_byte");
    snprintf(text, sizeof(text), "%s/%.240s", root, padding);
    put_str(p, text);
    put_str(p, "user");
    put_str(p, "/tmp/a.py");
    put_str(p, "other");
    put_str(p, "/tmp/alpha/x");
    put_str(p, "payload");
    put_bytes(p, "#loc = loc(\"/tmp/a/ts/x.py\")", 28);
    if (odd) {
        put_str(p, "odd");
        put_str(p, odd);
    }
    put_str(p, "device_idxs");
    OPS(p, "\x8f(");
    put_int(p, 3);
    OPS(p, "\x90");
    end_object(p);
}

static enum rs_reason move(const struct pickle *from, unsigned a, unsigned b, struct pickle *to)
{
    struct rs_arena arena;
    struct rs_pieces pieces;
    struct rs_report report;
    struct rs_roots roots = {roots_of[a], roots_of[b], strlen(roots_of[a]), strlen(roots_of[b])};
    rs_arena_init(&arena, PICKLE_ARENA);
    enum rs_reason reason = rs_ordinal_reroot(&arena, (struct rs_bytes){from->data, from->size},
                                              RS_KIND_fx_entry, &roots, &pieces, &report);
    cr_assert_eq(report.reason, reason);
    struct rs_bytes flat = rs_pieces_flatten(&arena, &pieces);
    to->size = 0;
    if (reason == RS_OK) {
        put(to, flat.data, flat.size);
    }
    rs_arena_free(&arena);
    return reason;
}

Test(reroot, paths_follow_and_comments_stay)
{
    static struct pickle from, to, expected;
    make_entry(&from, roots_of[0], NULL);
    make_entry(&expected, roots_of[1], NULL);
    cr_assert_eq(move(&from, 0, 1, &to), RS_OK);
    cr_assert(same_pickle(&to, &expected));
    cr_assert_eq(move(&from, 0, 0, &to), RS_OK);
    cr_assert(same_pickle(&to, &from));
}

Test(reroot, what_is_not_understood_is_refused)
{
    static const char *const bad[] = {
        "--cache=/tmp/a/x",             /* in the middle of a line */
        "/tmp/a",                       /* the directory itself */
        "/tmp/a:/usr",                  /* a list */
        "/tmp/a/x:/tmp/a/y",            /* twice */
        "x = '/tmp/a/file'\ny = 1",     /* code */
        "y = 1\nx = 1 # '/tmp/a/file'", /* behind code: not told apart */
        "/elsewhere/ts/" NAME ".py",    /* a third directory */
        "cache/ts/" NAME ".py",         /* relative */
        "/elsewhere/ts/" DIGITS ".best_config",
        "./ts/" DIGITS ".best_config",
        "/ts/" DIGITS ".best_config",
    };
    static const char *const fine[] = {
        "/usr/lib/python3/os.py",
        "/tmp/a.b/x",
        "/tmp/ab",
        "x/tmp/a/b",
        NAME ".py",
        "/x/" NAME,
        "ts/" DIGITS ".best_config",
        "#\n# /tmp/a/x\n",
    };
    static struct pickle from, to;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        make_entry(&from, roots_of[0], bad[i]);
        cr_assert_eq(move(&from, 0, 1, &to), RS_REFUSED_other_root, "%s", bad[i]);
    }
    for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
        make_entry(&from, roots_of[0], fine[i]);
        cr_assert_eq(move(&from, 0, 1, &to), RS_OK, "%s", fine[i]);
    }
}

Test(reroot, only_entries_move)
{
    static struct pickle from;
    struct rs_arena arena;
    struct rs_pieces pieces;
    struct rs_report report;
    struct rs_roots roots = {"/a", "/b", 2, 2};
    rs_arena_init(&arena, PICKLE_ARENA);
    cr_assert_eq(rs_ordinal_reroot(&arena, (struct rs_bytes){(const uint8_t *)"/a/b", 4},
                                   RS_KIND_python, &roots, &pieces, &report),
                 RS_REFUSED_other_root);
    make_entry(&from, "/a", NULL);
    for (size_t size = 0; size < from.size; size++) {
        cr_assert_neq(rs_ordinal_reroot(&arena, (struct rs_bytes){from.data, size},
                                        RS_KIND_fx_entry, &roots, &pieces, &report),
                      RS_OK);
    }
    rs_arena_free(&arena);
}
