/* SPDX-License-Identifier: Apache-2.0
 *
 * The pickle machine: what is well-formed, and that everything else is an error value.
 */
#include "unit/test_ordinal_pickle.h"

#include "ordinal/graph.h"

struct bad {
    const char *what;
    const char *bytes;
    size_t size;
    enum rs_reason reason;
};

#define BAD(what, bytes, reason)                                                                   \
    {                                                                                              \
        what, bytes, sizeof(bytes) - 1, RS_REFUSED_##reason                                        \
    }

static const struct bad bad_pickles[] = {
    BAD("nothing", "", malformed),
    BAD("no protocol", "N.", malformed),
    BAD("protocol 1", "\x80\x01N.", malformed),
    BAD("protocol 6", "\x80\x06N.", malformed),
    BAD("protocol twice", "\x80\x04\x80\x04N.", malformed),
    BAD("no STOP", "\x80\x04N", malformed),
    BAD("STOP on nothing", "\x80\x04.", malformed),
    BAD("two results", "\x80\x04NN.", malformed),
    BAD("an open mark", "\x80\x04N(.", malformed),
    BAD("bytes behind STOP", "\x80\x04N.N", malformed),
    BAD("unknown opcode", "\x80\x04\xff.", opcode),
    BAD("unknown opcode 0", "\x80\x04\0.", opcode),
    BAD("integer cut off", "\x80\x04K", malformed),
    BAD("two-byte integer cut off", "\x80\x04M\1", malformed),
    BAD("text cut off", "\x80\x04\x8c\5abc.", malformed),
    BAD("text of 4 GiB", "\x80\x04X\xff\xff\xff\xff.", malformed),
    BAD("text of 2^64", "\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", malformed),
    BAD("bytes cut off",
        "\x80\x04"
        "B\5\0\0\0abc",
        malformed),
    BAD("line without end", "\x80\x04I12.", malformed),
    BAD("global without second line",
        "\x80\x02"
        "ctorch\ndevice",
        malformed),
    BAD("frame over the end", "\x80\x04\x95\7\0\0\0\0\0\0\0N.", malformed),
    BAD("frame of 2^64", "\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", malformed),
    BAD("frame that ends in an opcode", "\x80\x04\x95\1\0\0\0\0\0\0\0K\1.", malformed),
    BAD("frame that ends in text", "\x80\x04\x95\4\0\0\0\0\0\0\0\x8c\5abcde.", malformed),
    BAD("frame in a frame", "\x80\x04\x95\x0b\0\0\0\0\0\0\0\x95\2\0\0\0\0\0\0\0N.", malformed),
    BAD("frame in protocol 3", "\x80\x03\x95\2\0\0\0\0\0\0\0N.", malformed),
    BAD("memo never put", "\x80\x04h\0.", malformed),
    BAD("memo far away", "\x80\x04Nr\xff\xff\xff\x7f.", malformed),
    BAD("MEMOIZE on nothing", "\x80\x04\x94N.", malformed),
    BAD("PUT on nothing", "\x80\x04q\0N.", malformed),
    BAD("POP on nothing",
        "\x80\x04"
        "0N.",
        malformed),
    BAD("DUP on nothing",
        "\x80\x04"
        "2.",
        malformed),
    BAD("TUPLE without mark", "\x80\x04Nt.", malformed),
    BAD("TUPLE3 on two", "\x80\x04NN\x87.", malformed),
    BAD("TUPLE1 across a mark", "\x80\x04N(\x85.", malformed),
    BAD("APPEND to nothing", "\x80\x04Na.", malformed),
    BAD("APPEND to a dictionary", "\x80\x04}Na.", malformed),
    BAD("APPEND to a number", "\x80\x04K\1Na.", malformed),
    BAD("SETITEM on a list", "\x80\x04]NNs.", malformed),
    BAD("SETITEMS with a key too many", "\x80\x04}(NNNu.", malformed),
    BAD("SETITEMS under the mark's fence", "\x80\x04(NNu.", malformed),
    BAD("DICT with a key too many", "\x80\x04(Nd.", malformed),
    BAD("STACK_GLOBAL of numbers", "\x80\x04K\1K\1\x93.", malformed),
    BAD("STACK_GLOBAL of one", "\x80\x04\x8c\1a\x93.", malformed),
    BAD("REDUCE without tuple", "\x80\x04\x8c\1a\x8c\1b\x93NR.", malformed),
    BAD("NEWOBJ_EX of two", "\x80\x04NN\x92.", malformed),
    BAD("BUILD of a number", "\x80\x04K\1}b.", malformed),
    BAD("BUILD twice", "\x80\x04\x8c\1a\x8c\1b\x93)R}b}b.", malformed),
    BAD("OBJ without class", "\x80\x04(o.", malformed),
    BAD("INST without mark", "\x80\x02itorch\ndevice\n.", malformed),
    BAD("PERSID on nothing", "\x80\x04Q.", malformed),
};

