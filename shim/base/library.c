/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* In the loader from glibc 2.35 on: finds an address among hundreds of objects without a lock. */
struct dl_find_object;
extern int _dl_find_object(void *address, struct dl_find_object *result) __attribute__((weak));

struct search {
    uintptr_t at;
    struct rs_hash128 name;
};

/* The build id is the descriptor of a note by "GNU". */
static bool find_build_id(struct rs_hasher *hasher, const struct dl_phdr_info *info)
{
    enum { BUILD_ID = 3 };
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const unsigned char *at = (const unsigned char *)(info->dlpi_addr + segment->p_vaddr);
        size_t left = segment->p_type == PT_NOTE ? segment->p_memsz : 0;
        while (left >= sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof note);
            size_t named = ((size_t)note.n_namesz + 3) & ~(size_t)3;
            size_t size = sizeof note + named + (((size_t)note.n_descsz + 3) & ~(size_t)3);
            if (size > left)
                break;
            if (note.n_type == BUILD_ID && note.n_namesz == 4 &&
                memcmp(at + sizeof note, "GNU", 4) == 0) {
                rs_hasher_add(hasher, at + sizeof note + named, note.n_descsz);
                return true;
            }
            at += size;
            left -= size;
        }
    }
    return false;
}

static int visit(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct search *search = argument;
    (void)size;
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) || search->at < start ||
            search->at - start >= segment->p_filesz)
            continue;
        struct rs_hasher hasher;
        uint64_t place = search->at - info->dlpi_addr;
        rs_hasher_begin(&hasher);
        if (!find_build_id(&hasher, info))
            rs_hasher_add(&hasher, info->dlpi_name, strlen(info->dlpi_name));
        rs_hasher_add(&hasher, &place, sizeof place);
        search->name = rs_hasher_end(&hasher);
        return 1;
    }
    return 0;
}

bool rs_library_place(const void *at, struct rs_hash128 *name)
{
    /* struct dl_find_object of any version fits. */
    union {
        uint64_t room[32];
        unsigned char first;
    } found;
    struct search search = {.at = (uintptr_t)at};
    if (&_dl_find_object != NULL &&
        _dl_find_object((void *)(uintptr_t)at, (struct dl_find_object *)&found.first) != 0)
        return false;
    if (dl_iterate_phdr(visit, &search) == 0)
        return false;
    *name = search.name;
    return true;
}
