/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/python_image.h"

#include <link.h>
#include <string.h>

struct search {
    uintptr_t address;
    struct rs_region region;
};

/* Cuts REGION down to the part around ADDRESS that is inside or outside of [start, end). */
static void cut(struct rs_region *region, uintptr_t address, uintptr_t start, uintptr_t end)
{
    if (address >= end) {
        if (region->start < end)
            region->start = end;
    } else if (address < start) {
        if (region->end > start)
            region->end = start;
    } else {
        region->writable = false;
        if (region->start < start)
            region->start = start;
        if (region->end > end)
            region->end = end;
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct search *search = argument;
    (void)size;
    bool found = false;
    for (ElfW(Half) i = 0; i < info->dlpi_phnum && !found; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_R) == 0 ||
            search->address < start || search->address - start >= segment->p_memsz)
            continue;
        search->region = (struct rs_region){
            .start = start,
            .end = start + segment->p_memsz,
            .writable = (segment->p_flags & PF_W) != 0,
            .executable = (segment->p_flags & PF_X) != 0,
        };
        found = true;
    }
    for (ElfW(Half) i = 0; i < info->dlpi_phnum && found; i++) {
        const ElfW(Phdr) *relro = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + relro->p_vaddr;
        if (relro->p_type == PT_GNU_RELRO)
            cut(&search->region, search->address, start, start + relro->p_memsz);
    }
    return found;
}

bool rs_region_of(const void *address, struct rs_region *region)
{
    struct search search = {.address = (uintptr_t)address};
    if (dl_iterate_phdr(visit, &search) == 0)
        return false;
    *region = search.region;
    return true;
}

bool rs_image_readable(const void *address, size_t size)
{
    struct rs_region region;
    return rs_region_of(address, &region) && region.end - (uintptr_t)address >= size;
}

bool rs_image_writable(const void *address, size_t size)
{
    struct rs_region region;
    return rs_region_of(address, &region) && region.writable &&
           region.end - (uintptr_t)address >= size;
}

bool rs_image_executable(const void *address)
{
    struct rs_region region;
    return rs_region_of(address, &region) && region.executable;
}

bool rs_image_text_is(const char *address, const char *text)
{
    size_t size = strlen(text) + 1;
    return rs_image_readable(address, size) && memcmp(address, text, size) == 0;
}