/* A pickle of exactly these bytes, so that a sanitizer sees every read past its end. */
static struct rs_report scan_exact(const void *bytes, size_t size, enum rs_kind kind)
{
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    struct rs_report report = scan_bytes((struct rs_bytes){copy, size}, kind);
    free(copy);
    return report;
}

Test(machine, malformed)
{
    for (unsigned i = 0; i < sizeof(bad_pickles) / sizeof(bad_pickles[0]); i++) {
        const struct bad *bad = &bad_pickles[i];
        struct rs_report report = scan_exact(bad->bytes, bad->size, RS_KIND_aot_entry);
        cr_expect_eq(report.reason, bad->reason, "%s: %s", bad->what,
                     rs_reason_name(report.reason));
        cr_expect_eq(report.sites, 0);
        cr_expect_leq(report.where, bad->size);
    }
}

/* Each leaves one value. */
static const struct {
    const char *what, *ops;
    size_t size;
} good_opcodes[] = {
#define GOOD(what, ops)                                                                            \
    {                                                                                              \
        what, ops, sizeof(ops) - 1                                                                 \
    }
    GOOD("constants", "(N\x88\x89t"),
    GOOD("floats", "G\0\0\0\0\0\0\0\0"
                   "F1.5\n\x86"),
    GOOD("integers", "(K\1M\1\0J\1\0\0\0\x8a\1\5\x8a\0\x8b\1\0\0\0\7I12\nI01\nL5L\nt"),
    GOOD("text", "(\x8c\1eX\1\0\0\0f\x8d\1\0\0\0\0\0\0\0gVb\nt"),
    GOOD("bytes", "(C\1hB\1\0\0\0i\x8e\1\0\0\0\0\0\0\0j\x96\1\0\0\0\0\0\0\0kt"),
    GOOD("old strings", "(S'a'\nT\1\0\0\0cU\1dt"),
    GOOD("buffers", "(\x97\x97\x98t"),
    GOOD("memo", "(Np0\ng0\nh\0j\0\0\0\0q\1r\2\0\0\0\x94h\3t"),
    GOOD("PUT over an old place", "Nq\0"
                                  "0K\1q\0h\0\x86"),
    GOOD("POP", "NN0"),
    GOOD("POP of a mark", "N(0"),
    GOOD("POP_MARK", "N(NN1"),
    GOOD("DUP", "N2\x86"),
    GOOD("lists", "](Nla(Ne"),
    GOOD("APPEND", "]Na"),
    GOOD("SETITEMS", "}(NNNNu"),
    GOOD("DICT, SETITEM", "(NNdNNs"),
    GOOD("sets", "\x8f(NN\x90(N\x91\x86"),
    GOOD("tuples", "()N\x85NN\x86NNN\x87(NNNNtt"),
    GOOD("extensions", "(\x82\1\x83\1\0\x84\1\0\0\0t"),
    GOOD("persistent ids", "(Pid\nNQt"),
    GOOD("GLOBAL", "ctorch\nSize\n"),
    GOOD("STACK_GLOBAL", "\x8c\1a\x8c\1b\x93"),
    GOOD("REDUCE", "ctorch\nSize\n)R"),
    GOOD("NEWOBJ, items, state", "ctorch\nSize\n)\x81(NNe}b"),
    GOOD("NEWOBJ, pairs", "ctorch\nSize\n)\x81NNs(NNu"),
    GOOD("NEWOBJ_EX", "ctorch\nSize\n)}\x92"),
    GOOD("OBJ", "(ctorch\nSize\nNo"),
    GOOD("INST", "(Nitorch\nSize\n"),
#undef GOOD
};

Test(machine, every_opcode)
{
    for (unsigned i = 0; i < sizeof(good_opcodes) / sizeof(good_opcodes[0]); i++) {
        struct pickle p;
        begin_object(&p, AOT_ENTRY);
        put_str(&p, "key");
        put(&p, good_opcodes[i].ops, good_opcodes[i].size);
        end_object(&p);
        struct rs_report report = scan_as(&p, RS_KIND_aot_entry);
        cr_expect_eq(report.reason, RS_OK, "%s: %s", good_opcodes[i].what,
                     rs_reason_name(report.reason));
    }
}

