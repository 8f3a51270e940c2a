/* SPDX-License-Identifier: Apache-2.0
 *
 * rankshare inspect FILE|KEY...: what GPU images hold.
 */
#include "artifact.h"
#include "format.h"
#include "images.h"
#include "inspect_key.h"
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    bool json;
    bool device; /* was given */
    unsigned major, minor;
    const char *segment;
    char **files;
    int count;
};

static const char *const packings[] = {
    [RS_PACKING_none] = "none",
    [RS_PACKING_lz4] = "lz4",
    [RS_PACKING_zstd] = "zstd",
    [RS_PACKING_other] = "unknown",
};
static const char *const fits[] = {
    [RS_FIT_UNKNOWN] = "unknown",
    [RS_FIT_RUNS] = "yes",
    [RS_FIT_NEVER] = "no",
};

/* "9.0" */
static bool parse_device(const char *text, struct arguments *arguments)
{
    char rest;

    arguments->device = true;
    return sscanf(text, "%3u.%1u%c", &arguments->major, &arguments->minor, &rest) == 2 &&
           text[0] >= '1' && text[0] <= '9';
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 'J':
        arguments->json = true;
        return 0;
    case 'd':
        if (!parse_device(arg, arguments))
            argp_error(state, "a compute capability is two numbers, as in 9.0");
        return 0;
    case 's':
        arguments->segment = arg;
        return 0;
    case ARGP_KEY_ARG:
        return ARGP_ERR_UNKNOWN; /* all of them at once, below */
    case ARGP_KEY_ARGS:
        arguments->files = state->argv + state->next;
        arguments->count = state->argc - state->next;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which files or keys?");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum rs_fit image_fit(const struct gpu_image *image, const struct arguments *arguments)
{
    return image->entry.kind == RS_KIND_cubin
               ? rs_arch_runs(image->entry.arch, arguments->major, arguments->minor)
           : image->entry.kind == RS_KIND_ptx
               ? rs_arch_compiles(image->entry.arch, arguments->major, arguments->minor)
               : RS_FIT_UNKNOWN;
}

static const char *hash_text(const struct rs_hash128 *hash, char out[FORMAT_MAX + 1])
{
    snprintf(out, FORMAT_MAX + 1, "%016" PRIx64 "%016" PRIx64, hash->high, hash->low);
    return out;
}

/* 124: "12.4"; empty where the image doesn't say. */
static const char *toolkit_text(const struct gpu_image *image, char out[FORMAT_MAX])
{
    out[0] = '\0';
    if (image->cubin.toolkit)
        snprintf(out, FORMAT_MAX, "%u.%u", image->cubin.toolkit / 10, image->cubin.toolkit % 10);
    return out;
}

/* ---- JSON ---- */

static json_t *kernels_json(const struct gpu_image *image)
{
    json_t *list = json_array();

    for (size_t i = 0; i < image->kernel_count; i++) {
        const struct kernel *kernel = &image->kernels[i];
        const struct rs_kernel *facts = &kernel->facts;
        json_t *object = json_pack("{s:o}", "name", json_text(kernel->name));

        if (kernel->measured)
            json_object_update_new(
                object, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "registers",
                                  (json_int_t)facts->registers, "shared", (json_int_t)facts->shared,
                                  "stack", (json_int_t)facts->stack, "constants",
                                  (json_int_t)facts->constants, "code", (json_int_t)facts->code,
                                  "max_threads", (json_int_t)facts->max_threads));
        json_array_append_new(list, object);
    }
    return list;
}

static void cubin_json(json_t *object, const struct gpu_image *image)
{
    char hash[FORMAT_MAX + 1], toolkit[FORMAT_MAX];
    const struct rs_cubin *cubin = &image->cubin;

    toolkit_text(image, toolkit);
    json_object_update_new(
        object,
        json_pack("{s:s, s:s?, s:s?, s:i, s:b, s:b, s:i}", "hash", hash_text(&image->hash, hash),
                  "toolkit", toolkit[0] ? toolkit : NULL, "compiler",
                  cubin->version[0] ? cubin->version : NULL, "abi", (int)cubin->abi, "relocatable",
                  cubin->relocatable, "debug", cubin->debug, "functions", (int)cubin->functions));
}

