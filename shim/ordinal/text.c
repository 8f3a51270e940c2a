/* SPDX-License-Identifier: Apache-2.0 */
#include "ordinal/text.h"
#include "ordinal/digits.h"
#include "ordinal/search.h"

enum verdict { NO, SITE, REFUSE, DECOY };

struct scan {
    const uint8_t *data;
    uint32_t begin;
    uint32_t end;
    bool raw_streams;  /* `raw_streamN` occurs: torch 2.12 or later */
    bool bare_streams; /* `streamN = get_raw_stream(` occurs: torch 2.11 or earlier */
};

enum { WORD_LENGTH_MAX = 512, PATH_LENGTH_MAX = 8192 };

enum { WORD = 1, DIGIT = 2 };

/* What may stand in a Python name. */
static const uint8_t classes[256] = {
    ['0' ... '9'] = WORD | DIGIT,
    ['A' ... 'Z'] = WORD,
    ['a' ... 'z'] = WORD,
    ['_'] = WORD,
};

bool rs_text_is_word(uint8_t c)
{
    return classes[c] & WORD;
}

/* True when the text before AT ends with LITERAL. */
static bool ends_with(const struct scan *scan, uint32_t at, const char *literal, uint32_t size)
{
    return at - scan->begin >= size && memcmp(scan->data + at - size, literal, size) == 0;
}

#define ENDS_WITH(scan, at, literal) ends_with(scan, at, literal, sizeof(literal) - 1)

/* True when no word runs into AT from the left. */
static bool word_begins(const struct scan *scan, uint32_t at)
{
    return at == scan->begin || !rs_text_is_word(scan->data[at - 1]);
}

/* Where the word before AT begins. Names are never longer than WORD_LENGTH_MAX; what is belongs to
 * no known form, however much of it is looked at. */
static uint32_t word_start(const struct scan *scan, uint32_t at)
{
    uint32_t floor = at - scan->begin > WORD_LENGTH_MAX ? at - WORD_LENGTH_MAX : scan->begin;
    while (at > floor && rs_text_is_word(scan->data[at - 1])) {
        at--;
    }
    return at;
}

static enum verdict listed_form(const struct scan *scan, uint32_t at, uint8_t before)
{
#define RS_FORM(literal, verdict)                                                                  \
    if (before == literal[sizeof(literal) - 2] && ENDS_WITH(scan, at, literal) &&                  \
        word_begins(scan, at + 1 - (uint32_t)sizeof(literal))) {                                   \
        return verdict;                                                                            \
    }
#include "ordinal/text_forms.def"
#undef RS_FORM
    return NO;
}

/* `torch.cuda.something(N`: most of these take a device. */
static enum verdict cuda_call(const struct scan *scan, uint32_t at)
{
    uint32_t name = word_start(scan, at - 1);
    bool cuda = name < at - 1 &&
                (ENDS_WITH(scan, name, "torch.cuda.") || ENDS_WITH(scan, name, "torch.xpu."));
    return cuda ? REFUSE : NO;
}

static bool quote_before(const struct scan *scan, uint32_t *at)
{
    if (*at == scan->begin || (scan->data[*at - 1] != '\'' && scan->data[*at - 1] != '"')) {
        return false;
    }
    --*at;
    if (*at > scan->begin && scan->data[*at - 1] == '\\') { /* inside another literal */
        --*at;
    }
    return true;
}

/* `(type='cuda', index=N`, as torch.device and DeviceProperties print themselves. */
static enum verdict typed_index(const struct scan *scan, uint32_t at)
{
    static const char label[] = ", index=";
    if (!ENDS_WITH(scan, at, ", index=")) {
        return ENDS_WITH(scan, at, "device_index=") ? REFUSE : NO;
    }
    uint32_t end = at + 1 - (uint32_t)sizeof(label);
    if (!quote_before(scan, &end)) {
        return NO;
    }
    uint32_t type = word_start(scan, end);
    uint32_t open = type;
    if (!quote_before(scan, &open) || !ENDS_WITH(scan, open, "(type=")) {
        return NO;
    }
    const char *name = (const char *)scan->data + type;
    switch (end - type) {
    case 3:
        return memcmp(name, "cpu", 3) == 0                                  ? DECOY
               : memcmp(name, "xpu", 3) == 0 || memcmp(name, "hip", 3) == 0 ? SITE
                                                                            : REFUSE;
    case 4:
        return memcmp(name, "meta", 4) == 0 ? DECOY : memcmp(name, "cuda", 4) == 0 ? SITE : REFUSE;
    default:
        return REFUSE;
    }
}

