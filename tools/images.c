/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks a file's images and unpacks them.
 */
#include "images.h"

#include "image/fatbin.h"
#include "image/libelf.h"
#include "unpack.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static bool begins(struct rs_bytes bytes, const void *with, size_t size)
{
    return bytes.size >= size && memcmp(bytes.data, with, size) == 0;
}

static uint32_t magic_of(struct rs_bytes bytes)
{
    uint32_t magic = 0;

    if (bytes.size >= sizeof(magic))
        memcpy(&magic, bytes.data, sizeof(magic));
    return magic;
}

bool images_expected(struct rs_bytes bytes)
{
    struct rs_ptx ptx;

    return begins(bytes, ELFMAG, SELFMAG) || magic_of(bytes) == RS_FATBIN_MAGIC ||
           magic_of(bytes) == RS_FATBIN_WRAPPER_MAGIC || rs_ptx_head(bytes, &ptx);
}

static struct kernel *add_kernel(struct gpu_image *image, const void *name, size_t size)
{
    size_t count = image->kernel_count++;

    /* Powers of two: the list doubles when it is full. */
    if ((count & (count - 1)) == 0) {
        struct kernel *larger = tool_alloc((count ? 2 * count : 1) * sizeof(*larger));
        if (count)
            memcpy(larger, image->kernels, count * sizeof(*larger));
        free(image->kernels);
        image->kernels = larger;
    }
    image->kernels[count] = (struct kernel){.name = tool_alloc(size + 1)};
    memcpy(image->kernels[count].name, name, size);
    return &image->kernels[count];
}

static bool note_kernel(void *context, const struct rs_kernel *facts)
{
    struct kernel *kernel = add_kernel(context, facts->name, strlen(facts->name));

    kernel->measured = true;
    kernel->facts = *facts;
    kernel->facts.name = NULL;
    return true;
}

static void read_content(struct gpu_image *image, struct rs_bytes content)
{
    struct rs_bytes name;
    size_t at = 0;

    if (image->entry.kind == RS_KIND_cubin) {
        image->understood = rs_cubin_read(content, &image->cubin, note_kernel, image) &&
                            rs_cubin_hash(content, &image->hash);
    } else if (image->entry.kind == RS_KIND_ptx) {
        content.size = strnlen((const char *)content.data, content.size);
        image->understood = rs_ptx_head(content, &image->ptx);
        while (image->understood && rs_ptx_kernel(content, &at, &name))
            add_kernel(image, name.data, name.size);
    }
}

static struct gpu_image *add_image(struct images *images)
{
    size_t count = images->count++;

    if ((count & (count - 1)) == 0) {
        struct gpu_image *larger = tool_alloc((count ? 2 * count : 1) * sizeof(*larger));
        if (count)
            memcpy(larger, images->images, count * sizeof(*larger));
        free(images->images);
        images->images = larger;
    }
    return &images->images[count];
}

static bool add_fatbin(struct images *images, struct rs_reader *reader,
                       const struct rs_image *fatbin, size_t offset, size_t number)
{
    struct rs_entries entries;
    struct rs_entry entry;

    rs_entries_begin(&entries, reader, fatbin);
    while (rs_entries_next(&entries, &entry)) {
        struct gpu_image *image = add_image(images);
        struct rs_bytes content = entry.bytes;
        void *memory = NULL;

        *image = (struct gpu_image){.entry = entry, .fatbin = number};
        image->offset = offset + (size_t)(entry.bytes.data - fatbin->bytes.data);
        if (unpack(&entry, &content, &memory))
            read_content(image, content);
        free(memory);
    }
    return !entries.damaged;
}

static void add_single(struct images *images, enum rs_kind kind, struct rs_bytes bytes)
{
    struct gpu_image *image = add_image(images);

    *image = (struct gpu_image){.entry = {.kind = kind, .bytes = bytes}};
    read_content(image, bytes);
    image->entry.arch = kind == RS_KIND_cubin ? image->cubin.arch : image->ptx.arch;
}

struct sections {
    struct images *images;
    struct rs_bytes file;
    size_t fatbins;
    bool damaged;
};