static json_t *image_json(const struct gpu_image *image, const struct arguments *arguments)
{
    char arch[RS_ARCH_TEXT], version[FORMAT_MAX];
    const struct rs_entry *entry = &image->entry;
    bool packed = entry->packing != RS_PACKING_none;
    json_t *object =
        json_pack("{s:s, s:s, s:I, s:I, s:I, s:s, s:o, s:b}", "kind", rs_kind_name(entry->kind),
                  "arch", rs_arch_text(entry->arch, arch), "fatbin", (json_int_t)image->fatbin,
                  "offset", (json_int_t)image->offset, "size", (json_int_t)entry->bytes.size,
                  "packing", packings[entry->packing], "unpacked",
                  packed ? json_integer((json_int_t)entry->unpacked) : json_null(), "understood",
                  image->understood);

    if (arguments->device)
        json_object_set_new(object, "runs", json_string(fits[image_fit(image, arguments)]));
    if (image->understood && entry->kind == RS_KIND_cubin)
        cubin_json(object, image);
    if (image->understood && entry->kind == RS_KIND_ptx) {
        snprintf(version, sizeof(version), "%u.%u", image->ptx.major, image->ptx.minor);
        json_object_set_new(object, "ptx", json_string(version));
    }
    json_object_set_new(object, "kernels", image->understood ? kernels_json(image) : json_null());
    return object;
}

static json_t *file_json(const struct images *images, const struct arguments *arguments)
{
    json_t *list = json_array();

    for (size_t i = 0; i < images->count; i++)
        json_array_append_new(list, image_json(&images->images[i], arguments));
    return json_pack("{s:o, s:s, s:I, s:[], s:o}", "path", json_text(images->path), "kind",
                     images->kind, "size", (json_int_t)images->size, "ordinals", "images", list);
}

/* ---- text ---- */

/* A name for a terminal: whoever made the file may have put anything into it. The caller frees. */
static char *name_text(const char *name)
{
    char *text = tool_format("    %s", name);

    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
            *c = '?';
    return text;
}

static void print_kernels(const struct gpu_image *image)
{
    static const char *const heads[] = {"    KERNEL", "REGISTERS", "SHARED", "STACK",
                                        "CONSTANTS",  "CODE",      "THREADS"};
    struct table table;

    table_init(&table, 7, "lrrrrrr");
    for (size_t i = 0; i < 7; i++)
        table_add(&table, heads[i]);
    for (size_t i = 0; i < image->kernel_count; i++) {
        const struct rs_kernel *facts = &image->kernels[i].facts;
        char *name = name_text(image->kernels[i].name);

        table_add(&table, name);
        free(name);
        table_add_count(&table, facts->registers);
        table_add_count(&table, facts->shared);
        table_add_count(&table, facts->stack);
        table_add_count(&table, facts->constants);
        table_add_count(&table, facts->code);
        if (facts->max_threads)
            table_add_count(&table, facts->max_threads);
        else
            table_add(&table, "");
    }
    table_print(&table, stdout);
    table_free(&table);
}

static void print_size(const struct rs_entry *entry)
{
    char stored[FORMAT_MAX], unpacked[FORMAT_MAX];

    if (entry->packing == RS_PACKING_none)
        printf(", %s", format_bytes(stored, entry->bytes.size));
    else
        printf(", %s in %s (%s)", format_bytes(unpacked, entry->unpacked),
               format_bytes(stored, entry->bytes.size), packings[entry->packing]);
}

static void print_image(const struct gpu_image *image, const struct arguments *arguments)
{
    char arch[RS_ARCH_TEXT], toolkit[FORMAT_MAX], hash[FORMAT_MAX + 1];
    const struct rs_cubin *cubin = &image->cubin;

    printf("  %s %s", rs_kind_name(image->entry.kind), rs_arch_text(image->entry.arch, arch));
    print_size(&image->entry);
    if (image->understood && image->entry.kind == RS_KIND_ptx)
        printf(", PTX %u.%u", image->ptx.major, image->ptx.minor);
    if (toolkit_text(image, toolkit)[0])
        printf(", CUDA %s", toolkit);
    if (image->understood && cubin->relocatable)
        printf(", relocatable");
    if (image->understood && cubin->debug)
        printf(", with debug information");
    if (!image->understood)
        printf(", not looked into");
    if (arguments->device)
        printf(", runs on %u.%u: %s", arguments->major, arguments->minor,
               fits[image_fit(image, arguments)]);
    putchar('\n');
    if (image->understood && image->entry.kind == RS_KIND_cubin)
        printf("    code %s\n", hash_text(&image->hash, hash));
    if (image->kernel_count && image->kernels[0].measured) {
        print_kernels(image);
        return;
    }
    for (size_t i = 0; i < image->kernel_count; i++) {
        char *name = name_text(image->kernels[i].name);

        printf("%s\n", name);
        free(name);
    }
}

