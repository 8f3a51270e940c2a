/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at an image with libelf, and its sections.
 */
#include "image/libelf.h"

#include "image/libelf_calls.h"

#include <errno.h>
#include <string.h>

static bool guarded(struct rs_libelf_scope *scope, struct rs_bytes image,
                    bool (*look)(Elf *elf, void *context), void *context)
{
    if (elf_version(EV_CURRENT) == EV_NONE || _setjmp(scope->out) != 0) {
        return false;
    }
    /* For reading alone: libelf writes into no image that it was not asked to write. */
    Elf *elf = elf_memory((char *)(uintptr_t)image.data, image.size);
    return elf && look(elf, context);
}

bool rs_libelf_with(struct rs_bytes image, bool (*look)(Elf *elf, void *context), void *context)
{
    struct rs_libelf_scope scope;
    int saved = errno;
    /* A section costs libelf less than ten times its header, which the image holds. The arena's own
     * first chunk serves nearly all images, and is mostly there already. */
    rs_arena_init(&scope.arena, ((size_t)32 << 20) + image.size * 16);
    rs_libelf_enter(&scope);
    bool done = guarded(&scope, image, look, context);
    rs_libelf_enter(NULL);
    rs_arena_free(&scope.arena);
    errno = saved;
    return done;
}

const char *rs_libelf_text(struct rs_bytes table, uint64_t offset)
{
    if (offset >= table.size || !memchr(table.data + offset, 0, table.size - offset)) {
        return "";
    }
    return (const char *)table.data + offset;
}

static bool section_bytes(Elf_Scn *scn, const Elf64_Shdr *head, struct rs_bytes *bytes)
{
    *bytes = (struct rs_bytes){NULL, 0};
    if (head->sh_type == SHT_NOBITS || head->sh_type == SHT_NULL || head->sh_size == 0) {
        return true;
    }
    Elf_Data *data = elf_rawdata(scn, NULL);
    if (!data || !data->d_buf || data->d_size != head->sh_size) {
        return false;
    }
    *bytes = (struct rs_bytes){data->d_buf, data->d_size};
    return true;
}

bool rs_libelf_section(Elf_Scn *scn, struct rs_bytes names, struct rs_section *section)
{
    Elf64_Shdr *head = scn ? elf64_getshdr(scn) : NULL;
    if (!head) {
        return false;
    }
    memcpy(&section->head, head, sizeof(section->head));
    section->name = rs_libelf_text(names, section->head.sh_name);
    return section_bytes(scn, &section->head, &section->bytes);
}

struct rs_bytes rs_libelf_names(Elf *elf)
{
    struct rs_section names;
    size_t index;
    if (elf_getshdrstrndx(elf, &index) != 0 || index == 0 ||
        !rs_libelf_section(elf_getscn(elf, index), (struct rs_bytes){NULL, 0}, &names)) {
        return (struct rs_bytes){NULL, 0};
    }
    return names.bytes;
}
