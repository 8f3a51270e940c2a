/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/musl.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

bool rs_glibc(void)
{
    return &dlvsym != NULL;
}

struct tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash; /* two words, the second is the number of symbols */
};

/* musl leaves the addresses in a dynamic section as the file has them. */
static bool find_tables(const struct dl_phdr_info *object, struct tables *tables)
{
    const ElfW(Dyn) *entry = NULL;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            entry = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
        }
    }
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        const void *at = (const void *)(object->dlpi_addr + entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB:
            tables->symbols = at;
            break;
        case DT_STRTAB:
            tables->strings = at;
            break;
        case DT_HASH:
            tables->hash = at;
            break;
        default:
            break;
        }
    }
    return tables->symbols && tables->strings && tables->hash;
}

static int find_dlsym(struct dl_phdr_info *object, size_t size, void *found)
{
    (void)size;
    struct tables tables = {0};
    /* The loader and the libc are one file; no other object is looked at, least of all this one. */
    if (!object->dlpi_name || !strstr(object->dlpi_name, "ld-musl-") ||
        !find_tables(object, &tables)) {
        return 0;
    }
    for (uint32_t i = 0; i < tables.hash[1]; i++) {
        const ElfW(Sym) *symbol = &tables.symbols[i];
        if (symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
            strcmp(tables.strings + symbol->st_name, "dlsym") == 0) {
            *(void **)found = (void *)(object->dlpi_addr + symbol->st_value);
            return 1;
        }
    }
    return 0;
}

void *rs_musl_dlsym(void)
{
    void *found = NULL;
    dl_iterate_phdr(find_dlsym, &found);
    return found;
}