/* Fatbins follow each other, with zeros between them. */
static void add_section(struct sections *sections, struct rs_bytes section)
{
    enum { STEP = 8 };
    struct rs_reader reader;
    struct rs_image fatbin;

    rs_reader_bytes(&reader, section);
    for (size_t at = 0; at + STEP <= section.size;) {
        const uint8_t *here = section.data + at;
        size_t left = section.size - at;

        if (magic_of((struct rs_bytes){here, left}) != RS_FATBIN_MAGIC) {
            at += STEP;
            continue;
        }
        if (!rs_image_find(&reader, here, left, &fatbin)) {
            sections->damaged = true;
            return;
        }
        sections->damaged |= !add_fatbin(sections->images, &reader, &fatbin,
                                         (size_t)(here - sections->file.data), sections->fatbins++);
        at += fatbin.bytes.size;
    }
}

static bool find_sections(Elf *elf, void *context)
{
    struct sections *sections = context;
    const struct rs_bytes names = rs_libelf_names(elf);
    struct rs_section section;

    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
        if (!rs_libelf_section(scn, names, &section))
            return false;
        if (strcmp(section.name, ".nv_fatbin") == 0 || strcmp(section.name, "__nv_relfatbin") == 0)
            add_section(sections, section.bytes);
    }
    return true;
}

/* An executable, a library or an object for the processor. */
static const char *find_in_program(struct images *images, struct rs_bytes bytes)
{
    struct sections sections = {.images = images, .file = bytes};

    images->kind = "program";
    if (bytes.size < sizeof(Elf64_Ehdr) || bytes.data[EI_CLASS] != ELFCLASS64 ||
        !rs_libelf_with(bytes, find_sections, &sections))
        return "neither a whole cubin nor a whole 64-bit program";
    if (sections.damaged)
        return "a program with a damaged fat binary";
    return images->count ? NULL : "a program without fat binaries";
}

static bool is_cubin_head(struct rs_bytes bytes)
{
    enum { EM_NVIDIA = 190 };
    Elf64_Ehdr head;

    if (bytes.size < sizeof(head))
        return false;
    memcpy(&head, bytes.data, sizeof(head));
    return head.e_machine == EM_NVIDIA;
}

static const char *find_all(struct images *images, struct rs_bytes bytes)
{
    struct rs_reader reader;
    struct rs_image image;
    struct rs_ptx ptx;

    rs_reader_bytes(&reader, bytes);
    if (rs_ptx_head(bytes, &ptx)) {
        images->kind = rs_kind_name(RS_KIND_ptx);
        add_single(images, RS_KIND_ptx, bytes);
        return NULL;
    }
    if (magic_of(bytes) == RS_FATBIN_WRAPPER_MAGIC)
        return "a fat binary's wrapper; the images are elsewhere";
    if (!rs_image_find(&reader, bytes.data, bytes.size, &image)) {
        if (begins(bytes, ELFMAG, SELFMAG) && !is_cubin_head(bytes))
            return find_in_program(images, bytes);
        return "a damaged or truncated image: it says that it goes on beyond the end of the file";
    }
    images->kind = rs_kind_name(image.kind);
    if (image.kind == RS_KIND_fatbin)
        return add_fatbin(images, &reader, &image, 0, 0) ? NULL : "a damaged fat binary";
    add_single(images, image.kind, image.bytes);
    return images->images[0].understood ? NULL : "a damaged cubin";
}

bool images_find(struct images *images, const char *path, struct rs_bytes bytes)
{
    *images = (struct images){.path = path, .size = bytes.size};
    const char *trouble = find_all(images, bytes);

    if (!trouble)
        return true;
    tool_error(tool_file_name(path), "%s", trouble);
    images_free(images);
    return false;
}

void images_free(struct images *images)
{
    for (size_t i = 0; i < images->count; i++) {
        for (size_t k = 0; k < images->images[i].kernel_count; k++)
            free(images->images[i].kernels[k].name);
        free(images->images[i].kernels);
    }
    free(images->images);
    *images = (struct images){.path = images->path};
}
