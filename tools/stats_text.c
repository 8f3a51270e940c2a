/* SPDX-License-Identifier: Apache-2.0
 *
 * The counters of a job as text: one line, or a table by rank.
 */
#include "explain.h"
#include "format.h"
#include "stats.h"

#include <inttypes.h>
#include <string.h>

static uint64_t lookups(const uint64_t *c)
{
    return c[RS_C_details_fx] + c[RS_C_details_aot] + c[RS_C_keys_triton];
}

static size_t count_ranks(const struct view_job *job)
{
    size_t ranks = 0;

    for (size_t i = 0; i < job->count; i++) {
        const struct view_process *process = &job->processes[i];
        bool again = i > 0 && process->rank >= 0 && process->rank == job->processes[i - 1].rank;
        ranks += !process->folded && !again;
    }
    return ranks;
}

/* "; FX graphs: 2 compiled, 14 of 16 loaded (88 %, 12 after waiting)" */
static void print_kind(FILE *out, const char *what, uint64_t compiled, uint64_t found,
                       uint64_t waited)
{
    char first[FORMAT_MAX], second[FORMAT_MAX], third[FORMAT_MAX];
    uint64_t loaded = found + waited, all = compiled + loaded;

    if (all == 0)
        return;
    fprintf(out, "; %s: %s compiled, %s of %s loaded", what, format_count(first, compiled),
            format_count(second, loaded), format_count(third, all));
    if (loaded)
        fprintf(out, " (%s", format_percent(first, loaded, all));
    if (waited)
        fprintf(out, ", %s after waiting", format_count(first, waited));
    if (loaded)
        fputc(')', out);
}

bool stats_summary(const struct view_job *job, FILE *out)
{
    char text[FORMAT_MAX], other[FORMAT_MAX];

    fputs("rankshare: ", out);
    if (!job || lookups(job->total) == 0) {
        fputs("no lookups seen: no process hashed a torch.compile or Triton key (nothing was "
              "compiled, caches are switched off, or the library could not look into this Python: "
              "`rankshare doctor --python PYTHON' says)\n",
              out);
        return false;
    }
    const uint64_t *c = job->total;
    size_t ranks = count_ranks(job);
    fprintf(out, "%zu rank%s", ranks, ranks == 1 ? "" : "s");
    print_kind(out, "FX graphs", c[RS_C_fx_misses], c[RS_C_fx_hits], c[RS_C_fx_waited]);
    uint64_t traces = c[RS_C_aot_hits] + c[RS_C_aot_waited];
    if (traces)
        fprintf(out, "; AOTAutograd entries: %s of %s loaded", format_count(text, traces),
                format_count(other, traces + c[RS_C_aot_misses]));
    print_kind(out, "Triton kernels", c[RS_C_triton_misses], c[RS_C_triton_hits],
               c[RS_C_triton_waited]);
    uint64_t measured = c[RS_C_configs_stored] + c[RS_C_configs_second];
    if (measured + c[RS_C_configs_taken])
        fprintf(out, "; autotuning results: %s measured, %s taken", format_count(text, measured),
                format_count(other, c[RS_C_configs_taken]));
    if (c[RS_C_wait_ns])
        fprintf(out, "; waited %s in all", format_duration(text, c[RS_C_wait_ns]));
    uint64_t refused = view_refused(c);
    fprintf(out, "; refused: %s%s\n", format_count(text, refused),
            refused ? " (`rankshare stats' says why)" : "");
    return true;
}

/* The sum of the processes of one rank: the rank itself, its compile workers, earlier runs of it.
 */
struct row {
    const struct view_process *first; /* the one with an ordinal, if any */
    size_t processes;
    uint64_t counters[RS_COUNTER_COUNT];
};

static void row_add(struct row *row, const struct view_process *process)
{
    if (!row->first || (row->first->ordinal < 0 && process->ordinal >= 0))
        row->first = process;
    row->processes++;
    for (int i = 0; i < RS_COUNTER_COUNT; i++)
        row->counters[i] += process->counters[i];
}