Test(machine, every_cut_of_a_real_shape)
{
    struct pickle p;
    begin_object(&p, FX_DETAILS);
    put_str(&p, "example_inputs");
    OPS(&p, "](");
    put_device(&p, "cuda", 3);
    put_device(&p, "cpu", 0);
    OPS(&p, "e");
    put_str(&p, "autograd_config");
    put_bytes(&p, "\x80\x02}q\0.", 6);
    end_object(&p);
    cr_assert_eq(scan_as(&p, RS_KIND_fx_details).reason, RS_OK);
    for (size_t size = 0; size < p.size; size++) {
        struct rs_report report = scan_exact(p.data, size, RS_KIND_fx_details);
        cr_assert_eq(report.reason, RS_REFUSED_malformed, "cut at %zu", size);
    }
}

Test(machine, deep_and_wide)
{
    static struct pickle p;
    begin_object(&p, FX_DETAILS);
    put_str(&p, "deep");
    for (int i = 0; i < 100000; i++) {
        OPS(&p, "]");
    }
    for (int i = 1; i < 100000; i++) {
        OPS(&p, "a");
    }
    put_str(&p, "marks");
    for (int i = 0; i < 100000; i++) {
        OPS(&p, "(");
    }
    for (int i = 0; i < 100000; i++) {
        OPS(&p, "t");
    }
    end_object(&p);
    cr_assert_eq(scan_as(&p, RS_KIND_fx_details).reason, RS_OK);
}

Test(machine, little_memory_is_a_limit)
{
    static struct pickle p;
    begin_object(&p, FX_DETAILS);
    put_str(&p, "many");
    OPS(&p, "](");
    for (int i = 0; i < 50000; i++) {
        put_int(&p, 1);
    }
    OPS(&p, "e");
    put_str(&p, "device");
    put_device(&p, "cuda", 1);
    end_object(&p);
    for (size_t limit = 0; limit < (size_t)12 << 20; limit += 256 * 1024) {
        struct rs_arena arena;
        struct rs_report report;
        struct rs_pieces pieces;
        rs_arena_init(&arena, limit);
        enum rs_reason reason = rs_ordinal_rewrite(&arena, bytes_of(&p), RS_KIND_fx_details, NULL,
                                                   11, &pieces, &report);
        cr_assert(reason == RS_OK || reason == RS_REFUSED_limit);
        cr_assert_eq(pieces.count == 0, reason != RS_OK);
        rs_arena_free(&arena);
    }
}

/* One big dictionary used as the state of many objects would make the search of fields quadratic.
 */
Test(machine, shared_state_is_bounded, .timeout = 20)
{
    static struct pickle p;
    begin_object(&p, FX_ENTRY);
    put_str(&p, "a");
    OPS(&p, "}\x94(");
    for (int i = 0; i < 30000; i++) {
        put_int(&p, i % 200);
        OPS(&p, "N");
    }
    OPS(&p, "u");
    put_str(&p, "b");
    OPS(&p, "](");
    put_global(&p, "torch.x", "BoxedDeviceIndex");
    OPS(&p, "\x94"
            "0");
    for (int i = 0; i < 60000; i++) {
        OPS(&p, "h\1)\x81h\0b");
    }
    OPS(&p, "e");
    end_object(&p);
    cr_assert_eq(scan_as(&p, RS_KIND_fx_entry).reason, RS_REFUSED_limit);
}

/* The switch in rs_word_of relies on first and last letters given by hand. */
Test(machine, words)
{
    static const struct {
        const char *text;
        char first, last;
        enum rs_word word;
    } words[] = {
#define RS_WORD(name, text, first, last) {text, first, last, RS_WORD_##name},
#include "ordinal/words.def"
#undef RS_WORD
    };
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t size = strlen(words[i].text);
        cr_expect_eq(words[i].text[0], words[i].first, "%s", words[i].text);
        cr_expect_eq(words[i].text[size - 1], words[i].last, "%s", words[i].text);
        cr_expect_eq(rs_word_of((const uint8_t *)words[i].text, size), words[i].word);
        cr_expect_eq(rs_word_of((const uint8_t *)words[i].text, size - 1), RS_WORD_none);
    }
}
