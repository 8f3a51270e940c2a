/* SPDX-License-Identifier: Apache-2.0 */
#include "modules.h"

#include "format.h"
#include "image/arch.h"
#include "json.h"
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *left, const void *right)
{
    return memcmp(&((const struct rs_module_view *)left)->name,
                  &((const struct rs_module_view *)right)->name, sizeof(struct rs_hash128));
}

static int by_time(const void *left, const void *right)
{
    const struct rs_module_view *a = left, *b = right;

    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    if (a->facts.size != b->facts.size)
        return a->facts.size > b->facts.size ? -1 : 1;
    return by_name(a, b);
}

/* Two processes that load a module at the same time may make two entries of it. */
static void join(struct rs_module_view *into, const struct rs_module_view *other)
{
    into->loads += other->loads;
    into->failed += other->failed;
    into->ns += other->ns;
    into->ranks[0] |= other->ranks[0];
    into->ranks[1] |= other->ranks[1];
    if (other->refused_by)
        into->refused_by = other->refused_by;
}

void modules_read(const struct rs_store *store, struct modules *modules)
{
    struct rs_module_view *list = tool_alloc(RS_MODULES * sizeof(*list));
    size_t count = 0, kept = 0;

    for (unsigned i = 0; i < RS_MODULES; i++)
        count += rs_module_read(store, i, &list[count]);
    qsort(list, count, sizeof(*list), by_name);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && by_name(&list[kept - 1], &list[i]) == 0)
            join(&list[kept - 1], &list[i]);
        else
            list[kept++] = list[i];
    }
    qsort(list, kept, sizeof(*list), by_time);
    *modules = (struct modules){list, kept};
}

void modules_free(struct modules *modules)
{
    free(modules->list);
    *modules = (struct modules){0};
}

static unsigned ranks_of(const uint64_t ranks[2])
{
    return (unsigned)(__builtin_popcountll(ranks[0]) + __builtin_popcountll(ranks[1]));
}

struct sums {
    uint64_t loads, failed, ns, bytes, copies, copied_bytes;
    uint64_t ranks[2];
};

static struct sums sum(const struct modules *modules)
{
    struct sums sums = {0};

    for (size_t i = 0; i < modules->count; i++) {
        const struct rs_module_view *module = &modules->list[i];
        unsigned ranks = ranks_of(module->ranks), copies = ranks > 1 ? ranks - 1 : 0;

        sums.loads += module->loads;
        sums.failed += module->failed;
        sums.ns += module->ns;
        sums.bytes += module->facts.size;
        sums.copies += copies;
        sums.copied_bytes += copies * module->facts.size;
        sums.ranks[0] |= module->ranks[0];
        sums.ranks[1] |= module->ranks[1];
    }
    return sums;
}

enum { NAME_MAX_HEX = 33 };

static const char *name_of(const struct rs_module_view *module, char out[NAME_MAX_HEX])
{
    snprintf(out, NAME_MAX_HEX, "%016" PRIx64 "%016" PRIx64, module->name.high, module->name.low);
    return out;
}

static const char *arch_of(const struct rs_module_view *module, char out[RS_ARCH_TEXT])
{
    struct rs_arch arch = {module->facts.sm, module->facts.suffix};

    return arch.sm ? rs_arch_text(arch, out) : "";
}

static void add_row(struct table *table, const struct rs_module_view *module)
{
    char text[FORMAT_MAX], arch[RS_ARCH_TEXT], name[NAME_MAX_HEX], kind[FORMAT_MAX];

    table_add(table, module->kernel);
    snprintf(kind, sizeof(kind), "%s%s", rs_kind_name(module->facts.kind),
             module->facts.mapped ? " (library)" : "");
    table_add(table, kind);
    table_add(table, arch_of(module, arch));
    if (module->facts.kernels)
        table_add_count(table, module->facts.kernels);
    else
        table_add(table, "");
    table_add(table, format_bytes(text, module->facts.size));
    table_add_count(table, module->loads);
    table_add_count(table, ranks_of(module->ranks));
    table_add_count(table, module->failed);
    table_add(table, format_duration(text, module->ns));
    snprintf(text, sizeof(text), "%.12s", name_of(module, name));
    table_add(table, text);
}

/* What RANKSHARE_PTX=1 has done. */
static void print_compiles(const uint64_t *counters, FILE *out)
{
    char compiled[FORMAT_MAX], took[FORMAT_MAX], taken[FORMAT_MAX], saved[FORMAT_MAX];

    if (counters[RS_C_ptx_compiled] + counters[RS_C_ptx_taken] + counters[RS_C_ptx_left] == 0)
        return;
    fprintf(out, "PTX compiled for all: %s, in %s; compiles saved: %s, some %s",
            format_count(compiled, counters[RS_C_ptx_compiled]),
            format_duration(took, counters[RS_C_ptx_compile_ns]),
            format_count(taken, counters[RS_C_ptx_taken]),
            format_duration(saved, counters[RS_C_ptx_saved_ns]));
    fprintf(out, "; left to the driver: %s\n", format_count(taken, counters[RS_C_ptx_left]));
}

