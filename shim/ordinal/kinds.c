/* SPDX-License-Identifier: Apache-2.0
 *
 * What kind of artifact a file or a buffer is, by its first bytes.
 */
#include "ordinal/engine.h"

/* True when the SIZE bytes at DATA hold TEXT at OFFSET. */
#define HOLDS(data, size, offset, text)                                                            \
    ((size) >= (offset) + sizeof(text) - 1 &&                                                      \
     memcmp((data) + (offset), text, sizeof(text) - 1) == 0)

#define FX_MODULE "\x8c\x19torch._inductor.codecache"
#define FX_CLASS                                                                                   \
    "\x8c\x12"                                                                                     \
    "FxGraphHashDetails"
#define AOT_MODULE "\x8c\x2dtorch._functorch._aot_autograd.autograd_cache"
#define AOT_CLASS                                                                                  \
    "\x8c\x17"                                                                                     \
    "AOTAutogradCacheDetails"

enum { AFTER_FRAME = 11, MEMOIZE = 0x94, VERSION_MAX = 40 };

/* MODULE and CLASS behind the frame header, each followed by a memo opcode or by none (torch 2.4
 * alone pickles details with memo). */
#define BUILDS(data, size, module, class)                                                          \
    (HOLDS(data, size, AFTER_FRAME, module class "\x93") ||                                        \
     HOLDS(data, size, AFTER_FRAME, module "\x94" class "\x94\x93"))