static void add_counters(struct table *table, const uint64_t *c)
{
    static const enum rs_counter shown[] = {
        RS_C_fx_misses,   RS_C_fx_hits,       RS_C_fx_waited,  RS_C_triton_misses,
        RS_C_triton_hits, RS_C_triton_waited, RS_C_aot_misses, RS_C_aot_hits,
    };
    char text[FORMAT_MAX];

    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        table_add_count(table, c[shown[i]]);
    table_add(table, format_duration(text, c[RS_C_wait_ns]));
    table_add_count(table, c[RS_C_views]);
    table_add_count(table, view_refused(c));
}

static void add_row(struct table *table, const struct row *row)
{
    const struct view_process *process = row->first;
    char text[FORMAT_MAX];

    snprintf(text, sizeof(text), process->rank >= 0 ? "%d" : "-", process->rank);
    table_add(table, process->folded ? "earlier" : text);
    snprintf(text, sizeof(text), "%ld", process->pid);
    table_add(table, process->folded ? "" : text);
    snprintf(text, sizeof(text), process->ordinal >= 0 ? "cuda:%d" : "-", process->ordinal);
    table_add(table, text);
    add_counters(table, row->counters);
}

static void add_heads(struct table *table)
{
    static const char *const heads[] = {
        "",       "",       "",       "FX",       "FX",      "FX",     "TRITON",
        "TRITON", "TRITON", "AOT",    "AOT",      "",        "",       "",
        "RANK",   "PID",    "DEVICE", "compiled", "found",   "waited", "compiled",
        "found",  "waited", "missed", "found",    "WAITING", "VIEWS",  "REFUSED",
    };

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        table_add(table, heads[i]);
}

static void print_rows(const struct view_job *job, FILE *out)
{
    struct table table;

    table_init(&table, 14, "rrlrrrrrrrrrrr");
    add_heads(&table);
    for (size_t i = 0; i < job->count;) {
        struct row row = {0};
        int rank = job->processes[i].rank;

        do
            row_add(&row, &job->processes[i++]);
        while (rank >= 0 && i < job->count && job->processes[i].rank == rank &&
               !job->processes[i].folded);
        add_row(&table, &row);
    }
    table_add(&table, "all");
    table_add(&table, "");
    table_add(&table, "");
    add_counters(&table, job->total);
    table_print(&table, out);
    table_free(&table);
}

static void print_sentence(void *out, const char *sentence)
{
    fprintf(out, "%s\n", sentence);
}

/* ", with inference, benchmarks": what a result depends on. */
static void print_flags(const uint64_t *counters, FILE *out)
{
    const char *name;
    uint64_t details;

    for (size_t i = 0; (name = view_flag(counters, i, &details)); i++)
        fprintf(out, "%s%s", i ? ", " : ", with ", name);
}

/* What came to the driver; `stats --modules' has the modules themselves. */
static void print_loads(const uint64_t *c, FILE *out)
{
    char count[FORMAT_MAX], failed[FORMAT_MAX], time[FORMAT_MAX];
    uint64_t loads = c[RS_C_loads_linked] + c[RS_C_loads_dlsym] + c[RS_C_loads_query];

    if (loads == 0)
        return;
    fprintf(out, "modules loaded onto GPUs: %s, %s refused by the driver; %s in the driver for",
            format_count(count, loads - c[RS_C_loads_failed]),
            format_count(failed, c[RS_C_loads_failed]), format_duration(time, c[RS_C_load_ns]));
    fprintf(out, " loads, %s for kernels", format_duration(time, c[RS_C_function_ns]));
    if (c[RS_C_link_ns])
        fprintf(out, ", %s for linking", format_duration(time, c[RS_C_link_ns]));
    fputc('\n', out);
}

void stats_job(const struct view_job *job, FILE *out)
{
    fprintf(out, "job %s: torch %s, triton %s, device %s", job->id,
            job->torch[0] ? job->torch : "unknown", job->triton[0] ? job->triton : "unknown",
            job->device[0] ? job->device : "unknown");
    if (job->world > 0)
        fprintf(out, ", world size %d", job->world);
    print_flags(job->total, out);
    fputc('\n', out);
    print_rows(job, out);
    print_loads(job->total, out);
    explain_job(job, print_sentence, out);
}
