/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that follow the text. Torch names generated source by the hash of its text, so a text for
 * another ordinal has another name: the wrapper's, each kernel's, and what derives from them.
 */
#include "ordinal/engine.h"
#include "ordinal/sha256.h"
#include "route/key.h"

static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

/* Python's str.strip() of ASCII text. */
static struct rs_bytes stripped(struct rs_bytes text)
{
    while (text.size && is_space(text.data[0])) {
        text.data++;
        text.size--;
    }
    while (text.size && is_space(text.data[text.size - 1])) {
        text.size--;
    }
    return text;
}

static void code_name(struct rs_sha256 *sha, uint8_t name[RS_NAME])
{
    uint8_t digest[RS_DIGEST_SIZE];
    char text[RS_NAME51 + 1];
    rs_sha256_end(sha, digest);
    rs_key_name51(digest, text);
    name[0] = 'c';
    memcpy(name + 1, text, RS_NAME51);
}

static void file_name(struct rs_bytes text, uint8_t name[RS_NAME])
{
    struct rs_sha256 sha;
    struct rs_bytes core = stripped(text);
    rs_sha256_init(&sha);
    rs_sha256_add(&sha, core.data, core.size);
    code_name(&sha, name);
}

/* CompiledTritonKernels.key: the literal as it is, and torch_key. */
static void kernel_key(struct rs_bytes text, const uint8_t *torch_key, uint8_t name[RS_NAME])
{
    struct rs_sha256 sha;
    rs_sha256_init(&sha);
    rs_sha256_add(&sha, text.data, text.size);
    rs_sha256_add(&sha, "||", 2);
    rs_sha256_add(&sha, torch_key, RS_TORCH_KEY_SIZE);
    code_name(&sha, name);
}

static void hex_digest(struct rs_sha256 *sha, uint8_t hex[RS_HEX])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[RS_DIGEST_SIZE];
    rs_sha256_end(sha, digest);
    for (unsigned i = 0; i < RS_DIGEST_SIZE; i++) {
        hex[2 * i] = (uint8_t)digits[digest[i] >> 4];
        hex[2 * i + 1] = (uint8_t)digits[digest[i] & 15];
    }
}

void rs_config_name_keyless(const uint8_t *file, uint8_t hex[RS_HEX])
{
    struct rs_sha256 sha;
    rs_sha256_init(&sha);
    rs_sha256_add(&sha, file, RS_NAME);
    rs_sha256_add(&sha, ".py:", 4);
    hex_digest(&sha, hex);
}

/* The autotune key is two hashes deep. */
void rs_config_name(const uint8_t *file, const uint8_t torch_key[RS_TORCH_KEY_SIZE],
                    uint8_t hex[RS_HEX])
{
    struct rs_sha256 sha;
    rs_config_name_keyless(file, hex);
    rs_sha256_init(&sha);
    rs_sha256_add(&sha, hex, RS_HEX);
    rs_sha256_add(&sha, torch_key, RS_TORCH_KEY_SIZE);
    hex_digest(&sha, hex);
}

bool rs_wrapper_named(const struct rs_engine *engine)
{
    uint8_t name[RS_NAME];
    file_name(engine->source, name);
    return engine->wrapper.size == RS_NAME && memcmp(engine->wrapper.data, name, RS_NAME) == 0;
}

/* The literal's text with every ordinal in it replaced, or as it is (REPLACE false), as Python
 * would see it. Nothing where it can't be decoded. */