void modules_print(const struct modules *modules, const uint64_t *counters, FILE *out)
{
    static const char *const heads[] = {"FIRST KERNEL", "KIND",  "FOR",    "KERNELS", "SIZE",
                                        "LOADS",        "RANKS", "FAILED", "DRIVER",  "HASH"};
    enum { COLUMNS = sizeof(heads) / sizeof(heads[0]) };
    struct table table;
    struct sums sums = sum(modules);
    char count[FORMAT_MAX], bytes[FORMAT_MAX], loads[FORMAT_MAX], copies[FORMAT_MAX],
        copied[FORMAT_MAX], time[FORMAT_MAX];
    unsigned ranks = ranks_of(sums.ranks);

    if (modules->count > 0) {
        table_init(&table, COLUMNS, "lllrrrrrrl");
        for (size_t i = 0; i < COLUMNS; i++)
            table_add(&table, heads[i]);
        for (size_t i = 0; i < modules->count; i++)
            add_row(&table, &modules->list[i]);
        table_print(&table, out);
        table_free(&table);
    }
    fprintf(out,
            "%s modules, %s; loaded %s times by %u rank%s; copies in further ranks: %s, %s; %s in "
            "the driver\n",
            format_count(count, modules->count), format_bytes(bytes, sums.bytes),
            format_count(loads, sums.loads), ranks, ranks == 1 ? "" : "s",
            format_count(copies, sums.copies), format_bytes(copied, sums.copied_bytes),
            format_duration(time, sums.ns));
    print_compiles(counters, out);
}

static json_t *module_json(const struct rs_module_view *module)
{
    char name[NAME_MAX_HEX], arch[RS_ARCH_TEXT];

    return json_pack("{s:s, s:s, s:o, s:o, s:b, s:I, s:o, s:I, s:I, s:i, s:I, s:o}", "hash",
                     name_of(module, name), "kind", rs_kind_name(module->facts.kind), "arch",
                     module->facts.sm ? json_text(arch_of(module, arch)) : json_null(), "kernel",
                     module->kernel[0] ? json_text(module->kernel) : json_null(), "library",
                     module->facts.mapped, "size", (json_int_t)module->facts.size, "kernels",
                     module->facts.kernels ? json_integer(module->facts.kernels) : json_null(),
                     "loads", (json_int_t)module->loads, "failed", (json_int_t)module->failed,
                     "ranks", (int)ranks_of(module->ranks), "driver_ns", (json_int_t)module->ns,
                     "refused_by",
                     module->refused_by ? json_integer(module->refused_by) : json_null());
}

void modules_print_json(const struct modules *modules, const uint64_t *counters)
{
    struct sums sums = sum(modules);
    json_t *list = json_array();

    for (size_t i = 0; i < modules->count; i++)
        json_array_append_new(list, module_json(&modules->list[i]));
    json_print(json_pack(
        "{s:i, s:o, s:{s:I, s:I, s:I, s:I, s:i, s:I, s:I, s:I, s:I, s:I, s:I}}", "schema", 1,
        "modules", list, "total", "modules", (json_int_t)modules->count, "bytes",
        (json_int_t)sums.bytes, "loads", (json_int_t)sums.loads, "failed", (json_int_t)sums.failed,
        "ranks", (int)ranks_of(sums.ranks), "copies", (json_int_t)sums.copies, "copied_bytes",
        (json_int_t)sums.copied_bytes, "driver_ns", (json_int_t)sums.ns, "ptx_compiled",
        (json_int_t)counters[RS_C_ptx_compiled], "ptx_taken", (json_int_t)counters[RS_C_ptx_taken],
        "ptx_saved_ns", (json_int_t)counters[RS_C_ptx_saved_ns]));
}

void modules_explain(const struct modules *modules,
                     void (*say)(void *context, const char *sentence), void *context)
{
    for (size_t i = 0; i < modules->count; i++) {
        const struct rs_module_view *module = &modules->list[i];
        char arch[RS_ARCH_TEXT];

        if (!module->refused_by)
            continue;
        char *sentence = tool_format(
            "the driver refused %s: a %s for %s, which devices of compute capability %u.%u do not "
            "run",
            module->kernel[0] ? module->kernel : "a module", rs_kind_name(module->facts.kind),
            module->facts.sm ? arch_of(module, arch) : "other devices", module->refused_by / 10,
            module->refused_by % 10);
        say(context, sentence);
        free(sentence);
    }
}