static bool is_hex(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static size_t digits(const uint8_t *text, size_t size)
{
    size_t count = 0;
    while (count < size && text[count] >= '0' && text[count] <= '9') {
        count++;
    }
    return count;
}

size_t rs_triton_version(const uint8_t *text, size_t size)
{
    size_t room = size < VERSION_MAX + RS_HEX + 1 ? size : VERSION_MAX + RS_HEX + 1;
    const uint8_t *dash = room > RS_HEX + 5 ? memchr(text + RS_HEX, '-', room - RS_HEX) : NULL;
    if (!dash) {
        return 0;
    }
    size_t version = (size_t)(dash - text) - RS_HEX;
    for (unsigned i = 0; i < RS_HEX; i++) {
        if (!is_hex(text[version + i])) {
            return 0;
        }
    }
    size_t at = 0;
    for (unsigned part = 0; part < 3; part++) {
        size_t count = digits(text + at, version - at);
        at += count;
        if (!count || (part < 2 && (at >= version || text[at++] != '.'))) {
            return 0;
        }
    }
    for (; at < version; at++) { /* a suffix: "+git1234", "rc1", ".post1" */
        if (!rs_text_is_word(text[at]) && text[at] != '+' && text[at] != '.') {
            return 0;
        }
    }
    return version;
}

enum rs_kind rs_hashed_kind(const uint8_t *data, size_t size)
{
    if (size < RS_HEX + 6) {
        return RS_KIND_other;
    }
    if (data[0] == 0x80 && (data[1] == 4 || data[1] == 5) && data[2] == 0x95) {
        if (BUILDS(data, size, FX_MODULE, FX_CLASS)) {
            return RS_KIND_fx_details;
        }
        return BUILDS(data, size, AOT_MODULE, AOT_CLASS) ? RS_KIND_aot_details : RS_KIND_other;
    }
    if (data[0] >= '0' && data[0] <= '9' && rs_triton_version(data, size)) {
        return RS_KIND_triton_key;
    }
    return RS_KIND_other;
}

/* Reads a short or long string opcode and the memo opcode that may follow it. */
static bool first_string(struct rs_bytes bytes, size_t *at, struct rs_bytes *text)
{
    size_t head = *at < bytes.size && bytes.data[*at] == 0x8c ? 2 : 5;
    if (bytes.size - *at < head || (head == 5 && bytes.data[*at] != 'X')) {
        return false;
    }
    const uint8_t *size = bytes.data + *at + 1;
    *text = (struct rs_bytes){bytes.data + *at + head, size[0]};
    if (head == 5) {
        text->size |= (size_t)size[1] << 8 | (size_t)size[2] << 16 | (size_t)size[3] << 24;
    }
    *at += head;
    if (bytes.size - *at < text->size) {
        return false;
    }
    *at += text->size;
    if (*at < bytes.size) {
        uint8_t next = bytes.data[*at];
        *at += next == MEMOIZE ? 1 : next == 'q' ? 2 : next == 'r' ? 5 : 0;
    }
    return *at <= bytes.size;
}

bool rs_pickle_begins(struct rs_bytes bytes)
{
    return bytes.size >= 2 && bytes.data[0] == 0x80 && bytes.data[1] >= 2 && bytes.data[1] <= 5;
}

bool rs_first_global(struct rs_bytes bytes, struct rs_bytes *module, struct rs_bytes *name)
{
    if (bytes.size < 4 || !rs_pickle_begins(bytes)) {
        return false;
    }
    size_t at = bytes.data[2] == 0x95 ? AFTER_FRAME : 2;
    if (at >= bytes.size) {
        return false;
    }
    if (bytes.data[at] != 'c') {
        return first_string(bytes, &at, module) && first_string(bytes, &at, name) &&
               at < bytes.size && bytes.data[at] == 0x93;
    }
    const uint8_t *begin = bytes.data + at + 1;
    const uint8_t *first = memchr(begin, '\n', bytes.size - at - 1);
    size_t left = first ? bytes.size - (size_t)(first + 1 - bytes.data) : 0;
    const uint8_t *second = left ? memchr(first + 1, '\n', left) : NULL;
    if (!second) {
        return false;
    }
    *module = (struct rs_bytes){begin, (size_t)(first - begin)};
    *name = (struct rs_bytes){first + 1, (size_t)(second - first - 1)};
    return true;
}

static bool is_text(struct rs_bytes bytes, const char *text)
{
    return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

static enum rs_kind pickle_kind(struct rs_bytes bytes)
{
    struct rs_bytes module, name;
    if (!rs_first_global(bytes, &module, &name)) {
        return RS_KIND_other;
    }
    static const char aot[] = "torch._functorch._aot_autograd.";
    if (HOLDS(module.data, module.size, 0, aot)) {
        if (is_text(name, "AOTAutogradCacheDetails")) {
            return RS_KIND_aot_details;
        }
        return memmem(name.data, name.size, "AOTAutograd", 11) ? RS_KIND_aot_entry : RS_KIND_other;
    }
    if (!HOLDS(module.data, module.size, 0, "torch._inductor.")) {
        return RS_KIND_other;
    }
    return is_text(name, "FxGraphHashDetails") ? RS_KIND_fx_details
           : is_text(name, "CompiledFxGraph")  ? RS_KIND_fx_entry
                                               : RS_KIND_other;
}

static uint32_t word32(struct rs_bytes bytes)
{
    return bytes.data[0] | (uint32_t)bytes.data[1] << 8 | (uint32_t)bytes.data[2] << 16 |
           (uint32_t)bytes.data[3] << 24;
}

/* Triton's PTX begins with comments. */
static bool is_ptx(struct rs_bytes bytes)
{
    size_t at = 0;
    while (at < bytes.size && at < 4096) {
        const uint8_t *newline = memchr(bytes.data + at, '\n', bytes.size - at);
        if (HOLDS(bytes.data, bytes.size, at, ".version ")) {
            return true;
        }
        bool comment = HOLDS(bytes.data, bytes.size, at, "//");
        if (!newline || (!comment && bytes.data[at] != '\n')) {
            return false;
        }
        at = (size_t)(newline + 1 - bytes.data);
    }
    return false;
}

static enum rs_kind text_kind(struct rs_bytes bytes)
{
    if (bytes.data[0] == '{') {
        size_t head = bytes.size < 1024 ? bytes.size : 1024;
        return HOLDS(bytes.data, bytes.size, 1, "\"child_paths\"") ? RS_KIND_triton_group
               : memmem(bytes.data, head, "\"configs_hash\"", 14)  ? RS_KIND_best_config
                                                                   : RS_KIND_other;
    }
    if (is_ptx(bytes)) {
        return RS_KIND_ptx;
    }
    while (bytes.size && bytes.data[0] == '\n') {
        bytes.data++;
        bytes.size--;
    }
    return HOLDS(bytes.data, bytes.size, 0, "# AOT ID: ['") ||
                   HOLDS(bytes.data, bytes.size, 0, "import triton\nimport triton.language as tl\n")
               ? RS_KIND_python
               : RS_KIND_other;
}

enum rs_kind rs_kind_of(struct rs_bytes bytes)
{
    enum { ELF_MACHINE = 18, EM_CUDA = 190 };
    if (bytes.size < 4) {
        return RS_KIND_other;
    }
    switch (word32(bytes)) {
    case 0x464c457f: /* ELF */
        return bytes.size > ELF_MACHINE + 1 && bytes.data[ELF_MACHINE] == EM_CUDA &&
                       bytes.data[ELF_MACHINE + 1] == 0
                   ? RS_KIND_cubin
                   : RS_KIND_other;
    case 0xba55ed50: /* fat binary */
    case 0x466243b1: /* its wrapper */
        return RS_KIND_fatbin;
    default:
        break;
    }
    if (bytes.data[0] == 0x80) {
        return pickle_kind(bytes);
    }
    enum rs_kind hashed = rs_hashed_kind(bytes.data, bytes.size);
    return hashed != RS_KIND_other ? hashed : text_kind(bytes);
}