static bool literal_text(struct rs_engine *engine, struct rs_bytes literal, bool replace,
                         struct rs_bytes *text)
{
    const rs_text_sites *sites = &engine->texts;
    uint32_t begin = (uint32_t)(literal.data - engine->data);
    uint32_t at = begin, end = begin + (uint32_t)literal.size;
    uint32_t low = 0, high = sites->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (sites->items[middle].at < begin) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    uint32_t last = low;
    while (last < sites->count && sites->items[last].at < end) {
        last++;
    }
    uint8_t *copy =
        rs_arena_alloc(engine->arena, literal.size + (size_t)(last - low) * RS_DIGITS_MAX);
    if (!copy) {
        return false;
    }
    size_t size = 0;
    for (uint32_t i = low; i < last && replace; i++) {
        memcpy(copy + size, engine->data + at, sites->items[i].at - at);
        size += sites->items[i].at - at;
        memcpy(copy + size, engine->digits, engine->digit_count);
        size += engine->digit_count;
        at = sites->items[i].at + sites->items[i].digits;
    }
    memcpy(copy + size, engine->data + at, end - at);
    size += end - at;
    *text = (struct rs_bytes){copy, size};
    return rs_literal_decode(copy, &text->size);
}

static enum rs_reason add_kernel(struct rs_engine *engine, struct rs_bytes literal)
{
    struct rs_bytes before = literal, after;
    bool escaped = memchr(literal.data, '\\', literal.size) != NULL;
    if ((escaped && !literal_text(engine, literal, false, &before)) ||
        !literal_text(engine, literal, true, &after)) {
        return RS_OK; /* stays as it is, and is counted with its autotuner */
    }
    uint8_t *room = rs_arena_alloc(engine->arena, 4 * RS_NAME + 2 * RS_HEX);
    if (!room || !RS_VEC_ROOM(engine->arena, &engine->names)) {
        return RS_REFUSED_limit;
    }
    struct rs_name *name = &engine->names.items[engine->names.count++];
    *name = (struct rs_name){.old_file = room, .new_file = room + RS_NAME};
    file_name(before, room);
    file_name(after, room + RS_NAME);
    if (engine->torch_key) {
        name->old_key = room + 2 * RS_NAME;
        name->new_key = room + 3 * RS_NAME;
        name->old_config = room + 4 * RS_NAME;
        name->new_config = room + 4 * RS_NAME + RS_HEX;
        kernel_key(before, engine->torch_key, room + 2 * RS_NAME);
        kernel_key(after, engine->torch_key, room + 3 * RS_NAME);
        rs_config_name(room, engine->torch_key, room + 4 * RS_NAME);
        rs_config_name(room + RS_NAME, engine->torch_key, room + 4 * RS_NAME + RS_HEX);
    }
    return RS_OK;
}