/* `os.environ['TRITON_CACHE_DIR'] = '<root>/triton/N'` in the text of a graph that can be run. */
static enum verdict triton_path(const struct scan *scan, uint32_t at, uint32_t behind)
{
    static const char line[] = "os.environ['TRITON_CACHE_DIR'] = ";
    if (!ENDS_WITH(scan, at, "/triton/") || behind == scan->end ||
        !strchr("'\"/", scan->data[behind])) {
        return NO;
    }
    uint32_t back = at - scan->begin < PATH_LENGTH_MAX ? at - scan->begin : PATH_LENGTH_MAX;
    const uint8_t *newline = memrchr(scan->data + at - back, '\n', back);
    const uint8_t *start = newline ? newline + 1 : scan->data + at - back;
    size_t room = (size_t)(scan->data + at - start);
    return room > sizeof(line) && memcmp(start, line, sizeof(line) - 1) == 0 ? SITE : NO;
}

/* `streamN`, `raw_streamN`, `<name>_cudaN`, `semaphores_cuda_N`. */
static enum verdict worded(struct scan *scan, uint32_t at, uint32_t behind, uint8_t before,
                           struct rs_text_site *site)
{
    uint32_t start = word_start(scan, at);
    uint32_t size = at - start;
    if (before == 'm') {
        if (size == 10 && ENDS_WITH(scan, at, "raw_stream")) {
            scan->raw_streams = true;
            return SITE;
        }
        if (size != 6 || !ENDS_WITH(scan, at, "stream")) {
            return NO;
        }
        static const char assigned[] = " = get_raw_stream(";
        site->bare_stream = true;
        scan->bare_streams |= scan->end - behind >= sizeof(assigned) &&
                              memcmp(scan->data + behind, assigned, sizeof(assigned) - 1) == 0;
        return SITE;
    }
    site->name_at = start;
    if (before == '_') {
        return size == 16 && ENDS_WITH(scan, at, "semaphores_cuda_") ? SITE : NO;
    }
    return size > 5 && (ENDS_WITH(scan, at, "_cuda") || ENDS_WITH(scan, at, "_xpu")) ? SITE : NO;
}

static enum verdict judge(struct scan *scan, uint32_t at, uint32_t behind,
                          struct rs_text_site *site)
{
    const uint8_t *data = scan->data;
    uint8_t before = data[at - 1];
    uint8_t second = at - scan->begin >= 2 ? data[at - 2] : 0;
    switch (before) {
    case '_':
        return worded(scan, at, behind, before, site);
    case 'm':
    case 'a':
    case 'u':
        return rs_text_is_word(second) ? worded(scan, at, behind, before, site) : NO;
    case '/':
        return second == 'n' ? triton_path(scan, at, behind) : NO;
    case '(': {
        enum verdict verdict = listed_form(scan, at, before);
        return verdict == NO ? cuda_call(scan, at) : verdict;
    }
    default: {
        enum verdict verdict = listed_form(scan, at, before);
        return verdict == NO ? typed_index(scan, at) : verdict;
    }
    }
}

/* The number at AT, or -1 where it is no ordinal that can be written back the same way. */
static int number_at(const struct scan *scan, uint32_t at, uint32_t behind)
{
    if (behind - at > RS_DIGITS_MAX || (scan->data[at] == '0' && behind - at > 1)) {
        return -1;
    }
    int number = 0;
    for (; at < behind; at++) {
        number = number * 10 + (scan->data[at] - '0');
    }
    return number <= RS_ORDINAL_MAX ? number : -1;
}

/* What follows the digits shows that they are no ordinal: `cuda:90:32` is an architecture, and
 * `name_cuda3d` and `1.5` are longer words. */
