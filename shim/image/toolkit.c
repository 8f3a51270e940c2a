/* SPDX-License-Identifier: Apache-2.0
 *
 * The note's descriptor: a version, a zero, the offsets of four texts, and the texts (tool,
 * version, build, command line), each with its zero byte, padded to words. As ptxas 12.8 to 13.0
 * write it.
 */
#include "image/toolkit.h"

#include <string.h>

enum {
    TYPE = 2000,
    LAYOUT = 2,
    TOOL = 0,
    VERSION = 1,
    OPTIONS = 3,
    TEXTS = 4,
};

static const char owner[] = "NVIDIA Corp"; /* 12 bytes with its zero, so there is no padding */

struct note {
    uint32_t name_size, size, type;
    char name[sizeof(owner)];
    uint32_t layout, zero, texts[TEXTS];
};

/* The strings of a note that is built as we know it, the last one being the command line. */
static bool strings(const struct rs_section *section, struct note *note, struct rs_bytes *texts)
{
    const struct rs_bytes bytes = section->bytes;
    const size_t fixed = offsetof(struct note, layout);
    if (section->head.sh_type != SHT_NOTE || section->head.sh_flags & SHF_ALLOC ||
        bytes.size < sizeof(*note) || strcmp(section->name, ".note.nv.tkinfo") != 0) {
        return false;
    }
    memcpy(note, bytes.data, sizeof(*note));
    if (note->name_size != sizeof(owner) || note->type != TYPE || note->layout != LAYOUT ||
        memcmp(note->name, owner, sizeof(owner)) != 0 || note->size != bytes.size - fixed) {
        return false;
    }
    *texts = (struct rs_bytes){bytes.data + sizeof(*note), bytes.size - sizeof(*note)};
    for (unsigned i = 0; i < TEXTS; i++) {
        if (note->texts[i] >= texts->size || note->texts[i] > note->texts[OPTIONS]) {
            return false;
        }
    }
    return true;
}

struct rs_bytes rs_toolkit_options(const struct rs_section *section)
{
    struct note note;
    struct rs_bytes texts;
    if (!strings(section, &note, &texts)) {
        return (struct rs_bytes){NULL, 0};
    }
    const uint8_t *options = texts.data + note.texts[OPTIONS];
    size_t left = texts.size - note.texts[OPTIONS];
    const uint8_t *end = memchr(options, 0, left);
    for (const uint8_t *at = end; at && at < options + left; at++) {
        end = *at ? NULL : end; /* something follows that we don't know */
    }
    return end ? (struct rs_bytes){options, left} : (struct rs_bytes){NULL, 0};
}

struct rs_bytes rs_toolkit_names(const struct rs_section *section)
{
    const size_t lengths = offsetof(struct note, type);
    const struct rs_bytes options = rs_toolkit_options(section);
    if (!options.size) {
        return options;
    }
    return (struct rs_bytes){section->bytes.data + lengths,
                             (size_t)(options.data - section->bytes.data) - lengths};
}

static const char *text(const struct rs_section *section, unsigned which)
{
    struct note note;
    struct rs_bytes texts;
    return strings(section, &note, &texts) ? rs_libelf_text(texts, note.texts[which]) : "";
}

const char *rs_toolkit_tool(const struct rs_section *section)
{
    return text(section, TOOL);
}

const char *rs_toolkit_version(const struct rs_section *section)
{
    return text(section, VERSION);
}