static uint32_t hash_of(const uint8_t *file)
{
    uint64_t bits;
    memcpy(&bits, file + 1, sizeof(bits));
    return (uint32_t)(bits * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static enum rs_reason index_names(struct rs_engine *engine)
{
    uint32_t slots = 16;
    while (slots < 2 * engine->names.count) {
        slots *= 2;
    }
    engine->name_index = rs_arena_alloc(engine->arena, slots * sizeof(uint32_t));
    engine->name_mask = slots - 1;
    if (!engine->name_index) {
        return RS_REFUSED_limit;
    }
    memset(engine->name_index, 0, slots * sizeof(uint32_t));
    for (uint32_t i = 0; i < engine->names.count; i++) {
        uint32_t slot = hash_of(engine->names.items[i].old_file);
        while (engine->name_index[slot & engine->name_mask]) {
            slot++;
        }
        engine->name_index[slot & engine->name_mask] = i + 1;
    }
    return RS_OK;
}

/* The literal behind `async_compile.triton('name', ''' at AT; its end, or NULL where it is
 * something else. */
static const uint8_t *kernel_literal(const uint8_t *at, const uint8_t *end,
                                     struct rs_bytes *literal)
{
    if (at >= end || (*at != '\'' && *at != '"')) {
        return NULL;
    }
    const uint8_t *name = at + 1;
    while (name < end && rs_text_is_word(*name)) {
        name++;
    }
    static const char open[] = ", '''";
    if (name >= end || *name != *at || (size_t)(end - name) < sizeof(open) ||
        memcmp(name + 1, open, sizeof(open) - 1) != 0) {
        return NULL;
    }
    const uint8_t *begin = name + sizeof(open);
    for (const uint8_t *from = begin;;) {
        const uint8_t *close = memmem(from, (size_t)(end - from), "'''", 3);
        if (!close) {
            return NULL;
        }
        unsigned backslashes = 0;
        while (close - backslashes > begin && close[-(ptrdiff_t)backslashes - 1] == '\\') {
            backslashes++;
        }
        if (backslashes % 2 == 0) {
            *literal = (struct rs_bytes){begin, (size_t)(close - begin)};
            return close;
        }
        from = close + 1;
    }
}

enum rs_reason rs_find_names(struct rs_engine *engine, struct rs_bytes source)
{
    static const char call[] = "async_compile.triton(";
    const uint8_t *end = source.data + source.size;
    for (const uint8_t *at = source.data; at < end;) {
        at = memmem(at, (size_t)(end - at), call, sizeof(call) - 1);
        if (!at) {
            break;
        }
        at += sizeof(call) - 1;
        struct rs_bytes literal;
        const uint8_t *close = kernel_literal(at, end, &literal);
        if (close) {
            enum rs_reason reason = add_kernel(engine, literal);
            if (reason != RS_OK) {
                return reason;
            }
            at = close;
        }
    }
    if (engine->wrapper.size) {
        engine->new_wrapper = rs_arena_alloc(engine->arena, RS_NAME);
        if (!engine->new_wrapper || !RS_VEC_ROOM(engine->arena, &engine->names)) {
            return RS_REFUSED_limit;
        }
        memcpy(engine->new_wrapper, engine->wrapper.data, RS_NAME);
        engine->names.items[engine->names.count++] =
            (struct rs_name){.old_file = engine->wrapper.data, .new_file = engine->new_wrapper};
    }
    return index_names(engine);
}

void rs_name_wrapper(struct rs_engine *engine, uint32_t first)
{
    struct rs_sha256 sha;
    struct rs_bytes core = stripped(engine->source);
    uint32_t at = (uint32_t)(core.data - engine->data);
    uint32_t end = at + (uint32_t)core.size;
    rs_sha256_init(&sha);
    for (uint32_t i = first; i < engine->edits.count; i++) {
        const struct rs_edit *edit = &engine->edits.items[i];
        if (edit->at < at) {
            continue; /* the string's own header */
        }
        rs_sha256_add(&sha, engine->data + at, edit->at - at);
        rs_sha256_add(&sha, edit->bytes, edit->insert);
        at = edit->at + edit->remove;
    }
    rs_sha256_add(&sha, engine->data + at, end - at);
    code_name(&sha, engine->new_wrapper);
}

const struct rs_name *rs_name_by_file(const struct rs_engine *engine, const uint8_t *file)
{
    for (uint32_t slot = hash_of(file); engine->name_index; slot++) {
        uint32_t found = engine->name_index[slot & engine->name_mask];
        if (!found) {
            return NULL;
        }
        if (memcmp(engine->names.items[found - 1].old_file, file, RS_NAME) == 0) {
            return &engine->names.items[found - 1];
        }
    }
    return NULL;
}

const struct rs_name *rs_name_by_key(const struct rs_engine *engine, const uint8_t *key)
{
    for (uint32_t i = 0; i < engine->names.count; i++) {
        const struct rs_name *name = &engine->names.items[i];
        if (name->old_key && memcmp(name->old_key, key, RS_NAME) == 0) {
            return name;
        }
    }
    return NULL;
}

const struct rs_name *rs_name_by_config(const struct rs_engine *engine, const uint8_t *config)
{
    for (uint32_t i = 0; i < engine->names.count; i++) {
        const struct rs_name *name = &engine->names.items[i];
        if (name->old_config && memcmp(name->old_config, config, RS_HEX) == 0) {
            return name;
        }
    }
    return NULL;
}
