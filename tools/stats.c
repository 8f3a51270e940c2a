/* SPDX-License-Identifier: Apache-2.0
 *
 * rankshare stats: the segment's jobs, as tables or as JSON (schema 1).
 */
#include "stats.h"

#include "json.h"
#include "store.h"
#include "tool.h"

#include <errno.h>
#include <string.h>

struct arguments {
    bool json, modules;
    const char *job, *segment;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 'J':
        arguments->json = true;
        return 0;
    case 'j':
        arguments->job = arg;
        return 0;
    case 'm':
        arguments->modules = true;
        return 0;
    case 's':
        arguments->segment = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "stats takes no file");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static json_t *counters_json(const uint64_t counters[RS_COUNTER_COUNT])
{
    json_t *object = json_object();

    for (int i = 0; i < RS_COUNTER_COUNT; i++)
        json_object_set_new(object, rs_counter_name((enum rs_counter)i),
                            json_integer((json_int_t)counters[i]));
    return object;
}

static json_t *number_or_null(bool known, long number)
{
    return known ? json_integer(number) : json_null();
}

static json_t *process_json(const struct view_process *process)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "rank",
                     number_or_null(!process->folded && process->rank >= 0, process->rank), "pid",
                     number_or_null(!process->folded, process->pid), "ordinal",
                     number_or_null(process->ordinal >= 0, process->ordinal), "counters",
                     counters_json(process->counters));
}

static json_t *text_or_null(const char *text)
{
    return text[0] ? json_text(text) : json_null();
}

static json_t *flags_json(const uint64_t *counters)
{
    json_t *flags = json_object();
    const char *name;
    uint64_t details;

    for (size_t i = 0; (name = view_flag(counters, i, &details)); i++)
        json_object_set_new(flags, name, json_integer((json_int_t)details));
    return flags;
}

static json_t *job_json(const struct view_job *job)
{
    json_t *ranks = json_array();

    for (size_t i = 0; i < job->count; i++)
        json_array_append_new(ranks, process_json(&job->processes[i]));
    json_t *versions = json_pack("{s:o, s:o, s:o}", "torch", text_or_null(job->torch), "triton",
                                 text_or_null(job->triton), "device", text_or_null(job->device));
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "id", json_text(job->id), "versions", versions,
                     "world", number_or_null(job->world > 0, job->world), "flags",
                     flags_json(job->total), "ranks", ranks);
}

static json_t *sums_json(const struct rs_artifact_sums *sums)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "place", store_place(sums->place),
                     "size", (json_int_t)sums->size, "reserved", (json_int_t)sums->reserved, "used",
                     (json_int_t)sums->used, "artifacts", (json_int_t)sums->groups, "objects",
                     (json_int_t)sums->objects, "bytes", (json_int_t)sums->raw);
}

static void add_job(uint64_t total[RS_COUNTER_COUNT], const struct view_job *job)
{
    for (int c = 0; c < RS_COUNTER_COUNT; c++)
        total[c] += job->total[c];
}

static void print_modules(const struct view *view, bool json)
{
    uint64_t total[RS_COUNTER_COUNT] = {0};

    for (size_t i = 0; i < view->count; i++)
        add_job(total, &view->jobs[i]);
    if (json)
        modules_print_json(&view->modules, total);
    else
        modules_print(&view->modules, total, stdout);
}

static void print_json(const struct view *view, const char *only)
{
    uint64_t total[RS_COUNTER_COUNT] = {0};
    json_t *jobs = json_array();

    for (size_t i = 0; i < view->count; i++) {
        const struct view_job *job = &view->jobs[i];

        if (only && strcmp(job->id, only) != 0)
            continue;
        json_array_append_new(jobs, job_json(job));
        add_job(total, job);
    }
    json_print(json_pack("{s:i, s:o, s:o, s:o}", "schema", 1, "jobs", jobs, "total",
                         counters_json(total), "artifacts", sums_json(&view->artifacts)));
}

static void print_sentence(void *context, const char *sentence)
{
    (void)context;
    puts(sentence);
}

static void print_text(const struct view *view, const char *only)
{
    bool first = true;

    for (size_t i = 0; i < view->count; i++) {
        if (only && strcmp(view->jobs[i].id, only) != 0)
            continue;
        if (!first)
            putchar('\n');
        stats_job(&view->jobs[i], stdout);
        first = false;
    }
    if (!only)
        modules_explain(&view->modules, print_sentence, NULL);
    if (view->count == 0) {
        puts("no job has used the segment yet");
    } else if (!only && view->artifacts.place != RS_PLACE_NONE) {
        putchar('\n');
        store_print_sums(&view->artifacts);
    }
}

int verb_stats(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"json", 'J', NULL, 0, "print JSON (schema 1)", 0},
        {"job", 'j', "ID", 0, "this job only", 0},
        {"modules", 'm', NULL, 0, "what was loaded onto GPUs, module by module, by all jobs", 0},
        {"segment", 's', "NAME", 0, "another segment (RANKSHARE_SEGMENT)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "Prints who compiled, who loaded, who waited, and what was refused and why, by job and "
            "rank.\vExit status: 0, 1 wrong usage, 2 no segment, no such job, or unreadable.",
    };
    struct arguments arguments = {0};
    char segment[RS_SEGMENT_NAME_MAX];
    struct view view;
    int status;

    if (!tool_parse(&argp, argc, argv, 0, &arguments, &status))
        return status;
    if (arguments.modules && arguments.job) {
        tool_error(NULL, "modules are counted for all jobs together: --modules takes no --job");
        return TOOL_USAGE;
    }
    if (!view_segment_name(arguments.segment, segment))
        return TOOL_USAGE;
    enum rs_store_status opened = view_read(segment, &view);
    if (opened != RS_STORE_OK) {
        tool_error(segment, "%s%s", rs_store_status_text(opened),
                   opened == RS_STORE_ABSENT
                       ? ": no process has hashed a torch.compile or Triton key (nothing was "
                         "compiled, caches are switched off, or the library is not active: "
                         "`rankshare doctor' says)"
                       : "");
        return TOOL_UNREADABLE;
    }
    bool missing = arguments.job && !view_find(&view, arguments.job);
    if (missing)
        tool_error(segment, "no job `%s'", arguments.job);
    else if (arguments.modules)
        print_modules(&view, arguments.json);
    else if (arguments.json)
        print_json(&view, arguments.job);
    else
        print_text(&view, arguments.job);
    view_free(&view);
    return tool_flush() && !missing ? TOOL_OK : TOOL_UNREADABLE;
}