static bool runs_on(const struct scan *scan, uint32_t behind)
{
    if (behind == scan->end) {
        return false;
    }
    uint8_t next = scan->data[behind];
    bool digit = behind + 1 < scan->end && (classes[scan->data[behind + 1]] & DIGIT);
    return rs_text_is_word(next) || ((next == ':' || next == '.') && digit);
}

static enum rs_reason candidate(struct scan *scan, uint32_t at, uint32_t behind,
                                struct rs_arena *arena, rs_text_sites *sites, uint32_t *where)
{
    struct rs_text_site site = {.at = at, .digits = (uint8_t)(behind - at)};
    enum verdict verdict = judge(scan, at, behind, &site);
    if (verdict == NO || verdict == DECOY || runs_on(scan, behind)) {
        return RS_OK;
    }
    int number = number_at(scan, at, behind);
    if (verdict == REFUSE || number < 0) {
        *where = at;
        return RS_REFUSED_unknown_site;
    }
    if (!RS_VEC_ROOM(arena, sites)) {
        return RS_REFUSED_limit;
    }
    site.ordinal = (uint8_t)number;
    sites->items[sites->count++] = site;
    return RS_OK;
}

/* From torch 2.12 on a bare `streamN` is a side stream of the user's, and N no device. */
static void drop_bare_streams(const struct scan *scan, rs_text_sites *sites, uint32_t first)
{
    if (scan->bare_streams && !scan->raw_streams) {
        return;
    }
    uint32_t kept = first;
    for (uint32_t i = first; i < sites->count; i++) {
        if (!sites->items[i].bare_stream) {
            sites->items[kept++] = sites->items[i];
        }
    }
    sites->count = kept;
}

enum rs_reason rs_text_scan(struct rs_arena *arena, const uint8_t *data, uint32_t begin,
                            uint32_t from, uint32_t end, rs_text_sites *sites, uint32_t *where)
{
    struct scan scan = {.data = data, .begin = begin, .end = end};
    uint32_t first = sites->count, at;
    for (struct rs_digits walk = rs_digits_walk(data, from, end); rs_digits_next(&walk, &at);) {
        uint32_t behind = at + 1;
        while (behind < end && (classes[data[behind]] & DIGIT)) {
            behind++;
        }
        if (at - begin >= RS_TEXT_MIN - 1) {
            enum rs_reason reason = candidate(&scan, at, behind, arena, sites, where);
            if (reason != RS_OK) {
                return reason;
            }
        }
    }
    drop_bare_streams(&scan, sites, first);
    return RS_OK;
}

/* `_c10d_functional`, `c10d.`; but every wrapper binds `_distributed_c10d._SymmetricMemory`. */
static bool calls_c10d(struct rs_bytes text)
{
    static const char bound[] = "_distributed_c10d._SymmetricMemory";
    enum { BEFORE_C10D = 13 };
    const uint8_t *end = text.data + text.size, *at;
    for (struct rs_bytes rest = text; (at = RS_SEARCH(rest, "c10d")) != NULL;) {
        size_t before = (size_t)(at - text.data), behind = (size_t)(end - at);
        bool only_bound = before >= BEFORE_C10D && behind >= sizeof(bound) - 1 - BEFORE_C10D &&
                          memcmp(at - BEFORE_C10D, bound, sizeof(bound) - 1) == 0;
        if (!only_bound) {
            return true;
        }
        rest = (struct rs_bytes){at + 1, behind - 1};
    }
    return false;
}

unsigned rs_text_comms(struct rs_bytes text, bool wrapper)
{
    unsigned found = 0;
    if (calls_c10d(text) || RS_SEARCH(text, "ops._dtensor.")) {
        found = RS_COMMS_COLLECTIVES;
    }
    /* The binding is an assignment; a call has its parenthesis. */
    if (RS_SEARCH(text, "symm_mem") || (wrapper && RS_SEARCH(text, "empty_strided_p2p("))) {
        found |= RS_COMMS_COLLECTIVES | RS_COMMS_SYMM_MEM;
    }
    return found;
}