static void print_file(const struct images *images, const struct arguments *arguments)
{
    char size[FORMAT_MAX];

    printf("%s: %s, %s\n", images->path, images->kind, format_bytes(size, images->size));
    for (size_t i = 0; i < images->count; i++)
        print_image(&images->images[i], arguments);
}

/* ---- the verb ---- */

struct output {
    const struct arguments *arguments;
    json_t *files;
    bool others; /* files of other kinds are told of, too */
};

/* Other artifacts: what they are, and which ordinals they hold. */
static bool inspect_artifact(const char *path, struct rs_bytes bytes, const struct output *output)
{
    struct artifact artifact = {.path = path, .bytes = bytes};
    char size[FORMAT_MAX];

    artifact_scan(&artifact);
    bool known = artifact.kind != RS_KIND_other || output->others;
    if (!known) {
        tool_error(tool_file_name(path), "no GPU image, and no artifact of a cache");
    } else if (output->arguments->json) {
        json_array_append_new(
            output->files, json_pack("{s:o, s:s, s:I, s:o, s:[]}", "path", json_text(path), "kind",
                                     rs_kind_name(artifact.kind), "size", (json_int_t)bytes.size,
                                     "ordinals", artifact_ordinals(&artifact), "images"));
    } else {
        printf("%s: %s, %s", path, rs_kind_name(artifact.kind), format_bytes(size, bytes.size));
        for (int i = 0, seen = 0; i <= RS_ORDINAL_MAX; i++)
            if (artifact_has_ordinal(&artifact, i))
                printf(seen++ ? " %d" : ", ordinals %d", i);
        putchar('\n');
    }
    rs_arena_free(&artifact.arena);
    return known;
}

static bool inspect_bytes(const char *path, struct rs_bytes bytes, void *context)
{
    const struct output *output = context;
    struct images images;
    bool fine;

    if (!images_expected(bytes))
        return inspect_artifact(path, bytes, output);
    if ((fine = images_find(&images, path, bytes))) {
        if (output->arguments->json)
            json_array_append_new(output->files, file_json(&images, output->arguments));
        else
            print_file(&images, output->arguments);
        images_free(&images);
    }
    return fine;
}

static bool inspect_argument(const char *argument, struct output *output)
{
    struct rs_bytes bytes;
    void *memory;

    output->others = inspect_is_key(argument);
    if (output->others)
        return inspect_key(argument, output->arguments->segment, inspect_bytes, output);
    if (!tool_read(argument, &bytes, &memory))
        return false;
    bool fine = inspect_bytes(argument, bytes, output);
    free(memory);
    return fine;
}

int verb_inspect(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"json", 'J', NULL, 0, "print JSON (schema 1)", 0},
        {"device", 'd', "X.Y", 0, "say whether a GPU of this compute capability runs it", 0},
        {"segment", 's', "NAME", 0, "another segment for KEY (RANKSHARE_SEGMENT)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "FILE|KEY...",
        .doc =
            "Says what GPU images hold: architecture, kernels with their registers and memory, "
            "toolkit. A FILE is a cubin, a fat binary, PTX, or a program, library or object with "
            "fat binaries inside; of other artifacts it tells kind and device ordinals. A KEY is "
            "the beginning of one that `rankshare ls` shows, at least four digits, where no file "
            "has that name: all files of its artifact in the segment.\v"
            "FILE may be - for standard input. Exit status: 0, 1 wrong usage, 2 a file is "
            "unreadable or holds nothing that can be shown.",
    };
    struct arguments arguments = {.json = false};
    bool failed = false;
    int status;

    if (!tool_parse(&argp, argc, argv, 0, &arguments, &status))
        return status;
    json_t *files = json_array();
    struct output output = {&arguments, files, false};
    for (int i = 0; i < arguments.count; i++)
        failed |= !inspect_argument(arguments.files[i], &output);
    if (arguments.json)
        json_print(json_pack("{s:i, s:O}", "schema", 1, "files", files));
    json_decref(files);
    return tool_flush() && !failed ? TOOL_OK : TOOL_UNREADABLE;
}
