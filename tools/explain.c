/* SPDX-License-Identifier: Apache-2.0 */
#include "explain.h"

#include "tool.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks that a sentence names, so that it stays one line. */
enum { NAMED_MAX = 8 };

struct telling {
    explain_say *say;
    void *context;
};

__attribute__((format(printf, 2, 3))) static void tell(const struct telling *telling,
                                                       const char *format, ...)
{
    char *sentence = NULL;
    va_list args;

    va_start(args, format);
    int length = vasprintf(&sentence, format, args);
    va_end(args);
    if (length >= 0)
        telling->say(telling->context, sentence);
    free(sentence);
}

static void tell_reasons(const struct telling *telling, const uint64_t *counters)
{
    for (int reason = RS_OK + 1; reason < RS_REASON_COUNT; reason++) {
        uint64_t count = counters[rs_refusal_counter((enum rs_reason)reason)];

        if (count)
            tell(telling, "refused %" PRIu64 " time%s (%s): %s", count, count == 1 ? "" : "s",
                 rs_reason_name((enum rs_reason)reason), rs_reason_text((enum rs_reason)reason));
    }
}

/* Counters that stay at zero in a healthy job. */
static void tell_troubles(const struct telling *telling, const uint64_t *counters)
{
    static const enum rs_counter troubles[] = {
        RS_C_digest_refused, RS_C_stores_dropped, RS_C_views_failed,  RS_C_kernel_names_left,
        RS_C_takeovers,      RS_C_unproductive,   RS_C_wait_timeouts, RS_C_wait_interrupted,
        RS_C_wait_silent,    RS_C_wait_stalled,   RS_C_lease_full,    RS_C_segment_errors,
        RS_C_path_errors,    RS_C_loads_foreign,  RS_C_modules_full,
    };

    for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++)
        if (counters[troubles[i]])
            tell(telling, "%s %" PRIu64 ": %s", rs_counter_name(troubles[i]), counters[troubles[i]],
                 rs_counter_text(troubles[i]));
}

static void tell_versions(const struct telling *telling, const struct view_job *job)
{
    const struct {
        const char *what, *list;
    } lists[] = {{"torch", job->torch}, {"triton", job->triton}, {"device", job->device}};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (strstr(lists[i].list, " / "))
            tell(telling,
                 "not all processes run the same %s (%s): its version is part of every key, so "
                 "only equals share",
                 lists[i].what, lists[i].list);
}

/* Appends " ITEM" with commas between; after NAMED_MAX items "..." once. */
__attribute__((format(printf, 3, 4))) static void append(char **list, size_t number,
                                                         const char *format, ...)
{
    char *item = NULL;
    va_list args;

    if (number > NAMED_MAX)
        return;
    va_start(args, format);
    int length = vasprintf(&item, format, args);
    va_end(args);
    if (length < 0)
        return;
    char *longer = tool_format("%s%s%s", *list ? *list : "", number ? ", " : "",
                               number == NAMED_MAX ? "..." : item);
    free(item);
    free(*list);
    *list = longer;
}

/* A rank is all its processes, which stand side by side. Sums of those that have FX details: what
 * loads AOTAutograd entries hashes none, and shows no settings. *AT goes on. False: no more. */
static bool next_rank(const struct view_job *job, size_t *at, int *rank,
                      uint64_t sum[RS_COUNTER_COUNT])
{
    while (*at < job->count) {
        *rank = job->processes[*at].rank;
        memset(sum, 0, RS_COUNTER_COUNT * sizeof(*sum));
        do
            for (int i = 0; i < RS_COUNTER_COUNT; i++)
                sum[i] += job->processes[*at].counters[i];
        while (++*at < job->count && job->processes[*at].rank == *rank &&
               !job->processes[*at].folded);
        if (*rank >= 0 && sum[RS_C_details_fx] > 0)
            return true;
    }
    return false;
}

/* A setting that some ranks' graphs show and others' don't. */
static void tell_setting(const struct telling *telling, const struct view_job *job,
                         enum rs_counter flag)
{
    uint64_t sum[RS_COUNTER_COUNT];
    size_t with = 0, without = 0, at = 0;
    char *list = NULL;
    int rank;

    while (next_rank(job, &at, &rank, sum)) {
        if (sum[flag])
            append(&list, with++, "%d", rank);
        else
            without++;
    }
    if (with && without)
        tell(telling, "not all ranks compile with the same settings: %s (rank%s %s): %s",
             rs_counter_name(flag) + strlen("flag_"), with == 1 ? "" : "s", list,
             rs_counter_text(flag));
    free(list);
}

static void tell_settings(const struct telling *telling, const struct view_job *job)
{
    /* Those of the program's settings; the other flags tell what its graphs are. */
    static const enum rs_counter settings[] = {RS_C_flag_benchmarks, RS_C_flag_talks,
                                               RS_C_flag_bakes, RS_C_flag_custom_pass};

    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        tell_setting(telling, job, settings[i]);
}

static int by_rank(const void *left, const void *right)
{
    const struct view_alone *a = left, *b = right;

    return (a->rank > b->rank) - (a->rank < b->rank);
}

static bool several_ranks(const struct view_job *job)
{
    for (size_t i = 1; i < job->count; i++)
        if (job->processes[i].rank >= 0 && job->processes[i].rank != job->processes[0].rank)
            return true;
    return false;
}

static void tell_alone(const struct telling *telling, const struct view_job *job)
{
    char *list = NULL;
    size_t ranks = 0;

    if (!several_ranks(job) || job->total[RS_C_wait_timeouts]) /* who waits no more is not seen */
        return;
    qsort(job->alone, job->alone_count, sizeof(*job->alone), by_rank);
    for (size_t i = 0; i < job->alone_count; i++) {
        const struct view_alone *alone = &job->alone[i];

        append(&list, ranks++, "rank %d: %u", alone->rank,
               alone->fx > alone->aot ? alone->fx : alone->aot);
    }
    if (list)
        tell(telling,
             "graphs that no other rank looked for: %s; where they should be the same, ranks "
             "differ in settings, versions, shapes or code",
             list);
    free(list);
}

static void tell_silence(const struct telling *telling, const uint64_t *counters)
{
    if (counters[RS_C_keys_triton] && !counters[RS_C_details_fx] && !counters[RS_C_details_aot])
        tell(telling,
             "only Triton kernels were seen, no graph: torch.compile was not used, its "
             "caches are switched off (force_disable_caches; fx_graph_cache, off by default "
             "before PyTorch 2.5), or these graphs are not cached");
}

void explain_job(const struct view_job *job, explain_say *say, void *context)
{
    const struct telling telling = {say, context};

    tell_silence(&telling, job->total);
    tell_versions(&telling, job);
    tell_settings(&telling, job);
    tell_alone(&telling, job);
    tell_reasons(&telling, job->total);
    tell_troubles(&telling, job->total);
}
